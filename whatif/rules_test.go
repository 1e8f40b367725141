package whatif

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// A seed counts if it completed under every scheduler. A single run is shown as far as it got.
func TestOnlyWholeSeedsCount(t *testing.T) {
	part := func(r *result.Run) *result.Run { r.Partial = true; return r }
	none := func(*result.Run) *result.Run { return nil }
	for _, x := range []struct {
		name       string
		schedulers int
		change     map[[2]int]func(*result.Run) *result.Run // by scheduler and seed
		seeds      []uint64
		partial    bool
	}{
		{"all", 2, nil, []uint64{1, 2, 3}, false},
		{"one stopped", 2, map[[2]int]func(*result.Run) *result.Run{{1, 1}: part}, []uint64{1, 3}, true},
		{"one not run", 2, map[[2]int]func(*result.Run) *result.Run{{0, 2}: none}, []uint64{1, 2}, true},
		{"one of each", 2, map[[2]int]func(*result.Run) *result.Run{{0, 0}: part, {1, 2}: none}, []uint64{2}, true},
		{"none is whole", 2, map[[2]int]func(*result.Run) *result.Run{{0, 0}: part, {1, 1}: part, {1, 2}: none}, []uint64{}, true},
		{"alone, stopped", 1, map[[2]int]func(*result.Run) *result.Run{{0, 0}: part, {0, 2}: none}, []uint64{1, 2}, true},
		{"alone", 1, nil, []uint64{1, 2, 3}, false},
	} {
		c := &pool{runs: comparisonOf(3, make([]seen, x.schedulers)...).Runs, plan: Plan{Seeds: []uint64{1, 2, 3}}}
		for s := range c.runs {
			c.names = append(c.names, fmt.Sprint("s", s))
			c.plan.Variants = append(c.plan.Variants, run.Spec{Workload: &run.Workload{}})
		}
		for at, change := range x.change {
			c.runs[at[0]][at[1]] = change(c.runs[at[0]][at[1]])
		}
		out := c.compare()
		if !slices.Equal(out.Seeds, x.seeds) || out.Partial != x.partial || len(out.Runs) != x.schedulers ||
			len(out.Runs[0]) != len(x.seeds) || (len(out.Rows) > 0) != (len(x.seeds) > 0) {
			t.Errorf("%s: seeds %v, partial %v, %d rows", x.name, out.Seeds, out.Partial, len(out.Rows))
		}
	}
}

// A difference has an interval if there are several seeds and any figure differs between them: otherwise nothing was random.
func TestIntervalsNeedDifferentSeeds(t *testing.T) {
	const alike = "all 3 replays gave the same figures: differences have no interval"
	const over3 = "intervals are 95 % over 3 replays that move each submission by up to 2 min: they cover chance, not another week (--arrivals resampled does)"
	for _, x := range []struct {
		name  string
		seeds int
		of    []seen
		want  verdict.Judgement // of the second scheduler's p95 wait
		note  string
	}{
		{"one seed", 1, []seen{{wait: []float64{100}}, {wait: []float64{50}}}, verdict.Unjudged,
			"one replay: nothing tells a difference from chance; leave out --seeds, or ask for 5 or more"},
		{"all the same", 3, []seen{{wait: []float64{100}}, {wait: []float64{50}}}, verdict.Unjudged, alike},
		{"the last seed of one differs", 3, []seen{{wait: []float64{100, 100, 101}}, {wait: []float64{50}}}, verdict.Better,
			over3},
		{"another figure differs", 3, []seen{{wait: []float64{100}, makespan: []float64{7200, 7201, 7200}}, {wait: []float64{50}}},
			verdict.Better, over3},
		{"both the same", 2, []seen{{wait: []float64{100}}, {wait: []float64{50}}}, verdict.Unjudged,
			"all 2 replays gave the same figures: differences have no interval"},
		{"nothing finished", 3, []seen{{wait: []float64{100}}, {none: true}}, verdict.Missing, alike},
	} {
		out := comparisonOf(x.seeds, x.of...)
		out.within = 2 * unit.Minute
		out.judgeAgain()
		cell := row(t, out, "p95 wait").Cells[1]
		if cell.Judgement != x.want || math.IsNaN(cell.DiffLow) != (x.want != verdict.Better) || !slices.Contains(out.Notes, x.note) {
			t.Errorf("%s: %v, from %v; %q", x.name, cell.Judgement, cell.DiffLow, out.Notes)
		}
	}
	if out := comparisonOf(3, seen{none: true}, seen{}); slices.Contains(out.Notes, alike) {
		t.Errorf("nothing finished under the first: %q", out.Notes)
	}
}

// What the further metrics are of a run, and which way is better.
func TestFurtherMetrics(t *testing.T) {
	type want struct {
		name  string
		unit  verdict.Unit
		more  bool
		value float64
	}
	deadlines := []want{{"deadlines met", verdict.Share, true, 0.75}, {"mean tardiness", verdict.Seconds, false, 5}, {"max tardiness", verdict.Seconds,
		false, 40}}
	network := []want{{"jobs per hour", verdict.Ratio, true, 100}, {"GiB between racks", verdict.Ratio, false, 3}, {"congestion events", verdict.Ratio,
		false, 7}}
	circuits := []want{{"share over circuits", verdict.Share, true, 0.25}}
	sizes := []want{{"V(95) of slowdown", verdict.Ratio, false, 6}, {"SCV of slowdown", verdict.Ratio, false, 1.5},
		{"mean slowdown, size 1 to 10 s", verdict.Ratio, false, 2}}
	due := func(r *result.Run) {
		r.Deadlines = &result.Deadlines{MetShare: 0.75, MeanTardiness: 5, MaxLateness: 40}
	}
	sent := func(r *result.Run) {
		r.Traffic = &result.Traffic{CrossRackBytes: 3 << 30, OpticalBytes: 0.75 * (1 << 30), Congested: 7}
	}
	switched := func(r *result.Run) { sent(r); r.Traffic.Reconfigured = 1 }
	spread := func(r *result.Run) {
		r.Spread = &result.Spread{V95: 6, SCV: 1.5, BySize: []result.SizeGroup{{From: 1, To: 10, Slowdown: result.Stats{Mean: 2}}}}
	}
	larger := func(r *result.Run) {
		spread(r)
		r.Spread.BySize = append(r.Spread.BySize, result.SizeGroup{From: 10, To: 100, Slowdown: result.Stats{Mean: 4}})
	}
	nothing := func(*result.Run) {}
	for _, x := range []struct {
		name          string
		first, second func(*result.Run)
		bySize        bool
		want          []want
	}{
		{"nothing", nothing, nothing, true, nil},
		{"deadlines", due, due, true, deadlines},
		{"deadlines of one", due, nothing, true, nil},
		{"a network", sent, sent, true, network},
		{"a network in one", nothing, sent, true, nil},
		{"circuits", sent, switched, true, slices.Concat(network, circuits)},
		{"sizes", spread, spread, true, sizes},
		{"sizes, not asked for", spread, spread, false, nil},
		{"sizes of one", spread, nothing, true, nil},
		{"a class of one", larger, spread, true, sizes},
		{"another class of one", spread, larger, true, sizes},
	} {
		out := comparisonOf(1, seen{}, seen{})
		out.bySize = x.bySize
		for i, change := range []func(*result.Run){x.first, x.second} {
			r := out.Runs[i][0]
			change(r) // 200 jobs in two hours
		}
		var got []want
		for _, m := range out.moreMetrics() {
			got = append(got, want{m.name, m.unit, m.more, m.of(out.Runs[0][0])})
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

// What a history remembers of its jobs: the load that they make, spread over the hours that they take, and the times of those
// that were observed.
func TestHistoryOfJobs(t *testing.T) {
	hour := unit.Hour
	job := func(submit unit.Time) *workload.Job { // 2 of 10 containers for half an hour
		return &workload.Job{User: "u", Queue: "q", Submit: submit, Stages: []workload.Stage{{Tasks: 2, Ask: cluster.Unit,
			Length: workload.Fixed(hour / 2)}}}
	}
	seen := func(launch, finish unit.Time) *workload.Observed {
		return &workload.Observed{Launch: launch, Finish: finish}
	}
	for _, x := range []struct {
		name     string
		submit   unit.Time
		observed *workload.Observed
		hour     int // that it begins to work in
		hours    int
		sampled  int
	}{
		{"not observed", 5 * hour, nil, 5, 1, 0},
		{"observed", 5 * hour, seen(6*hour, 8*hour+hour/2), 6, 3, 1},
		{"launched at once", 5 * hour, seen(5*hour, 5*hour+1), 5, 1, 1},
		{"launched before it was submitted", 5 * hour, seen(5*hour-1, 8*hour), 5, 1, 0},
		{"finished when it was launched", 5 * hour, seen(6*hour, 6*hour), 5, 1, 0},
		{"finished too late", 5 * hour, seen(6*hour, workload.MaxSubmit), 5, 1, 0},
	} {
		h := history{total: cluster.Unit.Times(10), stride: 1}
		j := job(x.submit)
		j.Observed = x.observed
		h.add(j)
		want := 2 * 0.1 * 0.5 / float64(x.hours)
		if len(h.steps) != x.hour+x.hours+1 || math.Abs(h.steps[x.hour]-want) > 1e-9 ||
			math.Abs(h.steps[x.hour+x.hours]+want) > 1e-9 || len(h.sampled) != x.sampled {
			t.Errorf("%s: %v, %+v", x.name, h.steps, h.sampled)
		}
	}
	list := workload.Lengths{Kind: workload.List}
	for i := range unit.Time(32) {
		list.Values = append(list.Values, i)
	}
	for tasks, want := range map[int64]float64{5: 2, 16: 7.5, 32: 15} { // all of them; of 32 every second one
		if got := meanLength(&workload.Stage{Tasks: tasks, Length: list}); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d tasks: %v, want %v", tasks, got, want)
		}
	}
	for _, x := range []struct {
		t    verdict.Subject
		want bool
	}{
		{verdict.Subject{Kind: "user", Name: "u"}, true}, {verdict.Subject{Kind: "user", Name: "q"}, false}, {verdict.Subject{Kind: "class", Name: "c"}, true}, {verdict.Subject{Kind: "class", Name: "u"}, false},
		{verdict.Subject{Kind: "queue", Name: "root.a.q"}, true}, {verdict.Subject{Kind: "queue", Name: "root.a"}, false}, {verdict.Subject{Kind: "queue", Name: "q"}, true}, {verdict.Subject{Kind: "queue", Name: "root"}, true}, {verdict.Subject{Kind: "queue", Name: "root.aq"}, false},
	} {
		if got := concerns(x.t, &workload.Job{User: "u", Class: "c", Queue: "q"}); got != x.want {
			t.Errorf("%+v: %v", x.t, got)
		}
	}
	if !concerns(verdict.Subject{Kind: "queue", Name: "root.default"}, &workload.Job{}) {
		t.Error("a job without a queue is in default")
	}
}

// A change whose interval excludes none, but not by enough for one of many differences, is no "no difference" beside that interval.
func TestNotClearAmongMany(t *testing.T) {
	row := verdict.Row{Metric: "p95 elapsed", Unit: verdict.Seconds, Cells: []verdict.Cell{
		{Values: make([]float64, 5), Mean: 95, Judgement: verdict.First},
		{Values: make([]float64, 5), Mean: 72, Diff: -23, DiffLow: -35, DiffHigh: -8, Change: -24, ChangeLow: -37, ChangeHigh: -8, Judgement: verdict.Better},
	}}
	g := verdict.Group{Subject: verdict.Subject{Kind: "queue", Name: "light"}, Jobs: []int64{100, 100}, Rows: []verdict.Row{row}}
	a := &Answer{Scheduler: 1}
	if got, want := a.about(&g, 12), "queue light may get better, which is not clear among 12 differences: p95 elapsed 95 s -> 72 s (-24 %, -37 to -8)."; got != want || len(a.Claims) > 0 {
		t.Errorf("%s %v", got, a.Claims)
	}
	if got := a.about(&g, 1); len(a.Claims) != 1 {
		t.Error(got)
	}
}

func TestSizeNames(t *testing.T) {
	for want, g := range map[string]result.SizeGroup{"0.5 to 3.16 s": {From: 0.5, To: 3.16}, "31.6 to 100 s": {From: 31.6,
		To: 100}, "101 to 1,234 s": {From: 100.5, To: 1234.4}} {
		if got := SizeName(&g); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
