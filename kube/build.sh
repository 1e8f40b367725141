#!/usr/bin/env bash
# Builds what the integration tests run: etcd and Kubernetes' own programs, from the versions in go.mod.
# usage: build.sh FOLDER [PROGRAM...]
set -euo pipefail
mkdir -p "$1"
to=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.} minor=${minor%%.*}
flags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor -X $package.gitTreeState=clean"
done
for program; do
  case $program in
    etcd) package=go.etcd.io/etcd/server/v3 ;;
    *) package=k8s.io/kubernetes/cmd/$program ;;
  esac
  start=$SECONDS
  CGO_ENABLED=0 go build -trimpath -ldflags "$flags" -o "$to/$program" "$package"
  echo "$program $version: $((SECONDS - start)) s"
done
