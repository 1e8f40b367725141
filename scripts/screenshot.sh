#!/bin/sh
# Takes a screenshot of a report, the whole page, in headless Chromium.
#
#   scripts/screenshot.sh REPORT.html OUT.png [WIDTH] [light|dark]
#
# HEIGHT=N takes only the top N pixels, SCALE=2 doubles the resolution. SECTION=TEXT, with HEIGHT, starts at the heading that starts with TEXT.
# Needs Chromium (on the PATH, or set CHROMIUM) and Node.js; runs `npm ci` in scripts/screenshot the first time.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: $0 REPORT.html OUT.png [WIDTH] [light|dark]" >&2
	exit 2
fi
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if [ ! -d "$here/screenshot/node_modules" ]; then
	(cd "$here/screenshot" && npm ci --ignore-scripts)
fi
exec node "$here/screenshot/picture.mjs" "$@"
