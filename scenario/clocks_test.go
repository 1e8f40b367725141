package scenario

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// refusals are the combinations that are not built. The list should shrink.
var refusals = map[string]string{
	"slots, sls":    "a YARN cluster has no fixed slots",
	"slots, hadoop": "a YARN cluster has no fixed slots",

	"slots, kubernetes": "a Kubernetes cluster has no fixed slots",
}

// unfit are the policies that Kubernetes cannot run, and why.
var unfit = map[string]string{
	"capacity1": "it chooses nodes", "delay": "it chooses nodes", "shufflewatcher": "decides by node", "nas": "decides by node", "nas:parts=mts+ca": "decides by node", "nas:parts=mts": "decides by node", "tags": "decides by node",
	"sita": "decides by node", "hybrid": "decides by node", "fbq:limits=500,reduces=release": "it preempts", "tags:limits=500,reduces=release": "it preempts",
}

// networked are the policies that need a network, and what they say where none is played. Parts of NAS need none.
var networked = map[string]string{"shufflewatcher": "load of the network", "nas": "load of the network"}

// Every policy runs on every clock and on both kinds of clusters, or is refused with a sentence. Jobs end, each
// task is done once, and no node gives more than it has.
func TestEveryPolicyOnEveryClock(t *testing.T) {
	refused := map[string]bool{}
	for _, policy := range append(all.Policies.Names(), "nas:parts=mts+ca", "nas:parts=mts", "fbq:limits=500,reduces=release", "tags:limits=500,reduces=release") {
		for _, clock := range []string{Ideal, SLS, Hadoop, Kubernetes} {
			for kind, nodes := range map[string]string{"containers": "60x6/3", "slots": "60x4+2/3"} {
				name := policy + ", " + kind + ", " + clock
				s := Default()
				s.Workload, s.Cluster, s.Schedulers, s.Clock = []string{"synth:demo"}, nodes, []string{policy}, clock
				setup, err := s.Resolve()
				if want, not := refusals[kind+", "+clock]; not {
					refused[kind+", "+clock] = true
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v, want %q", name, err, want)
					}
					continue
				}
				if want, not := unfit[policy]; not && clock == Kubernetes {
					if err == nil {
						err = setup.Runs()[0].Check()
					}
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v, want %q", name, err, want)
					}
					continue
				}
				if want, needs := networked[policy]; needs {
					if err == nil {
						r := setup.Runs()[0]
						r.Workload = run.Jobs(slice(t, setup))
						_, err = run.Play(t.Context(), &r)
					}
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s without a network: %v, want %q", name, err, want)
					}
					s.Data.Network = "racks:node=1Gbit,uplink=1Gbit"
					setup, err = s.Resolve()
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
				if strings.HasSuffix(policy, "reduces=release") && clock != SLS && sum.Lost == 0 { // SLS's reduces never wait for maps
					t.Errorf("%s: nothing was preempted", name)
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

// On YARN clocks too, tasks fail and are slow, machines are of different speed, some jobs keep their containers, and some are gangs: every policy copes.
func TestEveryTroubleOnYARNClocks(t *testing.T) {
	for _, policy := range append(all.Policies.Names(), "fbq:limits=500,reduces=release") {
		for _, clock := range []string{SLS, Hadoop} {
			name := policy + ", " + clock
			s := Default()
			s.Workload, s.Cluster, s.Schedulers, s.Clock = []string{"synth:demo"}, "40x6/4", []string{policy}, clock
			s.Model.Stragglers = sim.Stragglers{Share: 0.05, Factor: 4}
			if _, needs := networked[policy]; needs {
				s.Data.Network = "racks:node=1Gbit,uplink=1Gbit"
			} else {
				s.Model.FailTask, s.Model.Attempts = 0.05, 1000
			}
			setup, err := s.Resolve()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for i := range setup.Cluster.Nodes {
				if i%2 == 0 {
					setup.Cluster.Nodes[i].Speed = &cluster.Speed{Small: 2}
				}
			}
			jobs := slice(t, setup)[:60]
			var tasks int64
			for i, j := range jobs {
				tasks += j.Tasks()
				if ask := j.Stages[0].Ask; i%5 == 1 {
					j.Keep = &workload.Keep{Ask: ask.Times(2), Slots: 2, Max: 4}
				} else if i%5 == 2 {
					j.Stages[0].Gang = min(j.Stages[0].Tasks, 8)
				}
			}
			got := &outcomes{t: t, name: name}
			if sum := playOn(t, setup, jobs, got); sum.Finished != int64(len(jobs)) || sum.Tasks != tasks || s.Model.FailTask > 0 && sum.Lost == 0 {
				t.Errorf("%s: %d of %d jobs finished, %d of %d tasks, %d lost", name, sum.Finished, len(jobs), sum.Tasks, tasks, sum.Lost)
			}
		}
	}
}

// An AM decides what of its job runs again, so nobody restarts a job on a YARN clock.
func TestRestartNeedsIdealTime(t *testing.T) {
	s := Default()
	s.Workload, s.Cluster, s.Schedulers, s.Clock = []string{"synth:demo"}, "60x6/3", []string{"tags:restart=yes"}, Hadoop
	setup, err := s.Resolve()
	if err == nil {
		r := setup.Runs()[0]
		err = r.Check()
	}
	if want := "a YARN clock cannot run this policy: it restarts jobs"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// With delays that tend to zero, the Hadoop clock and ideal time give the same elapsed times. Jobs have maps alone here: how a job asks
// for reduces is not a question of the clock.
func TestClocksAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("plays millions of heartbeats")
	}
	for _, policy := range []string{"fifo", "fair", "capacity"} {
		var mean, p95 [2]float64
		for i, clock := range []string{Ideal, Hadoop} {
			s := Default()
			s.Workload, s.Cluster, s.Schedulers, s.Clock = []string{"synth:demo"}, "12x6/3", []string{policy}, clock
			setup, err := s.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if y := setup.Timing; y != nil {
				y.NodeHeartbeat, y.AMHeartbeat = 100*unit.Millisecond, 100*unit.Millisecond
				y.AMStart, y.ContainerStart, y.ContainerExit, y.Commit, y.Linger = 0, 0, 0, 0, 0
			}
			jobs := slice(t, setup)
			for _, j := range jobs {
				j.AM, j.Stages = unit.Resources{}, j.Stages[:1]
			}
			got := &outcomes{t: t, name: policy}
			playOn(t, setup, jobs, got)
			slices.Sort(got.elapsed)
			p95[i] = got.elapsed[len(got.elapsed)*95/100]
			for _, e := range got.elapsed {
				mean[i] += e / float64(len(got.elapsed))
			}
		}
		t.Logf("%s: mean %.0f s in ideal time, %.0f s on the Hadoop clock; p95 %.0f s, %.0f s", policy, mean[0], mean[1], p95[0], p95[1])
		if math.Abs(mean[1]/mean[0]-1) > 0.02 || math.Abs(p95[1]/p95[0]-1) > 0.02 {
			t.Errorf("%s: the clocks differ by more than 2 %%", policy)
		}
	}
}

// slice is a part of the demo. Every other job has an ApplicationMaster.
func slice(t *testing.T, s *Setup) workload.Slice {
	src, err := s.Workload.Open(s.Scenario.Seed)
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
			jobs[i].AM = unit.Resources{Mem: 1024, Cores: 1}
		}
	}
	return jobs
}

func playOn(t *testing.T, s *Setup, jobs workload.Slice, got *outcomes) sim.Summary {
	r := s.Runs()[0]
	r.Workload, r.Seed, r.Sink, r.NoAlone = run.Jobs(jobs), s.Scenario.Seed, got, true
	if s.Timing != nil {
		r.Containers = got.container
	}
	sum, err := run.Play(context.Background(), &r)
	if err != nil {
		t.Fatal(err)
	}
	got.check(s.Cluster)
	return sum
}

type outcomes struct {
	t        *testing.T
	name     string
	finished int64
	service  unit.Time
	elapsed  []float64 // seconds
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
		o.elapsed = append(o.elapsed, float64(r.Finish-r.Job.Submit)/float64(unit.Second))
		return
	}
	o.t.Errorf("%s: job %d: %v: %s", o.name, r.Seq, r.Outcome, r.Reason)
}
