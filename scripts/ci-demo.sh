#!/usr/bin/env bash
# Checks that the demo takes less than ten seconds, that its report opens in Chromium without errors and draws its charts, and that the report,
# a study's report and a steerer's status page are readable on a phone.
# Usage: ci-demo.sh YARDMASTER DIR
set -euo pipefail
cd "$(dirname "$0")/.."
yardmaster=$1 dir=$2
mkdir -p "$dir"
start=$(date +%s%N)
"$yardmaster" demo -o "$dir/demo.html"
took=$((($(date +%s%N) - start) / 1000000))
echo "demo took $took ms"
[ "$took" -lt 10000 ] || { echo "more than 10 s"; exit 1; }

if ! command -v chromium >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || true
  fi
fi
if ! command -v chromium >/dev/null; then
  echo "skipped: needs Chromium to open the report"
  exit 75
fi
size=$(stat -c %s "$dir/demo.html")
echo "report: $size bytes"
[ "$size" -lt 3000000 ] || { echo "more than 3 MB"; exit 1; }
if command -v npm >/dev/null && { [ -d scripts/screenshot/node_modules ] || (cd scripts/screenshot && npm ci --ignore-scripts --no-audit --no-fund >/dev/null 2>&1); }; then
  node scripts/screenshot/check.mjs "$dir/demo.html"
  "$yardmaster" simulate --workload synth:demo --cluster 40x8/4 --scheduler fair --report "$dir/run.html" >/dev/null
  go run ./studies reproduce capacity/E01 --seeds 2 --report "$dir/study.html" >/dev/null || [ -s "$dir/study.html" ] # other tests judge its verdicts
  YARDMASTER_PAGE=$(cd "$dir" && pwd)/steering.html go test -count=1 ./web/steering >/dev/null
  node scripts/screenshot/layout.mjs "$dir/run.html" "$dir/study.html" "$dir/steering.html"
  exit
fi

# Without Node.js, check at least that it opens without errors and draws.
for width in 1400 400; do
  timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr --v=0 --virtual-time-budget=8000 \
    --window-size="$width,2400" --dump-dom "file://$(cd "$dir" && pwd)/demo.html" >"$dir/dom-$width.html" 2>"$dir/log-$width.txt"
  if grep -E 'CONSOLE.*(Uncaught|Error|Refused)' "$dir/log-$width.txt"; then
    echo "the page reports errors at $width pixels"
    exit 1
  fi
  drawn=$(grep -o '<canvas' "$dir/dom-$width.html" | wc -l)
  echo "$width pixels: $drawn charts drawn"
  [ "$drawn" -gt 0 ] || { echo "no chart was drawn"; exit 1; }
done
