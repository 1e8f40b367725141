#!/bin/sh
# Known vulnerabilities of what the program is built with, by the functions that it contains. The database is https://vuln.go.dev, or what
# YARDMASTER_VULNDB names: another server, or a folder of OSV files (data/osv of golang.org/x/vulndb).
# It fails when something is found, and when the database cannot be reached: no answer is not a good answer.
set -eu
cd "$(dirname "$0")/.."
db=${YARDMASTER_VULNDB:-https://vuln.go.dev}
if [ -d "$db" ]; then db="file://$(cd "$db" && pwd)"; fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$dir/yardmaster" ./cmd/yardmaster
GOFLAGS=-mod=mod go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 -mode binary -db "$db" "$dir/yardmaster"
