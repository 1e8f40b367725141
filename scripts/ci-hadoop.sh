#!/usr/bin/env bash
# Runs the end-to-end tests against real Hadoop daemons: every test whose name starts with TestLab. A skipped test is a failure.
# (ci-yardstick.sh runs those that need SimGrid.) Tests that only query daemons run first, two packages at a time, on shared labs; then those with
# daemons of their own, also in pairs; then those that measure, one at a time. Usage: ci-hadoop.sh [--timed | --untimed | package...]. --timed: only tests that compare a real scheduler's timing with
# the simulator's, which need a quiet machine; --untimed: all others.
set -euo pipefail
cd "$(dirname "$0")/.."

export PATH="$PATH:/usr/sbin"
need=()
command -v javac >/dev/null || need+=(openjdk-17-jdk-headless)
command -v mvn >/dev/null || need+=(maven)
command -v krb5kdc >/dev/null || need+=(krb5-kdc krb5-admin-server krb5-user)
python3 -m pip --version >/dev/null 2>&1 || need+=(python3-pip)
if [ ${#need[@]} -gt 0 ]; then
  echo "installing ${need[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -q && apt-get install -y -q --no-install-recommends "${need[@]}"; } >/dev/null
fi
export YARDMASTER_LAB_TESTS=1
export YARDMASTER_LAB="${YARDMASTER_LAB:-$PWD/.cache/lab}"
work=$(mktemp -d)
export YARDMASTER_LAB_SHARED="$work/labs"

start=$SECONDS
go build -o "$work/studies" ./studies
"$work/studies" lab fetch hadoop --version 3.4.2
"$work/studies" lab fetch hadoop --version 3.5.0
"$work/studies" lab fetch spark
echo "downloads: $((SECONDS - start)) s"

code=0
down() {
  local dir
  for dir in "$YARDMASTER_LAB_SHARED"/*/; do
    [ ! -d "$dir" ] || "$work/studies" lab down --dir "${dir%/}" || code=1
  done
}
trap 'down; rm -rf "$work"' EXIT

# tests PARALLEL PACKAGE...: runs their tests and records the time of each package.
tests() {
  local n=$1 log=$work/log
  shift
  [ $# -gt 0 ] || return 0
  set +e
  go run ./scripts/gotest -vet=off -count=1 -p "$n" -v -run "${run:-^TestLab[A-Z]}" -skip "^TestLabSimGrid${skip:+|$skip}" -timeout 45m "$@" 2>&1 | tee "$log" |
    grep --line-buffered -v -e '^=== ' -e 'no test files' -e 'no tests to run' -e '^PASS$'
  [ "${PIPESTATUS[0]}" = 0 ] || code=1
  set -e
  if grep -q -e '^ *--- SKIP' "$log"; then
    echo "a test was skipped although the lab is available"
    code=1
  fi
  grep -q -e '^--- PASS: TestLab' "$log" || { echo "no test ran"; code=1; }
  grep -E '^(ok|FAIL)\s.*[0-9]s$' "$log" >>"$work/times" || true
}

answers=(./studies/lab/hadoop ./studies/lab/hadoop/ha ./studies/lab/hadoop/secure ./yarn/history ./yarn/rest)
alone=(./studies/steering) # a policy there decides by the computer's idle time
timed=(./studies/conform ./studies/live)
steered='^TestLab(Sized|Deadlines|GoalTags|Settings|ETA|Watch|Spark)$' # in studies/live: they need no quiet machine
packages=("$@")
if [ "${1:-}" = --timed ]; then
  packages=("${timed[@]}") skip=$steered
elif [ $# -eq 0 ] || [ "$1" = --untimed ]; then
  mapfile -t packages < <(grep -rlE --include='*_test.go' '^func TestLab[A-Z]' . | xargs -n1 dirname | grep -v '^./studies/yardstick$' | sort -u)
fi
first=() second=() last=()
for p in "${packages[@]}"; do
  if [ "${1:-}" = --untimed ] && [[ " ${timed[*]} " == *" $p "* ]]; then
    continue
  elif [[ " ${answers[*]} " == *" $p "* ]]; then
    first+=("$p")
  elif [[ " ${alone[*]} ${timed[*]} " == *" $p "* ]]; then
    last+=("$p")
  else
    second+=("$p")
  fi
done
start=$SECONDS
tests 2 "${first[@]}"
echo "$(find "$YARDMASTER_LAB_SHARED" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l) shared labs"
down
echo "in pairs, on shared labs: $((SECONDS - start)) s"
start=$SECONDS
tests 2 "${second[@]}"
echo "in pairs: $((SECONDS - start)) s"
start=$SECONDS
tests 1 "${last[@]}"
if [ "${1:-}" = --untimed ]; then run=$steered tests 1 ./studies/live; fi
echo "one at a time: $((SECONDS - start)) s"
sort -t"$(printf '\t')" -k3 "$work/times" 2>/dev/null || true
left=$(pgrep -f -- "java.*$YARDMASTER_LAB" || true)
if [ -n "$left" ]; then
  echo "leftover processes: $left"
  code=1
fi
exit $code
