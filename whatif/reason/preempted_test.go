package reason_test

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/capacity"
	"github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// claims claims two containers of the first job on node 1, and one anywhere, for the second.
type claims struct {
	policy.Order
	jobs  []*policy.Job
	ended map[int32]int // preempted, by node
	last  unit.Time     // of the last tick
}

func (c *claims) Arrived(now unit.Time, j *policy.Job) error {
	c.jobs = append(c.jobs, j)
	return c.Order.Arrived(now, j)
}

func (c *claims) Ended(e *policy.Event) {
	if e.Why == policy.Taken && e.Now < unit.Minute { // later an AM releases what it requested too many
		c.ended[e.Node.Index]++
	}
	c.Order.Ended(e)
}

func (c *claims) Tick(now unit.Time) (unit.Time, bool) {
	c.last = now
	return now + 30*unit.Second, false
}

func (c *claims) Victims(_ unit.Time, to []policy.Claim) []policy.Claim {
	if c.last != 30*unit.Second {
		return to
	}
	return append(to, policy.Claim{Job: c.jobs[0], Count: 9, For: c.jobs[1], Node: &policy.Node{Index: 1}}, policy.Claim{Job: c.jobs[0], Count: 1, Node: &policy.Node{Index: 0}})
}

// On both clocks a claim preempts only on its node, and both jobs are told whom it serves.
func TestClaims(t *testing.T) {
	for _, hadoop := range []bool{false, true} {
		for id, want := range map[string]string{
			"low":  "By then it had lost 1 container to preemption. By then it had lost 2 containers to preemption, for high.",
			"high": "By then others had lost 2 containers to preemption for it.",
		} {
			c := &claims{Order: fifo.New(), ended: map[int32]int{}}
			s := spec(t, "fifo", 3, hadoop, job("low", "q", 0, 12), job("high", "q", 10*unit.Second, 2))
			s.Scheduler.New = func() (policy.Policy, error) { return policy.Policy{Order: c, Timer: c}, nil }
			text, _ := ask(t, s, id, 40*unit.Second)
			if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, want) {
				t.Errorf("hadoop %v: %s: want %q", hadoop, text, want)
			}
			if len(c.ended) != 2 || c.ended[0] != 1 || c.ended[1] != 2 {
				t.Errorf("hadoop %v: preempted by node: %v", hadoop, c.ended)
			}
			if text, _ = ask(t, s, id, 20*unit.Second); strings.Contains(text, "preemption") {
				t.Errorf("before: %s", text)
			}
		}
	}
}

// YARN's own two schedulers say whom they preempt for: a queue or an application.
func TestClaimsOfYARN(t *testing.T) {
	site := conf.DefaultSite()
	site.Monitor, site.Preemption.PerRound, site.Preemption.NaturalTermination, site.Fair.Preemption = true, 1, 1, true
	long := func(id, queue string, submit unit.Time, tasks int64) *workload.Job {
		j := job(id, queue, submit, tasks)
		j.Stages[0].Length = workload.Fixed(unit.Hour)
		return j
	}
	for name, c := range map[string]struct {
		fresh     func() (rm.Scheduler, error)
		lost, won string
	}{
		"capacity": {func() (rm.Scheduler, error) {
			c, err := conf.ReadCapacity(strings.NewReader(`<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
				<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>50</value></property><property><name>yarn.scheduler.capacity.root.b.capacity</name><value>50</value></property>
				<property><name>yarn.scheduler.capacity.user-limit-factor</name><value>10</value></property></configuration>`), "c.xml")
			if err != nil {
				return nil, err
			}
			return capacity.New(c, site)
		}, "to preemption, for queue root.b.", ""},
		"fair": {func() (rm.Scheduler, error) {
			f, err := conf.ReadFair(strings.NewReader(`<allocations><defaultFairSharePreemptionTimeout>5</defaultFairSharePreemptionTimeout><queue name="a"/><queue name="b"/></allocations>`), "f.xml")
			if err != nil {
				return nil, err
			}
			return fair.New(f, site)
		}, "to preemption, for high.", "to preemption for it."},
	} {
		for id, want := range map[string]string{"low": c.lost, "high": c.won} {
			s := spec(t, "fifo", 4, true, long("low", "a", 0, 30), long("high", "b", 30*unit.Second, 30))
			s.Scheduler = run.Scheduler{Name: name, RM: c.fresh}
			if text, _ := ask(t, s, id, 10*unit.Minute); !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%s: %s: want %q", name, text, want)
			}
		}
	}
}
