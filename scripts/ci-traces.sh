#!/usr/bin/env bash
# Runs the tests that need real traces, then a day of Facebook under each scheduler, with its time and memory.
# Usage: ci-traces.sh YARDMASTER DIR; YARDMASTER_TRACES names the folder of traces.
set -euo pipefail
cd "$(dirname "$0")/.."
yardmaster=$1 dir=$2
mkdir -p "$dir"

# Finds the tests that read traces by the functions they call. None may be skipped. (TestFacebookDay runs the same scenario as the command below.)
tests=$(grep -rlE --include='*_test.go' 'YARDMASTER_TRACES|swimtest\.Facebook' . | while read -r file; do
  awk -v pkg="$(dirname "$file")" '/^func /{ name = $2; sub(/\(.*/, "", name) }
    /YARDMASTER_TRACES|swimtest\.Facebook|[^a-zA-Z.]traces\(t/ && name ~ /^Test/ { print pkg, name }' "$file"
done | sort -u)
[ -n "$tests" ] || { echo "no test reads traces"; exit 1; }
code=0
go run ./scripts/gotest -vet=off -count=1 -v -skip '^TestFacebookDay$' -run "^($(echo "$tests" | cut -d' ' -f2 | sort -u | paste -sd '|'))$" $(echo "$tests" | cut -d' ' -f1 | sort -u) \
  >"$dir/tests.log" 2>&1 || code=$?
grep -E '^(ok|FAIL|panic)|^ *--- (FAIL|SKIP)|median error|trace_test.go|fb_test.go|mumak_test.go|_test.go.*: .*(want|got)' "$dir/tests.log" || true
if grep -qE '^ *--- SKIP' "$dir/tests.log"; then
  echo "a test was skipped although the traces are available"
  code=1
fi
[ $code = 0 ] || exit 1

fb=$YARDMASTER_TRACES/swim/FB-2010_samples_24_times_1hr_0.tsv
[ -f "$fb" ] || { echo "skipped: no $fb"; exit 75; }
# Runs are judged by their processor time, so that two run at once, beside other parts.
number() { sed -n "s/.*\"$2\": *\([0-9.e+]*\).*/\1/p" "$1" | head -1; }
# day SECONDS MB CLUSTER SCHEDULER [FLAG...]: the day, in at most that much processor time and memory.
day() {
  local most=$1 mb=$2 cluster=$3 scheduler=$4 own cpu rss
  shift 4
  own=$dir/$(echo "$cluster-$scheduler-$#" | tr / _)
  GOMAXPROCS=1 "$yardmaster" simulate --workload "$fb" --cluster "$cluster" --scheduler "$scheduler" "$@" --timing "$own-timing.json" --json >"$own.json"
  cpu=$(number "$own-timing.json" cpu_seconds) rss=$(number "$own-timing.json" peak_rss_bytes)
  printf '%-12s %-9s %6.1f s of processor time %6.0f MB %s\n' "$cluster" "$scheduler" "$cpu" "$(awk "BEGIN{print $rss/1e6}")" "$*"
  [ "$(grep -o "\"finished\": *[0-9]*" "$own.json" | grep -o "[0-9]*$" | head -2 | xargs)" = "24442 8357001" ] || { echo "not every job and task finished"; return 1; }
  awk "BEGIN{exit !($cpu < $most && $rss < $mb * 1e6)}" || { echo "too slow or too large: at most $most s and $mb MB"; return 1; }
}
export -f day number
export yardmaster dir fb
# The longest first: all the day's reads and shuffles, on 250 Mbit/s per node and 1 Gbit/s per rack. The targets on a quiet core are 180 s under nas,
# which looks at every free container of a heartbeat, 120 s with a network and 10 s without: a shared one gets two or three times as long.
network='--network racks:node=250Mbit,uplink=1Gbit --replicas 3'
{
  echo "360 2000 600x6/30 nas $network --application overlap"
  echo "240 2000 600x6/30 fair $network"
  for cluster in 600x6/30 3000x20/150; do
    for scheduler in fifo fair capacity fbq sita; do echo "30 500 $cluster $scheduler"; done
  done
} | xargs -P "$(nproc)" -L1 bash -c 'set -euo pipefail; day "$@"' day
