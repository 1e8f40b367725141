#!/usr/bin/env bash
# Builds and tests the example module outside this repository, against the working tree, and runs the product with its policies: on both clocks, in compare,
# in tune, in a steered rehearsal, with its trace.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r examples/own-policies "$work/module"
cd "$work/module"
go mod edit -replace "github.com/yardmaster/yardmaster=$tree"
[ -z "$(go mod tidy -diff)" ] || { echo "go.mod or go.sum is out of date: run go mod tidy in examples/own-policies"; exit 1; }
go vet ./...
go test ./...
go build -o "$work/mine" .
cd "$work"
printf 'batchlog 1\n%s\n' "$(for i in {1..40}; do echo "job$i $([ $((i % 3)) = 0 ] && echo ana || echo bob) $((i * 7)) $((i * 13 % 29 + 1)) $((i * 11 % 50 + 5))"; done)" >jobs.log

# shows WORDS COMMAND...: the command succeeds and prints them.
shows() {
  local words=$1
  shift
  echo "+ mine $*"
  ./mine "$@" >out.txt || { cat out.txt && return 1; }
  grep -q -- "$words" out.txt || { cat out.txt && echo "it does not say \"$words\"" && return 1; }
}
shows '^lightest ' schedulers
shows '^favour ' yarn policies
shows '40 jobs' import auto jobs.log -o jobs.parquet
for clock in ideal hadoop; do
  shows lightest compare --workload jobs.log --cluster 4x4/2 --scheduler fifo --scheduler lightest --clock $clock --seeds 5
done
shows favour compare --workload synth:demo --cluster 30x8/4 --scheduler fifo --steer none --steer favour --steer-set user=ana --steer-queue adhoc --seeds 5
shows . tune --workload jobs.log --queues etl,adhoc,ml --cluster 4x4/2 --scheduler "$tree/docs/examples/capacity-scheduler.xml" --goal 'mean elapsed of all' --steer favour --steer-set user=ana --steer-queue root.etl --budget 60runs
