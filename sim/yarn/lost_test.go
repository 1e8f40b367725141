package yarn

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	fifopolicy "github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// drawLosses loses nodes for a while, and all but the first for good.
func drawLosses(t *rapid.T, c *cluster.Cluster) (losses []sim.Loss) {
	for range rapid.IntRange(0, 6).Draw(t, "losses") {
		l := sim.Loss{
			Node: c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "node")].Name,
			At:   unit.Time(rapid.Int64Range(0, 120_000).Draw(t, "at")) * ms, For: unit.Time(rapid.Int64Range(1, 60_000).Draw(t, "for")) * ms,
		}
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			l.For = 5 * unit.Hour
		}
		if l.Node != c.Nodes[0].Name && rapid.Bool().Draw(t, "for good") {
			l.For = 0
		}
		losses = append(losses, l)
	}
	return losses
}

// checkNodes checks that no node ever held more than it has, or anything while it was lost.
func checkNodes(t *rapid.T, c *cluster.Cluster, losses []sim.Loss, conts []ContainerRecord) {
	type change struct {
		at    unit.Time
		size  unit.Resources
		frees bool
	}
	changes := make([][]change, len(c.Nodes))
	for _, r := range conts {
		if r.Freed < r.Allocated {
			t.Fatalf("container %+v was not given back", r)
		}
		for _, l := range losses {
			if c.Nodes[r.Node].Name == l.Node && r.Freed > l.At && (l.For == 0 || r.Allocated < l.At+l.For) {
				t.Fatalf("container %+v outlives the loss %+v", r, l)
			}
		}
		changes[r.Node] = append(changes[r.Node], change{r.Allocated, r.Size, false}, change{r.Freed, r.Size, true})
	}
	for n, list := range changes {
		slices.SortStableFunc(list, func(a, b change) int {
			if a.at == b.at && a.frees != b.frees { // a container may be freed at the instant when it was given
				return map[bool]int{true: -1, false: 1}[a.frees]
			}
			return cmp.Compare(a.at, b.at)
		})
		var used unit.Resources
		for _, x := range list {
			if x.frees {
				used = used.Sub(x.size)
			} else if used = used.Add(x.size); !used.Fits(c.Nodes[n].Room) {
				t.Fatalf("node %d holds %v of %v at %v", n, used, c.Nodes[n].Room, x.at)
			}
		}
	}
}

// Whatever is lost and when: every job finishes, no node is over-committed or used while it is lost, and the same input gives the same output.
func TestLossesOfNodes(t *testing.T) {
	fair, err := conf.ReadFair(strings.NewReader("<allocations/>"), "fair-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	capacity := capacityOf(t, conf.DefaultSite(), oneQueue...)
	rapid.Check(t, func(t *rapid.T) {
		c := cluster.Uniform(rapid.IntRange(2, 5).Draw(t, "nodes"), 2, gb.Times(int64(rapid.IntRange(8, 12).Draw(t, "room"))))
		timing := rapid.SampledFrom([]Timing{SLS(), Hadoop()}).Draw(t, "timing")
		if rapid.IntRange(0, 3).Draw(t, "plain") == 0 {
			timing.AMs = PlainAMs
		}
		jobs := drawJobs(t, len(c.Nodes), rapid.Bool().Draw(t, "masters"))
		losses := drawLosses(t, c)
		by := rapid.SampledFrom([]string{"fifo", "capacity", "fair", "policy"}).Draw(t, "scheduler")
		if rapid.Bool().Draw(t, "network") {
			linked(t, c, "racks:node=8Mbit,uplink=4Mbit")
			withData(t, jobs)
		}
		var failing float64
		if c.Network == nil {
			failing = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "failing")
		}
		for _, j := range jobs {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				policytest.Executors(t, j, gb)
			case 1:
				for i := range j.Stages {
					if j.Stages[i].Ask == gb { // two fit beside the AMs
						j.Stages[i].Gang = 2
					}
				}
			}
		}
		run := func() (*seen, sim.Summary) {
			var sched rm.Scheduler
			switch by {
			case "fifo":
				f := newFIFO()
				f.check = t.Fatalf
				sched = f
			case "capacity":
				sched, err = capacity()
			case "policy":
				sched, err = adapt.New(policy.Policy{Order: counted{fifopolicy.New(), t, jobs}})
			default:
				sched, err = fairrm.New(fair, conf.DefaultSite())
			}
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Cluster: c, Timing: timing, Seed: 7, Losses: losses, FailTask: failing, Attempts: 1000}
			if c.Network != nil {
				cfg.Worker = transfer.New(transfer.Options{})
			}
			return play(t, cfg, sched, jobs...)
		}
		out, sum := run()
		if sum.Finished != int64(len(jobs)) || sum.Stuck != 0 || sum.Failed != 0 {
			t.Fatalf("%+v\n%+v", sum, out.jobs)
		}
		var tasks, killed int64
		for _, j := range jobs {
			tasks += j.Tasks()
		}
		for _, r := range out.conts {
			if r.Killed && r.Stage != policy.KeptStage {
				killed++
			}
		}
		if slices.ContainsFunc(jobs, func(j *workload.Job) bool { return j.Keep != nil }) {
			killed = sum.Lost // tasks in kept containers have no records
		}
		if sum.Tasks != tasks || sum.Lost != killed || sum.Decisions != int64(len(out.conts)) {
			t.Fatalf("%d tasks of %d, %d lost of %d, %d containers of %d", sum.Tasks, tasks, sum.Lost, killed, sum.Decisions, len(out.conts))
		}
		checkNodes(t, c, losses, out.conts)
		again, sum2 := run()
		if !reflect.DeepEqual(out, again) || !reflect.DeepEqual(sum, sum2) {
			t.Fatal("two runs differ")
		}
	})
}

// A map on a lost node runs again elsewhere; an AM on it makes the job start over. Losses after the last job do not prolong the run.
func TestLostNodeTimeline(t *testing.T) {
	c := cluster.Uniform(2, 1, gb.Times(2))
	cfg := Config{Cluster: c, Timing: Hadoop(), Phases: []unit.Time{300 * ms, 800 * ms}}
	base, _ := play(t, cfg, newFIFO(), mr("j", 0, 2, 30*s, 0, 0))
	loss := func(node string, at, long unit.Time) sim.Loss { return sim.Loss{Node: node, At: at, For: long} }
	for name, x := range map[string]struct {
		losses []sim.Loss
		lost   int64
		longer bool
	}{
		"after the end": {[]sim.Loss{loss("node1", unit.Hour, unit.Minute), loss("node2", 2*unit.Hour, 0)}, 0, false},
		"of the map":    {[]sim.Loss{loss("node2", 20*s, 0)}, 1, true},
		"of the AM":     {[]sim.Loss{loss("node1", 20*s, 100*s)}, 1, true},
		"of all":        {[]sim.Loss{loss("node1", 20*s, 5*unit.Hour), loss("node2", 20*s, 6*unit.Hour)}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			with := cfg
			with.Losses = x.losses
			out, sum := play(t, with, newFIFO(), mr("j", 0, 2, 30*s, 0, 0))
			if sum.Finished != 1 || sum.Lost != x.lost || (sum.LastFinish > base.jobs[0].Finish) != x.longer {
				t.Errorf("%+v, ended at %v, without losses at %v\n%s", sum, sum.LastFinish, base.jobs[0].Finish, out.tell())
			}
		})
	}
	cfg.Losses = []sim.Loss{loss("node9", 0, 0)}
	cfg.Source, cfg.NewScheduler = workload.Slice{}.Source(), func() (rm.Scheduler, error) { return newFIFO(), nil }
	if _, err := Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), `"node9", which is not in the cluster`) {
		t.Error(err)
	}
}

// counted checks what a policy sees of tasks in kept containers.
type counted struct {
	policy.Order
	t    *rapid.T
	jobs []*workload.Job
}

func (c counted) Started(e *policy.Event) { c.check(e); c.Order.Started(e) }
func (c counted) Ended(e *policy.Event)   { c.check(e); c.Order.Ended(e) }

func (c counted) check(e *policy.Event) {
	if !slices.ContainsFunc(c.jobs, func(j *workload.Job) bool { return j.ID == e.Job.ID && j.Keep != nil }) {
		return
	}
	var done int64
	for _, s := range e.Job.Stages {
		if s.Running < 0 || s.Done < 0 || s.Pending < 0 || s.Later != s.Pending || s.Pending+s.Running+s.Done != s.Tasks {
			c.t.Fatalf("%v: a stage of %s: %+v", e.Now, e.Job.ID, s)
		}
		done += s.Done
	}
	if e.Job.Done != done {
		c.t.Fatalf("%v: %s has done %d tasks, its stages %d", e.Now, e.Job.ID, e.Job.Done, done)
	}
}
