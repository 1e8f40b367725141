package yarn

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// stateAt is the state of a run at an instant, by its records.
func stateAt(at unit.Time, out *seen, timing *Timing) *State {
	s := &State{At: at}
	records := slices.Clone(out.jobs)
	slices.SortFunc(records, func(a, b sim.JobRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, r := range records {
		if r.Job.Submit+timing.SubmitToAdded > at || r.Finish+timing.Linger <= at {
			continue
		}
		p := Present{Job: &workload.Job{}, Done: make([]int64, len(r.Job.Stages))}
		*p.Job = *r.Job
		p.Job.Stages = slices.Clone(r.Job.Stages)
		order := make([][3][]int64, len(r.Job.Stages)) // of tasks: done, running, waiting
		conts := slices.DeleteFunc(slices.Clone(out.conts), func(c ContainerRecord) bool { return c.Seq != r.Seq || c.Allocated > at })
		slices.SortStableFunc(conts, func(a, b ContainerRecord) int { return cmp.Compare(a.Allocated, b.Allocated) })
		for _, c := range conts {
			switch {
			case c.Stage == policy.AMStage:
				p.Held = append(p.Held, Held{policy.AMStage, c.Node, c.Allocated})
				p.Up = c.Allocated+timing.AMStart <= at
			case c.Stage < 0:
			case c.Freed <= at || c.Ended <= at:
				p.Done[c.Stage]++
				order[c.Stage][0] = append(order[c.Stage][0], c.Task)
			default:
				p.Held = append(p.Held, Held{c.Stage, c.Node, c.Allocated})
				order[c.Stage][1] = append(order[c.Stage][1], c.Task)
			}
		}
		if r.Job.AM.IsZero() {
			p.Up = r.Job.Submit+timing.SubmitToAdded+timing.UnmanagedStart <= at
		}
		for i := range p.Job.Stages {
			st := &p.Job.Stages[i]
			var values []unit.Time
			for _, list := range order[i] {
				for _, num := range list {
					values = append(values, st.Length.Draw(num, sim.StageSeed(1, r.Seq, i)))
				}
			}
			for num := range st.Tasks {
				if !slices.Contains(order[i][0], num) && !slices.Contains(order[i][1], num) {
					values = append(values, st.Length.Draw(num, sim.StageSeed(1, r.Seq, i)))
				}
			}
			st.Length = workload.Lengths{Kind: workload.List, Values: values}
		}
		s.Apps = append(s.Apps, p)
	}
	return s
}

// A run that starts from another one's state continues as that one did.
func TestStartFromAState(t *testing.T) {
	timing := quick()
	timing.NodeHeartbeat, timing.AMHeartbeat, timing.AMStart, timing.ContainerStart = 100*ms, 100*ms, 500*ms, 100*ms
	for _, rule := range []amlimit.Limit{amlimit.Capacity, amlimit.Fair} {
		for _, managed := range []bool{true, false} {
			jobs := stream(3, 0.95, 0.5, managed)
			for i, j := range jobs {
				j.Stages[0].Length.P = 1
				for k := range j.Stages { // fixed whatever their numbers in order of submission
					st := &j.Stages[k]
					var values []unit.Time
					for num := range st.Tasks {
						values = append(values, st.Length.Draw(num, sim.StageSeed(1, int64(i), k)))
					}
					st.Length = workload.Lengths{Kind: workload.List, Values: values}
				}
				if !managed {
					j.AM = unit.Resources{}
				}
			}
			c := Config{Cluster: cluster.Uniform(10, 2, gb.Times(8)), Timing: timing, Seed: 1}
			full, sum := play(t, c, sharing(t, rule, 0.3), jobs...)
			if sum.Finished != int64(len(jobs)) {
				t.Fatalf("%+v", sum)
			}
			ends := map[string]unit.Time{}
			for _, r := range full.jobs {
				ends[r.Job.ID] = r.Finish
			}
			for _, at := range []unit.Time{600 * s, 1500*s + 333*ms, 2800 * s} {
				c.Start = stateAt(at, full, &timing)
				rest := slices.Clone(jobs)
				rest = slices.DeleteFunc(rest, func(j *workload.Job) bool { return j.Submit+timing.SubmitToAdded <= at })
				out, sum := play(t, c, sharing(t, rule, 0.3), rest...)
				if sum.Finished != int64(len(c.Start.Apps)+len(rest)) || sum.Stuck > 0 {
					t.Fatalf("%v at %v: %d present and %d to come: %+v", rule, at, len(c.Start.Apps), len(rest), sum)
				}
				// Positions of heartbeats differ, so some containers change places. What is present must end as it did.
				var off, length []float64
				for _, r := range out.jobs {
					if r.Job.Submit <= at {
						off = append(off, math.Abs((r.Finish - ends[r.Job.ID]).Seconds()))
						length = append(length, (ends[r.Job.ID] - at).Seconds())
					}
				}
				slices.Sort(off)
				slices.Sort(length)
				n := len(off)
				t.Logf("%v, managed %v, at %v: %d present, off by %.1f s (median), %.1f s (max); they had %.1f s to go (median)", rule, managed, at, n, off[n/2], off[n-1], length[n/2])
				if off[n/2] > 0.05*length[n/2]+0.5 {
					t.Errorf("%v, managed %v, at %v: half of the applications end more than %.1f s off, of %.1f s", rule, managed, at, off[n/2], length[n/2])
				}
			}
		}
	}
}

// What is present counts against the AM limit, and is not activated again.
func TestPresentAMsCount(t *testing.T) {
	for _, rule := range []amlimit.Limit{amlimit.Capacity, amlimit.Fair} {
		c := Config{Cluster: cluster.Uniform(1, 1, gb.Times(10)), Timing: quick(), Seed: 1, Start: &State{At: 100 * s}}
		for i := range 3 {
			p := Present{Job: mr(string(rune('a'+i)), unit.Time(i)*s, 1, 100*s, 0, 0)}
			if i > 0 { // the first one waits: the others are ahead of it
				p.Up = true
				p.Held = []Held{{policy.AMStage, 0, 10 * s}, {0, 0, 50 * s}}
			}
			c.Start.Apps = append(c.Start.Apps, p)
		}
		out, _ := play(t, c, sharing(t, rule, 0.2)) // two AMs of ten containers
		for _, r := range out.jobs {
			if r.Job.ID == "a" {
				if r.Start < 150*s || r.Start > 151*s {
					t.Errorf("%v: the AM that waits starts at %v, not when one of the others has ended", rule, r.Start)
				}
			} else if r.Finish < 150*s || r.Finish > 150500*ms || r.Start != 10*s {
				t.Errorf("%v: %s runs from %v to %v", rule, r.Job.ID, r.Start, r.Finish)
			}
		}
	}
}

func TestStateIsChecked(t *testing.T) {
	job := func() *workload.Job { return mr("j", s, 2, s, 0, 0) }
	am := Held{policy.AMStage, 0, 0}
	for name, p := range map[string]Present{
		"no AM":      {Job: job(), Up: true},
		"two AMs":    {Job: job(), Held: []Held{am, am}},
		"no node":    {Job: job(), Held: []Held{am, {0, 7, 0}}},
		"no stage":   {Job: job(), Held: []Held{am, {3, 0, 0}}},
		"many tasks": {Job: job(), Done: []int64{1}, Held: []Held{am, {}, {}}},
		"future":     {Job: mr("j", 11*s, 2, s, 0, 0)},
		"negative":   {Job: job(), Done: []int64{-1}, Held: []Held{am, {}}},
	} {
		c := Config{
			Cluster: cluster.Uniform(1, 1, gb.Times(10)), Timing: Hadoop(), Start: &State{At: 10 * s, Apps: []Present{p}},
			NewScheduler: func() (rm.Scheduler, error) { return sharing(t, amlimit.Fair, 1), nil }, Source: workload.Slice{}.Source(),
		}
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
