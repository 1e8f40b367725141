package circuit

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
)

// heaviest tries all matchings of the rows from r on.
func heaviest(w []int64, n, r int, used []bool, undirected bool) int64 {
	if r == n {
		return 0
	}
	best := heaviest(w, n, r+1, used, undirected)
	if undirected && used[r] {
		return best
	}
	for c := range n {
		if used[c] || undirected && c <= r {
			continue
		}
		used[c] = true
		best = max(best, w[r*n+c]+heaviest(w, n, r+1, used, undirected))
		used[c] = false
	}
	return best
}

func weights(t *rapid.T, n int, symmetric bool) []int64 {
	w := make([]int64, n*n)
	most := rapid.SampledFrom([]int64{1, 3, 1000, 1 << 50}).Draw(t, "most")
	for i := range w {
		if rapid.IntRange(0, 2).Draw(t, "zero") > 0 {
			w[i] = rapid.Int64Range(0, most).Draw(t, "weight")
		}
	}
	for r := range n {
		for c := range r {
			if symmetric {
				w[r*n+c] = w[c*n+r]
			}
		}
		if symmetric {
			w[r*n+r] = 0
		}
	}
	return w
}

func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		w := weights(t, n, false)
		total, used := int64(0), make([]bool, n)
		for r, c := range Assign(w, n) {
			if c < 0 {
				continue
			}
			if used[c] || w[r*n+int(c)] == 0 {
				t.Fatalf("column %d has two rows, or one of weight 0", c)
			}
			used[c] = true
			total += w[r*n+int(c)]
		}
		if best := heaviest(w, n, 0, make([]bool, n), false); total != best {
			t.Fatalf("weight %d, want %d of %v", total, best, w)
		}
	})
}

func TestMarry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "n")
		w := weights(t, n, true)
		total := int64(0)
		partner := Marry(w, n)
		for a, b := range partner {
			if b < 0 {
				continue
			}
			if int(b) == a || partner[b] != int32(a) || w[a*n+int(b)] == 0 {
				t.Fatalf("%v is not a matching", partner)
			}
			total += w[a*n+int(b)]
		}
		if best := heaviest(w, n, 0, make([]bool, n), true); total != 2*best {
			t.Fatalf("weight %d, want %d of %v", total/2, best, w)
		}
	})
}

// Random flows: at no time has a port two partners; nothing moves during a reconfiguration; a connected pair has the full rate; all bytes arrive.
func TestSwitch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		net := flow.New()
		s := Settings{Ports: rapid.IntRange(2, 6).Draw(t, "ports"), Rate: 1000, Delay: rapid.SampledFrom([]unit.Time{0, 10 * unit.Millisecond}).Draw(t, "delay"),
			Interval: unit.Second, Undirected: rapid.Bool().Draw(t, "undirected")}
		c := New(net, s)
		type sent struct {
			src, dst int32
			bytes    float64
		}
		var flows []sent
		carried := func() (sum float64) {
			for _, u := range c.Uses() {
				sum += u.Bytes
			}
			return sum
		}
		arrived, total, now := 0, 0.0, unit.Time(0)
		left := rapid.IntRange(1, 25).Draw(t, "flows")
		check := func() {
			to, ok := c.output, c.ready == unit.Never
			out := map[int32]bool{}
			for src, dst := range to {
				if dst >= 0 {
					if out[dst] || int(dst) == src {
						t.Fatalf("%v: a port with two partners, or itself", to)
					}
					out[dst] = true
				}
				if s.Undirected && dst >= 0 && to[dst] != int32(src) {
					t.Fatalf("%v: one direction only", to)
				}
			}
			for _, f := range flows {
				rate := net.Capacity(c.pairs[c.index(f.src, f.dst)].link)
				if want := ok && to[f.src] == f.dst; (rate == s.Rate) != want || !want && rate != 0 {
					t.Fatalf("%d>%d has a rate of %v; configuration %v, in use: %v", f.src, f.dst, rate, to, ok)
				}
			}
		}
		for steps := 0; left > 0 || arrived < len(flows); steps++ {
			if steps > 10_000 {
				t.Fatalf("%d of %d flows arrived: the switch hangs", arrived, len(flows))
			}
			if left > 0 && rapid.Bool().Draw(t, "start") {
				left--
				f := sent{src: rapid.Int32Range(0, int32(s.Ports)-1).Draw(t, "src"), bytes: rapid.Float64Range(1, 5000).Draw(t, "bytes")}
				f.dst = (f.src + rapid.Int32Range(1, int32(s.Ports)-1).Draw(t, "dst")) % int32(s.Ports)
				net.Start([]flow.Link{c.Join(now, f.src, f.dst, f.bytes)}, f.bytes, flow.Options{Data: uint64(len(flows))})
				flows = append(flows, f)
				total += f.bytes
				continue
			}
			next := now + unit.Time(rapid.Int64Range(0, 700_000).Draw(t, "wait"))
			if due := c.Due(); left == 0 {
				next = due
			} else {
				next = min(next, due)
			}
			if next == unit.Never {
				t.Fatalf("%d of %d flows arrived, and the switch is never due", arrived, len(flows))
			}
			ok := c.ready == unit.Never
			before := carried()
			net.Advance(next.Seconds(), func(_ flow.ID, data uint64) {
				c.Quit(flows[data].src, flows[data].dst, 0)
				arrived++
			})
			if !ok && carried() != before {
				t.Fatalf("%v bytes were sent during a reconfiguration", carried()-before)
			}
			now = next
			if c.Due() <= now {
				c.Step(now)
			}
			check()
		}
		if math.Abs(carried()-total) > 1e-6*total {
			t.Fatalf("%v bytes sent, %v offered", carried(), total)
		}
	})
}

// One flow: it waits for the next instant and the delay. A second one on the same circuit does not.
func TestTiming(t *testing.T) {
	net := flow.New()
	c := New(net, Settings{Ports: 3, Rate: 1000, Delay: 10 * unit.Millisecond, Interval: unit.Second})
	var ends []float64
	advance := func(to unit.Time) {
		for c.Due() <= to {
			at := c.Due()
			net.Advance(at.Seconds(), func(flow.ID, uint64) { ends = append(ends, net.Now()); c.Quit(0, 1, 0) })
			c.Step(at)
		}
		net.Advance(to.Seconds(), func(flow.ID, uint64) { ends = append(ends, net.Now()); c.Quit(0, 1, 0) })
	}
	start := func(now unit.Time) { net.Start([]flow.Link{c.Join(now, 0, 1, 500)}, 500, flow.Options{}) }
	advance(300 * unit.Millisecond)
	start(300 * unit.Millisecond)
	advance(2500 * unit.Millisecond)
	start(2500 * unit.Millisecond)
	advance(4 * unit.Second)
	if len(ends) != 2 || math.Abs(ends[0]-1.51) > 1e-9 || math.Abs(ends[1]-3) > 1e-9 || c.Changes() != 1 {
		t.Errorf("ended at %v, %d changes", ends, c.Changes())
	}
}

func BenchmarkAssign(b *testing.B) {
	const n = 20
	w := make([]int64, n*n)
	for i := range w {
		w[i] = int64(i*7919%1009) * int64(i%3)
	}
	b.Run("directed", func(b *testing.B) {
		for b.Loop() {
			Assign(w, n)
		}
	})
	for r := range n {
		for c := range r {
			w[r*n+c] = w[c*n+r]
		}
	}
	b.Run("undirected", func(b *testing.B) {
		for b.Loop() {
			Marry(w, n)
		}
	})
}
