package yardstick

import (
	"cmp"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/sim/flow"
)

// Fetches is a shuffle as packets and fluid play it: who fetches what from whom, and how many at a time.
type Fetches struct {
	Name         string
	Nodes, Racks int
	Copiers      int     // flows that a receiver has at a time; 0: all of them
	Node, Uplink float64 // bits per second, each way
	Queue        int     // packets, of each port of a switch
	Flows        []Fetch
}

// Fetch is one flow.
type Fetch struct {
	From, To int
	Bytes    uint64
}

const (
	shuffleNodes = 20
	shuffleMean  = 25e5
	// segment is TCP's with timestamps in a frame of 1,500 bytes; onTheWire is what Ethernet takes for it: headers of 20, 32 and
	// 18 bytes, preamble and gap of 20.
	segment, onTheWire = 1448, 1538
)

// Shuffles are the shuffles of the study: 20 nodes on one switch, or in two racks with an uplink of a fifth of what their nodes
// can send; everything at once, or five copiers, which is Hadoop's default; ports with little or much room.
func Shuffles() []Fetches {
	var all []Fetches
	for _, racks := range []int{1, 2} {
		for _, copiers := range []int{0, 5} {
			for _, queue := range []int{100, 1000} {
				f := Fetches{Nodes: shuffleNodes, Racks: racks, Copiers: copiers, Node: 1e9, Queue: queue, Flows: allToAll()}
				f.Uplink = f.Node * shuffleNodes / float64(racks) / 5
				f.Name = fmt.Sprintf("racks-%d-copiers-%d-queue-%d", racks, copiers, queue)
				all = append(all, f)
			}
		}
	}
	return all
}

// Single is one flow with the network to itself.
func Single(bytes uint64) Fetches {
	return Fetches{
		Name: fmt.Sprintf("single-%d", bytes), Nodes: 2, Racks: 1, Node: 1e9, Uplink: 1e9, Queue: 1000, Flows: []Fetch{{0, 1, bytes}},
	}
}

// allToAll is a flow from each node to each other. A receiver asks the others in an order of its own, as Hadoop's does.
func allToAll() []Fetch {
	var flows []Fetch
	d := dice{seed: 21}
	for to := range shuffleNodes {
		var from []int
		for k := range shuffleNodes {
			if k != to {
				from = append(from, k)
			}
		}
		for i := len(from) - 1; i > 0; i-- {
			k := d.below(i + 1)
			from[i], from[k] = from[k], from[i]
		}
		for _, k := range from {
			flows = append(flows, Fetch{k, to, shuffleMean/4 + uint64(d.exponential(shuffleMean*3/4))})
		}
	}
	return flows
}

// write writes the shuffle in the form that the program for ns-3 reads.
func (f *Fetches) write(out io.Writer, limit float64) error {
	_, err := fmt.Fprintf(out, "nodes %d racks %d copiers %d\nnode %.0f uplink %.0f\nqueue %d\nlimit %g\nflows %d\n",
		f.Nodes, f.Racks, f.Copiers, f.Node, f.Uplink, f.Queue, limit, len(f.Flows))
	for _, x := range f.Flows {
		if err == nil {
			_, err = fmt.Fprintln(out, x.From, x.To, x.Bytes)
		}
	}
	if err != nil {
		return fmt.Errorf("writing the shuffle: %w", err)
	}
	return nil
}

// Span is when a flow went and, in packets, what hindered it.
type Span struct {
	Start, End           float64
	Timeouts, Recoveries int
}

// Fluid plays the shuffle in the simulator's network. share is how much of each link is data.
func (f *Fetches) Fluid(share float64) []Span {
	r := newRacks("", f.Racks, f.Nodes/f.Racks, f.Node/8*share, f.Uplink/8*share)
	waiting := make([][]int, f.Nodes) // by receiver
	for i, x := range f.Flows {
		r.add(0, x.From, x.To, x.Bytes)
		waiting[x.To] = append(waiting[x.To], i)
	}
	o, spans := newPlayer(r.List), make([]Span, len(f.Flows))
	start := func(to int) {
		if len(waiting[to]) == 0 {
			return
		}
		i := waiting[to][0]
		waiting[to] = waiting[to][1:]
		spans[i].Start = o.net.Now()
		o.start(i)
	}
	for to := range waiting {
		for range cmp.Or(f.Copiers, len(waiting[to])) {
			start(to)
		}
	}
	o.drain(func(_ flow.ID, i uint64) {
		spans[i].End = o.net.Now()
		start(f.Flows[i].To)
	})
	return spans
}
