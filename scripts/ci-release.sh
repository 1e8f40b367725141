#!/usr/bin/env bash
# Tries a release of HEAD before there is one: runs the steps of the workflows, with a tag that only a clone has, and each way to install that docs/install.md names, from nothing to the
# demo's picture; builds the release twice; and makes sure that a fault would be noticed. Needs root, ruby, rpm, man, systemd-analyze and containerd.
# usage: ci-release.sh [DIST]     (a release that is there already, to try it alone)
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in ruby rpm man systemd-analyze containerd ctr runc unshare; do
  command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 75; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: only root can mount a scratch copy of this machine"; exit 75; }
tree=$PWD work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=advice.detachedHead GIT_CONFIG_VALUE_0=false
[ -z "$(git status --porcelain)" ] || echo "note: HEAD is tried, without the tree's changes"
head=$(git rev-parse HEAD)
version=$(awk '/^## [0-9]/ { print $2; exit }' CHANGELOG.md) # the release to come, or the last one
tag=v$version arch=$(go env GOARCH)

step() { printf '%5d s  %s\n' "$SECONDS" "$*"; }
die() { echo "release: $*" >&2; exit 1; }

# clone FOLDER: a checkout with the tag.
clone() {
  git clone -q --no-tags --no-checkout "$tree" "$1"
  git -C "$1" checkout -q --detach "$head"
  git -C "$1" tag "kube/$tag"
  git -C "$1" tag "$tag"
}

# refuses WHAT COMMAND...: a planted fault must be noticed.
refuses() {
  local what=$1
  shift
  ! "$@" >"$work/refused" 2>&1 || die "nothing noticed $what"
  step "noticed: $what: $(tail -1 "$work/refused")"
}

# The workflows: each step's command runs, as GitHub's runner would run it. There is no GitHub to publish at, and CI does not run itself: gh and sudo only look at what they are given.
mkdir "$work/stubs"
cat >"$work/stubs/gh" <<'STUB'
#!/bin/bash -e
[ "$1 $2 $3" = "release create $GITHUB_REF_NAME" ] && shift 3
while [ $# -gt 0 ]; do
  case $1 in
  --title) shift 2 ;;
  --notes-file) grep -q . "$2" && shift 2 ;;
  *) [ -s "$1" ] || { echo "gh: there is no $1"; exit 1; }; echo "${1##*/}" >>"$PUBLISHED"; shift ;;
  esac
done
STUB
cat >"$work/stubs/sudo" <<'STUB'
#!/bin/bash -e
[[ $* == "-E env PATH="*" CI=true .ci/run" ]] || { echo "sudo: what is $*?"; exit 1; }
[ -x .ci/run ]
STUB
chmod +x "$work/stubs/"*
run_step() { (cd "$work/one" && PATH="$work/stubs:$PATH" GITHUB_REF_NAME=$tag PUBLISHED=$work/published timeout 3600 bash -e -o pipefail -c "$1"); }

if [ $# -gt 0 ]; then
  dist=$(cd "$1" && pwd)
else
  clone "$work/one"
  mapfile -d '' -t commands < <(ruby -ryaml -e 'ARGV.sort.each { |f| YAML.load_file(f)["jobs"].each_value { |j| (j["steps"] || []).each { |s| print s["run"], "\0" if s["run"] } } }' .github/workflows/*.yml)
  [ ${#commands[@]} = 4 ] || die "the workflows have ${#commands[@]} commands, not four: say here how they are tried"
  for command in "${commands[@]}"; do
    [[ $command != scripts/release.sh* ]] || command+=" --host"
    run_step "$command"
    step "workflow: $command"
  done
  dist=$work/one/dist
  (cd "$dist" && ls) | diff - <(sort "$work/published") || die "the workflow does not publish what was built"
  refuses "a step that publishes a missing file" run_step "${commands[2]/dist\/\*/dist/none}"

  # The same commit, elsewhere: another folder, umask, home, time zone, language, kind of tag, Go settings, workspace.
  mkdir -p "$work/elsewhere/home"
  (cd "$work/elsewhere" && go work init)
  (
    cache=$(go env GOCACHE) modules=$(go env GOMODCACHE)
    umask 077
    clone "$work/elsewhere/two"
    cd "$work/elsewhere/two"
    git -c user.name=two -c user.email=two@localhost tag -f -m again "$tag" >/dev/null
    HOME=$work/elsewhere/home GOCACHE=$cache GOMODCACHE=$modules GOAMD64=v2 TZ=Asia/Kathmandu LC_ALL=C.UTF-8 scripts/release.sh "$work/elsewhere/dist" --host >"$work/elsewhere/log"
  ) || die "the second build failed"
  diff -r "$dist" "$work/elsewhere/dist" || die "another build gives other bytes"
  step "two builds, the same bytes: $(du -sm "$dist" | cut -f1) MB in $(find "$dist" -type f | wc -l) files"

  # The public API: the tree's own, and that something removed from it is noticed.
  scripts/api.sh
  (
    cd "$work/one"
    printf 'package unit\n\n// Gone is of the last release only.\nfunc Gone() {}\n' >unit/gone.go
    git add unit && git -c user.name=one -c user.email=one@localhost commit -qm "a function more" && git tag v0.0.1 && git reset -q --hard "$tag"
  )
  refuses "a function that the API has lost" "$work/one/scripts/api.sh" v0.0.1
  [ "$(grep -c since "$work/refused")" = 1 ] && grep -q Gone "$work/refused" || die "that was another fault: $(cat "$work/refused")"
fi

(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
! grep -l 'pkg:golang/\.' "$dist"/*.cdx.json || die "a bill of materials names a folder, not a module"
cp -r "$dist" "$work/spoilt"
echo >>"$work/spoilt/NOTES.md"
refuses "a changed file" sh -c 'cd "$1" && sha256sum --quiet -c SHA256SUMS' sh "$work/spoilt"

# Every way to install.
picture= table=
# tried HOW START FILE: records how long it took from nothing to the picture, which is the same everywhere.
tried() {
  local took=$(($(date -r "$3" +%s%3N) - $2))
  grep -q '</html>' "$3" || die "$1: no picture"
  picture=${picture:-$3}
  cmp "$picture" "$3" || die "$1: another picture"
  table+=$(printf '%-12s %6d.%d s' "$1" $((took / 1000)) $((took % 1000 / 100)))$'\n'
  step "$1: $((took / 1000)) s"
}
now() { date +%s%3N; }

# block HEADING: the first block of commands under a heading of the page.
block() { awk -v h="## $1" '$0 == h { here = 1; next } here && /^```/ { if (on) exit; on = 1; next } on' docs/install.md | sed "s/amd64/$arch/g"; }

# room SCRIPT: runs it as root of a throw-away copy of this machine. There curl brings the files of the release, and systemctl writes down what it is asked.
room() {
  unshare -m bash -ec '
    mkdir -p "$1/room" && mount -t tmpfs tmpfs "$1/room" && cd "$1/room" && mkdir upper work root
    mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
    mount --rbind /dev root/dev && mount -t proc proc root/proc && mount -t tmpfs tmpfs root/tmp && mount -t tmpfs tmpfs root/run
    mkdir -p root/tmp/dist root/tmp/bin root/tmp/here && mount --bind -o ro "$2" root/tmp/dist
    printf "#!/bin/sh\nfor last; do :; done\ncp /tmp/dist/\${last##*/} .\n" >root/tmp/bin/curl
    rm -f root/usr/bin/systemctl # in its own place: rpm chooses the PATH of its scripts
    printf "#!/bin/sh\necho \"\$@\" >>/tmp/systemctl\n" >root/usr/bin/systemctl
    printf "#!/bin/sh\nexec \"\$@\"\n" >root/tmp/bin/sudo
    # To the rpm of a Debian no package is installed.
    printf "#!/bin/sh\ncase \$1 in -q*) exec /usr/bin/rpm \"\$@\" ;; esac\nexec /usr/bin/rpm --nodeps \$([ ! -e /etc/debian_version ] || echo --force-debian) \"\$@\"\n" >root/tmp/bin/rpm
    chmod +x root/tmp/bin/* root/usr/bin/systemctl
    rm -f root/etc/dpkg/dpkg.cfg.d/* # a small machine leaves out manual pages
    chroot root env -i HOME=/root LANG=C.UTF-8 PATH=/tmp/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /tmp/here; set -eo pipefail; $3"
    cp -p root/tmp/here/demo.html "$1/demo-$4.html"' bash "$work" "$dist" "$1" "$2" >"$work/room.log" 2>&1 || { cat "$work/room.log"; die "$2"; }
}
version_line="yardmaster version | grep -qF 'yardmaster $tag'"

start=$(now)
room "$(block Archive)
$version_line; $(block Next)" archive
tried archive "$start" "$work/demo-archive.html"

# What a package must be, whatever its format: nobody but root may change what it brings; it starts nothing, and stops steerers only when it goes for good.
# package LIST AGAIN REMOVE: the commands that list its files, install it over itself, and remove it.
package() {
  cat <<CHECK
no() { if "\$@"; then echo "unexpected: \$*"; exit 1; fi; }
for file in \$($1); do stat -c '%A %U:%G %n' \$file; done >list
no grep -vE '^[-d]r[w-][x-]r-[x-]r-[x-] root:root ' list
no grep '^-..x.* /usr/[^b]' list
grep -q '^-rwxr-xr-x .* /usr/bin/yardmaster$' list
man -P cat yardmaster | grep -q demo
man -P cat yardmaster-yarn-steer | grep -q journal
. /usr/share/bash-completion/completions/yardmaster
complete -p yardmaster >/dev/null
getent passwd yardmaster | grep -q ':/var/lib/yardmaster:/usr/sbin/nologin$'
getent shadow yardmaster | grep -q '^yardmaster:!'
mkdir -p /run/systemd/system
echo YARDMASTER_STEER=--observe >/etc/yardmaster/batch.env
systemd-analyze verify yardmaster-steer@batch.service
systemd-analyze security --offline=true --threshold=20 yardmaster-steer@batch.service | tail -1
touch /tmp/systemctl
$2
no grep stop /tmp/systemctl
$3
grep -q 'stop yardmaster-steer@\*.service' /tmp/systemctl
no grep -vE '^(daemon-reload|stop yardmaster-steer@\*.service)\$' /tmp/systemctl
no test -e /usr/bin/yardmaster
test -e /etc/yardmaster/batch.env
CHECK
}
for kind in deb rpm; do
  case $kind in
  deb) heading='Debian, Ubuntu' check=$(package 'dpkg -L yardmaster | grep -v "^/\.$"' 'dpkg -i *.deb >/dev/null' 'dpkg -r yardmaster 2>&1') ;;
  rpm) heading='Fedora, RHEL, SUSE' check=$(package 'rpm -ql yardmaster' 'rpm -U --replacepkgs *.rpm' 'rpm -e yardmaster') ;;
  esac
  start=$(now)
  room "$(block "$heading")
$version_line
$(block Next)
$check" $kind
  tried $kind "$start" "$work/demo-$kind.html"
  step "$kind: files, manual pages, completions, account, unit ($(grep -o 'exposure level.*[0-9]' "$work/room.log")), upgrade, removal"
done

start=$(now)
tried formula "$start" "$(ruby scripts/formula.rb "$dist/yardmaster.rb" "$work/brew")"
sed "s/sha256 \"\(..\)/sha256 \"00/" "$dist/yardmaster.rb" >"$work/spoilt/yardmaster.rb"
refuses "a wrong checksum in the formula" ruby scripts/formula.rb "$work/spoilt/yardmaster.rb" "$work/brew-spoilt"

# go install takes the module from a proxy: here a folder that go itself fills from the tag. Other modules come from this machine's cache.
if [ $# = 0 ]; then
  (
    install=$(block 'Go 1.26') caches=$(go env GOCACHE) others=file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)
    export GOFLAGS="-modcacherw -trimpath" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.$work/one.insteadOf" GIT_CONFIG_VALUE_0=https://github.com/yardmaster/yardmaster GIT_ALLOW_PROTOCOL=file
    cd "$work"
    GOMODCACHE=$work/origin GOPRIVATE=github.com/yardmaster GOPROXY=direct go mod download "github.com/yardmaster/yardmaster@$tag"
    unset GIT_CONFIG_COUNT
    start=$(now)
    GOBIN=$work/bin GOCACHE=$caches GOMODCACHE=$work/modules GOPROXY=file://$work/origin/cache/download,$others GONOSUMDB='*' ${install/@latest/@$tag} 2>"$work/downloads" || die "$(cat "$work/downloads")"
    "$work/bin/yardmaster" version | grep -qF "yardmaster $tag"
    "$work/bin/yardmaster" demo -o "$work/demo-go.html" >/dev/null
    echo "$start" >"$work/start"
  )
  tried 'go install' "$(cat "$work/start")" "$work/demo-go.html"
fi

# The images, in containerd: as their own user, with nothing but their folder to write to.
start=$(now)
images=("$dist"/*.oci.tar)
[ ${#images[@]} -ge 3 ] || die "there are ${#images[@]} images"
block Container | grep -q "docker run .* yardmaster:$version " || die "docs/install.md names another image"
unshare -m bash -ec '
  cd "$1" && mkdir containerd run && mount -t tmpfs tmpfs containerd
  printf "version = 2\nroot = \"%s/containerd\"\nstate = \"%s/run\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = \"%s/socket\"\n" "$1" "$1" "$1" >containerd.toml
  containerd --config containerd.toml >containerd.log 2>&1 &
  trap "kill $!; wait" EXIT
  export CONTAINERD_ADDRESS=$1/socket
  until ctr version >/dev/null 2>&1; do kill -0 $! && sleep 0.2; done
  install -d -o 65532 -g 65532 -m 700 state
  ctr images import "$2"/yardmaster_*_"$3".oci.tar >/dev/null
  image() { ctr images list -q | grep "/$1:"; }
  ctr run --rm --read-only --mount "type=bind,src=$1/state,dst=/var/lib/yardmaster,options=rbind:rw" "$(image yardmaster)" demo /yardmaster demo >/dev/null
  for p in yardmaster-controller yardmaster-scheduler; do
    ctr images import "$2/$p"_*_"$3".oci.tar >/dev/null
    ctr run --rm --read-only "$(image $p)" $p /$p --help >/dev/null 2>help
  done
' bash "$work" "$dist" "$arch" || die "containerd: $(tail -3 "$work/containerd.log")"
[ "$(stat -c %u "$work/state/demo.html")" = 65532 ] || die "the image runs as another user"
tried image "$start" "$work/state/demo.html"

printf '\nfrom nothing to the picture\n%s' "$table"
