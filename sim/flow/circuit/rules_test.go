package circuit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
)

const ms = unit.Millisecond

// offer is a flow between two racks that waits.
type offer struct {
	src, dst int32
	bytes    float64
}

// set makes a switch with ports of 1000 bytes/s, a delay of 10 ms and an interval of 1 s, and joins flows at 0.
func set(ports int, undirected bool, flows ...offer) (*flow.Network, *Switch) {
	net := flow.New()
	c := New(net, Settings{Ports: ports, Rate: 1000, Delay: 10 * ms, Interval: unit.Second, Undirected: undirected})
	for _, f := range flows {
		net.Start([]flow.Link{c.Join(0, f.src, f.dst, f.bytes)}, f.bytes, flow.Options{})
	}
	return net, c
}

// step advances the network and the switch to an instant.
func step(net *flow.Network, c *Switch, now unit.Time) {
	net.Advance(now.Seconds(), func(flow.ID, uint64) {})
	c.Step(now)
}

func TestSettings(t *testing.T) {
	for _, x := range []struct {
		s  Settings
		ok bool
	}{
		{Settings{Ports: 1, Rate: 1, Interval: 1}, true},
		{Settings{Ports: 0, Rate: 1, Interval: 1}, false},
		{Settings{Ports: 1, Rate: 0, Interval: 1}, false},
		{Settings{Ports: 1, Rate: math.NaN(), Interval: 1}, false},
		{Settings{Ports: 1, Rate: 1, Interval: 0}, false},
		{Settings{Ports: 1, Rate: 1, Interval: 1, Delay: -1}, false},
		{Settings{Ports: 1, Rate: 1, Interval: 2, Delay: 2}, false},
		{Settings{Ports: 1, Rate: 1, Interval: 3, Delay: 2}, true},
	} {
		func() {
			defer func() {
				if ok := recover() == nil; ok != x.ok {
					t.Errorf("%+v: valid is %v", x.s, ok)
				}
			}()
			New(flow.New(), x.s)
		}()
	}
}

// A configuration serves the pairs with the most bytes waiting. Undirected, the bytes of both directions count together.
func TestMostBytesWaiting(t *testing.T) {
	for _, x := range []struct {
		name       string
		undirected bool
		flows      []offer
		want       []int32
	}{
		{"the larger of two", false, []offer{{0, 1, 500}, {0, 2, 900}}, []int32{2, -1, -1}},
		{"two flows of a pair", false, []offer{{0, 1, 500}, {0, 2, 900}, {0, 1, 500}}, []int32{1, -1, -1}},
		{"directions apart", false, []offer{{0, 1, 300}, {1, 0, 300}, {0, 2, 500}}, []int32{2, 0, -1}},
		{"both directions", true, []offer{{0, 1, 300}, {1, 0, 300}, {0, 2, 500}}, []int32{1, 0, -1}},
		{"from a high port to a low one", true, []offer{{2, 0, 500}, {0, 1, 300}}, []int32{2, -1, 0}},
		{"from a low port to a high one", true, []offer{{0, 2, 500}, {1, 0, 300}}, []int32{2, -1, 0}},
		{"less than a byte", false, []offer{{1, 2, 0.1}}, []int32{-1, 2, -1}},
	} {
		net, c := set(3, x.undirected, x.flows...)
		step(net, c, 0)
		if step(net, c, 10*ms); !slices.Equal(c.output, x.want) {
			t.Errorf("%s: %v, want %v", x.name, c.output, x.want)
		}
	}
}

// What waits is what was announced, less what was sent and what a stopped flow had left.
func TestWaiting(t *testing.T) {
	net, c := set(3, false)
	want := func(what string, bytes float64) {
		t.Helper()
		if got := c.waiting(0, 1); math.Abs(got-bytes) > 1e-9 {
			t.Errorf("%s: %v bytes wait, want %v", what, got, bytes)
		}
	}
	want("no flow", 0)
	link := c.Join(0, 0, 1, 500)
	first := net.Start([]flow.Link{link}, 500, flow.Options{})
	c.Join(0, 0, 1, 300)
	net.Start([]flow.Link{link}, 300, flow.Options{})
	want("two flows", 800)
	c.More(0, 1, 200)
	net.Add(first, 200)
	want("more of the first", 1000)
	step(net, c, 0)
	step(net, c, 10*ms)
	net.Advance(0.11, func(flow.ID, uint64) {})
	want("0.1 s at 1000 bytes/s", 900)
	c.Quit(0, 1, 650) // each has sent 50
	want("the first is stopped", 250)
	c.Quit(0, 1, 250.5)
	c.Join(110*ms, 0, 1, 40)
	want("after the last one, rounding errors are gone", 40)
}

// The switch is configured at multiples of its interval only, and not while nothing waits.
func TestInstants(t *testing.T) {
	for _, x := range []struct{ join, want unit.Time }{
		{0, 0}, {1, unit.Second}, {999 * ms, unit.Second}, {unit.Second, unit.Second}, {unit.Second + 1, 2 * unit.Second},
	} {
		_, c := set(2, false)
		if c.Due() != unit.Never {
			t.Errorf("without flows it is due at %v", c.Due())
		}
		if c.Join(x.join, 0, 1, 1); c.Due() != x.want {
			t.Errorf("a flow at %v: due at %v, want %v", x.join, c.Due(), x.want)
		}
	}
	net, c := set(3, false, offer{0, 1, 5000})
	if step(net, c, 0); c.Due() != 10*ms {
		t.Errorf("a reconfiguration is due at %v, want 10 ms", c.Due())
	}
	c.Join(5*ms, 0, 2, 1e6)
	if step(net, c, 10*ms); c.Changes() != 1 || c.Due() != unit.Second {
		t.Errorf("between instants: %d changes, due at %v", c.Changes(), c.Due())
	}
	if step(net, c, 1300*ms); c.Changes() != 2 || c.matchAt != 2*unit.Second {
		t.Errorf("a late step: %d changes, the next instant is %v", c.Changes(), c.matchAt)
	}
	c.Quit(0, 2, 1e6)
	c.Quit(0, 1, 0)
	if c.Due() != 1310*ms {
		t.Errorf("without flows it is due at %v: a reconfiguration completes", c.Due())
	}
	step(net, c, 1310*ms)
	if c.Join(1400*ms, 0, 1, 1); c.Due() != 2*unit.Second {
		t.Errorf("the instant after the last one: %v", c.Due())
	}
	if c.Quit(0, 1, 1); c.Due() != unit.Never {
		t.Errorf("without flows it is due at %v", c.Due())
	}
}

// A configuration that serves no other pair is kept without a pause; one new pair is enough for another one.
func TestKeepsItsCircuits(t *testing.T) {
	net, c := set(4, false, offer{2, 3, 5000})
	for _, now := range []unit.Time{0, 10 * ms, unit.Second, 2 * unit.Second} {
		step(net, c, now)
	}
	if c.Changes() != 1 || c.ready != unit.Never || math.Abs(c.waiting(2, 3)-3010) > 1e-6 {
		t.Errorf("%d changes, ready at %v, %v bytes wait after 1.99 s", c.Changes(), c.ready, c.waiting(2, 3))
	}
	net.Start([]flow.Link{c.Join(2500*ms, 0, 1, 1)}, 1, flow.Options{})
	step(net, c, 3*unit.Second)
	if step(net, c, 3010*ms); c.Changes() != 2 || !slices.Equal(c.output, []int32{1, -1, 3, -1}) {
		t.Errorf("one pair is new: %d changes, %v", c.Changes(), c.output)
	}
}

// A pair has its port's rate exactly while it is connected: at once if the switch takes no time, never while it is set up.
func TestRates(t *testing.T) {
	net := flow.New()
	c := New(net, Settings{Ports: 2, Rate: 1000, Interval: unit.Second})
	link := c.Join(0, 0, 1, 10)
	if c.Step(0); net.Capacity(link) != 1000 || c.Due() != unit.Second {
		t.Errorf("without a delay: rate %v, due at %v", net.Capacity(link), c.Due())
	}

	net, c = set(3, true, offer{0, 1, 500})
	step(net, c, 0)
	step(net, c, 10*ms)
	c.Join(20*ms, 0, 2, 1e6)
	step(net, c, unit.Second) // begins to connect 0 and 2
	if link := c.Join(unit.Second, 1, 0, 10); net.Capacity(link) != 0 {
		t.Errorf("a new pair has a rate of %v during a reconfiguration", net.Capacity(link))
	}
	step(net, c, 1010*ms)
	if link := c.Join(1010*ms, 2, 0, 10); net.Capacity(link) != 1000 {
		t.Errorf("the other direction of a connected pair has a rate of %v", net.Capacity(link))
	}
}

func TestUses(t *testing.T) {
	net, c := set(2, false, offer{0, 1, 500})
	if u := c.Uses(); len(u) != 1 || u[0].Utilisation != 0 {
		t.Errorf("at 0: %+v", u)
	}
	for _, now := range []unit.Time{0, 10 * ms, 2 * unit.Second} {
		step(net, c, now)
	}
	if u := fmt.Sprintf("%+v", c.Uses()); u != fmt.Sprintf("%+v", []flow.Use{{Name: "circuit 0>1", Bytes: 500, Crossings: 1, Utilisation: 0.25}}) {
		t.Errorf("500 of 2000 bytes: %s", u)
	}
}

// The best matching may give up the heaviest edge, and lead through an odd cycle to the last port: 571 + 170 + 570 are more than
// 740 + 570.
func TestMarryThroughACycle(t *testing.T) {
	const n = 6
	w := make([]int64, n*n)
	for _, e := range []struct {
		a, b   int
		weight int64
	}{{0, 2, 571}, {2, 5, 740}, {5, 3, 170}, {3, 4, 570}, {4, 1, 570}, {3, 1, 1}} {
		w[e.a*n+e.b], w[e.b*n+e.a] = e.weight, e.weight
	}
	if got, want := Marry(w, n), []int32{2, 4, 0, 5, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
