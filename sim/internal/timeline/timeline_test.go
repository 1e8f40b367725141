package timeline

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
)

// The areas of all intervals together are what was held, however time is cut.
func TestAreas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := New(unit.Time(rapid.Int64Range(0, 1000).Draw(t, "period")))
		q := line.Index("")
		if line.Queues[q].Name != "default" || line.Index("default") != q {
			t.Fatal("a queue without a name is not the default one")
		}
		var area, held int64
		var mem, want float64
		var now, from unit.Time
		end := func(to unit.Time) {
			if line.From != from || to <= from {
				t.Fatalf("interval from %d to %d after one that ended at %d", line.From, to, from)
			}
			a, m := line.Queues[q].Close(to - line.From)
			area, mem, from = area+a, mem+m, to
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			step := unit.Time(rapid.Int64Range(0, 5000).Draw(t, "step"))
			now += step
			want += float64(held) * float64(step)
			if now >= line.To {
				line.Pass(now, end)
			}
			if held > 0 && rapid.Bool().Draw(t, "yield") {
				held--
				line.Queues[q].Yield(now-line.From, 7)
				line.Named(-1, unit.Named("gpu", 3), now)
			} else {
				held++
				line.Queues[q].Hold(now-line.From, 7)
				line.Named(1, unit.Named("gpu", 3), now)
			}
		}
		line.Rest(now, end)
		if float64(area) != want || math.Abs(mem-7*want) > 1e-6*want {
			t.Fatalf("held %v container-microseconds, %v of memory; want %v", area, mem, want)
		}
		if gpus := line.BusyNamed(now)["gpu"]; math.Abs(gpus-3*want/1e6) > 1e-9 {
			t.Fatalf("held %v GPU-seconds, want %v", gpus, 3*want/1e6)
		}
	})
}
