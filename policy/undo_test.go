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
	held map[*policy.Job][]container // oldest first
	open []container                 // that are not bound yet
	late bool                        // nodes are chosen after jobs
}

type container struct {
	job   *policy.Job
	stage int
	near  policy.Near
	start unit.Time
}

func fresh(t rapid.TB, name string) policy.Policy {
	spec, err := policy.ParseSpec(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := all.Policies.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newBinder(t *rapid.T, name string) *binder {
	b := &binder{Policy: fresh(t, name), node: policy.Node{Total: one.Times(12), Free: one.Times(12)}, held: map[*policy.Job][]container{}}
	if b.Choose != nil {
		b.Choose(anywhere{})
	}
	b.Order.Resized(0, policy.Cluster{Total: one.Times(12), Max: one.Times(12), Nodes: 1})
	return b
}

// anywhere is a storage without locations.
type anywhere struct{}

func (anywhere) Near(*policy.Job, int, *policy.Node) policy.Near         { return policy.NoPreference }
func (anywhere) Local(*policy.Job, int, *policy.Node) bool               { return true }
func (anywhere) Racks(_ *policy.Job, _ int, _ int64, to []int32) []int32 { return to[:0] }

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

// offered is the node that offers and starts name.
func (b *binder) offered() *policy.Node {
	if b.late {
		return nil
	}
	return &b.node
}

// want changes what may start of a stage.
func want(j *policy.Job, stage int, n int64) {
	j.Stages[stage].Pending += n
	j.Want(0, n)
	j.Front = max(0, slices.IndexFunc(j.Stages, func(s policy.Stage) bool { return s.Open() > 0 }))
}

// start reserves a container for a job.
func (b *binder) start(j *policy.Job, stage int, near policy.Near) container {
	c := container{job: j, stage: stage, near: near, start: b.now}
	b.node.Free = b.node.Free.Sub(one)
	want(j, c.stage, -1)
	j.Stages[c.stage].Running++
	j.Hold(b.now, one)
	b.held[j] = append(b.held[j], c)
	b.Order.Started(&policy.Event{Now: b.now, Job: j, Stage: c.stage, Node: b.offered(), Size: one})
	if b.Place != nil {
		b.Place.Placed(j, c.stage, &b.node, near)
	}
	return c
}

// next gives a container to whoever is next.
func (b *binder) next(near policy.Near) (started container) {
	if one.Fits(b.node.Free) {
		o := policy.Offer{Now: b.now, Node: b.offered()}
		b.Order.Ranked(&o, func(j *policy.Job) policy.Verdict {
			stage := j.Front
			if b.Choose != nil {
				stage = o.Stage
			}
			started = b.start(j, stage, near)
			return policy.Took
		})
	}
	return started
}

// reserve is next, for a container that may not be bound.
func (b *binder) reserve(near policy.Near) {
	if c := b.next(near); c.job != nil {
		b.open = append(b.open, c)
	}
}

// undo says that an open reservation could not be bound.
func (b *binder) undo(i int) {
	c := b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	if b.Place != nil {
		b.Place.Unplaced(c.job, c.stage, &b.node, c.near)
	}
	b.back(c, policy.Undone)
	want(c.job, c.stage, 1)
	b.Order.Changed(b.now, c.job)
}

// back gives a container back.
func (b *binder) back(c container, why policy.End) {
	j, s := c.job, &c.job.Stages[c.stage]
	i := slices.Index(b.held[j], c)
	b.held[j] = slices.Delete(b.held[j], i, i+1)
	b.node.Free = b.node.Free.Add(one)
	s.Running--
	e := policy.Event{Now: b.now, Job: j, Stage: c.stage, Node: &b.node, Size: one, Held: b.now - c.start, Why: why}
	if why == policy.Undone {
		j.Undo(c.start, one)
	} else {
		j.Yield(b.now, c.start, one)
		s.Done++
		j.Done++
		s.Worked += e.Held
		e.Worked = e.Held
	}
	b.Order.Ended(&e)
}

func (b *binder) ranking() (names []string) {
	b.Order.Ranked(&policy.Offer{Now: b.now, Node: b.offered()}, func(j *policy.Job) policy.Verdict {
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
				bound := map[int][][2]container{} // by job
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
						k := slices.Index(a.jobs, x.job)
						if k != slices.Index(b.jobs, y.job) {
							t.Fatalf("%+v starts after undone reservations, %+v without", x, y)
						}
						if k >= 0 {
							bound[k] = append(bound[k], [2]container{x, y})
						}
					case what == 1: // others start
						k := slices.IndexFunc(a.jobs, func(j *policy.Job) bool {
							return j.Pending > 0 && !slices.ContainsFunc(a.open, func(c container) bool { return c.job.User == j.User })
						})
						if near := near(); k >= 0 && one.Fits(a.node.Free) {
							bound[k] = append(bound[k], [2]container{a.start(a.jobs[k], 0, near), b.start(b.jobs[k], 0, near)})
						}
					case (what == 2 || what == 3) && len(a.open) < 8:
						a.reserve(near())
					case what == 4 && len(a.open) > 0:
						a.undo(drawn(len(a.open), "undone"))
					case what == 5 && len(a.jobs) > 0:
						if k := drawn(len(a.jobs), "job"); len(bound[k]) > 0 {
							for i, x := range both {
								x.back(bound[k][0][i], policy.Done)
							}
							bound[k] = bound[k][1:]
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
