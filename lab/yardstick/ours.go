package yardstick

import (
	"github.com/yardmaster/yardmaster/lab/host"
	"github.com/yardmaster/yardmaster/sim/flow"
)

// Ours plays a list in the simulator's own network.
func Ours(l List) Play {
	o := newPlayer(l)
	before := host.CPU()
	if l.Alive > 0 {
		o.keepAlive()
	} else {
		o.byTheClock()
	}
	return Play{Ends: o.ends, CPU: (host.CPU() - before).Seconds()}
}

type player struct {
	List
	net     *flow.Network
	paths   [][]flow.Link
	weights []int // by flow; nil: 1
	ends    []float64
	next    int
}

func newPlayer(l List) *player {
	o := &player{List: l, net: flow.New(), ends: make([]float64, len(l.Flows))}
	for i := range o.ends {
		o.ends[i] = -1
	}
	for _, c := range l.Links {
		o.net.AddLink("", c)
	}
	for _, p := range l.Paths {
		path := make([]flow.Link, len(p))
		for i, k := range p {
			path[i] = flow.Link(k)
		}
		o.paths = append(o.paths, path)
	}
	return o
}

func (o *player) startNext() {
	f := &o.Flows[o.next]
	weight := 1.0
	if o.weights != nil {
		weight = float64(o.weights[o.next])
	}
	o.net.Start(o.paths[f.Path], float64(f.Bytes), flow.Options{Weight: weight, Cap: weight * f.Cap, Data: uint64(o.next)})
	o.next++
}

func (o *player) ended(_ flow.ID, data uint64) { o.ends[data] = o.net.Now() }

// byTheClock starts each flow at its second.
func (o *player) byTheClock() {
	changes := o.Changes
	for o.next < len(o.Flows) {
		at := o.Flows[o.next].Start
		if len(changes) > 0 && changes[0].At <= at {
			o.net.Advance(changes[0].At, o.ended)
			o.net.SetCapacity(flow.Link(changes[0].Link), changes[0].Capacity)
			changes = changes[1:]
			continue
		}
		o.net.Advance(at, o.ended)
		o.startNext()
	}
	for _, c := range changes {
		o.net.Advance(c.At, o.ended)
		o.net.SetCapacity(flow.Link(c.Link), c.Capacity)
	}
	for at, ok := o.net.Next(); ok; at, ok = o.net.Next() {
		o.net.Advance(at, o.ended)
	}
}

// keepAlive starts the next flow at each end, until all have started.
func (o *player) keepAlive() {
	for o.next < o.Alive {
		o.startNext()
	}
	for at, ok := o.net.Next(); ok && o.next < len(o.Flows); at, ok = o.net.Next() {
		o.net.Advance(at, func(_ flow.ID, data uint64) {
			if o.next < len(o.Flows) {
				o.ends[data] = o.net.Now()
				o.startNext()
			}
		})
	}
}
