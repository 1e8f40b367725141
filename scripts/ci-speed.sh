#!/usr/bin/env bash
# Compares the simulator with a bare event loop on this machine. Fails only if it has become much slower.
# Usage: ci-speed.sh YARDMASTER
set -euo pipefail
yardmaster=$1
out=$("$yardmaster" bench loop --json)
echo "$out"
ratio=$(echo "$out" | sed -n 's/.*"ratio": *\([0-9.e+-]*\).*/\1/p' | head -1)
echo "ratio $ratio (target 0.5; below 0.2 fails)"
awk "BEGIN{exit !($ratio >= 0.2)}"
