package fair

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/unit"
)

func both(n int64) unit.Resources { return unit.Resources{Mem: n, Cores: n} }

// hand is an engine of 100 units of each resource under the queues of a file.
func hand(t *testing.T, queues string) (*policytest.Engine, *Tree) {
	t.Helper()
	p, err := fromXML("<allocations>" + queues + "</allocations>")
	if err != nil {
		t.Fatal(err)
	}
	return policytest.New(p.Order, both(100)), p.Order.(*Tree)
}

// arrive lets a job arrive that starts some of its tasks, of so many units each.
func arrive(t *testing.T, e *policytest.Engine, id, queue string, units, tasks int64, start int) *policytest.Job {
	t.Helper()
	j := &policytest.Job{Job: policy.Job{ID: id, Queue: queue, User: "u"}}
	if err := e.Arrive(j, tasks, both(units)); err != nil {
		t.Fatal(err)
	}
	for range start {
		e.Begin(j)
	}
	return j
}

// A queue could hold its maximum, or what the others leave of the queue above it, and at least one unit.
func TestCeilings(t *testing.T) {
	e, tree := hand(t, `<queue name="p"><maxResources>60 mb, 60 vcores</maxResources>
		<queue name="a"><maxResources>40 mb, 40 vcores</maxResources></queue><queue name="b"/></queue><queue name="c"/>`)
	check := func(want map[string]int64) {
		t.Helper()
		for _, g := range tree.Gauges(nil) {
			if w, ok := want[g.Queue]; ok && g.Ceiling != both(w) {
				t.Errorf("%s: %v, want %d", g.Queue, g.Ceiling, w)
			}
		}
	}
	check(map[string]int64{"root.p.a": 40, "root.p.b": 60, "root.c": 100})
	arrive(t, e, "a", "p.a", 10, 1, 1)
	arrive(t, e, "b", "p.b", 30, 1, 1)
	check(map[string]int64{"root.p.a": 30, "root.p.b": 50, "root.c": 60}) // p may have 60
	arrive(t, e, "c", "c", 50, 1, 1)
	check(map[string]int64{"root.p.a": 20, "root.p.b": 40, "root.c": 60}) // p may have 50
	arrive(t, e, "full", "c", 10, 1, 1)
	e.Leave(e.Jobs["a"])
	arrive(t, e, "more", "c", 10, 1, 1)
	check(map[string]int64{"root.p.a": 1, "root.p.b": 30, "root.c": 70})
}

// A pool below its minimum is served first; once the minimum is taken away, in order of usage.
func TestMinimumTakenAway(t *testing.T) {
	o, err := New(policy.Params{"by": "pool", "min": "a:50"})
	if err != nil {
		t.Fatal(err)
	}
	e := policytest.New(o, both(100))
	arrive(t, e, "a", "a", 10, 9, 2)
	arrive(t, e, "b", "b", 10, 9, 1)
	if got := strings.Join(e.Ranking(), " "); got != "a b" {
		t.Errorf("below its minimum: %s", got)
	}
	if old, err := o.(policy.Knobs).SetQueue("a", "min", 0); err != nil || old != 50 {
		t.Fatal(old, err)
	}
	if got := strings.Join(e.Ranking(), " "); got != "b a" {
		t.Errorf("without minimum: %s", got)
	}
}

// What may be set: a weight from 0, an AM share from 0 (above 1 it is 1) or -1 for none, a whole number of running jobs.
func TestSetProperty(t *testing.T) {
	for _, c := range []struct {
		property   string
		value, set float64 // set NaN: refused
	}{
		{"weight", 0, 0}, {"weight", 2.5, 2.5}, {"weight", -1, math.NaN()}, {"weight", math.Inf(1), math.NaN()},
		{"weight", math.NaN(), math.NaN()},
		{"maxAMShare", 0, 0}, {"maxAMShare", 0.5, 0.5}, {"maxAMShare", 7, 1}, {"maxAMShare", -1, -1}, {"maxAMShare", -0.5, math.NaN()},
		{"maxAMShare", -2, math.NaN()},
		{"maxAMShare", math.Inf(1), math.NaN()}, {"maximum-am-resource-percent", 0.25, 0.25},
		{"maxRunningApps", 0, 0}, {"maxRunningApps", 7, 7}, {"maxRunningApps", 1.5, math.NaN()}, {"maxRunningApps", -1, math.NaN()},
		{"maxRunningApps", math.Inf(1), math.NaN()},
		{"state", 1, math.NaN()},
	} {
		_, tree := hand(t, `<queue name="q"><weight>3</weight><maxAMShare>0.75</maxAMShare><maxRunningApps>9</maxRunningApps></queue>`)
		before, _ := tree.Property("q", c.property)
		_, old, err := tree.Set("q", c.property, c.value)
		after, _ := tree.Property("q", c.property)
		if refused := math.IsNaN(c.set); (err != nil) != refused || refused && after != before ||
			!refused && (after != c.set || old != before) {
			t.Errorf("%s=%v: from %v (%v) to %v, %v", c.property, c.value, old, before, after, err)
		}
	}
}

// A walk that finds nothing in a leaf notes the smallest ask there, unless a smaller one came during the walk.
func TestSmallerAskDuringAWalk(t *testing.T) {
	e, tree := hand(t, `<queue name="a"><maxResources>10 mb, 10 vcores</maxResources></queue><queue name="b"/>`)
	arrive(t, e, "large", "a", 8, 1, 1)
	arrive(t, e, "medium", "a", 4, 1, 0)
	e.Leave(arrive(t, e, "small", "a", 1, 1, 0)) // what waited last: the leaf is visited once more
	arrive(t, e, "other", "b", 10, 3, 2)
	tree.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
		if j.ID != "other" {
			t.Errorf("%s is proposed", j.ID)
		}
		arrive(t, e, "late", "a", 1, 1, 0)
		return policy.Enough
	})
	if got := e.Ranking(); !slices.Equal(got, []string{"late", "other"}) {
		t.Errorf("%v", got)
	}
}
