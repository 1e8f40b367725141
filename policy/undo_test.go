package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/unit"
)

// binder is an engine that reserves a container, then binds it; what cannot be bound is undone.
type binder struct {
	policy.Policy
	now  unit.Time
	node policy.Node
	jobs []*policy.Job
	held map[*policy.Job]int64
}

func newBinder(t *rapid.T, name string) *binder {
	p, err := all.Policies.New(policy.Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	b := &binder{Policy: p, node: policy.Node{Total: one.Times(12), Free: one.Times(12)}, held: map[*policy.Job]int64{}}
	b.Order.Resized(0, policy.Cluster{Total: one.Times(12), Max: one.Times(12), Nodes: 1})
	return b
}

func (b *binder) arrive(t *rapid.T, i int, user, queue string, tasks int64) {
	j := &policy.Job{
		Seq: int64(i), Index: int32(i), ID: fmt.Sprint("j", i), User: user, Queue: queue, Tasks: tasks, Submitted: b.now, Ask: one, Input: unit.Bytes(i%7) << 30,
		Stages: []policy.Stage{{Tasks: tasks, Pending: tasks, Ask: one}},
	}
	if err := b.Order.Arrived(b.now, j); err != nil {
		t.Fatal(err)
	}
	b.jobs = append(b.jobs, j)
	j.Want(0, tasks)
	b.Order.Changed(b.now, j)
}

// reserve gives a container to whoever is next, and undoes it if it cannot be bound.
func (b *binder) reserve(bound bool) (name string) {
	if !one.Fits(b.node.Free) {
		return ""
	}
	e := policy.Event{Now: b.now, Node: &b.node, Size: one}
	b.Order.Ranked(&policy.Offer{Now: b.now, Node: &b.node}, func(j *policy.Job) policy.Verdict {
		name = j.ID
		e.Job = j
		b.node.Free = b.node.Free.Sub(one)
		j.Want(0, -1)
		j.Stages[0].Pending--
		j.Stages[0].Running++
		j.Hold(b.now, one)
		b.held[j]++
		b.Order.Started(&e)
		return policy.Took
	})
	if name != "" && b.Place != nil {
		b.Place.Placed(e.Job, 0, &b.node, policy.RackLocal)
	}
	if name != "" && !bound {
		start := b.now
		b.now += 30 * unit.Second // the answer takes its time
		if b.Place != nil {
			b.Place.Unplaced(e.Job, 0, &b.node, policy.RackLocal)
		}
		b.back(e.Job, start, policy.Undone)
		e.Job.Stages[0].Pending++
		e.Job.Want(0, 1)
		b.Order.Changed(b.now, e.Job)
	}
	return name
}

// back gives a container back.
func (b *binder) back(j *policy.Job, start unit.Time, why policy.End) {
	b.held[j]--
	b.node.Free = b.node.Free.Add(one)
	j.Stages[0].Running--
	e := policy.Event{Now: b.now, Job: j, Node: &b.node, Size: one, Why: why}
	if why == policy.Undone {
		j.Undo(start, one)
	} else {
		j.Yield(b.now, start, one)
		j.Stages[0].Done++
		j.Done++
		e.Held, e.Worked = b.now-start, b.now-start
	}
	b.Order.Ended(&e)
}

func (b *binder) ranking() (names []string) {
	b.Order.Ranked(&policy.Offer{Now: b.now, Node: &b.node}, func(j *policy.Job) policy.Verdict {
		names = append(names, j.ID)
		return policy.Pass
	})
	return names
}

// A reservation that is undone leaves no trace: who is next is the same as without it.
func TestUndoneLeavesNoTrace(t *testing.T) {
	for _, entry := range all.Policies {
		t.Run(entry.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b := newBinder(t, entry.Name), newBinder(t, entry.Name)
				for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
					a.now += unit.Second
					b.now = a.now
					switch rapid.IntRange(0, 3).Draw(t, "what") {
					case 0:
						user, queue := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), rapid.SampledFrom([]string{"", "q"}).Draw(t, "queue")
						if entry.Name == "capacity1" {
							queue = ""
						}
						tasks := rapid.Int64Range(1, 5).Draw(t, "tasks")
						a.arrive(t, i, user, queue, tasks)
						b.arrive(t, i, user, queue, tasks)
					case 1:
						if a.Timer != nil {
							a.Timer.Tick(a.now)
							b.Timer.Tick(b.now)
						}
						if x, y := a.reserve(true), b.reserve(true); x != y {
							t.Fatalf("%s starts after undone reservations, %s without", x, y)
						}
					case 2:
						a.reserve(false) // only one of them
						b.now = a.now
					case 3:
						if k := slices.IndexFunc(a.jobs, func(j *policy.Job) bool { return a.held[j] > 0 }); k >= 0 {
							a.back(a.jobs[k], a.now-unit.Second, policy.Done)
							b.back(b.jobs[k], b.now-unit.Second, policy.Done)
						}
					}
					for k, j := range a.jobs {
						if x, y := j.Attained(a.now), b.jobs[k].Attained(b.now); x != y {
							t.Fatalf("%s has received %v after undone reservations, %v without", j.ID, x, y)
						}
						if a.Place != nil {
							for near := policy.NoPreference; near <= policy.NodeLocal; near++ {
								if x, y := a.Place.Score(a.now, j, 0, &a.node, near), b.Place.Score(b.now, b.jobs[k], 0, &b.node, near); x != y {
									t.Fatalf("%s, %v: score %v after undone reservations, %v without", j.ID, near, x, y)
								}
							}
						}
					}
					if x, y := a.ranking(), b.ranking(); !slices.Equal(x, y) {
						t.Fatalf("after undone reservations %v, without %v", x, y)
					}
				}
			})
		})
	}
}
