package fair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

const manyQueues = `
	<queue name="a"><maxResources>12288 mb, 9 vcores</maxResources><maxRunningApps>3</maxRunningApps>
		<queue name="x"/><queue name="y"><schedulingPolicy>fifo</schedulingPolicy><maxAMShare>0.3</maxAMShare></queue></queue>
	<queue name="b"><minResources>6144 mb, 3 vcores</minResources><weight>0.5</weight>
		<minSharePreemptionTimeout>1</minSharePreemptionTimeout></queue>
	<queue name="c"><weight>3</weight><schedulingPolicy>%s</schedulingPolicy><maxResources>80%%</maxResources></queue>
	<queue name="d"><allowPreemptionFrom>false</allowPreemptionFrom><weight>0</weight></queue>
	<userMaxAppsDefault>4</userMaxAppsDefault>
	<defaultQueueSchedulingPolicy>%s</defaultQueueSchedulingPolicy>
	<defaultFairSharePreemptionTimeout>1</defaultFairSharePreemptionTimeout>`

// Whatever happens: no node is over-committed, sums through the tree agree, no queue is above its maximum, requests are
// neither lost nor made, lines are in order (see world.check).
func TestBooksBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := site(func(s *conf.Site) {
			f := &s.Fair
			f.AssignMultiple, f.DynamicMaxAssign = rapid.Bool().Draw(t, "multiple"), rapid.Bool().Draw(t, "dynamic")
			f.SizeBasedWeight, f.Preemption = rapid.Bool().Draw(t, "by size"), rapid.Bool().Draw(t, "preemption")
			f.NodeThreshold = rapid.SampledFrom([]float64{-1, 0.3}).Draw(t, "node")
			f.RackThreshold, f.ReservableNodes = 0.2, 0.5
			f.WaitBeforeKill, f.WaitBeforeNextCheck, f.PreemptionThreshold = unit.Second, 0, 0.3
			s.NodeHeartbeat = 100 * ms
		})
		kind := rapid.SampledFrom([]string{"fair", "drf"}).Draw(t, "policy")
		w := newWorld(t, fmt.Sprintf(manyQueues, kind, kind), set)
		w.addNodes(4, 2, r(8192, 6))
		for step := range rapid.IntRange(10, 120).Draw(t, "steps") {
			w.step(t, step)
			w.check(t)
		}
		for range 10 { // opportunities to skip
			w.settle()
		}
		for id, ref := range w.apps {
			if a := w.s.apps[ref.Index]; a.table.Len() > 0 && len(w.why(id)) == 0 {
				t.Fatalf("%s waits for %d containers, and nothing says why", id, a.table.Len())
			}
		}
		for id := range w.apps {
			w.remove(id)
		}
		for _, c := range w.all {
			w.end(c)
		}
		w.s.Round(w.now + unit.Second)
		w.check(t)
		for _, q := range w.s.Queues {
			if q.Demand != (unit.Resources{}) || q.rawDemand != (unit.Resources{}) || len(q.line)+len(q.apps)+len(q.parked) > 0 {
				t.Fatalf("queue %s is not empty at the end: demand %v, wish %v", q.Name, q.Demand, q.rawDemand)
			}
		}
	})
}

func (w *world) step(t *rapid.T, step int) {
	var ids []string
	for id := range w.apps {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	what := rapid.IntRange(0, 19).Draw(t, "what")
	switch {
	case what < 2 || len(ids) == 0:
		queue := rapid.SampledFrom([]string{"a.x", "a.y", "b", "c", "d", "e"}).Draw(t, "queue")
		am := unit.Resources{}
		if rapid.Bool().Draw(t, "managed") {
			am = mb(1024)
		}
		if err := w.add(fmt.Sprint("j", step), rapid.SampledFrom([]string{"u", "v"}).Draw(t, "user"), queue, am); err != nil {
			t.Fatalf("%v", err)
		}
	case what < 6:
		// A reservation keeps its size when the request's changes, and may then take a queue above its maximum, in Hadoop too: here
		// a priority keeps its size.
		priority := rapid.Int32Range(0, 2).Draw(t, "priority")
		size := [...]unit.Resources{r(1024, 1), r(2048, 3), r(6144, 2)}[priority]
		n := rapid.Int64Range(0, 6).Draw(t, "n")
		asks := []rm.Ask{{Priority: 1 + priority, Place: rm.Anywhere, Count: n, Size: size}}
		if i := rapid.Int32Range(0, 5).Draw(t, "host"); i < 4 {
			asks = append(asks, rm.Ask{Priority: asks[0].Priority, Place: rm.OnNode(i), Count: n, Size: size},
				rm.Ask{Priority: asks[0].Priority, Place: rm.OnRack(i % 2), Count: n, Size: size})
		}
		if err := w.ask(rapid.SampledFrom(ids).Draw(t, "who"), asks...); err != nil {
			t.Fatalf("%v", err)
		}
	case what < 9:
		w.now += 500 * ms
		notice := w.s.Round(w.now)
		for _, c := range notice.Killed {
			if !c.Gone || c.Claim == nil || c.Claim.For == nil {
				t.Fatalf("a killed container is still charged, or serves nobody")
			}
		}
		for _, q := range w.s.Queues {
			var sum unit.Resources
			for _, k := range q.Kids {
				sum = sum.Add(k.Demand)
			}
			for _, a := range append(slices.Clone(q.apps), q.parked...) {
				if want := a.Used.Add(a.table.Pending()); a.Demand != want {
					t.Fatalf("demand of %s is %v, want %v", a.Name, a.Demand, want)
				}
				sum = sum.Add(a.Demand)
			}
			if q.Demand != sum.Min(q.Max) {
				t.Fatalf("demand of %s is %v, want %v cut to %v", q.Name, q.Demand, sum, q.Max)
			}
		}
	case what < 17:
		w.now += 10 * ms
		w.explained(t, rapid.IntRange(0, 3).Draw(t, "node"))
	case what < 19:
		if list := (&scenario{w}).containers(); len(list) > 0 {
			c := w.all[rapid.SampledFrom(list).Draw(t, "container")]
			if !c.Gone && rapid.Bool().Draw(t, "release") {
				if err := w.s.Asked(c.App, nil, []*rm.Container{c}, w.now); err != nil {
					t.Fatalf("%v", err)
				}
				return
			}
			w.end(c)
		}
	default:
		id := rapid.SampledFrom(ids).Draw(t, "who")
		if rapid.Bool().Draw(t, "move") {
			_ = w.s.Move(w.apps[id], rapid.SampledFrom([]string{"a.x", "b", "c"}).Draw(t, "to"), w.now) // may be refused
			return
		}
		w.remove(id)
	}
}

// Two runs of the same calls give the same answers.
func TestSameCallsSameAnswers(t *testing.T) {
	run := func() string {
		w := newWorld(t, fmt.Sprintf(manyQueues, "drf", "drf"), site(func(s *conf.Site) { s.Fair.AssignMultiple, s.Fair.Preemption = true, true }))
		w.addNodes(6, 2, r(8192, 6))
		g := rand.New(rand.NewPCG(1, 2))
		log := ""
		for i := range 40 {
			if err := w.add(fmt.Sprint("j", i), fmt.Sprint("u", i%7), []string{"a.x", "b", "c", "d"}[i%4], unit.Resources{}); err != nil {
				t.Fatal(err)
			}
			w.want(fmt.Sprint("j", i), g.Int64N(9), r(1024*(1+g.Int64N(4)), 1))
			w.now += 500 * ms
			n := w.s.Round(w.now)
			log += names(n.Warned) + "|" + names(n.Killed) + "|"
			for range 6 {
				log += names(w.beat(g.IntN(6))) + ";"
			}
			for _, id := range (&scenario{w}).containers() {
				if g.IntN(8) == 0 {
					w.end(w.all[id])
				}
			}
		}
		return log
	}
	if a, b := run(), run(); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
}
