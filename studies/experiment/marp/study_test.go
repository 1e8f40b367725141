package marp

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/experimenttest"
	"github.com/yardmaster/yardmaster/unit"
)

func TestStudy(t *testing.T) {
	s := Study()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for i := range 23 {
		if id := fmt.Sprint("E", i); i >= len(s.Experiments) || s.Experiments[i].ID != id {
			t.Errorf("there is no %s in its place", id)
		}
	}
	for _, c := range s.Checks {
		if ordersTheTwo.MatchString(c.Judge.Rule) {
			t.Errorf("%s asserts an order of CBTwS and CBTwAT, which the source's intervals do not settle: %s", c.ID, c.Judge.Rule)
		}
	}
	for _, c := range s.Checks { // what a simulation of the study has to meet to pass
		if (strings.HasSuffix(c.ID, "-band") || c.ID == "E2-varies" || c.ID == "E10-order") && c.Strength != x.A {
			t.Errorf("%s is of strength %s", c.ID, c.Strength)
		}
	}
	for _, j := range []x.Judge{ // it would be detected
		x.Less(span("E7", "cbtws"), span("E7", "cbtwat")), x.Changes(span("E8", "cbtwat"), span("E8", "cbtws"), -1, 0), x.All(x.Rises(span("E9", "cbtwat"), span("E9", "cbtws"))),
	} {
		if !ordersTheTwo.MatchString(j.Rule) {
			t.Errorf("an order of CBTwS and CBTwAT goes unseen: %s", j.Rule)
		}
	}
}

// ordersTheTwo finds a rule by which the batch time of one of CBTwS and CBTwAT is compared with the other's.
var ordersTheTwo = regexp.MustCompile(`makespan/cbtw(?:s (?:against|<|>) E\d+ makespan/cbtwat|at (?:against|<|>) E\d+ makespan/cbtws)\b`)

// One seed of everything, from end to end: every figure that a check or a section needs exists, and the same seed gives the same.
func TestAllOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("plays every experiment")
	}
	s := Study()
	experimenttest.Whole(t, s, []uint64{1}, 9, "")
	if got := sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
	for _, id := range []string{"E5", "E19"} {
		e := s.Experiments[slices.IndexFunc(s.Experiments, func(e x.Experiment) bool { return e.ID == id })]
		a, err1 := e.Run(context.Background(), 3)
		b, err2 := e.Run(context.Background(), 3)
		if err1 != nil || err2 != nil || !maps.Equal(a, b) {
			t.Errorf("%s: the same seed gave other figures (%v, %v)", id, err1, err2)
		}
	}
}

// Under every controller and scheduler: no job starts that the share in effect does not admit, every job ends, time is accounted for, and
// progress neither falls nor exceeds 100.
func TestBatches(t *testing.T) {
	seeds := []uint64{1, 2}
	if testing.Short() {
		seeds = seeds[:1]
	}
	for _, on := range []Scheduler{Fair, Capacity, Fair3} {
		for _, name := range compared {
			for _, seed := range seeds {
				b := teraSort.batch(six, seed).under(name, on)
				o, err := b.Play(context.Background(), seed)
				if err != nil {
					t.Fatalf("%s on the %v: %v", name, on, err)
				}
				if n := o.over(&b); n != 0 {
					t.Errorf("%s on the %v, seed %d: %v jobs started beyond the share", name, on, seed, n)
				}
				c := o.cpu(0, o.Makespan)
				if sum := c.Idle + c.Wait + c.Busy; math.Abs(sum-o.Makespan) > 1e-6*o.Makespan+1 {
					t.Errorf("%s: processors account for %.1f of %.1f s", name, sum, o.Makespan)
				}
				for i := 1; i < len(o.Seconds); i++ {
					for k, p := range o.Seconds[i].Progress {
						if before := o.Seconds[i-1].Progress[k]; p < before-1e-9 || p > 100 {
							t.Fatalf("%s, seed %d: at %.0f s the progress of job %d goes from %v to %v", name, seed, o.Seconds[i].At, k, before, p)
						}
					}
				}
				for _, j := range o.Jobs {
					if !(j.Submitted <= j.Start && j.Start < j.FirstMap && j.FirstMap < j.LastMap && j.LastMap < j.End && j.Start < j.Half && j.Half <= j.End+1) {
						t.Errorf("%s: a job whose life is out of order: %+v", name, j)
					}
				}
			}
		}
	}
}

func TestBox(t *testing.T) {
	b := boxOf([]float64{7, 1, 3, math.NaN(), 2, 100, 4, 5, 6, 8})
	if b.n != 9 || b.Lower != 3 || b.Median != 5 || b.Upper != 7 || b.LowExtreme != 1 || b.HighExtreme != 8 || !slices.Equal(b.outliers, []float64{100}) {
		t.Errorf("%+v", b)
	}
	if e := boxOf(nil); !math.IsNaN(e.Median) || e.n != 0 {
		t.Errorf("%+v", e)
	}
}

// The improvements that the source prints follow from its own box plots, but for its rounding: so do ours, by the same formulas.
func TestGainsOfTheSource(t *testing.T) {
	of := func(p published) *box {
		b := &box{Median: p.Median, LowExtreme: p.LowExtreme, HighExtreme: p.HighExtreme}
		b.Mean.Mean = p.Mean
		return b
	}
	for e, table := range paper().Tables {
		for _, name := range steered {
			for i, g := range gains(of(table["prj"]), of(table[name])) {
				if want := paper().Gains[e][name][i]; math.Abs(100*g-want) > 0.16 {
					t.Errorf("%s %s, %s: %.2f, the source prints %v", e, name, gainNames[i], 100*g, want)
				}
			}
		}
	}
}

// Computed by hand: no disk, no noise, maps that share two cores, one reduce.
func TestPredict(t *testing.T) {
	work := Work{
		Submit: 2 * unit.Second, AM: unit.Resources{Mem: 1024, Cores: 1}, Task: unit.Resources{Mem: 512, Cores: 1}, AMStart: 4 * unit.Second,
		Maps: 4, Reduces: 1, Input: unit.GiB, Shuffle: unit.MiB, Output: unit.MiB, Process: 1, Map: 9, Reduce: 5,
	}
	p := Prediction{
		Batch: Batch{Nodes: 2, Node: unit.Resources{Mem: 4096, Cores: 8}, Scheduler: Capacity, Share: 0.5}, Cores: 2, Work: []Work{work}, Noise: 1e-9,
	}
	all, err := Predict(context.Background(), p, []uint64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range all {
		// 2 s, up to a heartbeat each for AM and maps, 4 s, 40 core-seconds of maps and 1 of the reduce's process on two cores, 5 s.
		if least := 2 + 4 + 20 + 5.0; o.Makespan < least || o.Makespan > least+5 {
			t.Errorf("seed %d: %v s", i+1, o.Makespan)
		}
	}
	p.Work = append(p.Work, work)
	p.Controller, p.Settings = "cbtws", control.Defaults("cbtws", Queue).On(amlimit.Capacity)
	p.Share, p.Delays = 0.13, &steer.Delays{}
	if all, err = Predict(context.Background(), p, []uint64{1}); err != nil || len(all[0].Jobs) != 2 {
		t.Errorf("%v", err)
	}
	p.Work[1].Maps = 0
	if _, err := Predict(context.Background(), p, []uint64{1}); err == nil {
		t.Error("a job without maps was taken")
	}
}

// Every host of E22 takes as long as the source's for six at once: that is all it was calibrated on.
func TestBalances(t *testing.T) {
	if testing.Short() {
		t.Skip("plays a hundred batches")
	}
	for i := range balances {
		mean, err := balances[i].prj(context.Background(), 20)
		if off := mean/balances[i].Batch6 - 1; err != nil || math.Abs(off) > 0.02 {
			t.Errorf("%s: %.1f s, %v", balances[i].Host, mean, err)
		}
	}
}
