package policy_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/unit"
)

// An engine in miniature, of either kind: node-driven (a node beats, its free containers are offered) or pod-driven (the
// next waiting task is fetched, then a node is found for it). Both hear the same recorded events.
type tinyEngine struct {
	t       *testing.T
	order   policy.Order
	nodes   []policy.Node
	jobs    map[string]*policy.Job
	held    map[string][]int // nodes of a job's containers, oldest first
	byPod   bool
	started []string // job of each container, in the order of starts
}

// recorded is one event of the log that both engines hear.
type recorded struct {
	at    unit.Time
	what  string // arrive, more, end
	job   string
	tasks int64
}

var one = unit.Resources{Mem: 1024, Cores: 1}

func newTiny(t *testing.T, name string, byPod bool) *tinyEngine {
	p, err := all.Policies.New(policy.Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	e := &tinyEngine{t: t, order: p.Order, byPod: byPod, jobs: map[string]*policy.Job{}, held: map[string][]int{}}
	var total unit.Resources
	for i := range 4 {
		e.nodes = append(e.nodes, policy.Node{Index: int32(i), Name: fmt.Sprint("n", i), Total: one.Times(3), Free: one.Times(3)})
		total = total.Add(one.Times(3))
	}
	e.order.Resized(0, policy.Cluster{Total: total, Max: one.Times(3), Nodes: 4})
	return e
}

func (e *tinyEngine) hear(r recorded, index int32) {
	j := e.jobs[r.job]
	switch r.what {
	case "arrive":
		j = &policy.Job{
			Seq: int64(index), Index: index, ID: r.job, User: "u" + r.job[1:2], Queue: "q" + r.job[2:3], Priority: int(r.job[3] - '0'),
			Submitted: r.at, Tasks: r.tasks,
		}
		e.jobs[r.job] = j
		if err := e.order.Arrived(r.at, j); err != nil {
			e.t.Fatal(err)
		}
		fallthrough
	case "more":
		was := j.Pending
		j.Want(policy.MapSlot, r.tasks)
		j.Front, j.Ask = 0, one
		if was == 0 {
			e.order.Changed(r.at, j)
		}
	case "end":
		n := e.held[r.job][0]
		e.held[r.job] = e.held[r.job][1:]
		e.nodes[n].Free = e.nodes[n].Free.Add(one)
		j.Done++
		j.Yield(r.at, r.at-unit.Second, one)
		e.order.Ended(&policy.Event{Now: r.at, Job: j, Node: &e.nodes[n], Size: one, Held: unit.Second, Worked: unit.Second})
	}
	if e.byPod {
		e.podDriven(r.at)
	} else {
		e.nodeDriven(r.at)
	}
}

func (e *tinyEngine) start(now unit.Time, j *policy.Job, n int) policy.Verdict {
	e.nodes[n].Free = e.nodes[n].Free.Sub(one)
	e.held[j.ID] = append(e.held[j.ID], n)
	j.Want(policy.MapSlot, -1)
	j.Hold(now, one)
	e.order.Started(&policy.Event{Now: now, Job: j, Node: &e.nodes[n], Size: one})
	e.started = append(e.started, j.ID)
	return policy.Took
}

func (e *tinyEngine) nodeDriven(now unit.Time) {
	for n := range e.nodes {
		for one.Fits(e.nodes[n].Free) {
			o := policy.Offer{Now: now, Node: &e.nodes[n]}
			if !e.order.Ranked(&o, func(j *policy.Job) policy.Verdict { return e.start(now, j, n) }) {
				return
			}
		}
	}
}

func (e *tinyEngine) podDriven(now unit.Time) {
	for {
		var next *policy.Job
		o := policy.Offer{Now: now}
		took := e.order.Ranked(&o, func(j *policy.Job) policy.Verdict {
			for n := len(e.nodes) - 1; n >= 0; n-- { // finds its node last to first: where a task lands must not matter
				if one.Fits(e.nodes[n].Free) {
					next = j
					return e.start(now, j, n)
				}
			}
			return policy.Enough
		})
		if !took || next == nil {
			return
		}
	}
}

// log is a made-up afternoon. A job's name gives its user, queue and priority: j<user><queue><priority>.
func recordedLog() []recorded {
	log := []recorded{
		{0, "arrive", "jaa0", 9}, {0, "arrive", "jba0", 5}, {1, "arrive", "jab1", 7}, {2, "end", "jaa0", 0}, {3, "arrive", "jcb0", 4},
		{4, "end", "jaa0", 0}, {4, "end", "jaa0", 0}, {5, "arrive", "jca2", 3}, {6, "end", "jba0", 0}, {7, "more", "jaa0", 6},
	}
	for i := range 40 {
		log = append(log, recorded{unit.Time(8 + i), "end", "", 0})
	}
	return log
}

// The same recorded events, from either kind of engine, give the same order of jobs.
func TestSeamServesBothKindsOfEngine(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "capacity", "fbq", "comp"} {
		t.Run(name, func(t *testing.T) {
			node, pod := newTiny(t, name, false), newTiny(t, name, true)
			next := int32(0)
			for _, r := range recordedLog() {
				r.at *= unit.Second
				if r.what == "end" {
					// The log's ends name a job where it matters; the others end a container of the job that holds most.
					if r.job == "" || len(node.held[r.job]) == 0 {
						r.job = most(node.held)
					}
					if r.job == "" {
						continue
					}
				}
				index := next
				if r.what == "arrive" {
					next++
				}
				node.hear(r, index)
				pod.hear(r, index)
				if !slices.Equal(node.started, pod.started) {
					t.Fatalf("at %v the orders differ:\nnode-driven %v\npod-driven  %v", r.at, node.started, pod.started)
				}
			}
			if len(node.started) != 34 {
				t.Errorf("%d containers started, want 34: %v", len(node.started), node.started)
			}
			t.Logf("%v", node.started)
		})
	}
}

func most(held map[string][]int) string {
	best := ""
	for id := range held {
		if n := len(held[id]); n > 0 && (best == "" || n > len(held[best]) || n == len(held[best]) && id < best) {
			best = id
		}
	}
	return best
}

// Many nodes are scored for one task at once, as a Kubernetes scheduler does; the answers are those of one after the other.
func TestScoresAreConcurrent(t *testing.T) {
	for _, entry := range all.Policies {
		p, err := all.Policies.New(policy.Spec{Name: entry.Name})
		if err != nil {
			t.Fatal(err)
		}
		if p.Place == nil {
			continue
		}
		job := &policy.Job{ID: "j", Tasks: 1000, Stages: make([]policy.Stage, 1), Ask: one}
		p.Order.Resized(0, policy.Cluster{Total: one.Times(192), Max: one.Times(3), Nodes: 64})
		if err := p.Order.Arrived(0, job); err != nil {
			t.Fatal(err)
		}
		scores := func() (got [64 * 4]policy.Score) {
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() {
					n := policy.Node{Index: int32(i / 4), Total: one.Times(3), Free: one}
					got[i] = p.Place.Score(0, job, 0, &n, policy.Near(i%4))
				})
			}
			wg.Wait()
			return got
		}
		first := scores()
		for range 200 {
			p.Place.Skipped(0, job, 0)
		}
		waited := scores()
		if again := scores(); again != waited {
			t.Errorf("%s: scores change while nothing happens", entry.Name)
		}
		if off := int(policy.OffRack); first[off] >= 0 || waited[off] < 0 {
			t.Errorf("%s: off rack scores %d at first, %d after 200 chances let go", entry.Name, first[off], waited[off])
		}
	}
}
