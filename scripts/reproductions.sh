#!/bin/sh
# Writes the pages under docs/reproductions again, each from a run of its whole study.
#
#   scripts/reproductions.sh [--check]
#
# With --check it writes elsewhere and fails if a page differs. SEEDS (10) is the number of seeds. Checks that miss do not fail it:
# they are on the page.
set -eu
cd "$(dirname "$0")/.."
seeds=${SEEDS:-10}
out=docs/reproductions
check=
if [ "${1:-}" = --check ]; then
	check=yes
	out=$(mktemp -d)
	trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"
bin=$(mktemp)
go build -o "$bin" ./cmd/yardmaster

# study page
page() {
	rm -f "$out/$2"
	"$bin" reproduce "$1" --seeds "$seeds" --markdown "$out/$2" >/dev/null || [ -s "$out/$2" ]
	if [ -n "$check" ]; then
		cmp "$out/$2" "docs/reproductions/$2"
	fi
}
page capacity capacity-scheduler.md
rm -f "$bin"
