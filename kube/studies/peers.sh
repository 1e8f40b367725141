#!/usr/bin/env bash
# Builds the systems that the study of the gain compares with, as plain programs from their modules, and puts their own manifests beside them.
# It prints what it changed: YuniKorn asks for a version that the module proxy lacks, Volcano for a folder that its module lacks. Each takes 5 to 9 minutes the
# first time.
# usage: peers.sh FOLDER
set -euo pipefail
mkdir -p "$1"
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build MODULE@VERSION REPLACEMENT PROGRAM=PACKAGE...; leaves the module's folder in $module
build() {
  local start=$SECONDS it=$1 replacement=$2 to=$PWD p
  shift 2
  module=$(cd "$work" && go mod download -json "$it" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  install -m 644 "$module/go.mod" "$work/changed.mod"
  install -m 644 "$module/go.sum" "$work/changed.sum"
  [ -z "$replacement" ] || go mod edit -replace="$replacement" "$work/changed.mod"
  for p; do
    (cd "$module" && CGO_ENABLED=0 nice -n 10 go build -modfile="$work/changed.mod" -mod=mod -trimpath -ldflags "-s -w" -o "$to/${p%=*}" "${p#*=}")
  done
  echo "$it: ${replacement:-unchanged}, $((SECONDS - start)) s"
}

# copy FILE... into the folder NAME
copy() {
  local name=$1
  shift
  rm -rf "$name"
  mkdir "$name"
  cp -r "$@" "$name"
  chmod -R u+w "$name"
}

build sigs.k8s.io/kueue@v0.19.0 "" kueue=./cmd/kueue
copy kueue-config "$module"/config/*
build github.com/apache/yunikorn-k8shim@v1.8.0 github.com/apache/yunikorn-scheduler-interface=github.com/apache/yunikorn-scheduler-interface@v1.8.0 yunikorn=./pkg/cmd/shim
build volcano.sh/volcano@v1.14.1 volcano.sh/apis=volcano.sh/apis@v1.14.0 volcano=./cmd/scheduler volcano-controller=./cmd/controller-manager
copy volcano-config "$module"/config/crd/*/bases/* "$module"/installer/helm/chart/volcano/config/volcano-scheduler.conf
