#!/usr/bin/env bash
# Is the stable Go API still what it was in the last release? Prints what an importer would have to change, and fails if there is something.
# The stable packages are those that docs/compatibility.md names.
# usage: api.sh [TAG]     (default: the newest release that HEAD comes from)
set -euo pipefail
cd "$(dirname "$0")/.."
APIDIFF=golang.org/x/exp/cmd/apidiff@v0.0.0-20260908205506-85c1c2202aba
tag=${1:-$(git tag --merged HEAD --sort=-v:refname --list 'v[0-9]*' | head -1)}
[ -n "$tag" ] || { echo "no release yet: every change is compatible"; exit 0; }
work=$(mktemp -d)
trap 'git worktree remove --force "$work/old" 2>/dev/null; rm -rf "$work"' EXIT
git worktree add -q --detach "$work/old" "$tag"
GOBIN=$work go install "$APIDIFF"
mapfile -t packages < <(sed -n 's/^| `\([a-z/]*\)` |.*/\1/p' docs/compatibility.md)
[ "${#packages[@]}" -gt 0 ] || { echo "docs/compatibility.md names no packages" >&2; exit 1; }
bad=0
for p in "${packages[@]}"; do
  [ -d "$work/old/$p" ] || continue # new since
  (cd "$work/old" && "$work/apidiff" -w "$work/export" "github.com/yardmaster/yardmaster/$p")
  changes=$("$work/apidiff" -incompatible "$work/export" "github.com/yardmaster/yardmaster/$p")
  [ -z "$changes" ] || { printf '%s, since %s:\n%s\n' "$p" "$tag" "$changes"; bad=1; }
done
[ "$bad" = 0 ] && echo "${#packages[@]} packages are compatible with $tag"
exit "$bad"
