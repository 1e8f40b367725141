package whatif

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func schedulers(t testing.TB, names ...string) []run.Scheduler {
	var out []run.Scheduler
	for _, n := range names {
		spec, err := policy.ParseSpec(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, run.Scheduler{Name: n, New: func() (policy.Policy, error) { return all.Policies.New(spec) }})
	}
	return out
}

// jobs makes one long job and many short ones behind it.
func jobsOf(length workload.Lengths) workload.Slice {
	var s workload.Slice
	add := func(user string, submit unit.Time, tasks int64) {
		s = append(s, &workload.Job{
			ID: fmt.Sprintf("j%d", len(s)), User: user, Queue: user, Submit: submit,
			Stages: []workload.Stage{{Kind: workload.Map, Tasks: tasks, Ask: cluster.Unit, Length: length}},
		})
	}
	add("long", 0, 400)
	for i := range 30 {
		add("short", unit.Time(i+1)*unit.Second, 2)
	}
	return s
}

func plan(t testing.TB, length workload.Lengths, seeds int, names ...string) Plan {
	s := jobsOf(length)
	work := &run.Workload{Open: func(uint64) (workload.Source, error) { return s.Source(), nil }}
	on := cluster.Uniform(5, 1, cluster.Unit.Times(4))
	var p Plan
	for _, who := range schedulers(t, names...) {
		p.Variants = append(p.Variants, run.Spec{Scheduler: who, Cluster: on, Workload: work})
	}
	for i := range seeds {
		p.Seeds = append(p.Seeds, uint64(i+1))
	}
	return p
}

// each changes every variant of a plan.
func (p *Plan) each(change func(*run.Spec)) {
	for i := range p.Variants {
		change(&p.Variants[i])
	}
}

var random = workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second}

func row(t *testing.T, c *Comparison, metric string) verdict.Row {
	t.Helper()
	for _, r := range c.Rows {
		if r.Metric == metric {
			return r
		}
	}
	t.Fatalf("no metric %q", metric)
	return verdict.Row{}
}

func TestFairHelpsShortJobs(t *testing.T) {
	c, err := Compare(context.Background(), plan(t, random, 5, "fifo", "fair"))
	if err != nil {
		t.Fatal(err)
	}
	w := row(t, c, "median wait")
	if got := w.Cells[1].Judgement; got != verdict.Better {
		t.Errorf("fair's median wait is %v: %+v", got, w.Cells)
	}
	if len(c.Answers) != 1 || !strings.HasPrefix(c.Answers[0].Text, "fair: ") || !strings.Contains(c.Answers[0].Text, " to -") {
		t.Errorf("answers %+v", c.Answers)
	}
	if len(c.Notes) != 1 || !strings.HasPrefix(c.Notes[0], "intervals are 95 % over 5 replays that move each submission by up to ") || c.Partial {
		t.Errorf("notes %q, partial %v", c.Notes, c.Partial)
	}
}

func TestTheSameSchedulerTwiceIsTheSame(t *testing.T) {
	c, err := Compare(context.Background(), plan(t, random, 3, "fifo", "fifo"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Rows {
		if r.Cells[1].Judgement != verdict.Same {
			t.Errorf("%s: %v", r.Metric, r.Cells[1].Judgement)
		}
	}
	if want := "fifo (2): the same figures throughout as fifo."; c.Answers[0].Text != want {
		t.Errorf("%+v", c.Answers)
	}
}

// A history in which nothing is random is perturbed all the same: seed 1 replays it as it was, the others move its submissions, and every variant
// sees the same ones.
func TestReplaysArePerturbed(t *testing.T) {
	p := plan(t, workload.Fixed(10*unit.Second), 6, "fifo", "fair", "fifo")
	c, err := Compare(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := Compare(context.Background(), plan(t, workload.Fixed(10*unit.Second), 1, "fifo"))
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(alone.Runs[0][0].Metrics, c.Runs[0][0].Metrics); d != "" {
		t.Errorf("seed 1 is not the history as it was: %s", d)
	}
	means := map[float64]bool{}
	for i, r := range c.Runs[0] {
		means[r.Metrics.Elapsed.Mean] = true
		if d := gocmp.Diff(r.Metrics, c.Runs[2][i].Metrics); d != "" {
			t.Errorf("seed %d differs between variants: %s", i+1, d)
		}
	}
	if len(means) < 5 || c.alike {
		t.Errorf("6 replays have %d means", len(means))
	}
}

// As many replays are run as fit, and at least five; the same number on every machine.
func TestReplaysFit(t *testing.T) {
	p := plan(t, random, MaxReplays, "fifo", "fair")
	p.Fit = true
	c, err := Compare(context.Background(), p)
	if err != nil || len(c.Seeds) != MaxReplays || c.Partial {
		t.Fatalf("%d seeds, %v", len(c.Seeds), err)
	}
	of := func(events int64) int {
		c := &pool{plan: p, runs: [][]*result.Run{{{Events: events}}, {{Events: events}}, {nil}}}
		return c.fit()
	}
	for events, want := range map[int64]int{0: 20, 400_000: 20, fitEvents / 20: 10, fitEvents / 2: 5, 100 * fitEvents: 5} {
		if got := of(events); got != want {
			t.Errorf("%d events: %d replays, want %d", events, got, want)
		}
	}
}

func TestOneSeedHasNoInterval(t *testing.T) {
	c, err := Compare(context.Background(), plan(t, random, 1, "fifo", "fair"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Notes) != 1 || !strings.HasPrefix(c.Notes[0], "one replay: ") || strings.Contains(c.Answers[0].Text, " to ") {
		t.Errorf("notes %q, answers %+v", c.Notes, c.Answers)
	}
	if w := row(t, c, "median wait"); w.Cells[1].Judgement != verdict.Unjudged || !math.IsNaN(w.Cells[1].ChangeLow) {
		t.Errorf("%+v", w.Cells[1])
	}
}

// TestWorkersDoNotMatter is the rule that everything depends on: the same bytes on any number of cores, with jobs shared
// in memory or read by every run.
func TestWorkersDoNotMatter(t *testing.T) {
	var want []byte
	for _, workers := range []int{1, 2, 7} {
		for _, inMemory := range []int{0, -1, 5} {
			p := plan(t, random, 4, "fifo", "fair", "fifo")
			p.Workers, p.Variants[0].Workload.InMemory, p.Pictures = workers, inMemory, true
			c, err := Compare(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := c.WriteJSON(&got); err != nil {
				t.Fatal(err)
			}
			if err := report.Write(&got, c.Report()); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got.Bytes()
			} else if !bytes.Equal(want, got.Bytes()) {
				t.Errorf("%d workers, %d in memory: other bytes", workers, inMemory)
			}
		}
	}
}

// Jobs are kept for a picture only if they can be told apart; how many wait is always known.
func TestPicturesOfJobs(t *testing.T) {
	for _, n := range []int{pictureJobs, pictureJobs + 1} {
		p := plan(t, random, 1, "fifo", "fair")
		var s workload.Slice
		for i := range n {
			s = append(s, &workload.Job{
				ID: fmt.Sprintf("j%d", i), User: fmt.Sprint("u", i%3),
				Stages: []workload.Stage{{Kind: workload.Map, Tasks: 2, Ask: cluster.Unit, Length: workload.Fixed(unit.Minute)}},
			})
		}
		p.Pictures, p.Variants[0].Workload.Open = true, func(uint64) (workload.Source, error) { return s.Source(), nil }
		c, err := Compare(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Pictures {
			if len(p.Jobs) != map[bool]int{true: n}[n <= pictureJobs] || slices.Max(p.Timeline.Waiting) < 1 {
				t.Errorf("%d jobs of %d, %v wait", len(p.Jobs), n, p.Timeline.Waiting)
			}
		}
	}
}

// Each variant gives what it gives alone, whatever it shares with others.
func TestVariantsMayDifferInAnything(t *testing.T) {
	p := plan(t, random, 2, "fifo", "fair", "fifo", "fifo", "fifo")
	p.Variants[2].Name, p.Variants[2].Cluster = "twice the nodes", cluster.Uniform(10, 1, cluster.Unit.Times(4))
	p.Variants[3].Name, p.Variants[3].Workload = "fixed lengths", run.Jobs(jobsOf(workload.Fixed(10*unit.Second)))
	p.Variants[4].Name, p.Variants[4].Model.StartUp = "slow starts", 5*unit.Second
	together, err := Compare(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff([]string{"fifo", "fair", "twice the nodes", "fixed lengths", "slow starts"}, together.Schedulers); d != "" {
		t.Error(d)
	}
	for i, v := range p.Variants {
		alone, err := Compare(context.Background(), Plan{Variants: []run.Spec{v}, Seeds: p.Seeds})
		if err != nil {
			t.Fatal(err)
		}
		for s, r := range alone.Runs[0][:1] { // the second is perturbed only where there is something to compare
			if d := gocmp.Diff(r, together.Runs[i][s], cmpopts.IgnoreUnexported(result.Run{}), cmpopts.EquateNaNs()); d != "" {
				t.Errorf("%s, seed %d: %s", together.Schedulers[i], p.Seeds[s], d)
			}
		}
	}
}

func TestCancelledIsPartial(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	c, err := Compare(ctx, plan(t, random, 3, "fifo", "fair"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Partial || len(c.Answers) != 0 {
		t.Errorf("partial %v, answers %+v", c.Partial, c.Answers)
	}
}

func TestErrorsNameSchedulerAndSeed(t *testing.T) {
	p := plan(t, random, 3, "fifo", "fair")
	p.Variants[1].Scheduler.New = func() (policy.Policy, error) { return policy.Policy{}, errors.New("broken") }
	for _, workers := range []int{1, 4} {
		p.Workers = workers
		if _, err := Compare(context.Background(), p); err == nil || err.Error() != "fair: broken" {
			t.Errorf("%v", err)
		}
	}
	p = plan(t, random, 2, "fifo")
	p.Variants[0].Workload.Open = func(uint64) (workload.Source, error) { return nil, errors.New("no such file") }
	if _, err := Compare(context.Background(), p); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	p := plan(t, random, 2, "fifo", "fair")
	p.Workers = 1
	last := 0.0
	p.Progress = func(done float64, _ int64) {
		if done < last {
			t.Errorf("went back from %v to %v", last, done)
		}
		last = done
	}
	if _, err := Compare(context.Background(), p); err != nil || last != 1 {
		t.Errorf("ended at %v, %v", last, err)
	}
}

func TestIntervalsAgainstHandComputedExamples(t *testing.T) {
	compare := func(a, b []float64) verdict.Cell {
		runs := make([][]*result.Run, 2)
		for i := range a {
			runs[0] = append(runs[0], &result.Run{Makespan: a[i], Jobs: result.JobCounts{Finished: 1}})
			runs[1] = append(runs[1], &result.Run{Makespan: b[i], Jobs: result.JobCounts{Finished: 1}})
		}
		return metric{"makespan", verdict.Seconds, false, func(r *result.Run) float64 { return r.Makespan }}.rowOf(runs).Cells[1]
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-3 }
	// Differences 1, 2, 3 have mean 2 and sd 1; t(0.975, 2) = 4.3027; half = 4.3027/sqrt(3) = 2.4841. Logarithms of the ratios
	// without one seed: of 45/40, 44/40, 43/40, sum of squares about their mean 0.0010336; half = 4.3027 sqrt(2/3 x 0.0010336) = 0.112946.
	c := compare([]float64{20, 20, 20}, []float64{21, 22, 23})
	if c.Diff != 2 || !near(c.DiffHigh, 4.4841) || !near(c.Change, 10) || !near(c.ChangeLow, 110*math.Exp(-0.112946)-100) || c.Judgement != verdict.Unclear {
		t.Errorf("%+v", c)
	}
	// Half of everything, however busy the seed: no doubt about the change, much about the difference.
	c = compare([]float64{10, 20, 60}, []float64{5, 10, 30})
	if !near(c.Change, -50) || c.ChangeHigh-c.ChangeLow > 1e-9 || c.Judgement != verdict.Better || c.DiffHigh-c.DiffLow < 20 {
		t.Errorf("%+v", c)
	}
	// Nothing to take a share of: the difference decides.
	c = compare([]float64{0, 0, 0}, []float64{5, 5.1, 4.9})
	if !math.IsNaN(c.Change) || c.Judgement != verdict.Worse {
		t.Errorf("%+v", c)
	}
	c = compare([]float64{20, 40, 60}, []float64{21, 44, 67})
	if !near(c.Change, 10) || !near(c.ChangeLow, 110*math.Exp(-0.0610622)-100) || c.Judgement != verdict.Worse {
		t.Errorf("%+v", c)
	}
}

// A ceiling is drawn where the cluster is counted in containers, and not where jobs decide how many fit.
func TestCeiling(t *testing.T) {
	yarn := &cluster.Cluster{Nodes: []cluster.Node{{Room: unit.Resources{Mem: 1536, Cores: 8}}}}
	slots := &cluster.Cluster{Slots: true, Nodes: []cluster.Node{{MapSlots: 4, ReduceSlots: 2}}}
	plain := &cluster.Cluster{Nodes: []cluster.Node{{Room: cluster.Unit.Times(6)}, {Room: cluster.Unit.Times(2)}}}
	for want, c := range map[float64]*cluster.Cluster{6: slots, 8: plain} {
		if got := ceilingOf(&run.Spec{Cluster: c}); !slices.Equal(got, []report.Level{{Containers: want}}) {
			t.Errorf("%s: %v, want %v", c, got, want)
		}
	}
	if got := ceilingOf(&run.Spec{Cluster: yarn}); got != nil {
		t.Errorf("%v", got)
	}
	plain.Nodes[0].Name = "a"
	lossy := run.Spec{Cluster: plain, Model: sim.Model{Losses: []sim.Loss{{Node: "a", At: unit.Hour, For: unit.Minute}}}}
	if got := ceilingOf(&lossy); !slices.Equal(got, []report.Level{{From: 0, Containers: 8}, {From: 3600, Containers: 2}, {From: 3660, Containers: 8}}) {
		t.Errorf("%v", got)
	}
}

// Rows about deadlines appear where all jobs of all runs have some; rows by size where they are asked for. Answers name met deadlines.
func TestMoreRows(t *testing.T) {
	names := func(c *Comparison) (out []string) {
		main, _, _ := c.Tables()
		for _, row := range main[len(main)-5:] {
			out = append(out, row.Metric)
		}
		return out
	}
	p := plan(t, workload.Fixed(10*unit.Second), 5, "fifo", "fair")
	plain, err := Compare(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Variants {
		p.Variants[i].Deadlines.Factor = 2
	}
	due, err := Compare(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	p.BySize = true
	sized, err := Compare(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(plain); slices.Contains(got, "deadlines met") {
		t.Error(got)
	}
	if d := gocmp.Diff([]string{"mean slowdown", "utilisation", "deadlines met", "mean tardiness", "max tardiness"}, names(due)); d != "" {
		t.Error(d)
	}
	if d := gocmp.Diff([]string{"max tardiness", "V(95) of slowdown", "SCV of slowdown", "mean slowdown, size 10 to 31.6 s", "mean slowdown, size 3,162 to 10,000 s"}, names(sized)); d != "" {
		t.Error(d)
	}
	if d := gocmp.Diff(due.Answers, sized.Answers); d != "" || !strings.Contains(due.Answers[0].Text, " Deadlines met ") {
		t.Errorf("%s%+v", d, due.Answers)
	}
	// Under fifo the short jobs wait for the long one: all but it and the first few are late.
	row := due.row("deadlines met")
	if fifo, fair := row.Cells[0].Mean, row.Cells[1].Mean; !(fifo < 0.5 && fair > fifo) || row.Unit != verdict.Share || !row.More {
		t.Errorf("%v met under fifo, %v under fair", fifo, fair)
	}
}
