#!/usr/bin/env bash
# Checks that repeated runs of a scenario, on different numbers of cores, are byte-identical: result.json, jobs.parquet, timeline.parquet,
# the report and the comparison. Usage: ci-determinism.sh YARDMASTER
set -euo pipefail
cd "$(dirname "$0")/.."
yardmaster=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for run in "1 1" "2 1" "3 2" "4 8"; do
  read -r n cores <<<"$run"
  GOMAXPROCS=$cores "$yardmaster" simulate --workload synth:demo --cluster 20x4/4 --scheduler fair --heartbeat 1s --fail-task 0.01 \
    --replicas 3 --seed 7 --out "$dir/$n" --report "$dir/$n/report.html" --json >"$dir/$n.json"
  GOMAXPROCS=$cores "$yardmaster" compare --workload synth:demo --cluster 20x4/4 --scheduler fifo --scheduler fair --seeds 3 \
    --report "$dir/$n/compare.html" --json >"$dir/$n/compare.json"
done
for n in 2 3 4; do
  for f in result.json jobs.parquet timeline.parquet report.html compare.json compare.html; do
    cmp "$dir/1/$f" "$dir/$n/$f"
  done
  cmp "$dir/1.json" "$dir/$n.json"
done
cmp "$dir/1.json" "$dir/1/result.json"
echo "four runs on 1, 1, 2 and 8 processors: byte-identical"
