#!/usr/bin/env bash
# Checks that links between pages work, and runs every command of every page and the notebook. (ci-hadoop.sh runs the commands that need a cluster.)
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0
while IFS=: read -r file link; do
  target=${link#*](}
  target=${target%%)*}
  target=${target%%#*}
  case $target in
    '' | http://* | https://* | mailto:*) continue ;;
  esac
  if [ ! -e "$(dirname "$file")/$target" ]; then
    echo "$file: broken link to $target"
    bad=1
  fi
done < <(grep -rnoE --include='*.md' --exclude-dir=node_modules --exclude-dir=.cache --exclude-dir=dist '\]\([^)]+\)' . | sed -E 's/^([^:]+):[0-9]+:/\1:/')
[ "$bad" = 0 ] || exit 1
echo "links work"

# Tools that the pages use besides yardmaster.
command -v jq >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends jq; } >/dev/null
if ! command -v duckdb >/dev/null; then
  python3 -m venv .cache/duckdb
  .cache/duckdb/bin/pip install -q duckdb-cli==1.5.6
  export PATH="$PWD/.cache/duckdb/bin:$PATH"
fi

# The notebook, on the comparison that it names.
if command -v python3 >/dev/null; then
  venv=$PWD/.cache/notebook work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install -q --no-compile duckdb==2.0.0 pandas==3.1.1 nbclient==0.11.0 ipykernel==7.4.0
  go build -o "$work/yardmaster" ./cmd/yardmaster
  cp docs/examples/history.ipynb "$work"
  (
    cd "$work"
    PATH="$work:$PATH"
    # As the notebook's first cell has it.
    eval "$(sed -n 's/^ *"    \(yardmaster compare .*\)\\n",$/\1/p' history.ipynb)" >/dev/null
    "$venv/bin/python" -c 'import nbclient, nbformat; nbclient.NotebookClient(nbformat.read("history.ipynb", 4), timeout=300, kernel_name="python3").execute()'
  )
  echo "the notebook runs"
else
  [ "${CI:-}" != true ] || { echo "the notebook needs python3"; exit 1; }
  echo "the notebook is skipped: it needs python3"
fi

# The test prints each page's time.
go run ./scripts/gotest -count=1 -v -timeout 30m ./docs | grep -v -e '^=== ' -e '^PASS$'
