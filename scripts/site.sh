#!/usr/bin/env bash
# Builds the site from docs/.
#
#   scripts/site.sh [DIR]                  into DIR (default: dist/site)
#   scripts/site.sh --measure ROOT [PAGE...]   measures the front pages of the checkout ROOT (or pages like docs/what-if.md): words, pictures, screens
#
# Needs Python 3.11 or later; Sphinx is installed into .cache/site the first time. A broken link or anchor, and a page that the index (docs/README.md)
# does not name once, fail the build. Measuring needs Node.js and Chromium too (see screenshot.sh).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../.cache/site

# Installs what requirements.txt names, again when it changes.
if ! cmp -s "$here/site/requirements.txt" "$cache/requirements.txt"; then
  rm -rf "$cache"
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q --no-compile --require-hashes -r "$here/site/requirements.txt"
  cp "$here/site/requirements.txt" "$cache"
fi

[ "${1:-}" != --install ] || exit 0

# build SOURCES OUT FLAGS...
build() {
  "$cache/venv/bin/python" -m sphinx -q -j auto -c "$here/site" -d "$1/../doctrees" -D html_search_scorer="$1/../scorer.js" "${@:3}" "$1" "$2"
}

if [ "${1:-}" = --measure ]; then
  root=$(cd "$2" && pwd)
  work=$cache/$(basename "$root")
  mkdir -p "$work"
  "$cache/venv/bin/python" "$here/site/stage.py" "$root" "$work/src" --front || true
  build "$work/src" "$work/html" || true
  [ -d "$here/screenshot/node_modules" ] || (cd "$here/screenshot" && npm ci --ignore-scripts --silent)
  exec node "$here/screenshot/site.mjs" --measure "$work/src.json" "$work/html" "${@:3}"
fi

out=${1:-$here/../dist/site}
mkdir -p "$out"
python3 "$here/site/stage.py" "$here/.." "$cache/all/src"
build "$cache/all/src" "$out" -W --keep-going -n
rm -rf "$out"/{.buildinfo,.buildinfo.bak,objects.inv,_sources,_static/webpack-macros.html}
touch "$out/.nojekyll" # for GitHub Pages, which would leave out folders that begin with _
