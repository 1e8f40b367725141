#!/usr/bin/env bash
# Makes the folders whose questions the study of answers asks: studies/answers/folders.sh OUT. FB-2010 is read from
# $YARDMASTER_TRACES/swim; the lab's history is the first one of the study of settings.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1 day=${YARDMASTER_TRACES:?the folder of traces}/swim/FB-2010_samples_24_times_1hr_0.tsv
mkdir -p "$out"
go build -o "$out/yardmaster" ./cmd/yardmaster
cp -r studies/answers/fb-2010 "$out"
cp docs/studies/tune/capacity-scheduler.xml "$out/fb-2010" # an untouched installation's
cp -r docs/studies/settings-live/history-1 "$out/lab"
cp studies/answers/lab/QUESTIONS "$out/lab"
awk -F'\t' -v out="$out/fb-2010/" '{ print > out ($5 < 2^20 ? "light" : $5 < 100 * 2^20 ? "medium" : "heavy") ".tsv" }' "$day"
for queue in light medium heavy; do
  "$out/yardmaster" import swim "$out/fb-2010/$queue.tsv" --queues "$queue" --block 512MiB --am 1GiB,1 -o "$out/fb-2010/$queue.parquet"
  rm "$out/fb-2010/$queue.tsv"
done
