package radix

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// The queue must give (time, sequence) order, whatever is pushed between pops.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var model []Event
		seq := uint64(0)
		wide := rapid.SampledFrom([]int64{3, 100, 1 << 20, 1 << 40}).Draw(t, "width")
		now := unit.Time(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "op") > 0 {
				at := now + unit.Time(rapid.Int64Range(0, wide).Draw(t, "delta"))
				q.Push(at, seq, -at)
				model = append(model, Event{at, seq, -at})
				seq++
				continue
			}
			got, ok := q.Pop()
			if ok != (len(model) > 0) {
				t.Fatalf("pop says %v with %d events", ok, len(model))
			}
			if !ok {
				continue
			}
			i := 0
			for k := range model {
				if c := cmp.Compare(model[k].At, model[i].At); c < 0 || c == 0 && model[k].What < model[i].What {
					i = k
				}
			}
			if got != model[i] {
				t.Fatalf("pop %v, want %v", got, model[i])
			}
			now = got.At
			model = slices.Delete(model, i, i+1)
		}
	})
}

func benchQueue(b *testing.B, pending int) {
	var q Queue
	var deltas [1 << 16]unit.Time
	l := workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second}
	for i := range deltas {
		deltas[i] = l.Draw(int64(i), 1)
	}
	for i := range pending {
		q.Push(deltas[i&0xffff], uint64(i), 0)
	}
	b.ResetTimer()
	for i := range b.N {
		e, _ := q.Pop()
		q.Push(e.At+deltas[i&0xffff], e.What, e.At)
	}
}

func BenchmarkQueue3600(b *testing.B)  { benchQueue(b, 3600) }
func BenchmarkQueue60000(b *testing.B) { benchQueue(b, 60000) }
func BenchmarkQueue1M(b *testing.B)    { benchQueue(b, 1000000) }
