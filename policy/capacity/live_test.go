package capacity

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"pgregory.net/rapid"
)

// Whatever the settings, every job gets its turn: with an engine that always accepts and containers that end, all jobs finish.
func TestEveryJobFinishes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		var o *Order
		if r.IntN(4) == 0 {
			o = fromParams(t, policy.Params{"ordering": []string{"fifo", "fair"}[r.IntN(2)], "queues": "root.b:3;c:2"})
		} else {
			o = fromSettings(t, append(randomSettings(r), "maximum-am-resource-percent=0.2")...)
		}
		w := newWorld(unit.Resources{Mem: 102400, Cores: 100}, o)
		var leaves []string
		for _, l := range o.Leaves {
			leaves = append(leaves, l.Path)
		}
		for i := range 30 {
			am := unit.Resources{Mem: 1024, Cores: 1}.Times(int64(r.IntN(2)))
			if err := w.arrive(fmt.Sprint(i), fmt.Sprint("u", r.IntN(4)), leaves[r.IntN(len(leaves))], r.IntN(3), am,
				unit.Resources{Mem: 1024, Cores: 1}.Times(int64(1+r.IntN(3))), int64(1+r.IntN(20)), int64(r.IntN(5))); err != nil {
				rt.Fatal(err)
			}
		}
		for len(w.list) > 0 {
			took := w.fill()
			var busy []*job
			for _, j := range w.list {
				if len(j.running) > 1 || len(j.running) == 1 && j.running[0].stage != policy.AMStage {
					busy = append(busy, j)
				}
			}
			if len(busy) == 0 {
				if len(took) == 0 {
					rt.Fatalf("%d jobs are left, nothing runs and nobody takes a free container", len(w.list))
				}
				continue
			}
			j := busy[r.IntN(len(busy))]
			w.end(j, len(j.running)-1, false)
		}
		for _, q := range o.Leaves {
			if q.wants != 0 || q.ActiveApps != 0 || q.ActiveUsers != 0 || !q.Used.IsZero() || !q.AMUsed.IsZero() || q.OnlyPending != 0 || q.Apps != 0 {
				rt.Fatalf("queue %s is empty but not idle: %+v", q.Path, *q.Leaf)
			}
		}
	})
}

// Moving jobs and turning knobs at random keeps the books straight.
func TestKnobsKeepTheBooks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 3))
		o := fromSettings(t, randomSettings(r)...)
		w := newWorld(unit.Resources{Mem: 40960, Cores: 40}, o)
		properties := []string{"capacity", "maximum-capacity", "maximum-am-resource-percent", "user-limit-factor", "minimum-user-limit-percent"}
		for i := range 80 {
			leaf := o.Leaves[r.IntN(len(o.Leaves))].Path
			switch r.IntN(6) {
			case 0, 1:
				// A knob may have made it a refusal: that must leave no trace either.
				_ = w.arrive(fmt.Sprint(i), fmt.Sprint("u", r.IntN(3)), leaf, r.IntN(4), mb(1024*int64(r.IntN(3))), mb(1024*int64(1+r.IntN(3))), 3, 2)
			case 2:
				if len(w.list) > 0 {
					_ = o.Move(&w.list[r.IntN(len(w.list))].Job, leaf)
				}
			case 3:
				_, _ = o.SetQueue(leaf, properties[r.IntN(len(properties))], []float64{-1, 0, 0.3, 1, 20, 60}[r.IntN(6)])
			case 4:
				if len(w.list) > 0 {
					j := w.list[r.IntN(len(w.list))]
					old := j.Priority
					j.Priority = r.IntN(5)
					o.SetPriority(&j.Job, old)
				}
			case 5:
				w.fill()
			}
			w.checkSums(rt, o)
			for _, q := range o.Leaves {
				apps, am := 0, unit.Resources{}
				for _, j := range w.list {
					if a := &o.apps[j.Index]; o.users[a.user].q == q && a.state == active {
						apps++
						am = am.Add(a.am)
					}
				}
				if apps != q.ActiveApps || am != q.AMUsed {
					rt.Fatalf("queue %s: %d active with AMs of %v, counted %d and %v", q.Path, apps, am, q.ActiveApps, q.AMUsed)
				}
			}
		}
		for len(w.list) > 0 {
			w.leave(w.list[0])
		}
		if o.Total != 0 || o.Root.wants != 0 || !o.Root.Used.IsZero() {
			rt.Fatalf("all have left, yet %d, %d, %v", o.Total, o.Root.wants, o.Root.Used)
		}
	})
}

func TestForestAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 4))
		var f forest
		var root tree
		in := map[int32]node{}
		for range 300 {
			id := int32(r.IntN(40))
			switch r.IntN(4) {
			case 0, 1:
				n := node{a: float64(r.IntN(3)), b: int64(r.IntN(5))*100 + int64(id), val: values{int64(r.IntN(9)), int64(r.IntN(9))}}
				f.put(&root, id, n.a, n.b, n.val)
				in[id] = n
			case 2:
				f.drop(&root, id)
				delete(in, id)
			case 3:
				if n, ok := in[id]; ok {
					n.val = values{int64(r.IntN(9)), int64(r.IntN(9))}
					f.set(id, n.val)
					in[id] = n
				}
			}
			bound := values{int64(r.IntN(9)), int64(r.IntN(9))}
			last, count := none, 0
			for id := f.first(root, &bound); id != none; id = f.next(id, &bound) {
				n, ok := in[id]
				if !ok || !within(&n.val, &bound) || last != none && !f.less(last, id) {
					rt.Fatalf("walk is wrong at %d", id)
				}
				last = id
				count++
			}
			for _, n := range in {
				if within(&n.val, &bound) {
					count--
				}
			}
			if count != 0 {
				rt.Fatalf("walk misses %d", -count)
			}
		}
	})
}
