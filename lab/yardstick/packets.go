package yardstick

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/host"
)

//go:embed ns3/shuffle.cpp
var ns3Source string

var ns3 = program{
	name: "ns-3", source: ns3Source, header: "ns3/internet-module.h", packages: "g++ libns3-dev",
	options: []string{"-lns3-applications", "-lns3-internet", "-lns3-point-to-point", "-lns3-traffic-control", "-lns3-network", "-lns3-core"},
}

// simulatedLimit is in seconds: a flow that has not ended by then will not.
const simulatedLimit = 30

// PacketRun is a shuffle that ns-3 has played.
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

// RecordPackets plays the study's shuffles in ns-3, each for at most the given time, and keeps them in dir. They run side by side,
// as many as there are processors.
func RecordPackets(ctx context.Context, dir string, most time.Duration, log io.Writer) error {
	list := append([]Fetches{Single(1e5), Single(1e6), Single(1e7), Single(1e8)}, Shuffles()...)
	if _, err := ns3.built(ctx); err != nil {
		return err
	}
	began := evidence.Begin(evidence.Here())
	runs := make([]PacketRun, len(list))
	told := sync.Mutex{}
	err := host.Each(ctx, len(list), runtime.NumCPU(), func(ctx context.Context, i int) (err error) {
		within, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		if runs[i], err = Packets(within, list[i]); err != nil {
			return err
		}
		told.Lock()
		defer told.Unlock()
		_, err = fmt.Fprintf(log, "%-28s %9d events, %6.1f s of processor time: the last flow ended at %.3f s\n", list[i].Name, runs[i].Events, runs[i].Took, latest(runs[i].Spans))
		return err
	})
	if err != nil {
		return err
	}
	_, err = began.KeepJSON(dir, packetsSeries, runs)
	return err
}

// packetFacts is how far packets and fluid are apart on one shuffle. The fluid's links carry what Ethernet and TCP leave of them.
type packetFacts struct {
	Run int // its number
	*PacketRun
	Whole, FluidEnd, Packets       float64   // when the last flow ended: fluid with all of the links, with what headers leave, packets
	Ends                           []float64 // by flow: when it ended in packets, over the fluid's
	Untimed                        []float64 // the same, of the flows that never waited for a timer
	Waited, Unheard, Undone        int       // flows that did wait; those of them whose first packet was lost; flows that never ended
	Receivers                      float64   // mean over the receivers of when their last flow ended, over the fluid's
	FairnessFluid, FairnessPackets float64   // Jain's index of the rates of a receiver's flows, mean over receivers
	fluidSpans                     []Span
}

// firstTimer is how long TCP waits for an answer to the first packet of a connection, in seconds.
const firstTimer = 1.0

func newPacketFacts(r *PacketRun) packetFacts {
	f := packetFacts{PacketRun: r, Whole: latest(r.Fluid(1)), Packets: latest(r.Spans)}
	f.fluidSpans = r.Fluid(float64(segment) / onTheWire)
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

// lostFirst says that a flow's connection lost its first packet. ns-3 does not count that timer, but it shows: the flow took longer
// than the timer, and longer than the fluid, without having lost anything else. Those that lost more are not found.
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
