package live

import (
	"context"
	"math/rand/v2"
	"sort"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/unit"
)

// knowledge is what the simulator gets from a run on the daemons.
type knowledge int

const (
	nothing  knowledge = iota // the timing profile of real daemons, as shipped; phases drawn from a seed
	phases                    // the first heartbeat of each node and the first call of each AM, and the mean intervals
	instants                  // every pass over a node, admission and call
)

// simulate runs the record's workload through the simulator.
func simulate(ctx context.Context, r *Record, k knowledge) (*conform.Outcome, error) {
	return nudged(ctx, r, k, 0)
}

// nudged is a simulation whose AMs begin a few milliseconds earlier or later.
func nudged(ctx context.Context, r *Record, k knowledge, nudge uint64) (*conform.Outcome, error) {
	list, err := jobs(r.Workload)
	if err != nil {
		return nil, err
	}
	newScheduler, err := conform.Scheduler(r.Site, r.Queues, "")
	if err != nil {
		return nil, err
	}
	timing, log := yarn.Hadoop(), &run.Log{Ports: r.ports()}
	switch k {
	case phases:
		timing, log.Phases = r.timing()
		log.Script = r.beginnings(nudge)
	case instants:
		timing, _ = r.timing()
		log.Script = r.script()
	}
	return conform.Replay(ctx, &run.Spec{
		Cluster: clusterOf(r.Nodes), Workload: run.Jobs(list), Scheduler: run.Scheduler{RM: newScheduler}, Timing: &timing, Log: log, Seed: 1,
	}, false)
}

func clusterOf(nodes []NodeRecord) *cluster.Cluster {
	c := &cluster.Cluster{}
	racks := map[string]int{}
	for _, n := range nodes {
		if _, ok := racks[n.Rack]; !ok {
			racks[n.Rack] = len(c.Racks)
			c.Racks = append(c.Racks, n.Rack)
		}
		c.Nodes = append(c.Nodes, cluster.Node{Name: n.Name, Rack: racks[n.Rack], Room: unit.Resources{Mem: int64(n.MB), Cores: 1024}})
	}
	return c
}

func (r *Record) ports() []int32 {
	p := make([]int32, len(r.Nodes))
	for i := range r.Nodes {
		p[i] = r.Nodes[i].Port
	}
	return p
}

// timing are the daemons' own delays in the run: real nodes and AMs count their interval from the answer to
// their last call, so that it is a few milliseconds longer than configured. Phases are those of the nodes' first heartbeats,
// one interval before.
func (r *Record) timing() (yarn.Timing, []unit.Time) {
	t := yarn.Hadoop()
	firsts, lasts, counts := make([]int64, len(r.Nodes)), make([]int64, len(r.Nodes)), make([]int64, len(r.Nodes))
	for _, l := range r.Log {
		if l.Kind == "pass" {
			if counts[l.Of] == 0 {
				firsts[l.Of] = l.At
			}
			lasts[l.Of] = l.At
			counts[l.Of]++
		}
	}
	var span, beats int64
	for i := range r.Nodes {
		span, beats = span+lasts[i]-firsts[i], beats+counts[i]-1
	}
	t.NodeHeartbeat = unit.Time(span) * unit.Millisecond / unit.Time(max(1, beats))
	p := make([]unit.Time, len(r.Nodes))
	for i := range p {
		p[i] = unit.Time(firsts[i])*unit.Millisecond - t.NodeHeartbeat
	}
	var calls, between int64
	var added, start []float64
	for i := range r.Apps {
		a := &r.Apps[i]
		if n := len(a.Calls); n > 1 {
			calls, between = calls+int64(n-1), between+a.Calls[n-1]-a.Calls[0]
		}
		added = append(added, float64(a.Added)-float64(r.Workload[i].Submit))
		start = append(start, float64(a.Calls[0]-a.Added))
	}
	t.AMHeartbeat = unit.Time(between) * unit.Millisecond / unit.Time(max(1, calls))
	t.SubmitToAdded = unit.Time(max(0, result.Quantile(added, 0.5))) * unit.Millisecond
	t.UnmanagedStart = unit.Time(max(0, result.Quantile(start, 0.5))) * unit.Millisecond
	return t, p
}

// outcome is the daemons' outcome.
func (r *Record) outcome() *conform.Outcome {
	o := conform.NewOutcome()
	for i, a := range r.Workload {
		o.Submit[a.ID], o.Start[a.ID], o.End[a.ID] = int64(a.Submit), r.Apps[i].First, r.Apps[i].Unregister
	}
	for _, c := range r.Containers {
		o.Placed = append(o.Placed, conform.Placement{
			Job: r.Workload[c.App].ID, Node: c.Node, Priority: c.Priority, At: c.Allocated, Turn: int(c.Line),
		})
	}
	sort.SliceStable(o.Placed, func(i, k int) bool { return o.Placed[i].At < o.Placed[k].At })
	o.Settle()
	return o
}

// beginnings scripts only when applications reached the scheduler and when their AMs first called. With a nudge other
// than 0, first calls are shifted by up to five milliseconds, differently for each nudge: as much as they vary in reality.
func (r *Record) beginnings(nudge uint64) *yarn.Script {
	s := &yarn.Script{}
	random := rand.New(rand.NewPCG(nudge, 5))
	for i := range r.Apps {
		a := &r.Apps[i]
		first := max(a.Calls[0], a.Added)
		if nudge > 0 {
			first = max(first+random.Int64N(11)-5, a.Added)
		}
		s.Instants = append(s.Instants,
			yarn.Instant{Kind: yarn.Added, Job: int64(i), At: unit.Time(a.Added) * unit.Millisecond},
			yarn.Instant{Kind: yarn.Tick, Job: int64(i), At: unit.Time(first) * unit.Millisecond})
	}
	sort.SliceStable(s.Instants, func(i, k int) bool { return s.Instants[i].At < s.Instants[k].At })
	return s
}

// turn is an instant with its rank among those of the same millisecond.
type turn struct {
	yarn.Instant
	place int
}

// script is the log as a simulator script.
//
// Lines that announce a pass or a call are written before or after the event. A pass that allocated something happened when
// it did; a call that delivered or released something when the containers say so, and any other call between its AM's sending
// it and receiving the answer, before a pass in the same millisecond: it did not deliver that pass's containers.
// The cause of a call is the instant of its sending: that is when the AM checked which containers it has held long enough.
func (r *Record) script() *yarn.Script {
	moved := make([][]int, len(r.Apps)) // lines, by application
	at := make([]int64, len(r.Log))     // of lines: their order is correct, their timestamps are slightly early
	for i, l := range r.Log {
		if at[i] = l.At; i > 0 {
			at[i] = max(at[i], at[i-1])
		}
		if l.Kind == "moved" {
			moved[l.Of] = append(moved[l.Of], i)
		}
	}
	var all []turn
	next := make([]int, len(r.Apps))
	pass := -1
	for i, l := range r.Log {
		t := turn{place: i}
		when := at[i]
		switch l.Kind {
		case "pass":
			t.Kind, t.Node = yarn.Beat, l.Of
			pass = len(all)
		case "gave":
			if pass >= 0 && pass < len(all) {
				all[pass].At, all[pass].place = unit.Time(when)*unit.Millisecond, i
			}
			continue
		case "added":
			t.Kind, t.Job = yarn.Added, int64(l.Of)
		case "call":
			t.Kind, t.Job = yarn.Tick, int64(l.Of)
			a := &r.Apps[l.Of]
			if next[l.Of] >= len(a.Calls) {
				break
			}
			sent := a.Calls[next[l.Of]]
			got := sent + a.Took[next[l.Of]]
			next[l.Of]++
			t.Cause, t.Answer = unit.Time(sent)*unit.Millisecond, unit.Time(got)*unit.Millisecond
			if k, ok := during(moved[l.Of], r.Log, sent, got); ok {
				when, t.place = at[k], k
			} else if w := min(max(when, sent), got); w != when {
				when, t.place = w, -1
			}
		default:
			continue
		}
		if when < 0 {
			pass = -1
			continue
		}
		t.At = unit.Time(when) * unit.Millisecond
		all = append(all, t)
	}
	sort.SliceStable(all, func(i, k int) bool {
		if all[i].At != all[k].At {
			return all[i].At < all[k].At
		}
		return all[i].place < all[k].place
	})
	s := &yarn.Script{}
	for i := range all {
		s.Instants = append(s.Instants, all[i].Instant)
	}
	return s
}

// during is the first of the lines with an instant in a range.
func during(lines []int, log []Line, from, to int64) (int, bool) {
	k := sort.Search(len(lines), func(i int) bool { return log[lines[i]].At >= from })
	if k < len(lines) && log[lines[k]].At <= to {
		return lines[k], true
	}
	return 0, false
}
