package policytest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// seamRow is one thing that the seam must carry, shown on recordings of each clock, or refused there with a sentence. The table is in
// docs/design/0024-the-seam.md; what a clock neither shows nor refuses yet is not listed in its row.
type seamRow struct {
	thing, spec string
	clocks      []string                            // that show it; nil: all
	refused     string                              // what YARN's clocks say
	change      func(*run.Spec)                     // of the scenario
	jobs        func(workload.Slice)                // changes the jobs
	show        func(r *policytest.Recording) error // on what was recorded
	replay      func(policy.Policy) policy.Policy   // what replays it
}

var seam = []seamRow{
	{thing: "time of every event", spec: "fifo", show: func(r *policytest.Recording) error {
		last := unit.Time(0)
		for _, c := range r.Calls {
			if c.Now < last {
				return fmt.Errorf("%s at %v, after %v", c.What, c.Now, last)
			}
			last = c.Now
		}
		if last < 40*unit.Second {
			return fmt.Errorf("the last event is at %v", last)
		}
		return nil
	}},
	{thing: "attained service, of running containers too", spec: "fbq:limits=20", show: func(r *policytest.Recording) error {
		var ended, starts, running [3]unit.Time
		return each(r, func(c *policytest.Call, j *policy.Job) error {
			k := j.Seq
			switch {
			case c.Size.IsZero():
			case c.What == "started":
				starts[k] += c.Now
				running[k]++
			case c.What == "ended":
				starts[k] -= c.Now - c.Held
				running[k]--
				ended[k] += c.Held
			}
			if want := ended[k] + running[k]*c.Now - starts[k]; j.Attained(c.Now) != want {
				return fmt.Errorf("job %s has attained %v at %v, want %v", j.ID, j.Attained(c.Now), c.Now, want)
			}
			return nil
		})
	}},
	{thing: "counts by stage", spec: "deadline", show: func(r *policytest.Recording) error {
		running, done := map[[2]int64]int64{}, map[[2]int64]int64{}
		return each(r, func(c *policytest.Call, j *policy.Job) error {
			if c.Stage < 0 {
				return nil
			}
			k := [2]int64{j.Seq, int64(c.Stage)}
			if c.What == "started" {
				running[k]++
			} else if running[k]--; c.Why == policy.Done {
				done[k]++
			}
			if s := j.Stages[c.Stage]; s.Running != running[k] || s.Done != done[k] || s.Pending+s.Running+s.Done > s.Tasks {
				return fmt.Errorf("job %s, stage %d: %+v, after %d running, %d done", j.ID, c.Stage, s, running[k], done[k])
			}
			return nil
		})
	}},
	{thing: "counts by stage when output is lost", spec: "fifo", change: func(r *run.Spec) {
		r.Model.Losses = []sim.Loss{{Node: "node2", At: 60 * unit.Second, For: 30 * unit.Second}} // while its reduce runs
	}, jobs: func(jobs workload.Slice) {
		j := jobs[0]
		j.AM, j.Keep = unit.Resources{}, &workload.Keep{Ask: j.AM, Slots: 1, Max: 6}
		j.Stages[0].Tasks, j.Stages[1].Length = 6, workload.Fixed(40*unit.Second)
	}, show: func(r *policytest.Recording) error {
		var running, done [2]int64
		var last policy.Job
		err := each(r, func(c *policytest.Call, j *policy.Job) error {
			if j.ID != "long" || c.Stage < 0 {
				return nil
			}
			if c.What == "started" {
				running[c.Stage]++
			} else if running[c.Stage]--; c.Why == policy.Done {
				done[c.Stage]++
			}
			for i, s := range j.Stages {
				if s.Running != running[i] || s.Done > done[i] || s.Worked != unit.Time(s.Done)*40*unit.Second || s.Later != s.Pending || s.Pending < 0 || s.Pending+s.Running+s.Done != s.Tasks {
					return fmt.Errorf("at %v, stage %d: %+v, after %d running, %d done", c.Now, i, s, running[i], done[i])
				}
			}
			if last = *j; j.Done != j.Stages[0].Done+j.Stages[1].Done {
				return fmt.Errorf("at %v, %d tasks done of %+v", c.Now, j.Done, j.Stages)
			}
			return nil
		})
		if err == nil && (done[0] != 8 || done[1] != 1 || last.Done != 7) {
			return fmt.Errorf("%d maps and %d reduces ended well, %d tasks count", done[0], done[1], last.Done)
		}
		return err
	}},
	{thing: "worked time of an ended task", spec: "deadline", show: func(r *policytest.Recording) error {
		lengths := map[string]unit.Time{"long": 40 * unit.Second, "short": 5 * unit.Second, "last": 10 * unit.Second}
		return each(r, func(c *policytest.Call, j *policy.Job) error {
			if c.What == "ended" && c.Stage == 0 && (c.Worked != lengths[j.ID] || c.Held < c.Worked) {
				return fmt.Errorf("a map of %s held for %v, worked for %v", j.ID, c.Held, c.Worked)
			}
			return nil
		})
	}},
	{thing: "task ends in kept containers", spec: "deadline", jobs: func(jobs workload.Slice) {
		jobs[1].Keep = &workload.Keep{Ask: unit.Resources{Mem: 1024, Cores: 1}, Slots: 1, Max: 1}
	}, show: func(r *policytest.Recording) error {
		kept, tasks := 0, 0
		err := each(r, func(c *policytest.Call, j *policy.Job) error {
			if c.What == "ended" && c.Stage == policy.KeptStage {
				kept++
			}
			if c.What == "ended" && j.ID == "short" && c.Stage >= 0 && c.Size.IsZero() && c.Worked == 5*unit.Second {
				tasks++
			}
			return nil
		})
		if kept != 1 || tasks != 2 {
			return fmt.Errorf("%d kept containers, %d tasks in them", kept, tasks)
		}
		return err
	}},
	{thing: "node of every start and end", spec: "delay:node=2", show: func(r *policytest.Recording) error {
		racks := map[int32]bool{}
		err := each(r, func(c *policytest.Call, j *policy.Job) error {
			if c.Node == nil || c.Node.Name == "" || c.Node.Total.IsZero() {
				return fmt.Errorf("%s %s: node %+v", j.ID, c.What, c.Node)
			}
			racks[c.Node.Rack] = true
			return nil
		})
		if len(racks) != 2 {
			return errors.New("nodes of one rack only")
		}
		return err
	}},
	{thing: "racks of the input", spec: "shufflewatcher", show: func(r *policytest.Recording) error {
		if !slices.ContainsFunc(r.Answers.Racks, func(racks []int32) bool { return len(racks) > 0 }) {
			return fmt.Errorf("racks: %v", r.Answers.Racks)
		}
		return nil
	}},
	{thing: "load of the uplinks", spec: "nas", show: func(r *policytest.Recording) error {
		if !slices.ContainsFunc(r.Answers.Network, func(load [2]float64) bool { return load[0] > 0 }) {
			return fmt.Errorf("%d loads, and none above 0", len(r.Answers.Network))
		}
		return nil
	}},
	{thing: "stage graph with shuffle sizes", spec: "nas", show: func(r *policytest.Recording) error {
		for _, c := range r.Calls {
			for i := range c.Jobs {
				for k := range c.Jobs[i].Stages {
					if after := c.Jobs[i].Stages[k].After; len(after) == 1 && after[0].Shuffle == 1<<27 {
						return nil
					}
				}
			}
		}
		return errors.New("no stage has an edge")
	}},
	{thing: "machine kinds", spec: "hybrid", change: func(r *run.Spec) {
		c := *r.Cluster
		c.Nodes = slices.Clone(c.Nodes)
		c.Nodes[0].Kind = "scale-up"
		r.Cluster = &c
	}, show: func(r *policytest.Recording) error {
		for i := len(r.Calls) - 1; i >= 0; i-- { // the last: some engines add nodes one by one
			if c := r.Calls[i].Cluster; c != nil {
				if !slices.Equal(c.Kinds, []string{"scale-up", "", ""}) {
					return fmt.Errorf("kinds %q", c.Kinds)
				}
				return nil
			}
		}
		return errors.New("no size of the cluster")
	}},
	{thing: "scores, asked concurrently", spec: "delay:node=2", replay: func(p policy.Policy) policy.Policy {
		p.Place = concurrent{p.Place}
		return p
	}},
	{thing: "slots of two kinds", spec: "fair", clocks: clocks[:1], refused: "a YARN cluster has no fixed slots", change: func(r *run.Spec) {
		c := *r.Cluster
		c.Nodes, c.Slots = slices.Clone(c.Nodes), true
		for i := range c.Nodes {
			c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = 2, 1
		}
		r.Cluster = &c
	}, show: func(r *policytest.Recording) error {
		offered := [policy.Slots]bool{}
		for _, c := range r.Calls {
			offered[c.Slot] = offered[c.Slot] || c.What == "ranked" && len(c.Tries) > 0
			if c.Cluster != nil && c.Cluster.Slots != [policy.Slots]int64{6, 3} {
				return fmt.Errorf("slots %v", c.Cluster.Slots)
			}
		}
		if !offered[policy.MapSlot] || !offered[policy.ReduceSlot] {
			return fmt.Errorf("offered: %v", offered)
		}
		return nil
	}},
	{thing: "jobs that start over", spec: "tags:limits=20,restart=yes", clocks: clocks[:1], refused: "restarts jobs from their first task", show: preempted},
	{thing: "preemption", spec: "fbq:limits=400,reduces=release", clocks: []string{scenario.Ideal, scenario.Hadoop}, jobs: func(jobs workload.Slice) {
		jobs[0].Stages[0].Tasks, jobs[0].Stages[1].After[0].SlowStart = 12, 0 // its reduce waits in its container
	}, show: func(r *policytest.Recording) error {
		if !slices.ContainsFunc(r.Calls, func(c policytest.Call) bool { return c.What == "victims" && strings.Contains(c.Answer, " for job ") }) {
			return errors.New("nobody is preempted for another job")
		}
		return nil
	}},
	{thing: "a stage in place of a larger one", spec: "fifo", jobs: func(jobs workload.Slice) {
		s := jobs[0].Stages // both are open; an AM leaves half a node
		s[0].Kind, s[0].Ask, s[0].Input = workload.Other, unit.Resources{Mem: 2048, Cores: 2}, 0
		s[1].Kind, s[1].Tasks, s[1].After = workload.Other, 8, nil
	}, show: replaced},
	{thing: "racks of the nodes", spec: "shufflewatcher", show: func(r *policytest.Recording) error {
		for i := len(r.Calls) - 1; i >= 0; i-- {
			if c := r.Calls[i].Cluster; c != nil {
				if !slices.Equal(c.Working, []int{2, 1}) || len(c.Racks) != 3 {
					return fmt.Errorf("racks %v, working nodes %v", c.Racks, c.Working)
				}
				return nil
			}
		}
		return errors.New("no size of the cluster")
	}},
	{thing: "named resources", spec: "fair:resource=drf", change: func(r *run.Spec) {
		c := *r.Cluster
		c.Nodes = slices.Clone(c.Nodes)
		c.Nodes[1].Room.Extra = unit.Named("gpu", 1)
		r.Cluster = &c
	}, jobs: func(jobs workload.Slice) { jobs[1].Stages[0].Ask.Extra = unit.Named("gpu", 1) }, show: func(r *policytest.Recording) error {
		n := 0
		err := each(r, func(c *policytest.Call, j *policy.Job) error {
			if gpus := c.Size.Extra.Of("gpu"); gpus != 0 {
				if n++; j.ID != "short" || c.Node.Total.Extra.Of("gpu") != 1 || j.Used.Extra.Of("gpu") > 1 {
					return fmt.Errorf("%s: %s of %v on %+v", j.ID, c.What, c.Size, c.Node)
				}
			}
			return nil
		})
		if n != 4 {
			return fmt.Errorf("%d starts and ends with a GPU", n)
		}
		return err
	}},
	{thing: "nothing is proposed where nothing fits", spec: "fair:resource=drf", change: func(r *run.Spec) {
		c := *r.Cluster
		c.Nodes = slices.Clone(c.Nodes)
		c.Nodes[1].Room.Extra = unit.Named("gpu", 1)
		r.Cluster = &c
	}, jobs: func(jobs workload.Slice) {
		for _, j := range jobs {
			j.AM = unit.Resources{}
			for i := range j.Stages {
				j.Stages[i].Ask.Extra = unit.Named("gpu", 1)
			}
		}
	}, show: func(r *policytest.Recording) error {
		busy := false
		for _, c := range r.Calls {
			if c.What == "ranked" && (busy || c.Node != nil && c.Node.Free.Extra.Of("gpu") == 0) {
				return fmt.Errorf("asked at %v, when the GPU is busy: %v", c.Now, busy)
			}
			busy = c.What == "started" || busy && c.What != "ended"
		}
		return nil
	}},
	{thing: "gangs", spec: "fifo", jobs: func(jobs workload.Slice) { jobs[0].Stages[0].Gang = 4 }, show: func(r *policytest.Recording) error {
		var at []unit.Time
		err := each(r, func(c *policytest.Call, j *policy.Job) error {
			if c.What == "started" && c.Stage == 0 && j.ID == "long" {
				at = append(at, c.Now)
			}
			return nil
		})
		if len(at) != 4 || at[0] != at[3] {
			return fmt.Errorf("the gang starts at %v", at)
		}
		return err
	}},
}

// replaced checks that what starts is of the front stage, or may replace it where it does not fit.
func replaced(r *policytest.Recording) error {
	jobs, n := map[int64]policy.Job{}, 0
	for _, c := range r.Calls {
		if j, ok := jobs[c.Job]; ok && c.What == "started" && c.Stage != j.Front {
			if !j.Replaces(c.Stage, j.Front) {
				return fmt.Errorf("at %v stage %d of %+v starts on %+v", c.Now, c.Stage, j, c.Node)
			}
			n++
		}
		for _, v := range c.Jobs {
			jobs[v.Seq] = v.Job
		}
	}
	if n == 0 {
		return errors.New("none")
	}
	return nil
}

func preempted(r *policytest.Recording) error {
	if !slices.ContainsFunc(r.Calls, func(c policytest.Call) bool { return c.What == "victims" && c.Answer != "" }) {
		return errors.New("nobody is preempted")
	}
	return nil
}

// each passes the starts and ends, with the job as it was then.
func each(r *policytest.Recording, one func(*policytest.Call, *policy.Job) error) error {
	jobs := map[int64]*policy.Job{}
	n := 0
	for i := range r.Calls {
		c := &r.Calls[i]
		for _, v := range c.Jobs {
			v.Credit(v.Received)
			jobs[v.Seq] = &v.Job
		}
		if c.What == "started" || c.What == "ended" {
			n++
			if err := one(c, jobs[c.Job]); err != nil {
				return fmt.Errorf("call %d: %w", i, err)
			}
		}
	}
	if n < 20 {
		return fmt.Errorf("%d starts and ends", n)
	}
	return nil
}

// concurrent asks for each score many times at once.
type concurrent struct{ policy.Place }

func (c concurrent) Score(now unit.Time, j *policy.Job, s int, n *policy.Node, near policy.Near) policy.Score {
	var wg sync.WaitGroup
	var all [8]policy.Score
	for i := range all {
		wg.Go(func() { all[i] = c.Place.Score(now, j, s, n, near) })
	}
	wg.Wait()
	if all != [8]policy.Score{all[0], all[0], all[0], all[0], all[0], all[0], all[0], all[0]} {
		panic(fmt.Sprint("scores differ: ", all))
	}
	return all[0]
}

// Every engine carries what the seam promises, or refuses it with a sentence.
func TestSeam(t *testing.T) {
	for _, row := range seam {
		shows := row.clocks
		if shows == nil {
			shows = clocks
		}
		for _, clock := range clocks {
			jobs := few()
			if row.jobs != nil {
				row.jobs(jobs)
			}
			switch {
			case slices.Contains(shows, clock):
				t.Run(row.thing+", "+clock, func(t *testing.T) {
					books, err := play(t, row.spec, clock, "3x2/2", jobs, row.change)
					if err != nil {
						t.Fatal(err)
					}
					r, p := books.Recordings()[0], fresh(t, row.spec)
					if row.replay != nil {
						p = row.replay(p)
					}
					policytest.Replay(t, p, r)
					if row.show == nil {
						return
					}
					if err := row.show(r); err != nil {
						t.Error(err)
					}
				})
			case row.refused != "":
				t.Run(row.thing+", "+clock, func(t *testing.T) {
					if _, err := play(t, row.spec, clock, "3x2/2", jobs, row.change); err == nil || !strings.Contains(err.Error(), row.refused) {
						t.Errorf("%v, want %q", err, row.refused)
					}
				})
			}
		}
	}
}

// Simulators start a container when they give it: no reservation is ever undone. Engines that bind later are played in policy/undo_test.go.
func TestSimulatorsUndoNothing(t *testing.T) {
	for _, clock := range []string{scenario.Ideal, scenario.SLS, scenario.Hadoop} {
		for _, c := range watch(t, "capacity+delay:node=2", clock, "3x2/2", few()).Recordings()[0].Calls {
			if c.What == "unplaced" || c.Why == policy.Undone {
				t.Errorf("%s: %+v", clock, c)
			}
		}
	}
}
