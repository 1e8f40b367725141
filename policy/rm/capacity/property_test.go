package capacity

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Whatever happens, in whatever order: the books add up, no node is over-committed, no queue passes its maximum by more
// than reservations being turned into containers can explain (none), or than applications bring that are moved there, and when everything is gone nothing is left.
func TestBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calc := rapid.SampledFrom([]string{"DefaultResourceCalculator", "DominantResourceCalculator"}).Draw(t, "calculator")
		w := build(t, func(s *conf.Site) {
			s.Monitor = true
			s.Preemption.WaitBeforeKill = unit.Second
			s.Preemption.PerRound = 1
		}, 6, unit.Resources{Mem: 8192, Cores: 8},
			"root.queues=a,p", "root.a.capacity=40", "root.p.capacity=60", "root.a.maximum-capacity=80", "root.p.queues=x,y",
			"root.p.x.capacity=3w", "root.p.y.capacity=1w", "resource-calculator=h."+calc, "root.p.x.ordering-policy=fair",
			fmt.Sprint("user-limit-factor=", rapid.SampledFrom([]string{"0.5", "1", "3", "-1"}).Draw(t, "factor")),
			fmt.Sprint("minimum-user-limit-percent=", rapid.SampledFrom([]int{25, 100}).Draw(t, "percent")),
			fmt.Sprint("maximum-am-resource-percent=", rapid.SampledFrom([]string{"0.1", "0.5"}).Draw(t, "masters")),
			fmt.Sprint("per-node-heartbeat.maximum-offswitch-assignments=", rapid.IntRange(1, 5).Draw(t, "off")),
			fmt.Sprint("reservations-continue-look-all-nodes=", rapid.Bool().Draw(t, "continue")),
		)
		var ids []string
		size := func() unit.Resources {
			return unit.Resources{Mem: int64(rapid.IntRange(1, 6).Draw(t, "size")) * 1024, Cores: int64(rapid.IntRange(1, 4).Draw(t, "cores"))}
		}
		killed := map[*rm.Container]bool{}
		over := map[*queue]bool{} // above its maximum since an application was moved there
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.now += 200 * unit.Millisecond
			switch k := rapid.IntRange(0, 10).Draw(t, "what"); {
			case k == 0 || len(ids) == 0:
				id := fmt.Sprint("app", step)
				am := size()
				if rapid.Bool().Draw(t, "unmanaged") {
					am = unit.Resources{}
				}
				w.submit(id, rapid.SampledFrom([]string{"u", "v", "w"}).Draw(t, "user"), rapid.SampledFrom([]string{"a", "x", "y"}).Draw(t, "queue"), am)
				ids = append(ids, id)
			case k == 1:
				id := rapid.SampledFrom(ids).Draw(t, "app")
				s, n := size(), int64(rapid.IntRange(0, 20).Draw(t, "count"))
				asks := []rm.Ask{{Priority: 20, Place: rm.Anywhere, Count: n, Size: s}}
				if h := int32(rapid.IntRange(-1, 5).Draw(t, "host")); h >= 0 {
					asks = append(asks, rm.Ask{Priority: 20, Place: rm.OnNode(h), Count: n, Size: s}, rm.Ask{Priority: 20, Place: rm.OnRack(h / 2), Count: n, Size: s})
				}
				w.ask(id, asks...)
			case k == 2:
				if id := rapid.SampledFrom(ids).Draw(t, "app"); len(w.live[id]) > 0 {
					w.end(id)
				}
			case k == 3:
				i := rapid.IntRange(0, len(ids)-1).Draw(t, "app")
				w.s.Removed(w.apps[ids[i]], w.now)
				for _, c := range w.live[ids[i]] { // its node reports them later
					w.s.Ended(c, w.now)
				}
				ids = append(ids[:i:i], ids[i+1:]...)
			case k == 4:
				for _, c := range w.s.Round(w.now).Killed {
					killed[c] = true
				}
			case k == 5:
				_ = w.s.Move(w.apps[rapid.SampledFrom(ids).Draw(t, "app")], rapid.SampledFrom([]string{"a", "x", "y"}).Draw(t, "queue"), w.now)
				for _, q := range w.s.Leaves {
					over[q] = over[q] || !w.s.Calc.Fits(q.Used, q.EffMax)
				}
			default:
				w.explained(rapid.IntRange(0, 5).Draw(t, "node"))
			}
			w.check()
			for _, q := range w.s.Leaves {
				if fits := w.s.Calc.Fits(q.Used, q.EffMax); fits {
					over[q] = false
				} else if !over[q] {
					t.Fatalf("queue %s uses %v, its maximum is %v", q.Path, q.Used, q.EffMax)
				}
			}
		}
		for w.round() != "" {
		}
		for range 10 { // opportunities to skip
			w.round()
		}
		for _, id := range ids {
			if a := w.s.apps[w.apps[id].Index]; a.table.Len() > 0 && len(w.why(id)) == 0 {
				t.Fatalf("%s waits for %d containers, and nothing says why", id, a.table.Len())
			}
		}
		for _, id := range ids {
			w.s.Removed(w.apps[id], w.now)
			for _, c := range w.live[id] {
				w.s.Ended(c, w.now)
			}
		}
		w.check()
		if q, zero := w.s.Root, (unit.Resources{}); q.Used != zero || q.reserved != zero || q.pending != zero {
			t.Fatalf("at the end %s has used %v, reserved %v, pending %v", q.Path, q.Used, q.reserved, q.pending)
		}
		for _, q := range w.s.Leaves {
			if q.Apps+q.ActiveApps+q.ActiveUsers+q.OnlyPending+len(q.list)+q.active.Len()+q.ready.Len()+q.unseen.Len()+q.waiting.Len() != 0 || q.AMUsed != (unit.Resources{}) {
				t.Fatalf("at the end leaf %s is not empty: %+v", q.Path, q.Leaf)
			}
		}
		for _, n := range w.nodes {
			if n.Free != n.Total {
				t.Fatalf("at the end node %s has %v of %v free", n.Name, n.Free, n.Total)
			}
		}
	})
}
