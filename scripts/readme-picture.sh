#!/usr/bin/env bash
# Generates the screenshot at the top of README.md from a run of the demo: docs/images/report.png.
# Needs Go, Chromium and Node.js (see screenshot.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/yardmaster" ./cmd/yardmaster
"$dir/yardmaster" demo -o "$dir/demo.html"
mkdir -p docs/images
HEIGHT=${HEIGHT:-1640} scripts/screenshot.sh "$dir/demo.html" docs/images/report.png 1200 light
