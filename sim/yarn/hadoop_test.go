package yarn

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func oneNode(containers int64) Config {
	return Config{Cluster: cluster.Uniform(1, 1, gb.Times(containers)), Timing: Hadoop(), Phases: []unit.Time{300 * ms}}
}

// A MapReduce job on one node, worked out by hand. The AM is given at 1.3 s, registers at 5.3 s and calls at 6.3 s, 7.3 s, ...; the
// node reports at 1.3 s + k and out of band when a container ends, from where it counts anew.
func TestMapReduceTimeline(t *testing.T) {
	out, _ := play(t, oneNode(10), newFIFO(), mr("j", 0, 1, 10*s, 1, 5*s))
	const want = "AM 1.3 1.3 5.3 28.5 33.5\n" + // commits at 28.3 + 0.2, stays for 5 s
		"map 6.3 7.3 9.3 19.3 19.8\n" + // exits half a second after its end, told at once
		"reduce 20.8 21.3 23.3 28.3 28.8\n" // wanted at 19.3, asked for at 20.3, given at 19.8 + 1
	if got := out.tell(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if r := out.jobs[0]; r.Finish != 28500*ms || r.Start != 1300*ms {
		t.Errorf("%+v", r)
	}
}

// An AM whose start the workload knows takes that long, except under SLS.
func TestAMStartOfAJob(t *testing.T) {
	for _, c := range []struct {
		timing Timing
		want   unit.Time
	}{{Hadoop(), 8300 * ms}, {SLS(), 1300 * ms}} {
		j := mr("j", 0, 1, 10*s, 0, 0)
		j.AMStart = 7 * s
		cfg := oneNode(10)
		cfg.Timing = c.timing
		out, _ := play(t, cfg, newFIFO(), j)
		for _, r := range out.conts {
			if r.Stage == policy.AMStage && r.Started != c.want {
				t.Errorf("the AM registers at %v, want %v", r.Started, c.want)
			}
		}
	}
}

// Reduces that start early hold their containers until the last map is done.
func TestSlowStart(t *testing.T) {
	j := mr("j", 0, 2, 0, 1, 5*s)
	j.Stages[0].Length = workload.Lengths{Kind: workload.List, Values: []unit.Time{10 * s, 60 * s}}
	j.Stages[1].After[0].SlowStart = 0.05
	out, _ := play(t, oneNode(10), newFIFO(), j)
	var maps, reduce ContainerRecord
	for _, c := range out.conts {
		switch {
		case c.Stage == 0 && c.Ended > maps.Ended:
			maps = c
		case c.Stage == 1:
			reduce = c
		}
	}
	if reduce.Started > maps.Ended-40*s || reduce.Ended != maps.Ended+5*s {
		t.Errorf("the reduce starts at %v and ends at %v; the last map ended at %v", reduce.Started, reduce.Ended, maps.Ended)
	}
}

// A map whose container was taken while reduces hold all the others: one of them gives way.
func TestReducesGiveWayToMaps(t *testing.T) {
	j := mr("j", 0, 2, 0, 2, 5*s)
	j.Stages[0].Length = workload.Lengths{Kind: workload.List, Values: []unit.Time{10 * s, 60 * s}}
	j.Stages[1].After[0].SlowStart = 0.05
	f := newFIFO()
	f.every = 30 * s
	f.round = func(now unit.Time) (n rm.Notice) {
		if now == 30*s {
			for _, c := range f.apps[0].held {
				if c.Priority == mapPriority {
					n.Killed = append(n.Killed, c)
				}
			}
		}
		return n
	}
	out, sum := play(t, oneNode(3), f, j) // the AM and two more
	if sum.Finished != 1 || out.jobs[0].Lost != 2 {
		t.Errorf("%+v\n%s", out.jobs, out.tell())
	}
}

// An unmanaged AM asks with its first call, holds containers that never start a process and gives them back with the
// first call after their time.
func TestUnmanaged(t *testing.T) {
	j := mr("j", 0, 2, 3300*ms, 0, 0)
	j.AM = unit.Resources{}
	out, _ := play(t, oneNode(10), newFIFO(), j) // calls at 0.12 s + k
	const want = "map 1.3 2.12 2.12 6.12 6.12\n" + "map 2.3 3.12 3.12 7.12 7.12\n"
	if got := out.tell(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if r := out.jobs[0]; r.Finish != 7120*ms {
		t.Errorf("%+v", r)
	}
}

func TestTrouble(t *testing.T) {
	big := mr("big", 0, 1, s, 0, 0)
	big.Stages[0].Ask = gb.Times(9)
	closed := mr("closed", 0, 1, s, 0, 0)
	closed.Queue = "closed"
	wide := mr("wide", 0, 1, s, 0, 0)
	wide.Stages[0].Ask = gb.Times(3) // allowed, and more than the node has beside the AM
	kept := mr("kept", 0, 1, s, 0, 0)
	kept.Keep = &workload.Keep{Ask: gb.Times(9), Slots: 1, Max: 1}
	for _, c := range []struct {
		job     *workload.Job
		outcome sim.Outcome
		reason  string
	}{
		{big, sim.Failed, "is more than"},
		{closed, sim.Refused, "queue closed is stopped"},
		{wide, sim.Unfinished, "can never finish"},
		{kept, sim.Failed, "is more than"},
	} {
		for _, timing := range []Timing{SLS(), Hadoop()} {
			cfg := oneNode(3)
			cfg.Timing = timing
			f := newFIFO()
			f.max = gb.Times(8)
			f.max.Cores = 8
			out, sum := play(t, cfg, f, c.job)
			if len(out.jobs) != 1 || out.jobs[0].Outcome != c.outcome || !strings.Contains(out.jobs[0].Reason, c.reason) {
				t.Errorf("%s: %+v, %+v", c.job.ID, out.jobs, sum)
			}
			if (sum.Stuck == 1) != (c.outcome == sim.Unfinished) {
				t.Errorf("%s: %+v", c.job.ID, sum)
			}
		}
	}
}

// A killed container leaves its queue at once; its node has its room at the second report after (SLS), or when the process
// has died (Hadoop).
func TestKill(t *testing.T) {
	for _, c := range []struct {
		name   string
		timing Timing
		freed  unit.Time
	}{
		{"sls", SLS(), 11300 * ms},                          // order at 10.3
		{"hadoop", Hadoop(), 10300*ms + Hadoop().KillDelay}, // out of band
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFIFO()
			f.every = 10 * s
			var used, free unit.Resources
			f.round = func(now unit.Time) (n rm.Notice) {
				if now == 10*s {
					n.Killed = append(n.Killed, f.apps[0].held[1])
				}
				return n
			}
			cfg := oneNode(10)
			cfg.Timing = c.timing
			out, _ := play(t, cfg, f, mr("j", 0, 1, 20*s, 0, 0))
			var killed ContainerRecord
			for _, r := range out.conts {
				if r.Killed {
					killed = r
				}
			}
			if killed.Ended != 10*s || killed.Freed != c.freed || out.jobs[0].Lost != 1 || out.jobs[0].Outcome != sim.Finished {
				t.Errorf("%+v %v %v\n%+v", killed, used, free, out.jobs)
			}
		})
	}
}

// An AM that is taken away starts its job over.
func TestAMLost(t *testing.T) {
	f := newFIFO()
	f.every = 10 * s
	f.round = func(now unit.Time) (n rm.Notice) {
		if now == 20*s {
			n.Killed = append(n.Killed, f.apps[0].held[0])
		}
		return n
	}
	for _, timing := range []Timing{SLS(), Hadoop()} {
		cfg := oneNode(10)
		cfg.Timing = timing
		out, sum := play(t, cfg, f, mr("j", 0, 3, 5*s, 1, 10*s))
		if sum.Finished != 1 || sum.Tasks != 4 || out.jobs[0].Lost != 1 || f.nodes[0].Free != f.nodes[0].Total {
			t.Errorf("%+v\n%s", out.jobs, out.tell())
		}
		f.nodes = nil
	}
}
