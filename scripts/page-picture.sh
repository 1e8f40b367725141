#!/usr/bin/env bash
# Takes a picture of a part of a report for a page: crisp, and at most 80 KB.
#
#   scripts/page-picture.sh REPORT.html SELECTOR|whole OUT.png
#
# SELECTOR is CSS or Playwright's: '#by-queue', 'section:has(h2:has-text("All jobs"))'. HEIGHT=N takes N pixels from its top on, WIDTH=N sets the
# window's width (960, that of a page's text), THEME=dark the other theme. Needs what site.sh and screenshot.sh need.
set -euo pipefail
if [ $# != 3 ]; then
  sed -n '2,7s/^# \?//p' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
"$here/site.sh" --install
[ "$2" = whole ] || export SELECTOR=$2
SCALE=2 "$here/screenshot.sh" "$1" "$3" "${WIDTH:-960}" "${THEME:-light}"
"$here/../.cache/site/venv/bin/python" - "$3" <<'PYTHON'
import os
import sys
from PIL import Image

name = sys.argv[1]
picture = Image.open(name).convert("RGB")
for share, colours in (1, 256), (1, 64), (1, 32), (0.75, 64), (0.5, 128), (0.5, 32), (0.5, 16):
    size = [round(side * share) for side in picture.size]
    small = picture.resize(size, Image.Resampling.LANCZOS) if share < 1 else picture
    small.quantize(colours, dither=Image.Dither.NONE).save(name, optimize=True)
    if os.path.getsize(name) <= 80_000:
        break
else:
    sys.exit(f"{name}: {os.path.getsize(name)} bytes; take a smaller part")
print(f"{name}: {size[0]} x {size[1]}, {os.path.getsize(name)} bytes")
PYTHON
