// Package circuit is an optical circuit switch in a flow network. Every rack has one input and one output port; a configuration
// connects each input to at most one output, so a rack sends to one other rack at a time, at the full rate of its port. At regular instants the
// switch is configured for the pairs of racks with the most bytes waiting. If that changes the configuration, nothing is sent for
// the time that the switch takes.
//
// An unconnected pair of racks is a link of capacity 0: its flows wait. The configuration is a matching of max weight (Assign). Undirected,
// as in c-Through, a pair of racks is connected in both directions or not at all (Marry).
package circuit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
)

// Settings of a switch.
type Settings struct {
	Ports      int
	Rate       float64   // of a port, bytes/s
	Delay      unit.Time // of a reconfiguration
	Interval   unit.Time // between reconfigurations; longer than Delay
	Undirected bool
}

// Switch is a circuit switch. It has no clock: its owner calls Step when it is Due, after advancing the network to that instant.
type Switch struct {
	s       Settings
	net     *flow.Network
	pairs   []pair  // by input and output
	busy    []int32 // pairs with flows, ascending
	output  []int32 // configuration: output of each input; -1: none
	next    []int32 // configuration being set up
	ready   unit.Time
	matchAt unit.Time
	changes int64
	ports   []int32 // scratch: ports with waiting bytes
	weight  []int64
}

// pair is two racks, one of which sends.
type pair struct {
	link    flow.Link // -1: not made yet
	offered float64   // bytes of its flows so far, less what was stopped
	flows   int32
}

// New adds a switch to a network.
func New(net *flow.Network, s Settings) *Switch {
	if s.Ports < 1 || !(s.Rate > 0) || s.Delay < 0 || s.Interval <= s.Delay {
		panic(fmt.Sprintf("circuit: invalid switch %+v", s))
	}
	c := &Switch{s: s, net: net, pairs: make([]pair, s.Ports*s.Ports), output: make([]int32, s.Ports), ready: unit.Never}
	for i := range c.pairs {
		c.pairs[i].link = -1
	}
	for i := range c.output {
		c.output[i] = -1
	}
	return c
}

func (c *Switch) index(src, dst int32) int32 { return src*int32(c.s.Ports) + dst }

// Join announces a flow between two racks and returns the link that it crosses.
func (c *Switch) Join(now unit.Time, src, dst int32, bytes float64) flow.Link {
	pair := c.index(src, dst)
	p := &c.pairs[pair]
	if p.link < 0 {
		rate := 0.0
		if c.connected(src, dst) {
			rate = c.s.Rate
		}
		p.link = c.net.AddLink(fmt.Sprintf("circuit %d>%d", src, dst), rate)
	}
	if len(c.busy) == 0 {
		c.matchAt = max(c.matchAt, (now+c.s.Interval-1)/c.s.Interval*c.s.Interval)
	}
	if p.flows++; p.flows == 1 {
		i, _ := slices.BinarySearch(c.busy, pair)
		c.busy = slices.Insert(c.busy, i, pair)
		p.offered = c.net.Carried(p.link) // without rounding errors of earlier flows
	}
	p.offered += bytes
	return p.link
}

// More announces more bytes of a flow.
func (c *Switch) More(src, dst int32, bytes float64) { c.pairs[c.index(src, dst)].offered += bytes }

// Quit says that a flow has ended, with the bytes that it still had left.
func (c *Switch) Quit(src, dst int32, left float64) {
	pair := c.index(src, dst)
	p := &c.pairs[pair]
	p.offered -= left
	if p.flows--; p.flows == 0 {
		i, _ := slices.BinarySearch(c.busy, pair)
		c.busy = slices.Delete(c.busy, i, i+1)
	}
}

// connected reports whether a rack can send to another one now.
func (c *Switch) connected(src, dst int32) bool { return c.ready == unit.Never && c.output[src] == dst }

// Due is when Step must be called; Never: not before another Join.
func (c *Switch) Due() unit.Time {
	if len(c.busy) > 0 {
		return min(c.ready, c.matchAt)
	}
	return c.ready
}

// Step completes a reconfiguration, or begins one if another configuration serves more bytes.
func (c *Switch) Step(now unit.Time) {
	if now >= c.ready {
		c.ready = unit.Never
		c.output, c.next = c.next, c.output
		c.set(c.s.Rate)
	}
	if len(c.busy) == 0 || now < c.matchAt {
		return
	}
	c.matchAt = now/c.s.Interval*c.s.Interval + c.s.Interval
	if !c.match() {
		return
	}
	c.changes++
	c.set(0)
	c.ready = now + c.s.Delay
	if c.s.Delay == 0 {
		c.Step(now)
	}
}

// set gives all connected pairs a rate.
func (c *Switch) set(rate float64) {
	for src, dst := range c.output {
		if dst < 0 {
			continue
		}
		if l := c.pairs[c.index(int32(src), dst)].link; l >= 0 {
			c.net.SetCapacity(l, rate)
		}
	}
}

// match finds the next configuration, and reports whether it connects a pair that is not connected now.
func (c *Switch) match() bool {
	n := int32(c.s.Ports)
	c.ports = c.ports[:0]
	for _, at := range c.busy {
		c.ports = append(c.ports, at/n, at%n)
	}
	slices.Sort(c.ports)
	c.ports = slices.Compact(c.ports)
	k := len(c.ports)
	c.weight = append(c.weight[:0], make([]int64, k*k)...)
	for _, pair := range c.busy {
		src, _ := slices.BinarySearch(c.ports, pair/n)
		dst, _ := slices.BinarySearch(c.ports, pair%n)
		bytes := max(1, int64(c.waiting(pair/n, pair%n)))
		c.weight[src*k+dst] += bytes
		if c.s.Undirected {
			c.weight[dst*k+src] += bytes
		}
	}
	pairs := Assign
	if c.s.Undirected {
		pairs = Marry
	}
	c.next = slices.Grow(c.next[:0], len(c.output))[:len(c.output)]
	for i := range c.next {
		c.next[i] = -1
	}
	other := false
	for src, dst := range pairs(c.weight, k) {
		if dst >= 0 {
			c.next[c.ports[src]] = c.ports[dst]
			other = other || c.output[c.ports[src]] != c.ports[dst]
		}
	}
	return other
}

// waiting is the number of bytes of the flows between two racks that have not been sent yet.
func (c *Switch) waiting(src, dst int32) float64 {
	p := &c.pairs[c.index(src, dst)]
	if p.flows == 0 {
		return 0
	}
	return max(0, p.offered-c.net.Carried(p.link))
}

// Changes is the number of reconfigurations.
func (c *Switch) Changes() int64 { return c.changes }

// Uses is the use of each pair of racks that has sent anything, relative to one port at full rate.
func (c *Switch) Uses() []flow.Use {
	var out []flow.Use
	for i := range c.pairs {
		if l := c.pairs[i].link; l >= 0 {
			u := flow.Use{Name: c.net.Name(l), Bytes: c.net.Carried(l), Crossings: c.net.Crossings(l)}
			u.Utilisation = u.Bytes / cmp.Or(c.net.Now()*c.s.Rate, 1)
			out = append(out, u)
		}
	}
	return out
}
