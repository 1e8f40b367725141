package capacity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"pgregory.net/rapid"
)

// randomSettings draws a queue tree.
func randomSettings(r *rand.Rand) []string {
	kinds := [][]string{{"20", "50", "30"}, {"1w", "3w", "2w"}, {"[memory=10240,vcores=8]", "[memory=30720,vcores=20]", "[memory=20480,vcores=40]"}, {"0", "100", "0"}}
	k := kinds[r.IntN(len(kinds))]
	s := []string{
		"root.queues=a,b,c", "root.a.capacity=" + k[0], "root.b.capacity=" + k[1], "root.c.capacity=" + k[2],
		fmt.Sprint("maximum-am-resource-percent=", []float64{0.1, 0.2, 0.5, 1}[r.IntN(4)]),
		"yarn.cluster.max-application-priority=3", "global-queue-max-application=10000",
		"root.ordering-policy=" + []string{"utilization", "priority-utilization"}[r.IntN(2)],
		fmt.Sprint("root.a.priority=", r.IntN(3)), fmt.Sprint("root.b.priority=", r.IntN(3)),
		fmt.Sprint("user-limit-factor=", []string{"-1", "1", "2", "0.5"}[r.IntN(4)]),
		fmt.Sprint("minimum-user-limit-percent=", []int{100, 50, 25, 10}[r.IntN(4)]),
		"resource-calculator=x." + []string{"DefaultResourceCalculator", "DominantResourceCalculator"}[r.IntN(2)],
	}
	leaves := []string{"root.b", "root.c"}
	if k[0] == "20" || k[0] == "1w" {
		s = append(s, "root.a.queues=x,y", "root.a.x.capacity=30", "root.a.y.capacity=70", fmt.Sprint("root.a.maximum-capacity=", 40+r.IntN(60)),
			fmt.Sprint("root.a.x.Maximum-capacity=", 50+r.IntN(50)))
		leaves = append(leaves, "root.a.x", "root.a.y")
	} else {
		leaves = append(leaves, "root.a")
	}
	for _, l := range leaves {
		s = append(s, l+".ordering-policy="+[]string{"fifo", "fair"}[r.IntN(2)], l+".user-limit-factor="+[]string{"-1", "1", "3"}[r.IntN(3)],
			fmt.Sprint(l, ".maximum-applications=", 1000))
	}
	return s
}

// The fast order and the plain one propose the same jobs, in the same order, on random events; and no queue passes its maximum.
func TestAgreesWithNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		agree(t, rt, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))
	})
}

func agree(t *testing.T, rt *rapid.T, r *rand.Rand) {
	o := fromSettings(t, randomSettings(r)...)
	n := &naive{like: o}
	w := newWorld(unit.Resources{Mem: 20480 + 1024*int64(r.IntN(60)), Cores: 20 + int64(r.IntN(60))}, o, n)
	var leaves []string
	for _, l := range o.Leaves {
		leaves = append(leaves, l.Path)
	}
	for step, steps := 0, 20+r.IntN(150); step < steps; step++ {
		switch k := r.IntN(20); {
		case k < 6:
			am := unit.Resources{Mem: 1024 * int64(r.IntN(3)), Cores: 1}
			if am.Mem == 0 {
				am = unit.Resources{}
			}
			ask := unit.Resources{Mem: 512 * int64(1+r.IntN(8)), Cores: 1 + int64(r.IntN(3))}
			id := fmt.Sprint("j", w.seq)
			if err := w.arrive(id, string('u'+rune(r.IntN(4))), leaves[r.IntN(len(leaves))], r.IntN(5), am, ask, int64(1+r.IntN(8)), int64(r.IntN(4))); err != nil {
				rt.Fatalf("refused: %v", err)
			}
		case k < 9 && len(w.list) > 0:
			if j := w.list[r.IntN(len(w.list))]; len(j.running) > 0 {
				i := r.IntN(len(j.running))
				if lost := r.IntN(6) == 0; lost || j.running[i].stage != policy.AMStage {
					w.end(j, i, lost)
				}
			}
		case k == 9 && r.IntN(4) == 0:
			w.resize(unit.Resources{Mem: 20480 + 1024*int64(r.IntN(60)), Cores: 20 + int64(r.IntN(60))})
		default:
			compareOffer(rt, w, r)
		}
		w.checkSums(rt, o)
	}
}

func compareOffer(t *rapid.T, w *world, r *rand.Rand) {
	seed := r.Uint64()
	verdict := func(j *policy.Job) policy.Verdict {
		h := (seed ^ uint64(j.Seq)*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 >> 60
		switch {
		case h == 0:
			return policy.Enough
		case h < 6 || !j.Ask.Fits(w.total.Sub(w.used)):
			return policy.Pass
		}
		return policy.Took
	}
	var want, got []string
	n, o := w.orders[1], w.orders[0].(*Order)
	wantTook := n.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
		want = append(want, j.ID)
		return verdict(j)
	})
	gotTook := o.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
		got = append(got, j.ID)
		v := verdict(j)
		if v == policy.Took {
			w.start(w.jobs[j.ID])
		}
		return v
	})
	if gotTook {
		j := w.jobs[got[len(got)-1]]
		for q := o.users[o.apps[j.Index].user].q; q != nil; q = q.Parent {
			if !o.Calc.Fits(q.Used, q.EffMax) {
				t.Fatalf("queue %s holds %v, above its maximum %v", q.Path, q.Used, q.EffMax)
			}
		}
	}
	if !slices.Equal(got, want) || gotTook != wantTook {
		t.Fatalf("proposed %v (%v), the plain one %v (%v)", got, gotTook, want, wantTook)
	}
}

func (w *world) checkSums(t *rapid.T, o *Order) {
	sum := map[*queue]unit.Resources{}
	for _, j := range w.list {
		for q := o.users[o.apps[j.Index].user].q; q != nil; q = q.Parent {
			sum[q] = sum[q].Add(j.Used)
		}
	}
	for q, used := range sum {
		if q.Used != used {
			t.Fatalf("queue %s counts %v, its jobs hold %v", q.Path, q.Used, used)
		}
	}
}
