#!/usr/bin/env bash
# Builds the site and checks it: links and anchors; nothing comes from another host; front pages are short and have a picture (screenshot/site.mjs has the
# limits, and what a screen is); nothing is wider than a phone; the search finds.
set -euo pipefail
cd "$(dirname "$0")/.."
site=.cache/site/html
scripts/site.sh "$site"
python3 scripts/site/links.py "$site"
[ -d scripts/screenshot/node_modules ] || (cd scripts/screenshot && npm ci --ignore-scripts --silent)
node scripts/screenshot/site.mjs .cache/site/all/src.json "$site"
