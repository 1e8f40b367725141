#!/usr/bin/env bash
# Real traces: the tests that need them, then a day of Facebook under each scheduler with its time and memory.
# ci-traces.sh YARDMASTER DIR; the traces lie in YARDMASTER_TRACES.
set -euo pipefail
cd "$(dirname "$0")/.."
yardmaster=$1 dir=$2
mkdir -p "$dir"
if ! go test -count=1 -v ./workload/... ./sim/... ./cluster/... ./yarn/... ./policy/... >"$dir/tests.log" 2>&1; then
  grep -E '^(--- FAIL|FAIL|panic)|^ +[a-z_]+_test\.go' "$dir/tests.log" | tail -60
  exit 1
fi
grep -E '^ok|median error|trace_test.go|fb_test.go|mumak_test.go' "$dir/tests.log"

fb=$YARDMASTER_TRACES/swim/FB-2010_samples_24_times_1hr_0.tsv
[ -f "$fb" ] || { echo "skipped: no $fb"; exit 75; }
number() { sed -n "s/.*\"$2\": *\([0-9.e+]*\).*/\1/p" "$1" | head -1; }
for cluster in 600x6/30 3000x20/150; do
  for scheduler in fifo fair capacity; do
    GOMAXPROCS=1 "$yardmaster" simulate --workload "$fb" --cluster "$cluster" --scheduler "$scheduler" --timing "$dir/timing.json" --json >"$dir/result.json"
    wall=$(number "$dir/timing.json" wall_seconds) rss=$(number "$dir/timing.json" peak_rss_bytes)
    printf '%-12s %-9s %6.1f s %6.0f MB\n' "$cluster" "$scheduler" "$wall" "$(awk "BEGIN{print $rss/1e6}")"
    # The aim is 10 s and 500 MB on a quiet machine; a shared one is given three times the time.
    awk "BEGIN{exit !($wall < 30 && $rss < 500e6)}" || { echo "too slow or too large"; exit 1; }
  done
done

# The same day with all that it reads and shuffles, on 250 Mbit/s a node and 1 Gbit/s a rack.
GOMAXPROCS=1 "$yardmaster" simulate --workload "$fb" --cluster 600x6/30 --scheduler fair --network racks:node=250Mbit,uplink=1Gbit --replicas 3 \
  --timing "$dir/timing.json" --json >"$dir/result.json"
cpu=$(number "$dir/timing.json" cpu_seconds) wall=$(number "$dir/timing.json" wall_seconds) rss=$(number "$dir/timing.json" peak_rss_bytes)
printf 'with a network: %.1f s of processor time, %.1f s, %.0f MB, %s flows\n' "$cpu" "$wall" "$(awk "BEGIN{print $rss/1e6}")" "$(number "$dir/result.json" flows)"
# The aim is 120 s and 2 GB on a quiet core; a shared one is given twice the processor time.
awk "BEGIN{exit !($cpu < 240 && $rss < 2e9)}" || { echo "too slow or too large"; exit 1; }
