#!/bin/sh
# Regenerates the pages under docs/reproductions, each from a run of its whole study, and keeps the run's figures in data there.
#
#   scripts/reproductions.sh [--check]
#
# With --check it writes to a temporary directory and fails if a page differs. SEEDS is the number of seeds (default: each study's own).
# Checks that miss are shown on the page; they do not fail the script. Studies of the Facebook traces are run only if YARDMASTER_TRACES names their folder.
set -eu
cd "$(dirname "$0")/.."
out=docs/reproductions
check=
if [ "${1:-}" = --check ]; then
	check=yes
	out=$(mktemp -d)
	trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out/data"
bin=$(mktemp)
go build -o "$bin" ./studies

# study page seeds [first]
page() {
	rm -f "$out/$2" "$out/data/$1.json" "$out/data/$1.json.gz"
	"$bin" reproduce "$1" --seeds "${SEEDS:-$3}" --seed "${4:-1}" --markdown "$out/$2" --json "$out/data/$1.json" >/dev/null || [ -s "$out/$2" ]
	if [ "$(wc -c <"$out/data/$1.json")" -gt 200000 ]; then
		gzip -9n "$out/data/$1.json"
	fi
	if [ -n "$check" ]; then
		cmp "$out/$2" "docs/reproductions/$2"
	fi
}
page capacity capacity-scheduler.md 10
page marp marp.md 20
page slowdown slowdown-variability.md 16
page deadline deadlines.md 16
if [ -n "${YARDMASTER_TRACES:-}" ]; then # studies of the Facebook traces
	page nas network-aware.md 20 101
	page jobpacker jobpacker.md 20 101
	page hybrid hybrid-cluster.md 20 101
	page defaults defaults.md 10 101
fi
rm -f "$bin"
