package yardstick

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Fetches is a shuffle for the packet and the fluid model: who fetches what from whom, and how many at a time.
type Fetches struct {
	Name         string
	Nodes, Racks int
	Copiers      int     // concurrent flows per receiver; 0: all of them
	Node, Uplink float64 // bits per second, each way
	Queue        int     // packets, per switch port
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
	headersLeave       = float64(segment) / onTheWire
)

// Shuffles are the shuffles of the study: 20 nodes on one switch, or in two racks with an uplink of a fifth of what their nodes
// can send; everything at once, or five copiers, which is Hadoop's default; switch ports with small or large buffers.
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

// allToAll is a flow from each node to each other. Each receiver fetches in its own order, as Hadoop's does.
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

// write writes the shuffle in the format of the ns-3 program.
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

// Span is a flow's start and end and, with packets, what delayed it.
type Span struct {
	Start, End           float64
	Timeouts, Recoveries int
}

// Fluid plays the shuffle in the simulator's network. share is the part of each link available for data.
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

//go:embed ns3/shuffle.cpp
var ns3Source string

var ns3 = program{
	name: "ns-3", source: ns3Source, header: "ns3/internet-module.h", packages: "g++ libns3-dev",
	options: []string{"-lns3-applications", "-lns3-internet", "-lns3-point-to-point", "-lns3-traffic-control", "-lns3-network", "-lns3-core"},
}

// simulatedLimit is in seconds: a flow that has not ended by then will not.
const simulatedLimit = 30

// PacketRun is a shuffle played by ns-3.
type PacketRun struct {
	Fetches
	Events, Drops int64
	Took          float64 // seconds of processor time
	Spans         []Span  // by flow; End -1: it did not end
}

// Packets plays a shuffle in ns-3.
func Packets(ctx context.Context, f Fetches) (PacketRun, error) {
	run := PacketRun{Fetches: f, Spans: make([]Span, len(f.Flows))}
	out, took, err := ns3.run(ctx, nil, func(w io.Writer) error { return f.write(w, simulatedLimit) })
	if err != nil {
		return run, fmt.Errorf("%s: %w", f.Name, err)
	}
	run.Took = took
	lines := bufio.NewReader(bytes.NewReader(out))
	_, err = fmt.Fscanf(lines, "shuffle %d %d\n", &run.Events, &run.Drops)
	for i := range run.Spans {
		if err != nil {
			break
		}
		s := &run.Spans[i]
		_, err = fmt.Fscanf(lines, "%g %g %d %d\n", &s.Start, &s.End, &s.Timeouts, &s.Recoveries)
	}
	if err != nil {
		return run, fmt.Errorf("reading ns-3's answer for %s: %w", f.Name, err)
	}
	return run, nil
}

// RecordPackets plays the study's shuffles in ns-3, each for at most the given time, and stores them in dir. They run concurrently,
// as many as there are processors.
func RecordPackets(ctx context.Context, dir string, limit time.Duration, log io.Writer) error {
	list := append([]Fetches{Single(1e5), Single(1e6), Single(1e7), Single(1e8)}, Shuffles()...)
	if _, err := ns3.built(ctx); err != nil {
		return err
	}
	program, err := evidence.Program(dir, "")
	if err != nil {
		return err
	}
	began := evidence.Begin(program)
	runs := make([]PacketRun, len(list))
	mu := sync.Mutex{}
	err = host.Each(ctx, len(list), runtime.NumCPU(), func(ctx context.Context, i int) (err error) {
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if runs[i], err = Packets(within, list[i]); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = fmt.Fprintf(log, "%-28s %9d events, %6.1f s of processor time: the last flow ended at %.3f s\n", list[i].Name, runs[i].Events, runs[i].Took, latest(runs[i].Spans))
		return err
	})
	if err != nil {
		return err
	}
	_, err = began.KeepJSON(dir, packetsSeries, runs)
	return err
}

// packetFacts is the distance between packets and fluid on one shuffle. The fluid's links have the capacity left after Ethernet and TCP headers.
type packetFacts struct {
	Run int // its number
	*PacketRun
	Whole, FluidEnd, Packets       float64   // when the last flow ended: fluid with all of the links, with what headers leave, packets
	Ends                           []float64 // by flow: when it ended in packets, over the fluid's
	Untimed                        []float64 // the same, of the flows that never waited for a timer
	Waited, Unheard, Undone        int       // flows that did wait; of those, flows whose first packet was lost; flows that never ended
	Receivers                      float64   // mean over the receivers of when their last flow ended, over the fluid's
	FairnessFluid, FairnessPackets float64   // Jain's index of the rates of a receiver's flows, mean over receivers
	fluidSpans                     []Span
}

// firstTimer is TCP's initial retransmission timeout for a connection's first packet, in seconds.
const firstTimer = 1.0

func newPacketFacts(r *PacketRun) packetFacts {
	f := packetFacts{PacketRun: r, Whole: latest(r.Fluid(1)), Packets: latest(r.Spans)}
	f.fluidSpans = r.Fluid(headersLeave)
	f.FluidEnd = latest(f.fluidSpans)
	for i, s := range r.Spans {
		if s.End < 0 {
			f.Undone++
			continue
		}
		ratio := s.End / f.fluidSpans[i].End
		f.Ends = append(f.Ends, ratio)
		if f.lostFirst(i) {
			f.Unheard++
		}
		if f.metTimer(i) {
			f.Waited++
		} else {
			f.Untimed = append(f.Untimed, ratio)
		}
	}
	last := func(spans []Span) []float64 {
		at := make([]float64, r.Nodes)
		for i, x := range r.Flows {
			at[x.To] = max(at[x.To], spans[i].End)
		}
		return at
	}
	a, b := last(r.Spans), last(f.fluidSpans)
	n := 0.0
	for i := range a {
		if b[i] > 0 {
			f.Receivers += a[i] / b[i]
			n++
		}
	}
	f.Receivers /= n
	f.FairnessPackets, f.FairnessFluid = r.fairness(r.Spans), r.fairness(f.fluidSpans)
	return f
}

// lostFirst reports whether a flow's connection lost its first packet. ns-3 does not count that timer, but it shows: the flow took longer
// than the timer, and longer than the fluid, without other losses. Flows with further losses are not detected.
func (f *packetFacts) lostFirst(i int) bool {
	s := f.Spans[i]
	took := s.End - s.Start
	return s.Timeouts == 0 && s.Recoveries == 0 && took > firstTimer && took > f.fluidSpans[i].End-f.fluidSpans[i].Start
}

func (f *packetFacts) metTimer(i int) bool { return f.Spans[i].Timeouts > 0 || f.lostFirst(i) }

func latest(spans []Span) float64 {
	last := 0.0
	for _, s := range spans {
		last = max(last, s.End)
	}
	return last
}

// fairness is Jain's index of the mean rates of the flows to the same receiver, in the mean over the receivers.
func (f *Fetches) fairness(spans []Span) float64 {
	sum, squares, count := make([]float64, f.Nodes), make([]float64, f.Nodes), make([]float64, f.Nodes)
	for i, x := range f.Flows {
		if spans[i].End < 0 {
			continue
		}
		rate := float64(x.Bytes) / (spans[i].End - spans[i].Start)
		sum[x.To], squares[x.To], count[x.To] = sum[x.To]+rate, squares[x.To]+rate*rate, count[x.To]+1
	}
	total, n := 0.0, 0.0
	for i := range sum {
		if count[i] > 0 {
			total, n = total+sum[i]*sum[i]/squares[i]/count[i], n+1
		}
	}
	return total / n
}
