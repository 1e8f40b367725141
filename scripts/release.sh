#!/usr/bin/env bash
# Builds a release from the commit that is checked out: the same commit gives the same bytes. The version is the commit's tag (vX.Y.Z), or Go's pseudo-version.
# Archives, deb and rpm packages, container images, the Helm chart, the Homebrew formula, bills of materials, provenance, checksums and the release's notes.
# usage: release.sh FOLDER [--host]     (--host: for this platform alone, to try it)
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 only=${2:-}
[ -z "$(git status --porcelain)" ] || { echo "release: the tree has changes; a release is built from a commit" >&2; exit 1; }
[ ! -e "$out" ] || { echo "release: $out exists; name a new folder" >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A release depends on the commit alone: neither on who builds it, nor where, nor when. Of the machine's settings for Go only those count that say where modules and caches are.
for setting in GOPROXY GOSUMDB GONOSUMDB GOPRIVATE GOMODCACHE GOCACHE; do export "$setting=$(go env $setting)"; done
unset GOOS GOARCH GOAMD64 GOARM64 GOEXPERIMENT GOFIPS140 GODEBUG
export GOENV=off GOWORK=off GOTOOLCHAIN=go1.26.8 # the toolchain is part of the bytes: every machine uses this one
export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=true" LC_ALL=C TZ=UTC
umask 022
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0 # the newest whose modules can all be had from the module proxy
platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64)
[ "$only" != --host ] || platforms=("$(go env GOOS)/$(go env GOARCH)")

step() { printf '%5d s  %s\n' "$SECONDS" "$*"; }

# archive FILE FOLDER NAME...: packs what lies in FOLDER.
archive() {
  local file=$1 folder=$2
  shift 2
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -C "$folder" -cf - "$@" | gzip -9n >"$file"
}

mkdir "$work/tools" "$work/common" "$work/kube"
go build -o "$work/tools/yardmaster" ./cmd/yardmaster
go build -o "$work/tools/" ./scripts/sbom
(cd kube && go build -o "$work/tools/" ./image)
tag=$("$work/tools/yardmaster" version --json | sed -n 's/^ *"version": "\(.*\)",*$/\1/p')
version=${tag#v}
case $version in
  [0-9]*.[0-9]*.[0-9]*) ;;
  *) echo "release: Go names this build $tag; check out a tag vX.Y.Z, in a clone that has its history" >&2; exit 1 ;;
esac
if [ -n "$(git tag --points-at HEAD "$tag")" ] && [ -z "$(git tag --points-at HEAD "kube/$tag")" ]; then
  echo "release: tag the commit kube/$tag, too: it is the version of the module kube" >&2
  exit 1
fi
step "Yardmaster $version, commit $(git rev-parse --short=12 HEAD)"

common=$work/common
mkdir "$common/completions"
"$work/tools/yardmaster" man "$common/man" >/dev/null
gzip -9n "$common/man"/*
for shell in bash zsh fish; do "$work/tools/yardmaster" completion $shell >"$common/completions/yardmaster.$shell"; done
cp LICENSE NOTICE THIRD_PARTY_LICENSES README.md CHANGELOG.md "$common"
cp deploy/package/sysusers.conf "$work"
sed "s,/usr/local/bin/,/usr/bin/,g" deploy/systemd/yardmaster-steer@.service >"$common/yardmaster-steer@.service"
cp LICENSE NOTICE kube/THIRD_PARTY_LICENSES "$work/kube"
chmod -R u=rwX,go=rX "$common" "$work/kube" "$work/sysusers.conf" # a checkout has the modes of the umask under which it was made

# program PLATFORM NAME FOLDER: a program of the command's module, or of the one for Kubernetes, which is in the folder kube.
program() {
  local module=.
  [ "$2" = yardmaster ] || module=kube
  (cd "$module" && GOOS=${1%/*} GOARCH=${1#*/} go build -ldflags '-s -w' -o "$3/$2" "./cmd/$2")
}

for platform in "${platforms[@]}"; do
  os=${platform%/*} arch=${platform#*/}
  name=yardmaster_${version}_${os}_$arch
  mkdir "$work/$name"
  cp -R "$common/." "$work/$name"
  program "$platform" yardmaster "$work/$name"
  archive "$out/$name.tar.gz" "$work" "$name"
  "$work/tools/sbom" "$work/$name/yardmaster" >"$out/$name.cdx.json"

  plugin=kubectl-yardmaster_${version}_${os}_$arch
  mkdir "$work/$plugin"
  cp "$work/kube/"* "$work/$plugin"
  program "$platform" kubectl-yardmaster "$work/$plugin"
  archive "$out/$plugin.tar.gz" "$work" "$plugin"
  "$work/tools/sbom" "$work/$plugin/kubectl-yardmaster" >"$out/$plugin.cdx.json"
  step "$name.tar.gz, $plugin.tar.gz"

  [ "$os" = linux ] || continue
  for kind in deb rpm; do
    sed -e "s|@arch@|$arch|" -e "s|@version@|$version|" -e "s|@files@|$work/$name|" -e "s|@work@|$work|" deploy/package/nfpm.yaml >"$work/nfpm.yaml"
    package=yardmaster_${version}_$arch.$kind
    go run "$NFPM" package --config "$work/nfpm.yaml" --packager "$kind" --target "$out/$package" >/dev/null
    step "$package"
  done
  for p in yardmaster yardmaster-controller yardmaster-scheduler; do
    licences=("$work/kube/"*) state=
    if [ "$p" = yardmaster ]; then
      cp "$work/$name/yardmaster" "$work/$p"
      state=/var/lib/yardmaster
      licences=("$common/LICENSE" "$common/NOTICE" "$common/THIRD_PARTY_LICENSES")
    else
      program "$platform" "$p" "$work"
    fi
    "$work/tools/image" -o "$out/${p}_${version}_$arch.oci.tar" -name "$p:$version" -state "$state" "$work/$p" "${licences[@]}"
    "$work/tools/sbom" "$work/$p" >"$out/${p}_${version}_$arch.oci.cdx.json"
    step "${p}_${version}_$arch.oci.tar"
  done
done

# The chart, with the images of this version.
mkdir "$work/chart"
cp -RL kube/deploy/chart "$work/chart/yardmaster"
sed -i -e "s/^version: .*/version: $version/" -e "\$a appVersion: \"$version\"" "$work/chart/yardmaster/Chart.yaml"
sed -i "s/:latest/:$version/g" "$work/chart/yardmaster/values.yaml" "$work/chart/yardmaster/templates/deployment.yaml"
archive "$out/yardmaster-chart-$version.tgz" "$work/chart" yardmaster/Chart.yaml yardmaster/values.yaml yardmaster/templates yardmaster/common yardmaster/controller yardmaster/scheduler

sum() { [ ! -e "$out/$1" ] || sha256sum "$out/$1" | cut -d' ' -f1; }
sed -e "s/@version@/$version/g" deploy/package/yardmaster.rb >"$work/yardmaster.rb"
for platform in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64; do
  sed -i "s/@$platform@/$(sum "yardmaster_${version}_$platform.tar.gz")/" "$work/yardmaster.rb"
done
cp "$work/yardmaster.rb" "$out"

# The section of the changelog that is this version's; that of a commit without a tag is the first.
section=$version
[[ ! $version =~ [0-9]{14}-[0-9a-f]{12}$ ]] || section=$(awk '/^## / { print $2; exit }' CHANGELOG.md)
awk -v section="$section" '/^## / { on = $2 == section; next } on && (NF || text) { text = 1; print }' CHANGELOG.md |
  sed "s,](docs/,](https://github.com/yardmaster/yardmaster/blob/$(git rev-parse HEAD)/docs/,g" >"$out/NOTES.md"
[ -s "$out/NOTES.md" ] || { echo "release: CHANGELOG.md has no section \"## $version\"" >&2; exit 1; }
chmod 644 "$out"/*

cd "$out"
sha256sum -- * >"$work/sums"
# Provenance: what was built from what (in-toto statement with a SLSA predicate). Whoever signs the release signs this file.
{
  printf '{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1","subject":['
  awk '{ printf "%s{\"name\":\"%s\",\"digest\":{\"sha256\":\"%s\"}}", (NR > 1 ? "," : ""), $2, $1 }' "$work/sums"
  printf '],"predicate":{"buildDefinition":{"buildType":"https://github.com/yardmaster/yardmaster/blob/main/scripts/release.sh","externalParameters":{"version":"%s","platforms":"%s"},' "$tag" "${platforms[*]}"
  printf '"resolvedDependencies":[{"uri":"git+https://github.com/yardmaster/yardmaster@%s","digest":{"gitCommit":"%s"}}],' "$tag" "$(git -C "$OLDPWD" rev-parse HEAD)"
  printf '"internalParameters":{"go":"%s","nfpm":"%s"}},"runDetails":{"builder":{"id":"https://github.com/yardmaster/yardmaster/blob/main/.github/workflows/release.yml"}}}}\n' "$(go env GOVERSION)" "${NFPM#*@}"
} >provenance.json
sha256sum -- * >SHA256SUMS
step "$(wc -l <SHA256SUMS) files, SHA256SUMS"
