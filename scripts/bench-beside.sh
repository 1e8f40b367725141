#!/usr/bin/env bash
# Compares two builds of yardmaster: the rows of bench loop (thread CPU time) and whole runs of simulate (user CPU time), alternating old and
# new. Prints medians, the median of the pairs' ratios new/old, the ratio of the minimum times (other load only ever adds), and the range of the
# pairs' ratios, which is the noise if OLD is NEW.
# bench-beside.sh OLD NEW [ROUNDS]: 5 rounds by default. Rows of bench loop that OLD lacks are left out; the whole runs cover them.
#   EXTRA="--option value"  options for NEW's simulate in ideal time
# FB-2010 runs if YARDMASTER_TRACES has it.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
declare -A bin=([old]=$(realpath "$1") [new]=$(realpath "$2")) more=([old]= [new]=${EXTRA:-})
cd "$(dirname "$0")/.."
export GOMAXPROCS=1 TIMEFORMAT=%U
log=$(mktemp) took=$(mktemp)
trap 'rm -f "$log" "$took"' EXIT

# both ROUND COMMAND...: runs it for each side, alternating which side goes first.
both() {
  for side in $( (($1 % 2)) && echo old new || echo new old); do "${@:2}" | sed "s/^/$side\t$1\t/" >>"$log"; done
}
loop() {
  "${bin[$side]}" bench loop --rounds 1 --json | jq -r '.schedulers[] |
    "\(.jobs // "single-stage"), \(.scheduler), ns per task\t\(.nanoseconds_a_task // (1e9 / .sim_events_per_second))"'
}
# simulate NAME OPTIONS...
simulate() {
  { time "${bin[$side]}" simulate "${@:2}" >/dev/null; } 2>"$took" || { cat "$took" >&2 && return 1; }
  printf 'simulate %s, s\t%s\n' "$1" "$(tail -1 "$took")"
}
ideal() { simulate "$@" ${more[$side]}; }

facebook="--workload synth:facebook --cluster 150x6/10" fb=${YARDMASTER_TRACES:-}/swim/FB-2010_samples_24_times_1hr_0.tsv
yarn="--scheduler docs/examples/capacity-scheduler.xml --queues etl,adhoc,ml --clock hadoop"
for ((i = 1; i <= ${3:-5}; i++)); do
  both $i loop
  for s in fifo fair capacity; do both $i ideal "MapReduce, $s" $facebook --scheduler $s; done
  both $i ideal "replicas, delay" $facebook --scheduler delay --replicas 3
  both $i simulate "Hadoop clock, demo" --workload synth:demo --cluster 40x8/4 $yarn
  [ ! -f "$fb" ] || both $i simulate "Hadoop clock, FB-2010" --workload "$fb" --cluster 600x6/30 $yarn
done

awk -F'\t' '
  { if (!($3 in seen)) { seen[$3] = 1; rows[++n] = $3 } v[$1, $3, $2] = $4; if ($2 > rounds) rounds = $2 }
  function sorted(a, m,   i, j, t) { for (i = 2; i <= m; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t } }
  END {
    printf "%-44s %8s %8s %8s %8s   %s\n", "", "old", "new", "new/old", "by min", "range"
    for (k = 1; k <= n; k++) {
      m = 0
      for (i = 1; i <= rounds; i++) if ((("old", rows[k], i) in v) && (("new", rows[k], i) in v)) { m++; o[m] = v["old", rows[k], i] + 0; w[m] = v["new", rows[k], i] + 0; r[m] = w[m] / o[m] }
      if (!m) continue
      sorted(o, m); sorted(w, m); sorted(r, m); h = int((m + 1) / 2)
      printf "%-44s %8.4g %8.4g %8.3f %8.3f   %.3f to %.3f\n", rows[k], o[h], w[h], r[h], w[1] / o[1], r[1], r[m]
    }
  }' "$log"
