package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// restarted is a new engine with a new policy that takes over all jobs of b that are present.
func (b *binder) restarted(t *rapid.T, name string) *binder {
	r := newBinder(t, name)
	r.now = b.now
	if k, ok := b.Order.(policy.Keeper); ok {
		saved, err := k.Save(b.now)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Order.(policy.Keeper).Load(saved); err != nil {
			t.Fatal(err)
		}
		for _, garbage := range []string{"", "{}", `{"version":1,"jobs":{"j0":{"queue":-1}}}`, string(saved[:len(saved)-1]), string(saved) + "}"} {
			if newBinder(t, name).Order.(policy.Keeper).Load([]byte(garbage)) == nil {
				t.Fatalf("%q is loaded", garbage)
			}
		}
	}
	for _, old := range b.jobs {
		j := &policy.Job{
			Seq: old.Seq, Index: old.Index, ID: old.ID, User: old.User, Queue: old.Queue, Tasks: old.Tasks, Submitted: old.Submitted, Deadline: old.Deadline, Ask: one, Done: old.Done,
			Input: old.Input, Stages: slices.Clone(old.Stages),
		}
		j.Credit(old.Attained(b.now))
		if err := r.Order.Arrived(r.now, j); err != nil {
			t.Fatal(err)
		}
		r.jobs = append(r.jobs, j)
		for range b.held[old] {
			j.Hold(r.now, one)
			r.held[j] = append(r.held[j], container{job: j, start: r.now})
			r.node.Free = r.node.Free.Sub(one)
			r.Order.Started(&policy.Event{Now: r.now, Job: j, Node: &r.node, Size: one})
		}
		j.Want(0, old.Pending)
		r.Order.Changed(r.now, j)
	}
	return r
}

// An engine that restarts decides as if it had never stopped: what a policy knows beyond the view is saved and loaded. Placements save nothing: their waits
// begin anew. How long a container ran before the restart is known only as service of its job, so policies that learn from lengths restart with none held.
func TestRestartsChangeNothing(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "capacity", "deadline", "fbq", "tags", "sita:limits=300,borrow=yes", "comp"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := newBinder(t, name)
				var r *binder // the restarted one, while both go on
				for i := range rapid.IntRange(1, 120).Draw(t, "steps") {
					now := b.now + unit.Time(rapid.Int64Range(1, 4000).Draw(t, "time"))*unit.Second
					both := []*binder{b}
					if r != nil {
						both = append(both, r)
					}
					var started []string
					what, tasks := rapid.IntRange(0, 8).Draw(t, "what"), rapid.Int64Range(1, 5).Draw(t, "tasks")
					for _, x := range both {
						switch x.now = now; {
						case what < 3:
							x.arrive(t, i, fmt.Sprint("u", i%3), "", tasks)
						case what < 6:
							if c := x.next(policy.RackLocal); c.job != nil {
								started = append(started, c.job.ID)
							}
						case what < 8:
							if k := slices.IndexFunc(x.jobs, func(j *policy.Job) bool { return len(x.held[j]) > 0 }); k >= 0 {
								x.end(k, false)
							}
						}
					}
					if r != nil {
						if len(started) == 2 && started[0] != started[1] {
							t.Fatalf("%s starts without a restart, %s after one", started[0], started[1])
						}
						resumed(t, b, r)
					}
					if what == 8 {
						if r != nil {
							b = r // the next restart is of a restarted one
						}
						for k := len(b.jobs) - 1; k >= 0 && slices.Contains([]string{"deadline", "sita:limits=300,borrow=yes", "comp"}, name); k-- {
							for j := b.jobs[k]; len(b.held[j]) > 0; {
								b.end(k, false)
							}
						}
						r = b.restarted(t, name)
						resumed(t, b, r)
					}
				}
			})
		})
	}
}

// resumed compares an engine with one that has not restarted. Both call the timer first: keys that time changes are as old as its last call.
func resumed(t *rapid.T, b, r *binder) {
	for _, x := range []*binder{b, r} {
		if x.Timer != nil {
			x.Timer.Tick(x.now)
		}
	}
	if x, y := b.ranking(), r.ranking(); !slices.Equal(x, y) {
		t.Fatalf("%v without a restart, %v after one", x, y)
	}
	if x, y := b.knows(t), r.knows(t); x != y {
		t.Fatalf("it knows %s without a restart, %s after one", x, y)
	}
	for k, j := range b.jobs {
		if x, y := j.Attained(b.now), r.jobs[k].Attained(b.now); x != y {
			t.Fatalf("%s has received %v without a restart, %v after one", j.ID, x, y)
		}
	}
}
