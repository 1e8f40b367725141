#!/usr/bin/env bash
# Builds golangci-lint with the linters that .golangci.yml uses, and without the hundred others and the libraries that only they need: two fifths less work than
# go install, which is what is left if its sources are laid out differently one day. The module's checksum is verified, as go install does.
# Usage: ci-linter.sh VERSION DIR
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1 bin=$2 module=github.com/golangci/golangci-lint/v2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
used=$({ printf '%s\n' errcheck govet ineffassign staticcheck unused && sed -n '/^  enable:/,/^  settings:/s/^    - //p' .golangci.yml; } | paste -sd '|')

small() {
  local from list=pkg/lint/lintersdb/builder_linter.go
  from=$(go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') &&
    cp -r --no-preserve=mode "$from" "$work/src" && cd "$work/src" || return
  # A list of calls linter.NewConfig(NAME.New(...)), each with the package NAME.
  awk -v used="$used" '/^\t".*\/golinters/ && $0 !~ "/(" used ")\"$" { next }
    /^\t\tlinter\.NewConfig\(/ { drop = $0 !~ "NewConfig\\((" used ")\\." }
    /^\t}/ { drop = 0 }
    !drop' "$from/$list" >"$list"
  go build -ldflags "-X main.version=${version#v} -X main.date=unknown" -o "$bin/golangci-lint" ./cmd/golangci-lint
}
(small) || GOBIN="$bin" go install "$module/cmd/golangci-lint@$version"
