#!/usr/bin/env bash
# The simulator beside a bare event loop on this machine. Prints; fails only when it is grossly slower than it was.
# ci-speed.sh YARDMASTER
set -euo pipefail
yardmaster=$1
out=$("$yardmaster" bench loop --json)
echo "$out"
ratio=$(echo "$out" | sed -n 's/.*"ratio": *\([0-9.e+-]*\).*/\1/p' | head -1)
echo "ratio $ratio (the aim is 0.5; below 0.2 fails)"
awk "BEGIN{exit !($ratio >= 0.2)}"
