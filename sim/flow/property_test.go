package flow_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/sim/flow"
)

// model is a network under test beside what is known of it.
type model struct {
	n        *flow.Network
	capacity []float64
	ids      []flow.ID
	flows    []plain
	started  []float64 // bytes, by data
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
