#!/bin/sh
# Writes the pages under docs/reproductions again, each from a run of its whole study.
#
#   scripts/reproductions.sh [--check]
#
# With --check it writes elsewhere and fails if a page differs. SEEDS is the number of seeds (else each study's own). Checks that miss do
# not fail it: they are on the page.
set -eu
cd "$(dirname "$0")/.."
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

# study page seeds
page() {
	rm -f "$out/$2"
	"$bin" reproduce "$1" --seeds "${SEEDS:-$3}" --markdown "$out/$2" >/dev/null || [ -s "$out/$2" ]
	if [ -n "$check" ]; then
		cmp "$out/$2" "docs/reproductions/$2"
	fi
}
page capacity capacity-scheduler.md 10
page marp marp.md 20
rm -f "$bin"
