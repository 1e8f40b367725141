#!/bin/sh
# Takes a picture of a report, the whole page, in headless Chromium.
#
#   scripts/screenshot.sh REPORT.html OUT.png [WIDTH] [light|dark]
#
# HEIGHT=N takes only the top N pixels, SCALE=2 twice as many pixels. SECTION=TEXT, with HEIGHT, begins at the heading that begins so.
# It needs Chromium (found on the path, or named by CHROMIUM), Node.js, and once `npm ci` in scripts/screenshot.
set -eu
if [ $# -lt 2 ]; then
	echo "use: $0 REPORT.html OUT.png [WIDTH] [light|dark]" >&2
	exit 2
fi
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if [ ! -d "$here/screenshot/node_modules" ]; then
	(cd "$here/screenshot" && npm ci --ignore-scripts)
fi
exec node "$here/screenshot/picture.mjs" "$@"
