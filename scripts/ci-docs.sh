#!/usr/bin/env bash
# Checks that links between pages work, and runs every command of every page. (ci-hadoop.sh runs the commands that need a cluster.)
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

# The test prints each page's time.
go test -count=1 -v -timeout 30m ./docs | grep -v -e '^=== ' -e '^PASS$'
