package flow_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/sim/flow"
)

// model is a network under test beside what is known of it.
type model struct {
	n        *flow.Network
	capacity []float64
	ids      []flow.ID
	flows    []plain
	carried  []float64 // per link, what flows that are gone have carried
	bytes    map[flow.ID]float64
	of       map[flow.ID]plain
}

func newModel(t *rapid.T) *model {
	m := &model{n: flow.New(), bytes: map[flow.ID]float64{}, of: map[flow.ID]plain{}}
	for range rapid.IntRange(1, 8).Draw(t, "links") {
		c := float64(rapid.IntRange(1, 20).Draw(t, "capacity"))
		m.n.AddLink("", c)
		m.capacity = append(m.capacity, c)
	}
	m.n.LoosenAfter(rapid.IntRange(1, 9).Draw(t, "loosen after"))
	m.carried = make([]float64, len(m.capacity))
	return m
}

func (m *model) drawFlow(t *rapid.T) plain {
	var p plain
	used := map[int]bool{}
	for range rapid.IntRange(0, 4).Draw(t, "hops") {
		l := rapid.IntRange(0, len(m.capacity)-1).Draw(t, "link")
		if !used[l] {
			used[l] = true
			p.path = append(p.path, flow.Link(l))
		}
	}
	p.weight = rapid.SampledFrom([]float64{1, 1, 1, 2, 0.5, 3}).Draw(t, "weight")
	p.cap = rapid.SampledFrom([]float64{math.Inf(1), math.Inf(1), math.Inf(1), 1, 2.5, 40}).Draw(t, "cap")
	if len(p.path) == 0 && math.IsInf(p.cap, 1) {
		p.cap = 3
	}
	return p
}

func (m *model) start(p plain, bytes float64) {
	o := flow.Options{Weight: p.weight, Cap: p.cap}
	id := m.n.Start(p.path, bytes, o)
	m.ids = append(m.ids, id)
	m.flows = append(m.flows, p)
	m.of[id], m.bytes[id] = p, bytes
}

func (m *model) gone(id flow.ID, left float64) {
	for i := range m.ids {
		if m.ids[i] == id {
			m.ids = append(m.ids[:i], m.ids[i+1:]...)
			m.flows = append(m.flows[:i], m.flows[i+1:]...)
			break
		}
	}
	for _, l := range m.of[id].path {
		m.carried[l] += m.bytes[id] - left
	}
	delete(m.of, id)
	delete(m.bytes, id)
}

func (m *model) step(t *rapid.T) {
	switch rapid.IntRange(0, 7).Draw(t, "what") {
	case 0, 1, 2:
		p := m.drawFlow(t)
		for range rapid.IntRange(1, 3).Draw(t, "copies") {
			m.start(p, float64(rapid.IntRange(0, 100).Draw(t, "bytes")))
		}
	case 3:
		if len(m.ids) > 0 {
			id := m.ids[rapid.IntRange(0, len(m.ids)-1).Draw(t, "flow")]
			m.gone(id, m.n.Stop(id))
		}
	case 4:
		l := rapid.IntRange(0, len(m.capacity)-1).Draw(t, "link")
		m.capacity[l] = float64(rapid.IntRange(0, 20).Draw(t, "capacity"))
		m.n.SetCapacity(flow.Link(l), m.capacity[l])
	case 5:
		if len(m.ids) > 0 {
			id := m.ids[rapid.IntRange(0, len(m.ids)-1).Draw(t, "flow")]
			more := float64(rapid.IntRange(0, 50).Draw(t, "bytes"))
			m.n.Add(id, more)
			m.bytes[id] += more
		}
	default:
		to := m.n.Now() + float64(rapid.IntRange(0, 40).Draw(t, "seconds"))/4
		m.n.Advance(to, func(id flow.ID, _ uint64) { m.gone(id, 0) })
	}
}

// check holds the network against progressive filling, the certificate and the sum of bytes.
func (m *model) check(t *rapid.T, tol float64) {
	m.n.Advance(m.n.Now(), func(id flow.ID, _ uint64) { m.gone(id, 0) })
	want := waterFill(m.capacity, m.flows)
	load := make([]float64, len(m.capacity))
	top := make([]float64, len(m.capacity)) // highest level on a link
	for i, id := range m.ids {
		rate := m.n.Rate(id)
		if !near(rate, want[i], tol) {
			t.Fatalf("flow %v goes at %v, want %v", m.flows[i], rate, want[i])
		}
		for _, l := range m.flows[i].path {
			load[l] += rate
			top[l] = max(top[l], rate/m.flows[i].weight)
		}
	}
	for l, c := range m.capacity {
		if load[l] > c*(1+tol)+1e-9 {
			t.Fatalf("link %d carries %v of %v", l, load[l], c)
		}
		if got := m.n.Load(flow.Link(l)); !near(got, load[l], 1e-9) {
			t.Fatalf("link %d says it carries %v, its flows %v", l, got, load[l])
		}
		total := m.carried[l]
		for id, p := range m.of {
			for _, k := range p.path {
				if int(k) == l {
					total += m.bytes[id] - m.n.Left(id)
				}
			}
		}
		if got := m.n.Carried(flow.Link(l)); !near(got, total, 1e-9) {
			t.Fatalf("link %d carried %v, its flows %v", l, got, total)
		}
	}
	for i, id := range m.ids {
		rate, p := m.n.Rate(id), m.flows[i]
		held := rate >= p.cap*(1-1e-9)
		for _, l := range p.path {
			held = held || load[l] >= m.capacity[l]*(1-tol)-1e-9 && rate/p.weight >= top[l]*(1-tol)-1e-9
		}
		if !held {
			t.Fatalf("nothing holds flow %v back at %v", p, rate)
		}
	}
}

func TestMaxMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.step(t)
			if rapid.Bool().Draw(t, "look") {
				m.check(t, 1e-9)
			}
		}
		m.check(t, 1e-9)
	})
}

// With a tolerance, rates are exactly those of a network whose capacities differ from the actual ones by no more than that.
func TestTolerance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		eps := rapid.SampledFrom([]float64{0.3, 0.1, 1e-2, 1e-3}).Draw(t, "tolerance")
		m.n.Tolerance(eps)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.step(t)
			if rapid.Bool().Draw(t, "look") {
				m.checkTolerance(t, eps)
			}
		}
		m.checkTolerance(t, eps)
	})
}

func (m *model) checkTolerance(t *rapid.T, eps float64) {
	m.n.Advance(m.n.Now(), func(id flow.ID, _ uint64) { m.gone(id, 0) })
	actual := m.capacity
	m.capacity = append([]float64(nil), actual...)
	for l, c := range actual {
		load := m.n.Load(flow.Link(l))
		if load > c/(1-eps)*(1+1e-9) {
			t.Fatalf("link %d carries %v of %v", l, load, c)
		}
		if load >= c/(1+eps)*(1-1e-9) {
			m.capacity[l] = load
		}
	}
	m.check(t, 1e-9)
	m.capacity = actual
}

// The same flows get the same rates whatever came before them and in whatever order they came.
func TestOrderOfStarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		var flows []plain
		for range rapid.IntRange(1, 20).Draw(t, "flows") {
			flows = append(flows, m.drawFlow(t))
		}
		rates := func(order []int, noise int) []float64 {
			n := flow.New()
			for _, c := range m.capacity {
				n.AddLink("", c)
			}
			ids := make([]flow.ID, len(flows))
			for k, i := range order {
				p := flows[i]
				ids[i] = n.Start(p.path, 1, flow.Options{Weight: p.weight, Cap: p.cap})
				if noise > 0 && k%noise == 0 {
					q := flows[(i+noise)%len(flows)]
					other := n.Start(q.path, 1, flow.Options{Weight: 1 + q.weight})
					n.Next()
					n.Stop(other)
				}
			}
			out := make([]float64, len(flows))
			for i, id := range ids {
				out[i] = n.Rate(id)
			}
			return out
		}
		order := make([]int, len(flows))
		for i := range order {
			order[i] = i
		}
		want := rates(order, 0)
		got := rates(rapid.Permutation(order).Draw(t, "order"), rapid.IntRange(0, 3).Draw(t, "noise"))
		for i := range want {
			if !near(got[i], want[i], 1e-9) {
				t.Fatalf("flow %v goes at %v or %v", flows[i], want[i], got[i])
			}
		}
	})
}

// Flows of one class finish when each would have finished as a class of its own: putting them together approximates nothing.
func TestClassesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		together, apart := flow.New(), flow.New()
		for _, c := range m.capacity {
			together.AddLink("", c)
			apart.AddLink("", c)
		}
		var ends [2][]finish
		advance := func(to float64) {
			together.Advance(to, func(_ flow.ID, data uint64) { ends[0] = append(ends[0], finish{together.Now(), data}) })
			apart.Advance(to, func(_ flow.ID, data uint64) { ends[1] = append(ends[1], finish{apart.Now(), data}) })
		}
		data := uint64(0)
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			p := m.drawFlow(t)
			for range rapid.IntRange(1, 6).Draw(t, "copies") {
				data++
				// Sizes that differ, so that no two flows finish so close together that rounding decides which is first.
				bytes := float64(rapid.IntRange(1, 100).Draw(t, "bytes")) + float64(data)*math.Sqrt2/100
				o := flow.Options{Weight: p.weight, Cap: p.cap, Data: data}
				together.Start(p.path, bytes, o)
				apart.Start(append(append([]flow.Link(nil), p.path...), apart.AddLink("own", 1e9)), bytes, o)
			}
			advance(together.Now() + float64(rapid.IntRange(0, 20).Draw(t, "seconds"))/4)
		}
		advance(1e9)
		if len(ends[0]) != int(data) || len(ends[1]) != int(data) {
			t.Fatalf("%d flows, %d and %d finished", data, len(ends[0]), len(ends[1]))
		}
		at := map[uint64]float64{}
		for _, e := range ends[0] {
			at[e.data] = e.at
		}
		for _, e := range ends[1] {
			if !near(e.at, at[e.data], 1e-9) {
				t.Fatalf("flow %d finishes at %v in its class, at %v alone", e.data, at[e.data], e.at)
			}
		}
	})
}

// The same calls give the same finishes to the last bit, with and without a tolerance.
func TestRepeats(t *testing.T) {
	for _, eps := range []float64{0, 1e-2} {
		a, b := durations(eps, 300, 300), durations(eps, 300, 300)
		for i := range a {
			if a[i] != b[i] || !(a[i] > 0) {
				t.Fatalf("tolerance %v: flow %d took %v and %v", eps, i, a[i], b[i])
			}
		}
	}
}
