#!/usr/bin/env bash
# Runs every fuzz test for a while (default 20s), as many at a time as there are cores. ci-fuzz.sh [TIME]
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

list() {
  local pkg
  for pkg in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
    go test -list '^Fuzz' "$pkg" | grep '^Fuzz' | while read -r name; do echo "$pkg $name"; done
  done
}

one() {
  local pkg=$1 name=$2 log
  log="$logs/$(echo "$pkg.$name" | tr '/' '_').log"
  # Each takes one worker, so that two run side by side on two cores. The engine reports a deadline that it hits while it
  # starts or ends an input as a failure; that is not one.
  if go test "$pkg" -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 10x -parallel 1 >"$log" 2>&1; then
    echo "passed  $pkg $name  $(grep -o 'execs: [0-9]*' "$log" | tail -1)"
  elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
    echo "passed  $pkg $name  (ended by its deadline)"
  else
    echo "FAILED  $pkg $name"
    tail -40 "$log"
    return 1
  fi
}
export -f one
export logs time

targets=$(list)
[ -n "$targets" ] || { echo "no fuzz tests found"; exit 1; }
echo "$targets" | xargs -P "$(nproc)" -L1 bash -c 'one "$0" "$1"'
