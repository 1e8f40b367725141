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
			r.held[j]++
			r.node.Free = r.node.Free.Sub(one)
			r.Order.Started(&policy.Event{Now: r.now, Job: j, Node: &r.node, Size: one})
		}
		j.Want(0, old.Pending)
		r.Order.Changed(r.now, j)
	}
	return r
}

// An engine that restarts decides as if it had never stopped: what a policy knows beyond the view is saved and loaded.
func TestRestartsChangeNothing(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "capacity", "deadline", "fbq", "tags", "sita", "comp"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := newBinder(t, name)
				for i := range rapid.IntRange(1, 120).Draw(t, "steps") {
					b.now += unit.Time(rapid.Int64Range(1, 4000).Draw(t, "time")) * unit.Second
					switch rapid.IntRange(0, 3).Draw(t, "what") {
					case 0:
						b.arrive(t, i, fmt.Sprint("u", i%3), "", rapid.Int64Range(1, 5).Draw(t, "tasks"))
					case 1:
						b.next(policy.RackLocal)
					case 2:
						if k := slices.IndexFunc(b.jobs, func(j *policy.Job) bool { return b.held[j] > 0 }); k >= 0 {
							b.back(b.jobs[k], b.now-unit.Second, policy.Done)
							b.leave(k)
						}
					case 3:
						x, y := b.ranking(), b.restarted(t, name).ranking()
						if !slices.Equal(x, y) {
							t.Fatalf("%v without a restart, %v after one", x, y)
						}
					}
				}
			})
		})
	}
}

// leave lets a job leave whose tasks are done.
func (b *binder) leave(k int) {
	if j := b.jobs[k]; j.Done == j.Tasks {
		b.Order.Left(b.now, j)
		b.jobs = slices.Delete(b.jobs, k, k+1)
	}
}
