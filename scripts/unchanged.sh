#!/usr/bin/env bash
# Replays the same scenarios with a yardmaster built from a base commit and with one built from the working tree, and compares results: each
# figure of the JSON (sentences are left out), per-job and timeline Parquet files, steering logs and the conformance table byte by byte.
# unchanged.sh [BASE]: a commit; default: the merge base with origin/main (or main). All inputs are those of BASE.
# Prints one line per scenario: same, differs (with the first differing lines), or expected, with its reason from scripts/unchanged.expected
# (one "SCENARIO REASON" per line; SCENARIO may be a shell pattern). Exits 1 if any other scenario differs; differing outputs stay in .cache/unchanged.
#   EXTRA="--option value"  options for simulate and compare in the new tree, in ideal time only (say, to choose BASE's application model)
#   ONLY='synth/*'          only these scenarios     FULL=1  FB-2010's whole day, not its first 3,000 jobs
# FB-2010 and Mumak's trace are read from YARDMASTER_TRACES.
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${EXTRA:-}
base=$(git rev-parse --verify "${1:-$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main)}^{commit}")
command -v jq >/dev/null || { echo "skipped: needs jq"; exit 75; }
dir=$PWD/.cache/unchanged tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
declare -A root=([base]=$tree [new]=$PWD)
rm -rf "$dir" && mkdir -p "$dir"
git archive "$base" | tar x -C "$tree"
for side in base new; do
  mkdir -p "$dir/bin/$side" # without a version stamp, which results would show
  (cd "${root[$side]}" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$dir/bin/$side/" ./cmd/yardmaster ./"$([ -d "${root[$side]}/studies" ] && echo studies || echo lab)")
  [ ! -e "$dir/bin/$side/lab" ] || mv "$dir/bin/$side/lab" "$dir/bin/$side/studies" # its name until November 2026
done
echo "base $(git log -1 --format='%h %s' "$base")"

yardmaster() {
  case "$side $*" in
    *"--clock hadoop"* | *"--clock sls"* | *yarn.yaml* | base*) ;;
    *" simulate "* | *" compare "*) set -- "$@" $extra ;;
  esac
  "$dir/bin/$side/yardmaster" "$@"
}

# The figures of a result, without its sentences and its command line.
figures='def text: type == "string" and test(" "); walk(if type == "array" then map(select(text | not)) elif type == "object" then
  with_entries(select(.key | IN("version", "command", "model", "data", "verdicts") | not) | select(.value | text | not)) else . end)'
# Those of a new result that the old one has too: added keys, and rows added at the end of a comparison, are no difference.
known='def onto($old): if type == "object" and ($old | type) == "object" then with_entries(.key as $k | select($old | has($k)) | .value |= onto($old[$k]))
  elif type == "array" and ($old | type) == "array" then
    (if .[0] | type == "object" and has("more_is_better") then .[:$old | length] else . end)
    | to_entries | map(.key as $i | .value | onto($old[$i])) else . end; onto($old[0])'
failed=0

# play NAME COMMAND...: runs it on both sides, each in its own folder, and compares the files there.
play() {
  local name=$1 side file a b reason verdict=same
  [[ $name == ${ONLY:-*} ]] || return 0
  for side in base new; do
    mkdir -p "$dir/$side/$name"
    (cd "$dir/$side/$name" && code=0 && { "${@:2}" >stdout.txt 2>stderr.txt || code=$?; } && echo "$code" >exit.log) &
  done
  wait
  : >"$dir/difference"
  while read -r file; do
    a=$dir/base/$name/$file b=$dir/new/$name/$file
    cmp -s "$a" "$b" && continue
    case $file in
      *.json) diff <(jq "$figures" "$a" 2>&1) <(jq "$figures" "$b" | jq --slurpfile old <(jq "$figures" "$a") "$known" 2>&1) ;;
      *.parquet) echo "(binary)" && false ;;
      *) diff "$a" "$b" ;;
    esac >"$dir/part" 2>&1 || { echo "$file:" && head -6 "$dir/part"; } >>"$dir/difference"
  done < <(cd "$dir" && find base/"$name" new/"$name" -type f \( -name '*.json' -o -name '*.parquet' -o -name '*.log' \) ! -name timing.json |
    sed "s|^[a-z]*/$name/||" | sort -u)
  if [ -s "$dir/difference" ]; then
    verdict=differs reason=$(sed '/^#/d' "${root[new]}/scripts/unchanged.expected" | while read -r pattern reason; do
      [[ $name != $pattern ]] || echo "$reason"
    done | head -1)
    [ -z "$reason" ] && failed=1 || verdict=expected
  fi
  printf '%-9s %-28s%s\n' $verdict "$name" "${reason:+ $reason}$(grep -vxs 0 "$dir/base/$name/exit.log" | sed 's/.*/ (exit code &)/')"
  case $verdict in
    same) rm -r "$dir"/{base,new}/"$name" ;;
    differs) sed 's/^/    /' "$dir/difference" | head -20 && echo "    in $dir/{base,new}/$name" ;;
  esac
}
simulate() { play "$1" yardmaster simulate "${@:2}" --out .; }

# The command's golden scripts: the commands they run, with their files.
script() {
  awk '/^-- .* --$/ { f = $2; d = f; if (sub("/[^/]*$", "", d)) system("mkdir -p " d); next } f { print >f }' "$1"
  local line n=0
  while read -r line; do
    case $line in *"compare "* | *"simulate "*) line="${line/ --json/} --json" ;; esac
    eval "yardmaster $line" </dev/null >$((++n)).out || echo "$line: $?" >>codes.log
    [ "$(head -c1 $n.out)" != '{' ] || mv $n.out $n.json
  done < <(sed '/^-- .* --$/,$d' "$1" | sed -nE '/--help| list| --workload - /!s/^exec yardmaster ((import|simulate|compare) .*)/\1/p')
}
for file in "$tree"/{cli,cmd/yardmaster}/testdata/script/*.txtar; do
  [ -f "$file" ] || continue
  ! grep -qE '^exec yardmaster (simulate|compare)' "$file" || play "golden/$(basename "$file" .txtar)" script "$file"
done
# The golden texts of policies and of steering, which tests replay, must not change.
texts() { (cd "${root[$side]}" && sha256sum $(cd "$tree" && find policy sim -path '*/testdata/*' -type f | sort)) >texts.log 2>&1; }
play golden/texts texts

printf '<allocations><queue name="etl"><weight>5</weight></queue><queue name="adhoc"><weight>3</weight></queue><queue name="ml"/></allocations>\n' >"$dir/fair.xml"
capacity="$tree/docs/examples/capacity-scheduler.xml"
demo="--workload synth:demo --cluster 40x8/4"
schedulers=$("$dir/bin/base/yardmaster" schedulers | grep -oE '^[a-z0-9]+')
for s in $schedulers; do
  simulate synth/$s $demo --scheduler $s
  simulate slots/$s --workload synth:demo --cluster 40x5+3/4 --scheduler $s
  simulate heartbeat/$s $demo --scheduler $s --heartbeat 3s --per-beat 1 --end-on-beat --replicas 3
done
# 300 MapReduce jobs of up to 70 maps and 17 reduces, with an AM: SWIM's columns.
RANDOM=13 at=0
for i in {1..300}; do
  printf 'job%d\t%d\t0\t%d\t%d\t%d\n' "$i" $((at += RANDOM % 30)) $((RANDOM * RANDOM * 9)) $((RANDOM % 3 * RANDOM * 250000)) $((RANDOM * 9))
done >"$dir/swim.tsv"
for file in "$capacity" "$dir/fair.xml"; do
  s=$(basename "$file" .xml) more=(--scheduler "$file" --queues etl,adhoc,ml)
  for clock in ideal hadoop sls; do
    simulate $clock/$s $demo "${more[@]}" --clock $clock
    for start in 0.05 1; do
      simulate $clock/$s-am-$start --workload "$dir/swim.tsv" --cluster 6x8/2 "${more[@]}" --clock $clock --master 1GB,1 --slow-start $start
    done
  done
done
for s in fifo fair delay; do
  simulate replicas/$s $demo --scheduler $s --replicas 3
  simulate failures/$s $demo --scheduler $s --fail-task 2% --lose-node node3@1h+10m --lose-node node9@2h --start-up 2s --replicas 3
  simulate stragglers/$s $demo --scheduler $s --stragglers 2%x10 --speculate late
  simulate network/$s $demo --scheduler $s --network racks:node=1Gbit,uplink=4Gbit --replicas 3
done
simulate speculate/hadoop $demo --scheduler fifo --stragglers 2%x10 --speculate hadoop
compare() { yardmaster compare "$@" --json >compare.json; }
play compare/demo compare $demo --scheduler fifo --scheduler fair --scheduler capacity --seeds 3

fb=${YARDMASTER_TRACES:-}/swim/FB-2010_samples_24_times_1hr_0.tsv mumak=${YARDMASTER_TRACES:-}/mumak/19-jobs
if [ -f "$fb" ]; then
  head -n "$([ -n "${FULL:-}" ] && echo -0 || echo 3000)" "$fb" >"$dir/fb.tsv"
  for s in $schedulers; do simulate fb-2010/$s --workload "$dir/fb.tsv" --cluster 600x6/30 --scheduler $s --replicas 3; done
  simulate fb-2010/hadoop --workload "$dir/fb.tsv" --cluster 600x6/30 --scheduler "$capacity" --queues etl,adhoc,ml --clock hadoop
  simulate mumak --workload "$mumak.trace.json.gz" --cluster "$mumak.topology.json.gz:2+2" --scheduler fifo --heartbeat 16s --end-on-beat --per-beat 1
else
  echo "skipped   fb-2010, mumak: no $fb (set YARDMASTER_TRACES)"
fi

conformance() { "$dir/bin/$side/studies" conform --offline --scenario all --record "$tree/docs/studies/conformance" --doc t >/dev/null && sed '/^## Speed/,$d' t >table.log; }
play conformance conformance
reproduce() {
  local program=studies
  [ -d "${root[$side]}/studies" ] || program=yardmaster # until November 2026
  "$dir/bin/$side/$program" reproduce "$@"
}
for study in capacity marp; do play reproduce/$study reproduce $study --seeds 3 --json figures.json; done
[ $failed = 0 ] || { echo "results differ from $(git rev-parse --short "$base"); list intended differences in scripts/unchanged.expected"; exit 1; }
