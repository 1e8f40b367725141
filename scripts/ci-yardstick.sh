#!/usr/bin/env bash
# Compares the flow network with SimGrid: the end of every flow, and the speed of both in the same run. Needs g++ and SimGrid, which
# it installs if CI=true; otherwise it says what to install and skips (exit code 75). A skipped test is a failure.
# Usage: ci-yardstick.sh [package...]
set -euo pipefail
cd "$(dirname "$0")/.."

need=()
command -v g++ >/dev/null || need+=(g++)
[ -e /usr/include/simgrid/s4u.hpp ] || [ -e /usr/local/include/simgrid/s4u.hpp ] || need+=(libsimgrid-dev)
if [ ${#need[@]} -gt 0 ]; then
  if [ "${CI:-}" != true ] || [ "$(id -u)" != 0 ]; then
    echo "skipped: needs ${need[*]} (Debian: apt-get install ${need[*]})"
    exit 75
  fi
  echo "installing ${need[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -q && apt-get install -y -q --no-install-recommends "${need[@]}"; } >/dev/null
fi
export YARDMASTER_LAB_TESTS=1
export YARDMASTER_LAB="${YARDMASTER_LAB:-$PWD/.cache/lab}"

packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(./studies/yardstick)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$SECONDS
set +e
go run ./scripts/gotest -count=1 -p 1 -v -run '^TestLabSimGrid' -timeout 20m "${packages[@]}" 2>&1 | tee "$log" | grep -v -e '^=== ' -e '^PASS$'
code=${PIPESTATUS[0]}
set -e
if grep -q -e '^ *--- SKIP' "$log"; then
  echo "a test was skipped although SimGrid is installed"
  code=1
fi
grep -q -e '^--- PASS: TestLabSimGrid ' "$log" || { echo "the comparison did not run or failed"; code=1; }
echo "tests: $((SECONDS - start)) s"
exit $code
