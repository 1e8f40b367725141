package capacity1

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// crowd makes n initialised jobs wait in one queue, of so many users. Ann, who has most of them and came first, is at her limit.
func crowd(t testing.TB, n, users int) *world {
	w := newWorld(t, Config{MaxSystemJobs: 1 << 20, Queues: []Queue{
		{Name: "a", Capacity: 50, MinimumUserLimitPercent: 1, MaxActiveTasks: 1 << 29, MaxActiveTasksPerUser: 1 << 29}, {Name: "b", Capacity: 50},
	}}, 100, 10, 2)
	for i := range n {
		user := "ann"
		if i >= n-users {
			user = fmt.Sprint("u", i)
		}
		w.must(fmt.Sprint("j", i), user, "a", 1000, 10)
	}
	w.tick()
	w.fill(mapSlots)
	return w
}

func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		for _, users := range []int{1, n / 2} {
			b.Run(fmt.Sprintf("jobs=%d/users=%d", n, users), func(b *testing.B) {
				w := crowd(b, n, users)
				last := w.jobs[fmt.Sprint("j", n-1)]
				name := last.view.ID
				if users > 1 {
					name = "j0"
				}
				o := policy.Offer{Now: w.now, Node: &w.nodes[0][0]}
				var taken *policy.Job
				try := func(v *policy.Job) policy.Verdict { taken = v; return policy.Enough }
				b.ReportAllocs()
				for b.Loop() {
					node := w.jobs[name].running[mapSlots][0]
					w.end(name, mapSlots)
					o.Now += unit.Millisecond
					w.Order.Ranked(&o, try)
					w.start(w.list[taken.Index], mapSlots, node, policy.NoPreference)
					name = taken.ID
				}
			})
		}
	}
}

// A decision allocates nothing.
func TestRankedAllocatesNothing(t *testing.T) {
	w := crowd(t, 500, 250)
	o := policy.Offer{Now: w.now, Node: &w.nodes[0][0]}
	tries := 0
	pass := func(*policy.Job) policy.Verdict { tries++; return policy.Pass }
	if n := testing.AllocsPerRun(100, func() { o.Now++; w.Order.Ranked(&o, pass) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if tries == 0 {
		t.Error("nothing was proposed")
	}
}

// A user at its limit costs one step, however many jobs it has: what is proposed are the jobs of others.
func TestUsersAtTheirLimitAreSkippedWhole(t *testing.T) {
	w := crowd(t, 5000, 1)
	steps := 0
	p := w.state.parts[0]
	walk := &p.walk
	for walk.start(p, w.state.queues[0]); walk.job() != none; walk.next() {
		steps++
	}
	if steps > 1 {
		t.Errorf("%d steps", steps)
	}
}
