package fair

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// An idle beat must not cost more with many applications: nothing is pending.
func TestIdleBeatDoesNotAllocate(t *testing.T) {
	w := newWorld(t, "", site(nil))
	w.addNodes(10, 2, r(8192, 8))
	for i := range 100 {
		if err := w.add(fmt.Sprint("j", i), fmt.Sprint("u", i), "", unit.Resources{}); err != nil {
			t.Fatal(err)
		}
	}
	w.s.Round(0)
	if n := testing.AllocsPerRun(100, func() { w.s.Beat(w.nodes[3], 0); w.s.Round(0) }); n != 0 {
		t.Errorf("an idle beat and update allocate %v times", n)
	}
}

// A busy cluster of 600 nodes: 200 queues with 10 applications each, all hungry; each beat gives and takes one container.
func BenchmarkBeat(b *testing.B) {
	w := newWorld(b, "", site(func(s *conf.Site) { s.Fair.AssignMultiple = true }))
	w.addNodes(600, 30, r(6144, 6))
	for i := range 2000 {
		id := fmt.Sprint("j", i)
		if err := w.add(id, fmt.Sprint("u", i%200), "", unit.Resources{}); err != nil {
			b.Fatal(err)
		}
		w.want(id, 1_000_000, mb(1024))
	}
	w.s.Round(0)
	for range 6 {
		for i := range w.nodes {
			w.beat(i)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	i := 0
	for b.Loop() {
		n := w.s.nodes[i%600]
		w.s.Ended(n.held[0], w.now)
		if got := w.s.Beat(n.Node, w.now); len(got) == 0 {
			b.Fatal("nothing was given")
		}
		if i%1200 == 0 {
			w.s.Round(w.now)
		}
		i++
	}
}
