package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// grow gives a job more tasks in a stage; in a new one if there is none of that number. A stage after others waits for them.
func (b *binder) grow(j *policy.Job, stage int, tasks int64, after []workload.Edge) {
	if stage == len(j.Stages) {
		j.Stages = append(j.Stages, policy.Stage{Ask: one, After: after})
	}
	s := &j.Stages[stage]
	j.Tasks += tasks
	s.Tasks += tasks
	if len(s.After) > 0 && j.Stages[0].Done < j.Stages[0].Tasks {
		s.Pending += tasks
		s.Later += tasks
	} else {
		want(j, stage, tasks)
	}
	b.Order.Changed(b.now, j)
}

// end ends the oldest container of a job; stages that waited for its task open. The job leaves after its last task, unless more are to come.
func (b *binder) end(k int, more bool) {
	j := b.jobs[k]
	b.back(b.held[j][0], policy.Done)
	if j.Stages[0].Done == j.Stages[0].Tasks && !more {
		for i := range j.Stages {
			if s := &j.Stages[i]; s.Later > 0 {
				n := s.Later
				s.Later = 0
				s.Pending -= n
				want(j, i, n)
				b.Order.Changed(b.now, j)
			}
		}
	}
	if j.Done == j.Tasks && !more {
		b.Order.Left(b.now, j)
		b.jobs = slices.Delete(b.jobs, k, k+1)
	}
}

// Jobs may turn out to have more tasks and stages than they had when they arrived: all of them run.
func TestGrownJobsRun(t *testing.T) {
	for _, name := range specs() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := newBinder(t, name)
				drawn := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
				grow := func() {
					j := b.jobs[drawn(len(b.jobs), "job")]
					switch stage := drawn(len(j.Stages)+1, "stage"); {
					case stage > 0:
						var after []workload.Edge
						if drawn(2, "after") == 1 {
							after = []workload.Edge{{From: 0, Shuffle: 1 << 27}}
						}
						b.grow(j, stage, int64(drawn(3, "tasks")), after)
					case j.Stages[0].Done < j.Stages[0].Tasks:
						b.grow(j, 0, int64(1+drawn(3, "tasks")), nil)
					}
				}
				end := func() bool {
					k := slices.IndexFunc(b.jobs, func(j *policy.Job) bool { return len(b.held[j]) > 0 })
					if k >= 0 {
						b.end(k, false)
					}
					return k >= 0
				}
				for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
					b.now += unit.Time(drawn(20, "time")) * unit.Second
					switch what := drawn(6, "what"); {
					case what == 0:
						b.arrive(t, i, fmt.Sprint("u", i%3), "", rapid.Int64Range(1, 5).Draw(t, "tasks"))
					case what == 1 && len(b.jobs) > 0:
						grow()
					case what == 2:
						end()
					case what == 3 && b.Timer != nil:
						b.Timer.Tick(b.now)
					default:
						b.next(policy.RackLocal)
					}
				}
				for idle := 0; len(b.jobs) > 0; idle++ {
					b.now += 10 * unit.Second
					if b.Timer != nil {
						b.Timer.Tick(b.now)
					}
					if b.next(policy.RackLocal).job != nil || end() {
						idle = 0
					}
					if idle > 1000 {
						t.Fatalf("%d jobs wait, the first is %+v", len(b.jobs), b.jobs[0])
					}
				}
				if b.node.Free != b.node.Total {
					t.Fatalf("%v is free at the end", b.node.Free)
				}
			})
		})
	}
}

// An order that does not go by the number of tasks decides alike whether it learns of them at once or by and by, as long as one waits.
func TestGrownJobsAreServedAlike(t *testing.T) {
	for _, name := range specs() {
		if name == "deadline" {
			continue // estimates what the tasks that it knows have left to do
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b := newBinder(t, name), newBinder(t, name) // a knows all tasks, b not yet
				hidden := map[string]int64{}
				show := func(j *policy.Job, tasks int64) {
					if tasks > 0 {
						hidden[j.ID] -= tasks
						b.grow(j, 0, tasks, nil)
					}
				}
				for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
					now := a.now + rapid.SampledFrom([]unit.Time{0, 1, 4000}).Draw(t, "time")*unit.Second
					a.now, b.now = now, now
					switch what := rapid.IntRange(0, 5).Draw(t, "what"); {
					case what == 0:
						tasks, shown := rapid.Int64Range(1, 9).Draw(t, "tasks"), rapid.Int64Range(1, 9).Draw(t, "shown")
						shown = min(tasks, shown)
						hidden[fmt.Sprint("j", i)] = tasks - shown
						a.arrive(t, i, fmt.Sprint("u", i%3), "", tasks)
						b.arrive(t, i, fmt.Sprint("u", i%3), "", shown)
					case what == 1 && len(b.jobs) > 0:
						j := rapid.SampledFrom(b.jobs).Draw(t, "job")
						show(j, rapid.Int64Range(0, hidden[j.ID]).Draw(t, "more"))
					case what == 2:
						if k := slices.IndexFunc(a.jobs, func(j *policy.Job) bool { return len(a.held[j]) > 0 }); k >= 0 {
							more := hidden[a.jobs[k].ID] > 0
							a.end(k, more)
							b.end(k, more)
						}
					case what == 3 && a.Timer != nil:
						a.Timer.Tick(now)
						b.Timer.Tick(now)
					default:
						a.next(policy.RackLocal)
						if c := b.next(policy.RackLocal); c.job != nil && c.job.Pending == 0 {
							show(c.job, min(1, hidden[c.job.ID]))
						}
					}
					if x, y := a.ranking(), b.ranking(); !slices.Equal(x, y) {
						t.Fatalf("%v with all tasks known, %v without", x, y)
					}
				}
			})
		})
	}
}

// An order that chooses no nodes decides alike when they are chosen later, and its starts name none.
func TestNodesMayBeChosenLater(t *testing.T) {
	for _, name := range specs() {
		if p := fresh(t, name); p.Required()&(policy.NodeOffers|policy.Placement) != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b := newBinder(t, name), newBinder(t, name)
				b.late = true
				for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
					what, tasks := rapid.IntRange(0, 5).Draw(t, "what"), rapid.Int64Range(1, 5).Draw(t, "tasks")
					now := a.now + rapid.SampledFrom([]unit.Time{0, 1, 4000}).Draw(t, "time")*unit.Second
					for _, x := range []*binder{a, b} {
						switch x.now = now; {
						case what == 0:
							x.arrive(t, i, fmt.Sprint("u", i%3), "", tasks)
						case what == 1:
							if k := slices.IndexFunc(x.jobs, func(j *policy.Job) bool { return len(x.held[j]) > 0 }); k >= 0 {
								x.end(k, false)
							}
						case what == 2 && x.Timer != nil:
							x.Timer.Tick(now)
						default:
							x.next(policy.NoPreference)
						}
					}
					if x, y := a.ranking(), b.ranking(); !slices.Equal(x, y) {
						t.Fatalf("%v with the nodes of starts, %v without", x, y)
					}
				}
			})
		})
	}
}
