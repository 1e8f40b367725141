package scenario

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// refusals are the combinations that are not built. The list should shrink.
var refusals = map[string]string{
	"slots, sls":    "a YARN cluster has no fixed slots",
	"slots, hadoop": "a YARN cluster has no fixed slots",
}

// Every policy runs on every clock and on both kinds of clusters, or is refused with a sentence. Jobs end, each
// task is done once, and no node gives more than it has.
func TestEveryPolicyOnEveryClock(t *testing.T) {
	refused := map[string]bool{}
	for _, policy := range all.Policies.Names() {
		for _, clock := range []string{Ideal, SLS, Hadoop} {
			for kind, nodes := range map[string]string{"containers": "60x6/3", "slots": "60x4+2/3"} {
				name := policy + ", " + kind + ", " + clock
				s := Default()
				s.Workload, s.Cluster, s.Schedulers, s.Yarn.Clock = []string{"synth:demo"}, nodes, []string{policy}, clock
				setup, err := s.Resolve()
				if want, not := refusals[kind+", "+clock]; not {
					refused[kind+", "+clock] = true
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v, want %q", name, err, want)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				jobs := slice(t, setup)
				got := &outcomes{t: t, name: name}
				sum := playOn(t, setup, jobs, got)
				var tasks int64
				var work unit.Time
				for i, j := range jobs {
					tasks += j.Tasks()
					for k := range j.Stages {
						for n := range j.Stages[k].Tasks {
							work += j.Stages[k].Length.Draw(n, sim.StageSeed(setup.Scenario.Seed, int64(i), k))
						}
					}
				}
				if sum.Finished != int64(len(jobs)) || got.finished != sum.Finished || sum.Tasks != tasks {
					t.Errorf("%s: %d of %d jobs finished, %d of %d tasks", name, sum.Finished, len(jobs), sum.Tasks, tasks)
				}
				if got.service < work {
					t.Errorf("%s: containers were held for %v, and tasks worked for %v", name, got.service, work)
				}
			}
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(refused)), slices.Sorted(maps.Keys(refusals))) {
		t.Errorf("refused were %v, and the list has %v", refused, refusals)
	}
}

// slice is a part of the demo. Every other job has an ApplicationMaster.
func slice(t *testing.T, s *Setup) workload.Slice {
	src, err := s.Work.Open(s.Scenario.Seed)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(src)
	if err != nil {
		t.Fatal(err)
	}
	jobs = jobs[:300]
	for i := range jobs {
		if i%2 == 0 {
			jobs[i].Master = unit.Resources{Mem: 1024, Cores: 1}
		}
	}
	return jobs
}

func playOn(t *testing.T, s *Setup, jobs workload.Slice, got *outcomes) sim.Summary {
	var sum sim.Summary
	var err error
	p := &s.Policies[0]
	if s.Timing == nil {
		sum, err = sim.Run(context.Background(), sim.Config{
			Cluster: s.Cluster, Source: jobs.Source(), NewPolicy: p.New, Seed: s.Scenario.Seed, Sink: got, NoAlone: true,
		})
	} else {
		sum, err = yarn.Run(context.Background(), yarn.Config{
			Cluster: s.Cluster, Source: jobs.Source(), Timing: *s.Timing, Seed: s.Scenario.Seed, Sink: got, NoAlone: true,
			NewScheduler: p.RM, Containers: got.container,
		})
		got.check(s.Cluster)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

type outcomes struct {
	t        *testing.T
	name     string
	finished int64
	service  unit.Time
	held     []holding
}

// holding is a change of what a node has given.
type holding struct {
	at   unit.Time
	node int32
	more unit.Resources
}

func (o *outcomes) container(c *yarn.ContainerRecord) {
	o.held = append(o.held, holding{c.Allocated, c.Node, c.Size}, holding{c.Freed, c.Node, unit.Resources{}.Sub(c.Size)})
}

// check plays what was held on each node.
func (o *outcomes) check(c *cluster.Cluster) {
	slices.SortFunc(o.held, func(a, b holding) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.more.Mem, b.more.Mem)) })
	used := make([]unit.Resources, len(c.Nodes))
	for _, h := range o.held {
		if used[h.node] = used[h.node].Add(h.more); !used[h.node].Fits(c.Nodes[h.node].Room) {
			o.t.Fatalf("%s: node %d has given %v of %v at %v", o.name, h.node, used[h.node], c.Nodes[h.node].Room, h.at)
		}
	}
}

func (o *outcomes) Sample(*sim.Sample) {}

func (o *outcomes) Job(r *sim.JobRecord) {
	o.service += r.Service
	if r.Outcome == sim.Finished {
		o.finished++
		return
	}
	o.t.Errorf("%s: job %d: %v: %s", o.name, r.Seq, r.Outcome, r.Reason)
}
