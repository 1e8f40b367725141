package policy_test

import (
	"fmt"
	"slices"
	"strings"
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
	held map[*policy.Job][]unit.Time // since when, oldest first
	open []reservation
}

// reservation is a container that is not bound yet.
type reservation struct {
	job   *policy.Job
	stage int
	near  policy.Near
	start unit.Time
}

func newBinder(t *rapid.T, name string) *binder {
	spec, err := policy.ParseSpec(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := all.Policies.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	b := &binder{Policy: p, node: policy.Node{Total: one.Times(12), Free: one.Times(12)}, held: map[*policy.Job][]unit.Time{}}
	b.Order.Resized(0, policy.Cluster{Total: one.Times(12), Max: one.Times(12), Nodes: 1})
	return b
}

func (b *binder) arrive(t *rapid.T, i int, user, queue string, tasks int64) {
	j := &policy.Job{
		Seq: int64(i), Index: int32(i), ID: fmt.Sprint("j", i), User: user, Queue: queue, Tasks: tasks, Submitted: b.now, Ask: one, Input: unit.Bytes(i%7) << 30,
		Stages: []policy.Stage{{Tasks: tasks, Pending: tasks, Ask: one}},
	}
	if i%3 > 0 {
		j.Deadline = b.now + unit.Time(i%5)*unit.Hour + unit.Minute
	}
	if err := b.Order.Arrived(b.now, j); err != nil {
		t.Fatal(err)
	}
	b.jobs = append(b.jobs, j)
	j.Want(0, tasks)
	b.Order.Changed(b.now, j)
}

// start reserves a container for a job.
func (b *binder) start(j *policy.Job, near policy.Near) {
	b.node.Free = b.node.Free.Sub(one)
	j.Want(0, -1)
	j.Stages[0].Pending--
	j.Stages[0].Running++
	j.Hold(b.now, one)
	b.held[j] = append(b.held[j], b.now)
	b.Order.Started(&policy.Event{Now: b.now, Job: j, Node: &b.node, Size: one})
	if b.Place != nil {
		b.Place.Placed(j, 0, &b.node, near)
	}
}

// next gives a container to whoever is next.
func (b *binder) next(near policy.Near) (started *policy.Job) {
	if !one.Fits(b.node.Free) {
		return nil
	}
	b.Order.Ranked(&policy.Offer{Now: b.now, Node: &b.node}, func(j *policy.Job) policy.Verdict {
		started = j
		b.start(j, near)
		return policy.Took
	})
	return started
}

// reserve is next, for a container that may not be bound.
func (b *binder) reserve(near policy.Near) {
	if j := b.next(near); j != nil {
		b.open = append(b.open, reservation{job: j, near: near, start: b.now})
	}
}

// undo says that an open reservation could not be bound.
func (b *binder) undo(i int) {
	r := b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	if b.Place != nil {
		b.Place.Unplaced(r.job, 0, &b.node, r.near)
	}
	b.back(r.job, r.start, policy.Undone)
	r.job.Stages[0].Pending++
	r.job.Want(0, 1)
	b.Order.Changed(b.now, r.job)
}

// back gives a container back.
func (b *binder) back(j *policy.Job, start unit.Time, why policy.End) {
	i := slices.Index(b.held[j], start)
	b.held[j] = slices.Delete(b.held[j], i, i+1)
	b.node.Free = b.node.Free.Add(one)
	j.Stages[0].Running--
	e := policy.Event{Now: b.now, Job: j, Node: &b.node, Size: one, Held: b.now - start, Why: why}
	if why == policy.Undone {
		j.Undo(start, one)
	} else {
		j.Yield(b.now, start, one)
		j.Stages[0].Done++
		j.Done++
		j.Stages[0].Worked += b.now - start
		e.Worked = b.now - start
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

// knows is what a policy keeps and predicts beyond its decisions.
func (b *binder) knows(t *rapid.T) (text string) {
	if k, ok := b.Order.(policy.Keeper); ok {
		saved, err := k.Save(b.now)
		if err != nil {
			t.Fatal(err)
		}
		text = string(saved)
	}
	if e, ok := b.Order.(policy.Estimator); ok {
		e.Estimates(b.now, func(j *policy.Job, end unit.Time) { text += fmt.Sprint(j.ID, " ends at ", end, ";") })
	}
	return text
}

// specs are all policies, and some with short waits.
func specs() []string {
	return append(all.Policies.Names(), "delay:node=2,rack=3", "delay:node=3s,rack=20s", "shufflewatcher:node=2,rack=3", "nas:skip=2", "nas:skip=4s,reset=any", "capacity1:node-delay=2,rack-delay=4")
}

// Reservations that are undone leave no trace, whatever happened while they were open: who is next, and where, is the same as without them.
func TestUndoneLeavesNoTrace(t *testing.T) {
	for _, name := range specs() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b := newBinder(t, name), newBinder(t, name) // only a reserves what is undone
				both := []*binder{a, b}
				drawn := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
				near := func() policy.Near { return policy.Near(drawn(4, "near")) }
				starts := map[int][]unit.Time{} // of containers that are bound, by job
				for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
					now := a.now + unit.Time(drawn(20, "time"))*unit.Second
					a.now, b.now = now, now
					switch what := drawn(7, "what"); {
					case what == 0:
						user, queue := rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), rapid.SampledFrom([]string{"", "q"}).Draw(t, "queue")
						if strings.HasPrefix(name, "capacity1") {
							queue = ""
						}
						tasks := rapid.Int64Range(1, 5).Draw(t, "tasks")
						for _, x := range both {
							x.arrive(t, i, user, queue, tasks)
						}
					case what == 1 && len(a.open) == 0:
						near := near()
						x, y := a.next(near), b.next(near)
						if (x == nil) != (y == nil) || x != nil && x.ID != y.ID {
							t.Fatalf("%+v starts after undone reservations, %+v without", x, y)
						}
						if x != nil {
							k := slices.Index(a.jobs, x)
							starts[k] = append(starts[k], now)
						}
					case what == 1: // others start
						k := slices.IndexFunc(a.jobs, func(j *policy.Job) bool {
							return j.Pending > 0 && !slices.ContainsFunc(a.open, func(r reservation) bool { return r.job.User == j.User })
						})
						if near := near(); k >= 0 && one.Fits(a.node.Free) {
							for _, x := range both {
								x.start(x.jobs[k], near)
							}
							starts[k] = append(starts[k], now)
						}
					case (what == 2 || what == 3) && len(a.open) < 8:
						a.reserve(near())
					case what == 4 && len(a.open) > 0:
						a.undo(drawn(len(a.open), "undone"))
					case what == 5 && len(a.jobs) > 0:
						if k := drawn(len(a.jobs), "job"); len(starts[k]) > 0 {
							for _, x := range both {
								x.back(x.jobs[k], starts[k][0], policy.Done)
							}
							starts[k] = starts[k][1:]
						} else if a.Place != nil && a.jobs[k].Pending > 0 {
							for _, x := range both {
								x.Place.Skipped(now, x.jobs[k], 0)
							}
						}
					case a.Timer != nil:
						for _, x := range both {
							x.Timer.Tick(now)
						}
					}
					if len(a.open) == 0 {
						same(t, a, b)
					}
				}
				for len(a.open) > 0 {
					a.undo(drawn(len(a.open), "undone"))
				}
				same(t, a, b)
			})
		})
	}
}

// same compares what two engines know of their jobs, and their policies' decisions.
func same(t *rapid.T, a, b *binder) {
	a.now += unit.Millisecond // another heartbeat
	b.now = a.now
	if x, y := a.ranking(), b.ranking(); !slices.Equal(x, y) {
		t.Fatalf("after undone reservations %v, without %v", x, y)
	}
	if x, y := a.knows(t), b.knows(t); x != y {
		t.Fatalf("after undone reservations it knows %s, without %s", x, y)
	}
	for k, j := range a.jobs {
		if x, y := j.Attained(a.now), b.jobs[k].Attained(b.now); x != y {
			t.Fatalf("%s has received %v after undone reservations, %v without", j.ID, x, y)
		}
		if a.Place == nil {
			continue
		}
		for _, now := range []unit.Time{a.now, a.now + 4*unit.Second, a.now + 30*unit.Second} {
			for near := policy.NoPreference; near <= policy.NodeLocal; near++ {
				if x, y := a.Place.Score(now, j, 0, &a.node, near), b.Place.Score(now, b.jobs[k], 0, &b.node, near); x != y {
					t.Fatalf("%s, %v: score %v after undone reservations, %v without", j.ID, near, x, y)
				}
			}
		}
	}
}
