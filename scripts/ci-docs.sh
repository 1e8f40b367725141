#!/usr/bin/env bash
# The links between the pages hold, and the example of docs/add-a-policy.md builds as it is printed.
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
echo "links hold"

go test -count=1 ./docs
