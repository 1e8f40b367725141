package yardstick

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
