package deadline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// bench is a cluster of one kind of slots, and jobs of one stage.
type bench struct {
	o    *Order
	jobs []*policy.Job
	seq  int64
}

func newBench(s Settings, slots int64) *bench {
	b := &bench{o: New(s)}
	b.o.Resized(0, policy.Cluster{Nodes: 1, Slots: [policy.Slots]int64{slots}})
	return b
}

// job lets a job arrive that has finished some tasks of 10 s and runs some that began at now.
func (b *bench) job(t *testing.T, now unit.Time, id string, submitted, goal unit.Time, done, running, left int64) *policy.Job {
	t.Helper()
	all := done + running + left
	j := &policy.Job{ID: id, Seq: b.seq, Index: int32(b.seq), Submitted: submitted, Deadline: goal, Tasks: all, Stages: []policy.Stage{{Tasks: all, Pending: all}}}
	b.seq++
	j.Want(0, all)
	if err := b.o.Arrived(now, j); err != nil {
		t.Fatal(err)
	}
	for i := range done + running {
		at := now
		if i < done {
			at -= 10 * unit.Second
		}
		b.start(at, j)
	}
	for range done {
		j.Yield(now, now-10*unit.Second, unit.Resources{})
		s := &j.Stages[0]
		s.Running, s.Done, s.Worked = s.Running-1, s.Done+1, s.Worked+10*unit.Second
		b.o.Ended(&policy.Event{Now: now, Job: j, Held: 10 * unit.Second, Worked: 10 * unit.Second})
	}
	b.jobs = append(b.jobs, j)
	return j
}

func (b *bench) start(now unit.Time, j *policy.Job) {
	j.Want(0, -1)
	j.Stages[0].Pending--
	j.Stages[0].Running++
	j.Hold(now, unit.Resources{})
	b.o.Started(&policy.Event{Now: now, Job: j})
}

// give offers containers and says who took them.
func (b *bench) give(now unit.Time, n int) string {
	var who []string
	for range n {
		if !b.o.Ranked(&policy.Offer{Now: now}, func(j *policy.Job) policy.Verdict {
			b.start(now, j)
			who = append(who, j.ID)
			return policy.Took
		}) {
			break
		}
	}
	return strings.Join(who, " ")
}

func (b *bench) order(now unit.Time) string {
	var who []string
	b.o.Ranked(&policy.Offer{Now: now}, func(j *policy.Job) policy.Verdict {
		who = append(who, j.ID)
		return policy.Pass
	})
	return strings.Join(who, " ")
}

func TestClasses(t *testing.T) {
	const now = 100 * unit.Second
	b := newBench(Defaults(), 60)
	b.job(t, now, "A", 0, now+100*unit.Second, 1, 0, 90)
	b.job(t, now, "B", 50*unit.Second, now+100*unit.Second, 0, 0, 5)
	b.job(t, now, "C", 40*unit.Second, now+100*unit.Second, 0, 0, 5)
	b.job(t, now, "D", 0, now, 1, 1, 5)
	b.job(t, now, "E", 0, now+1000*unit.Second, 1, 2, 50)
	if got := b.order(now); got != "D C B A E" {
		t.Errorf("order %s", got)
	}
}

func three(t *testing.T, s Settings) *bench {
	t.Helper()
	const now, goal = 100 * unit.Second, 200 * unit.Second
	b := newBench(s, 60)
	b.job(t, now, "A", 0, goal, 1, 0, 18) // needs 1.8
	b.job(t, now, "B", 0, goal, 1, 0, 4)  // 0.4
	b.job(t, now, "C", 0, goal, 1, 4, 6)  // -3
	return b
}

func TestAllocation(t *testing.T) {
	const now = 100 * unit.Second
	for _, c := range []struct {
		free     int
		min, max string
	}{
		{2, "A A", "A A"},
		{5, "A A B", "A A B A B"},
		{8, "A A B", "A A B A B A B A"},
	} {
		s := Defaults()
		if got := three(t, s).give(now, c.free); got != c.max {
			t.Errorf("max, %d free: %s, want %s", c.free, got, c.max)
		}
		s.Min = true
		if got := three(t, s).give(now, c.free); got != c.min {
			t.Errorf("min, %d free: %s, want %s", c.free, got, c.min)
		}
	}
	s := Defaults()
	s.Min, s.Threshold = true, 0.5
	if got := three(t, s).give(now, 5); got != "A A" {
		t.Errorf("to the nearest: %s", got)
	}
	s.Threshold = 1
	if got := three(t, s).give(now, 5); got != "A" {
		t.Errorf("rounded down: %s", got)
	}
}

// A pass of min mode serves the first job fully before the second, though their needs cross.
func TestMinServesOnePass(t *testing.T) {
	const now, goal = 100 * unit.Second, 200 * unit.Second
	s := Defaults()
	s.Min = true
	b := newBench(s, 60)
	b.job(t, now, "A", 0, goal, 1, 0, 18)
	b.job(t, now, "B", 0, goal, 1, 0, 17)
	if got := b.give(now, 3); got != "A A B" {
		t.Errorf("first pass: %s", got)
	}
	if got := b.give(now+unit.Second, 3); got != "B" {
		t.Errorf("second pass: %s", got)
	}
}

func TestBurst(t *testing.T) {
	const now = 100 * unit.Second
	for _, minMode := range []bool{false, true} {
		s := Defaults()
		s.Min = minMode
		b := three(t, s)
		b.job(t, now, "N", now, now+unit.Hour, 0, 0, 40)
		got := b.give(now, 60)
		if n := strings.Count(got, "N"); n != 40 || !strings.HasPrefix(got, "N N") {
			t.Errorf("min %v: %d of 40, %s", minMode, n, got)
		}
		s.NoDataCap = 7
		b = three(t, s)
		b.job(t, now, "N", now, now+unit.Hour, 0, 0, 40)
		if n := strings.Count(b.give(now, 60), "N"); n != 7 {
			t.Errorf("min %v, capped: %d", minMode, n)
		}
	}
}

// Jobs that have missed their goals are served by lateness.
func TestMissed(t *testing.T) {
	const now = 120 * unit.Second
	b := newBench(Defaults(), 60)
	b.job(t, now, "X", 0, 100*unit.Second, 1, 2, 4)
	b.job(t, now, "Y", 50*unit.Second, 110*unit.Second, 1, 3, 1)
	// X has 60 s left, Y 40 s: Y is at -0.39.
	if got := b.give(now, 3); got != "X X Y" {
		t.Errorf("got %s", got)
	}
	s := Defaults()
	s.MissedShare = 0.1
	b = newBench(s, 60)
	b.job(t, now, "X", 0, 100*unit.Second, 1, 2, 40)
	b.job(t, now, "Z", 0, 200*unit.Second, 1, 0, 40)
	if n := strings.Count(b.give(now, 40), "X"); n != 4 {
		t.Errorf("with a tenth of 60, two held already: %d", n)
	}
}

// Jobs without a goal come last, and in min mode get what nobody needs.
func TestWithoutGoal(t *testing.T) {
	const now = 100 * unit.Second
	for _, minMode := range []bool{false, true} {
		s := Defaults()
		s.Min = minMode
		b := three(t, s)
		b.job(t, now, "F", 0, 0, 0, 0, 9)
		got := b.give(now, 30)
		if n := strings.Count(got, "F"); n != 9 || strings.HasPrefix(got, "F") {
			t.Errorf("min %v: %s", minMode, got)
		}
	}
}

func TestParams(t *testing.T) {
	for _, bad := range []policy.Params{
		{"mode": "middle"}, {"min-samples": "0"}, {"missed-share": "0"}, {"missed-share": "NaN"}, {"cost-ratio": "-1"}, {"refresh": "1ms"}, {"nodata-cap": "-1"},
	} {
		if _, err := Entry.New(bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	if _, err := Entry.New(policy.Params{"mode": "min", "round": "nearest", "refresh": "3s", "reduce": "work"}); err != nil {
		t.Error(err)
	}
}

// Tasks take 10 s. Jobs without a goal, without a finished task or without a container have no estimate.
func TestEstimates(t *testing.T) {
	const now, goal = 100 * unit.Second, 200 * unit.Second
	b := newBench(Defaults(), 60)
	b.job(t, now, "A", 0, goal, 1, 4, 10) // 140 s of work on four containers
	b.job(t, now, "no goal", 0, 0, 1, 4, 10)
	b.job(t, now, "no data", 0, goal, 0, 4, 10)
	b.job(t, now, "nothing held", 0, goal, 1, 0, 10)
	maps := b.job(t, now, "B", 0, goal, 1, 2, 0) // and 70 reduces on 60 slots, of the same length: two waves
	maps.Stages = append(maps.Stages, policy.Stage{Tasks: 70, Pending: 70, Later: 70, After: []workload.Edge{{From: 0}}})
	b.job(t, now, "late", 0, 90*unit.Second, 1, 1, 0)
	got := map[string]float64{}
	b.o.Estimates(now+5*unit.Second, func(j *policy.Job, end unit.Time) { got[j.ID] = end.Seconds() })
	if d := cmp.Diff(map[string]float64{"A": 105 + (4*5+100)/4., "B": 105 + 5 + 20, "late": 110}, got); d != "" {
		t.Error(d)
	}
}
