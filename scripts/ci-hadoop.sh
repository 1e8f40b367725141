#!/usr/bin/env bash
# The end-to-end tests against real Hadoop daemons: brings the lab up, runs every test whose name starts with TestLab, takes
# it down. A test that skips is a failure here. (ci-yardstick.sh has those that need SimGrid.) Usage: ci-hadoop.sh [package...]
set -euo pipefail
cd "$(dirname "$0")/.."

need=()
command -v javac >/dev/null || need+=(openjdk-17-jdk-headless)
command -v mvn >/dev/null || need+=(maven)
command -v krb5kdc >/dev/null || [ -x /usr/sbin/krb5kdc ] || need+=(krb5-kdc krb5-admin-server krb5-user)
if [ ${#need[@]} -gt 0 ]; then
  echo "installing ${need[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -q && apt-get install -y -q --no-install-recommends "${need[@]}"; } >/dev/null
fi
export PATH="$PATH:/usr/sbin"
export YARDMASTER_LAB_TESTS=1
export YARDMASTER_LAB="${YARDMASTER_LAB:-$PWD/.cache/lab}"

start=$SECONDS
go run ./lab fetch hadoop --version 3.4.2
go run ./lab fetch hadoop --version 3.5.0
echo "artefacts: $((SECONDS - start)) s"

packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(./lab/... ./yarn/... ./cmd/yardmaster)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$SECONDS
set +e
go test -count=1 -p 1 -v -run '^TestLab' -skip '^TestLabSimGrid' -timeout 45m "${packages[@]}" 2>&1 | tee "$log" |
  grep -v -e '^=== ' -e 'no test files' -e '\[no tests to run\]' -e 'no tests to run' -e '^PASS$'
code=${PIPESTATUS[0]}
set -e
if grep -q -e '^ *--- SKIP' "$log"; then
  echo "a test was skipped: with the lab there, none may be"
  code=1
fi
grep -q -e '^--- PASS: TestLab' "$log" || { echo "no test ran"; code=1; }
left=$(pgrep -f -- "java.*$YARDMASTER_LAB" || true)
if [ -n "$left" ]; then
  echo "processes are left over: $left"
  code=1
fi
echo "tests: $((SECONDS - start)) s"
exit $code
