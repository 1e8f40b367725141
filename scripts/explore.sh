#!/usr/bin/env bash
# Random exploration, in addition to the tests with fixed seeds: runs every property with new seeds until the log has CASES cases, the cheapest
# first and one at a time. You can interrupt it; it resumes from the log. The log has one line per run: package, test, seed, cases, seconds,
# verdict. Failures are printed, and rapid keeps them under the package's testdata/rapid.
# explore.sh [CASES [DIR]]: a million cases by default; logs and test binaries in .cache/explore. Remove DIR after the code has changed.
# explore.sh --list: lists the properties.
set -euo pipefail
cd "$(dirname "$0")/.."

# properties: prints the package and test of each property.
properties() {
  grep -rl --include='*_test.go' --exclude-dir=fixedseed 'rapid\.Check(' . | sort | while read -r file; do
    awk -v pkg="$(dirname "$file")" '/^func /{ name = $2; sub(/\(.*/, "", name) } /rapid\.Check\(/{ print pkg, name }' "$file"
  done | sort -u
}
if [ "${1:-}" = --list ]; then
  properties
  exit
fi

cases=${1:-1000000} dir=${2:-.cache/explore}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
log=$dir/log
touch "$log"
budget=60 # approximate seconds per run

binary() { echo "$dir/$(echo "$1" | tr / _).test"; }

# run PACKAGE TEST CASES: one run with a new seed.
run() {
  local pkg=$1 test=$2 n=$3 seed start verdict=passed
  seed=$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')
  echo "$pkg $test: $n cases, -rapid.seed=$seed"
  start=$(date +%s%N)
  (cd "$pkg" && nice -n 19 "$(binary "$pkg")" -test.run "^$test\$" -test.timeout 0 -rapid.checks "$n" -rapid.seed "$seed") >"$dir/out" 2>&1 || verdict=FAILED
  awk -v p="$pkg" -v t="$test" -v s="$seed" -v n="$n" -v ns=$(($(date +%s%N) - start)) -v v=$verdict \
    'BEGIN { printf "%s %s %s %d %.2f %s\n", p, t, s, n, ns / 1e9, v }' >>"$log"
  [ $verdict = passed ] || { grep -v '\[rapid\] draw' "$dir/out" | cut -c1-400 | head -40; }
}

# next: prints the property that needs the least time to reach CASES, and the number of cases for its next run.
next() {
  awk -v want="$cases" -v budget=$budget '
    NR == FNR { if ($6 == "passed") { done[$1 " " $2] += $4; took[$1 " " $2] += $5 } else failed[$1 " " $2] = 1; next }
    { k = $1 " " $2; left = want - done[k]; if (left <= 0 || failed[k]) next
      each = (took[k] + 0.05) / done[k]
      if (best == "" || left * each < least) { best = k; least = left * each; n = int(budget / each) + 1; if (n > left) n = left } }
    END { if (best != "") print best, n }' "$log" <(properties)
}

properties | cut -d' ' -f1 | sort -u | while read -r pkg; do
  [ -x "$(binary "$pkg")" ] || nice -n 19 go test -c -o "$(binary "$pkg")" "$pkg"
done
properties | while read -r pkg test; do
  grep -q "^$pkg $test " "$log" || run "$pkg" "$test" 200
done
while read -r pkg test n < <(next) && [ -n "$pkg" ]; do
  run "$pkg" "$test" "$n"
done

awk '{ if ($6 == "passed") { n[$1 " " $2] += $4; s[$1 " " $2] += $5 } else { bad = 1; print } }
  END { for (k in n) printf "%-75s %9d cases %8.1f s\n", k, n[k], s[k] | "sort"; close("sort"); exit bad }' "$log"
