#!/bin/sh
# Study of "yardmaster tune": FB-2010 in three queues, against the settings of an untouched installation. Runs what is missing in
# docs/studies/tune, then writes docs/studies/tune.md from it.
#
#   YARDMASTER_TRACES=~/traces [BLOCK=256MB] scripts/tune-study.sh [--page | --again]
#
# With --page nothing is run; with --again the searches run once more, and their records are added. Smaller blocks are more tasks: another study, docs/studies/tune-256MB. It takes about ten minutes of a processor, with
# blocks of 256 MB half an hour.
set -eu
cd "$(dirname "$0")/.."
block=${BLOCK:-512MB}
study=tune
[ "$block" = 512MB ] || study=tune-$block
data=$PWD/docs/studies/$study
page=$PWD/docs/studies/$study.md
mkdir -p "$data"
commit=$(git rev-parse --short HEAD)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/yardmaster" ./cmd/yardmaster
cp "$PWD/docs/studies/tune/capacity-scheduler.xml" "$work"
cd "$work"

# keep FILE: a record, with its line in the ledger.
keep() {
	printf '{"file":"%s","size":%d,"sha256":"%s","at":"%s","program":"%s","load":[%s]}\n' "$1" "$(wc -c <"$1")" "$(sha256sum "$1" | cut -d' ' -f1)" \
		"$begin" "$(./yardmaster version | head -n 1), commit $commit" "$load,$(cut -d' ' -f1 /proc/loadavg)" >>"$data/ledger.jsonl"
	mv "$1" "$data/"
}
begin() {
	begin=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	load=$(cut -d' ' -f1 /proc/loadavg)
}

goal="p95 elapsed of root.light"
keep="p95 elapsed of root.heavy <= +2 %"
over=capacity,maximum-capacity,user-limit-factor,minimum-user-limit-percent,maximum-am-resource-percent,node-locality-delay

if [ "${1:-}" != --page ]; then
	traces=${YARDMASTER_TRACES:?set it to the folder with swim/FB-2010_samples_24_times_1hr_0.tsv}
	# Queues by shuffle size, as the classes of reports.
	for day in FB-2010_samples_24_times_1hr_0:2010 FB-2009_samples_24_times_1hr_0:2009-1 FB-2009_samples_24_times_1hr_1:2009-2; do
		name=${day#*:}
		awk -F'\t' -v name="$name" '{ q = $5 < 1048576 ? "light" : $5 < 104857600 ? "medium" : "heavy"; print > (name "." q ".tsv") }' "$traces/swim/${day%:*}.tsv"
		for q in light medium heavy; do
			./yardmaster import swim "$name.$q.tsv" --queues $q --block $block --am 1GB,1 -o "$name.$q.parquet" >/dev/null
		done
		printf 'workload: [%s.light.parquet, %s.medium.parquet, %s.heavy.parquet]\ncluster: 400x6/20\nscheduler: capacity-scheduler.xml\n' "$name" "$name" "$name" >"$name.yaml"
	done
	# FB-2009 has a fifteenth of the load. The fourth day is a sample of FB-2010's jobs, drawn with another seed.
	echo 'scale-load: 15' | tee -a 2009-1.yaml >>2009-2.yaml
	{ cat 2010.yaml; printf 'seed: 7\nsample-jobs: 22000\n'; } >2010-sample.yaml
	for seed in 1 2 3; do
		name=seed$seed n=1
		while [ -e "$data/$name.json" ]; do
			[ "${1:-}" = --again ] || continue 2
			n=$((n + 1)) name=seed$seed-$n
		done
		begin
		./yardmaster tune 2010.yaml --seed $seed --goal "$goal" --keep "$keep" --over $over --budget 60runs \
			--hold-out 2009-1.yaml --hold-out 2009-2.yaml --hold-out 2010-sample.yaml --out $name.xml --json >$name.json
		[ ! -e $name.xml ] || keep $name.xml
		keep $name.json
	done
	for shard in 1 2 3 4; do
		[ -e "$data/sweep-$shard.jsonl.gz" ] && continue
		begin
		./yardmaster sweep 2010.yaml --seed 1 --goal "$goal" --keep "$keep" --over $over --random 200 --shard $shard/4 >sweep-$shard.jsonl
		gzip -9n sweep-$shard.jsonl
		keep sweep-$shard.jsonl.gz
	done
fi

for shard in 1 2 3 4; do
	gzip -dc "$data/sweep-$shard.jsonl.gz" >shard$shard.jsonl
done
./yardmaster sweep --merge shard1.jsonl shard2.jsonl shard3.jsonl shard4.jsonl --goal "$goal" --keep "$keep" -o sweep.jsonl >best.txt
if [ ! -e "$data/random-held-out.jsonl" ]; then # the ten best random points on the held-out days; point 0 is the present settings
	begin
	for point in 0 $(sed '1,/^-----/d; s/^ *\([0-9]*\).*/\1/' best.txt); do
		set --
		for change in $(jq -r --argjson p "$point" 'select(.point == $p) | .changes[]' sweep.jsonl); do
			set -- "$@" --set "$change"
		done
		for day in 2009-1 2009-2 2010-sample; do
			./yardmaster simulate $day.yaml "$@" --json | jq -c --argjson p "$point" --arg day $day \
				'{point: $p, day: $day, finished: .jobs.finished, p95: (.by_queue | map({(.name): .elapsed.p95}) | add)}' >>random-held-out.jsonl
		done
	done
	keep random-held-out.jsonl
fi
# change POINT: that of the goal, in percent.
change() {
	jq -rs --argjson p "$1" 'def light: .by_queue[] | select(.name | endswith("light")).elapsed.p95;
		(map(select(.point == 0))[0] | light) as $base | map(select(.point == $p))[0] | light / $base * 100 - 100 | . * 100 | round / 100' sweep.jsonl
}
best=$(change "$(sed -n '/^-----/{n;s/^ *\([0-9]*\).*/\1/p;}' best.txt)")
# The best of those that keep the bounds on the held-out days, too.
held=$(jq -rs '(map(select(.point == 0)) | map({(.day): .}) | add) as $base | map(select(.point != 0)) | group_by(.point)[] |
	select(all(.[]; .finished >= $base[.day].finished and .p95.heavy <= 1.02 * $base[.day].p95.heavy and .p95.medium <= 1.1 * $base[.day].p95.medium)) | .[0].point' \
	"$data/random-held-out.jsonl" | while read -r point; do change "$point"; done | sort -n | head -n 1)
{
	cat <<-END
	# Study: tune against random settings

	FB-2010's day of 24,442 jobs on 400 nodes of 6 containers, in ideal time, in three queues by shuffle size: light (below 1 MiB), medium (to 100 MiB)
	and heavy. Blocks are $block, and every job has an AM. The present settings are those of an [untouched
	installation](tune/capacity-scheduler.xml) with three equal queues. The goal is the $goal; root.heavy may get 2 % worse, root.medium 10 %.
	Held out are FB-2009's two days at 15 times their load, and a sample of 22,000 of FB-2010's jobs with another seed. The budget is 60 full runs.
	\`scripts/tune-study.sh\` runs what is missing and writes this page; [the raw data]($study) is kept, from every version of the search.

	The best of 200 random points that keep the bounds on the day searched: **$best %**. The answer of tune must also keep them on the held-out
	days, which no random point was asked to. Of the ten best random points, the best that does: **${held:-none} %**.

	| seed | version | full runs | answer, on the day searched | at least the best random point | at least the best one that holds | best candidate, before any was rejected | answer, on held-out days | worst excess of a bound there | rejected there before it |
	|---|---|---|---|---|---|---|---|---|---|
	END
	for file in "$data"/seed*.json; do
		name=$(basename "$file")
		jq -r --arg seed "$(echo "$name" | sed 's/^seed\([0-9]*\).*/\1/')" --argjson best "$best" --argjson held "${held:-null}" \
			--arg version "$(grep "\"$name\"" "$data/ledger.jsonl" | jq -r .program | sed 's/.*commit //')" '
			def points: . * 10000 | round / 100;
			def round1: . * 10 | round / 10;
			def verdict($bar): if . * 100 <= ($bar // 0) then "yes" else "MISS" end;
			"| \($seed) | \($version) | \(.full_runs | round1) | " + if .found then
				"\(.searched_change | points) % | \(.searched_change | verdict($best)) | \(.searched_change | verdict($held)) | " +
				(if .best_searched_change then "\(.best_searched_change | points) % | " else "not recorded | " end) +
				"\(.expected[0].percent[0] | round1) % (\(.expected[0].percent[1] | round1) to \(.expected[0].percent[2] | round1)) | " +
				"\([.expected[1:][] | .percent[3] - (.bound | ltrimstr("<= +") | rtrimstr(" %") | tonumber)] | max | if . > 0 then "MISS: +\(round1) %" else "none" end) | "
			else "keeps the present settings | MISS | MISS | | | | " end + "\(.refuted // [] | length) |"' "$file"
	done
	cat <<-END

	## Do the best random points hold on the held-out days?

	Change of the 95th percentile of elapsed times there, on the day that is worst for the queue.

	| point | light | medium | heavy | keeps the bounds |
	|---|---|---|---|---|
	END
	jq -rs '
		def percent: . * 1000 | round / 10 | "\(.) %";
		(map(select(.point == 0)) | map({(.day): .}) | add) as $base |
		map(select(.point != 0)) | group_by(.point)[] |
		(map(.day as $d | .p95 | to_entries | map({(.key): (.value / $base[$d].p95[.key] - 1)}) | add)) as $c |
		([$c[].light] | max) as $light | ([$c[].medium] | max) as $medium | ([$c[].heavy] | max) as $heavy |
		any(.[]; .finished < $base[.day].finished) as $lost |
		"| \(.[0].point) | \($light | percent) | \($medium | percent) | \($heavy | percent) | " +
		"\(if $lost then "no: some jobs do not finish" elif $medium > 0.1 or $heavy > 0.02 then "no" else "yes" end) |"' "$data/random-held-out.jsonl"
	for file in "$data"/seed*.json; do
		printf '\n## %s\n\n```text\n' "$(basename "$file")"
		jq -r '.answer, "", .changes[], "", (.refuted[]? | "rejected: " + .)' "$file"
		printf '```\n'
	done
	printf '\n## The best random points\n\n```text\n'
	cut -c1-1000 best.txt | grep -v '^---'
	printf '```\n'
} >"$page"
