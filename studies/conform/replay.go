package conform

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	rmall "github.com/yardmaster/yardmaster/policy/rm/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	trace "github.com/yardmaster/yardmaster/workload/sls"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// cost is the time that a simulation took.
type cost struct{ Wall, CPU time.Duration }

func (c cost) plus(o cost) cost { return cost{c.Wall + o.Wall, c.CPU + o.CPU} }

// simulate runs the scenario through the simulator with a record's phases, or with all of its instants.
func simulate(ctx context.Context, s *Scenario, rec *sls.Record, instants bool) (*Outcome, cost, error) {
	wall, cpu := time.Now(), host.CPU()
	o, err := replay(ctx, s, rec, instants)
	if err != nil {
		return nil, cost{}, fmt.Errorf("simulating %s: %w", s.Name, err)
	}
	return o, cost{time.Since(wall), host.CPU() - cpu}, nil
}

func replay(ctx context.Context, s *Scenario, rec *sls.Record, instants bool) (*Outcome, error) {
	var text bytes.Buffer
	if err := sls.WriteNodes(&text, s.Racks); err != nil {
		return nil, err
	}
	nodes, err := trace.ReadNodes(&text, s.Name+" nodes")
	if err != nil {
		return nil, err
	}
	jobs, err := s.workload()
	if err != nil {
		return nil, err
	}
	newScheduler, err := Scheduler(hadoop.Properties("", s.Site), string(s.Capacity), string(s.Fair))
	if err != nil {
		return nil, err
	}
	timing := yarn.SLS()
	timing.NodeHeartbeat = unit.Time(rec.Beat) * unit.Millisecond
	timing.AMHeartbeat = timing.NodeHeartbeat
	log := &run.Log{Script: script(s, rec, instants)}
	for _, n := range rec.Nodes { // phases are one interval before the first heartbeats: a node's first step is a no-op
		log.Phases, log.Ports = append(log.Phases, unit.Time(n.Phase-rec.Beat)*unit.Millisecond), append(log.Ports, int32(n.Port))
	}
	return Replay(ctx, &run.Spec{Cluster: nodes, Workload: run.Jobs(jobs), Scheduler: run.Scheduler{RM: newScheduler}, Timing: &timing, Log: log}, true)
}

// workload reads the same trace that SLS gets. The format has no job priorities: they are added afterwards, for both.
func (s *Scenario) workload() (workload.Slice, error) {
	var text bytes.Buffer
	if err := sls.WriteTrace(&text, s.Jobs); err != nil {
		return nil, err
	}
	all, err := workload.ReadAll(trace.NewReader(&text, s.Name+" trace", trace.Options{}))
	if err != nil {
		return nil, err
	}
	for i, j := range all {
		if i >= len(s.Jobs) || j.ID != s.Jobs[i].ID {
			return nil, fmt.Errorf("job %d of the trace came back as %s", i+1, j.ID)
		}
		j.Priority = s.Jobs[i].Priority
	}
	return all, nil
}

// Scheduler reads the same XML that a ResourceManager gets: its yarn-site.xml and a capacity-scheduler.xml or a fair-scheduler.xml.
func Scheduler(siteXML, capacity, fair string) (func() (rm.Scheduler, error), error) {
	site, err := conf.ReadSite(strings.NewReader(siteXML), "yarn-site.xml")
	if err != nil {
		return nil, err
	}
	return rmall.Read("the scheduler's file", []byte(cmp.Or(fair, capacity)), site)
}

// script is what the simulator gets from the log: the scheduler's own timer, and with instants every event that reached it.
//
// Events are in the order in which the scheduler handled them. Their causes are earlier: a node checks which of its containers have ended
// before it sends its heartbeat, and an AM starts its new containers before its next call.
func script(s *Scenario, rec *sls.Record, instants bool) *yarn.Script {
	seq := map[string]int64{}
	for i := range s.Jobs {
		seq[s.Jobs[i].ID] = int64(i)
	}
	var (
		all  []yarn.Instant
		last int64
		beat = make([]int64, len(rec.Nodes)) // when each node last checked its containers
		woke = make([]int64, len(rec.Jobs))  // when each job's AM last woke up
	)
	add := func(in yarn.Instant, at, cause int64) {
		last = max(last, at) // a line's timestamp is taken slightly before the line is written
		in.At, in.Cause = unit.Time(last)*unit.Millisecond, unit.Time(cause)*unit.Millisecond
		all = append(all, in)
	}
	rec.Log.Each(func(kind byte, at int64, of int32) {
		if at < 0 {
			return // rounds while the nodes registered
		}
		if kind == sls.Round {
			add(yarn.Instant{Kind: yarn.Round}, at, 0)
		}
		if !instants {
			return
		}
		switch kind {
		case sls.Beat:
			beat[of] = at
		case sls.Pass:
			add(yarn.Instant{Kind: yarn.Beat, Node: of}, at, beat[of])
		case sls.Asked:
			add(yarn.Instant{Kind: yarn.Added, Job: seq[rec.Jobs[of].ID]}, at, 0)
		case sls.Tick:
			woke[of] = at
		case sls.Call, sls.Change:
			add(yarn.Instant{Kind: yarn.Tick, Job: seq[rec.Jobs[of].ID]}, at, woke[of])
		case sls.Ended: // the last tick of an AM makes no call
			add(yarn.Instant{Kind: yarn.Tick, Job: seq[rec.Jobs[of].ID]}, at, 0)
		}
	})
	return &yarn.Script{Instants: all}
}

// visit is one pass over a node.
type visit struct {
	node int32
	at   unit.Time
}

// Replay runs a simulation and returns its outcome. With ams, an application starts with its AM's container, which then counts as
// a placement.
func Replay(ctx context.Context, s *run.Spec, ams bool) (*Outcome, error) {
	got := &collector{NewOutcome(), ams, map[visit]int{}}
	if s.Log.Script != nil {
		for i, x := range s.Log.Script.Instants {
			if x.Kind == yarn.Beat {
				got.turns[visit{x.Node, x.At}] = i
			}
		}
	}
	s.Sink, s.Containers, s.NoAlone = got, got.container, true
	if _, err := run.Play(ctx, s); err != nil {
		return nil, err
	}
	got.Settle()
	return got.Outcome, nil
}

// collector records the simulator's outcome.
type collector struct {
	*Outcome
	ams   bool
	turns map[visit]int // pass numbers: several passes may share an instant
}

var _ sim.Sink = (*collector)(nil)

func ms(t unit.Time) int64 { return int64(t / unit.Millisecond) }

func (c *collector) Job(r *sim.JobRecord) {
	id := r.Job.ID
	if id == warmUp {
		return
	}
	c.Submit[id], c.End[id] = ms(r.Job.Submit), -1
	if r.Outcome == sim.Finished {
		c.End[id] = ms(r.Finish)
	}
	if !c.ams {
		if c.Start[id] = -1; r.Start >= 0 {
			c.Start[id] = ms(r.Start)
		}
	}
}

func (c *collector) Sample(*sim.Sample) {}

func (c *collector) container(r *yarn.ContainerRecord) {
	am := r.Stage == policy.AMStage
	if r.Allocated < 0 || r.Job.ID == warmUp || am && !c.ams {
		return
	}
	if am {
		c.Start[r.Job.ID] = ms(r.Allocated)
	}
	c.Placed = append(c.Placed, Placement{r.Job.ID, r.Node, r.Priority, ms(r.Allocated), c.turns[visit{r.Node, r.Allocated}]})
}
