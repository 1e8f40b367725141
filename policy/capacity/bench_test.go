package capacity

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// crowd is a full cluster of 1000 containers with n waiting jobs of many users, kept full: one container ends, one starts.
type crowd struct {
	event   policy.Event
	o       *Order
	jobs    []policy.Job
	running []int32 // ring
	at      int
	ask     unit.Resources
	try     func(*policy.Job) policy.Verdict
	took    *policy.Job
}

func newCrowd(t testing.TB, n int, am unit.Resources, settings ...string) *crowd {
	o := fromSettings(t, append([]string{
		"root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "maximum-applications=1000000", "global-queue-max-application=1000000",
	}, settings...)...)
	c := &crowd{o: o, jobs: make([]policy.Job, n), ask: mb(1024)}
	o.Resized(0, cluster(mb(1024*1000)))
	for i := range c.jobs {
		c.jobs[i] = policy.Job{
			Seq: int64(i), Index: int32(i), User: fmt.Sprint("u", i%max(n/20, 5)), Queue: []string{"a", "b"}[i%2],
			Pending: 1 << 40, Ask: c.ask, AM: am,
		}
		if err := o.Arrived(0, &c.jobs[i]); err != nil {
			t.Fatal(err)
		}
	}
	c.try = func(j *policy.Job) policy.Verdict {
		c.event = policy.Event{Job: j, Size: c.ask}
		o.Started(&c.event)
		c.took = j
		return policy.Took
	}
	for range 1000 {
		if !o.Ranked(&policy.Offer{}, c.try) {
			break
		}
		c.running = append(c.running, c.took.Index)
	}
	return c
}

func (c *crowd) turn() {
	i := c.at % len(c.running)
	c.at++
	c.event = policy.Event{Job: &c.jobs[c.running[i]], Size: c.ask, Held: unit.Second, Worked: unit.Second}
	c.o.Ended(&c.event)
	if !c.o.Ranked(&policy.Offer{}, c.try) {
		panic("nobody took the free container")
	}
	c.running[i] = c.took.Index
}

var crowds = []struct {
	name     string
	am       unit.Resources
	settings []string
}{
	{"fifo", unit.Resources{}, []string{"user-limit-factor=-1"}},
	{"fair", unit.Resources{}, []string{"user-limit-factor=-1", "root.a.ordering-policy=fair", "root.b.ordering-policy=fair"}},
	{"user-limits", unit.Resources{}, []string{"user-limit-factor=1", "minimum-user-limit-percent=1"}},
	{"dominant", unit.Resources{}, []string{"user-limit-factor=1", "minimum-user-limit-percent=1", "resource-calculator=DominantResourceCalculator"}},
	{"am-limits", mb(1024), []string{"user-limit-factor=10", "minimum-user-limit-percent=10", "maximum-am-resource-percent=0.2"}},
}

func BenchmarkDecision(b *testing.B) {
	for _, kind := range crowds {
		for _, n := range []int{100, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/jobs=%d", kind.name, n), func(b *testing.B) {
				c := newCrowd(b, n, kind.am, kind.settings...)
				b.ReportAllocs()
				for b.Loop() {
					c.turn()
				}
			})
		}
	}
}

// Jobs that come and go while many others wait for activation.
func BenchmarkArriveAndLeave(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			c := newCrowd(b, n, mb(1024), "maximum-am-resource-percent=0.05")
			j := policy.Job{Seq: int64(n), Index: int32(n), User: "u0", Queue: "a", Pending: 1, Front: policy.AMStage, Ask: c.ask, AM: c.ask}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.o.Arrived(0, &j); err != nil {
					b.Fatal(err)
				}
				c.o.Left(0, &j)
				j.Seq++
			}
		})
	}
}

func TestSteadyPathDoesNotAllocate(t *testing.T) {
	for _, kind := range crowds {
		c := newCrowd(t, 2000, kind.am, kind.settings...)
		for range 2000 {
			c.turn()
		}
		if n := testing.AllocsPerRun(200, c.turn); n > 0 {
			t.Errorf("%s: %v allocations a decision", kind.name, n)
		}
	}
}
