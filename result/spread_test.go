package result

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// slowed is a finished job with a slowdown and a size.
func slowed(seq int64, slowdown, size float64) *sim.JobRecord {
	r := done(seq, "", "", 0, 0, slowdown*1000, 1000)
	r.Size = unit.FromSeconds(size)
	return r
}

// The vectors of TestVariability, through a run.
func TestSpread(t *testing.T) {
	var twenty []float64
	for i := range 20 {
		twenty = append(twenty, float64(i+1))
	}
	tens := append(slices.Repeat([]float64{1}, 90), slices.Repeat([]float64{10}, 10)...)
	for _, c := range []struct {
		slowdowns     []float64
		v90, v95, scv float64
	}{
		{twenty, 1.7238, 1.8143, 33.25 / (10.5 * 10.5)},
		{tens, 1.9, 10, 0.09 * 81 / (1.9 * 1.9)},
		{slices.Repeat([]float64{3.7}, 7), 1, 1, 0},
		{[]float64{1, 1.2, 1.5, 2, 2.8, 4, 6, 10, 18, 23.8}, 5.4647, 6.2324, SCV([]float64{1, 1.2, 1.5, 2, 2.8, 4, 6, 10, 18, 23.8})},
		{[]float64{1, 1, 1, 1, 6}, 4, 5, 1},
		{append(slices.Repeat([]float64{10}, 9), 110), 2, 6.5, 2.25},
	} {
		k := NewCollector(Options{})
		for i, x := range c.slowdowns {
			k.Job(slowed(int64(i), x, 100))
		}
		got := k.Finish(sim.Summary{}, Scenario{}, nil).Spread
		if math.Abs(got.V90-c.v90) > 5e-5 || math.Abs(got.V95-c.v95) > 5e-5 || math.Abs(got.SCV-c.scv) > 1e-6 {
			t.Errorf("%v: %+v, want %+v", c.slowdowns, got, c)
		}
	}
}

func TestBySize(t *testing.T) {
	c := NewCollector(Options{ExactLimit: 2}) // small classes stay exact beyond it
	for i, size := range []float64{10, 31.62, 31.63, 4000, 9999, 12000, 0} {
		c.Job(slowed(int64(i), float64(i+1), size))
	}
	lost := slowed(8, 1, 50)
	lost.Outcome = sim.Failed
	c.Job(lost)
	var got []float64
	for _, g := range c.Finish(sim.Summary{}, Scenario{}, nil).Spread.BySize {
		got = append(got, math.Round(g.From), math.Round(g.To), float64(g.Jobs), g.Slowdown.Mean)
	}
	if d := cmp.Diff([]float64{10, 32, 2, 1.5, 32, 100, 1, 3, 3162, 10_000, 2, 4.5, 10_000, 31_623, 1, 6}, got); d != "" {
		t.Error(d)
	}
	if r := small(); r.Spread != nil || r.Deadlines != nil || r.Idle != nil {
		t.Errorf("%+v, %+v, %+v without sizes, deadlines and jobs", r.Spread, r.Deadlines, r.Idle)
	}
}

func TestDeadlines(t *testing.T) {
	c := NewCollector(Options{TotalMem: 4000, Containers: 4})
	for i, deadline := range []float64{0, 50, 40, 30, 10} { // all finish at 40
		r := done(int64(i), "", "", 0, 0, 40, 10)
		r.Job.Deadline = unit.FromSeconds(deadline)
		c.Job(r)
	}
	r := refused(9, "no")
	r.Job.Deadline = unit.Second
	c.Job(r)
	got := c.Finish(sim.Summary{Present: 100 * unit.Second, BusyMem: 300_000}, Scenario{}, nil)
	if d := cmp.Diff(&Deadlines{Jobs: 5, Met: 2, MetShare: 0.4, MeanLateness: 7.5, MaxLateness: 30, MeanTardiness: 10}, got.Deadlines); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(&Idle{Present: 100, Share: 0.25, ContainerSeconds: 100}, got.Idle); d != "" {
		t.Error(d)
	}
	if early := (&Deadlines{MaxLateness: -3}).MaxTardiness(); early != 0 {
		t.Errorf("tardiness %v of jobs that are all early", early)
	}
}

func TestPartitions(t *testing.T) {
	sum := sim.Summary{FirstSubmit: 10 * unit.Second, LastFinish: 20 * unit.Second}
	got := Partitions([]policy.Partition{
		{Nodes: 1, Room: unit.Resources{Mem: 100}, Busy: 250}, {Nodes: 3, Room: unit.Resources{Mem: 300}, Busy: 750}, {},
	}, &sum)
	if d := cmp.Diff([]Partition{{1, 0.25, 0.25}, {3, 0.25, 0.75}, {}}, got); d != "" {
		t.Error(d)
	}
}

// A job of 100 s that is always predicted to end at 150 s, and one of 1000 s whose estimate is right from half-way on.
func TestEstimates(t *testing.T) {
	ends := map[int64]func(now unit.Time) unit.Time{
		1: func(unit.Time) unit.Time { return 150 * unit.Second },
		2: func(now unit.Time) unit.Time {
			if now < 500*unit.Second {
				return 500 * unit.Second
			}
			return 1000 * unit.Second
		},
	}
	e := NewEstimates(func(now unit.Time, each func(*policy.Job, unit.Time)) {
		for seq := range int64(3) {
			if of := ends[seq]; of != nil {
				each(&policy.Job{Seq: seq}, of(now))
			}
		}
	})
	for now := unit.Second; now < 1000*unit.Second; now += unit.Second {
		e.Sample(&sim.Sample{To: now})
		if now == 100*unit.Second {
			e.Job(&sim.JobRecord{Job: &workload.Job{ID: "a"}, Seq: 1, Finish: now})
			delete(ends, 1)
		}
	}
	e.Job(&sim.JobRecord{Job: &workload.Job{ID: "b"}, Seq: 2, Finish: 1000 * unit.Second})
	e.Job(&sim.JobRecord{Job: &workload.Job{ID: "unpredicted"}, Seq: 3, Finish: 1000 * unit.Second})
	got := e.Figures()
	if got.Jobs != 2 || len(got.ByLife) != 10 || len(e.open) > 0 {
		t.Fatalf("%+v", got)
	}
	for k, want := range []float64{0, 0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25, 0.25} { // 0.5 of one, and -0.5 or 0 of the other
		if by := got.ByLife[k]; by.From != float64(k)/10 || by.Jobs != 2 || math.Abs(by.Error-want) > 1e-9 || math.Abs(by.Absolute-max(0.25, 0.5-want)) > 1e-9 {
			t.Errorf("tenth %d: %+v, want %v", k, by, want)
		}
	}
	for i, id := range []string{"a", "b"} {
		if s := got.Series[i]; s.ID != id || len(s.At) < 90 || len(s.At) > 400 || len(s.At) != len(s.Error) || !slices.IsSorted(s.At) {
			t.Errorf("%s: %d points", s.ID, len(s.At))
		}
	}
	for seq := range int64(maxSeries) {
		e.open[10+seq] = []guess{{1, 2}}
		e.Job(&sim.JobRecord{Job: &workload.Job{}, Seq: 10 + seq, Finish: unit.Second})
	}
	if got := e.Figures(); got.Series != nil || got.Jobs != maxSeries+2 {
		t.Errorf("series of %d jobs are kept", got.Jobs)
	}
	if got := NewEstimates(nil).Figures(); got != nil {
		t.Errorf("%+v", got)
	}
}
