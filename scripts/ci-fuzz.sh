#!/usr/bin/env bash
# Runs every fuzz test for a while, one per core at a time. Fuzzing cannot be seeded, so this is exploration; go test replays the known inputs
# (seed corpora and testdata/fuzz). Each package is built once, with the coverage of our own packages: go test -fuzz would also build the standard
# library and all modules anew. Exits with 76 if a failing input was found: it is kept under the package's
# testdata/fuzz, where go test replays it from then on, and copied to .cache/found.
# ci-fuzz.sh [TIME]: 5s per test by default.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-5s}
dir=$PWD/.cache/fuzz found=$PWD/.cache/found
mkdir -p "$dir/corpus" "$found"
start=$SECONDS

targets=$(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed -E 's|^(.*)/[^/]*:func |\1 |' | sort)
[ -n "$targets" ] || { echo "no fuzz tests found"; exit 1; }
binary() { echo "$dir/$(echo "$1" | tr / _).test"; }
for pkg in $(echo "$targets" | cut -d' ' -f1 | sort -u); do
  go test -c -gcflags="$(go list -m)/...=-d=libfuzzer" -o "$(binary "$pkg")" "$pkg"
done
echo "built in $((SECONDS - start)) s"

one() {
  local pkg=$1 name=$2 log
  log="$dir/$(echo "$pkg.$name" | tr / _).log"
  # One worker each, so that they run in parallel. The fuzzing engine reports hitting its deadline while it starts or ends an input as a
  # failure; ignore that.
  if (cd "$pkg" && "$(binary "$pkg")" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" -test.fuzzminimizetime 10x -test.parallel 1 \
    -test.fuzzcachedir "$dir/corpus/$pkg") >"$log" 2>&1; then
    echo "passed  $pkg $name  $(grep -o 'execs: [0-9]*' "$log" | tail -1)"
  elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
    echo "passed  $pkg $name  (ended by its deadline)"
  else
    echo "FOUND   $pkg $name"
    tail -40 "$log"
    mkdir -p "$found/$pkg" && cp -r "$pkg/testdata/fuzz/$name" "$found/$pkg/" 2>/dev/null || true
    return 1
  fi
}
export -f one binary
export dir found time

echo "$targets" | xargs -P "$(nproc)" -L1 bash -c 'one "$0" "$1"' || {
  echo "failing inputs are in $found"
  exit 76
}
