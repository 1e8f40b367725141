#!/bin/sh
# Checks the functions in the built binary for known vulnerabilities. The database is https://vuln.go.dev, or whatever YARDMASTER_VULNDB
# names: another server, or a folder of OSV files (data/osv of golang.org/x/vulndb).
# Fails if a vulnerability is found, and also if the database cannot be reached.
set -eu
cd "$(dirname "$0")/.."
db=${YARDMASTER_VULNDB:-https://vuln.go.dev}
if [ -d "$db" ]; then db="file://$(cd "$db" && pwd)"; fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$dir/yardmaster" ./cmd/yardmaster
GOFLAGS=-mod=mod go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 -mode binary -db "$db" "$dir/yardmaster"
