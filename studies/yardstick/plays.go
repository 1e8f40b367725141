package yardstick

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Ours plays a list in the simulator's own network.
func Ours(l List) Play { return play(l, nil) }

// play plays a list of flows with weights; nil: 1 each.
func play(l List, weights []int) Play {
	o := newPlayer(l)
	o.weights = weights
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
	o := &player{List: l, net: flow.New(), ends: slices.Repeat([]float64{-1}, len(l.Flows))}
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

func (o *player) start(i int) {
	f, weight := &o.Flows[i], 1.0
	if o.weights != nil {
		weight = float64(o.weights[i])
	}
	o.net.Start(o.paths[f.Path], float64(f.Bytes), flow.Options{Weight: weight, Cap: weight * f.Cap, Data: uint64(i)})
}

func (o *player) startNext() {
	o.start(o.next)
	o.next++
}

func (o *player) ended(_ flow.ID, i uint64) { o.ends[i] = o.net.Now() }

// byTheClock starts each flow at its time.
func (o *player) byTheClock() {
	for changes := o.Changes; o.next < len(o.Flows) || len(changes) > 0; {
		if o.next == len(o.Flows) || len(changes) > 0 && changes[0].At <= o.Flows[o.next].Start {
			o.net.Advance(changes[0].At, o.ended)
			o.net.SetCapacity(flow.Link(changes[0].Link), changes[0].Capacity)
			changes = changes[1:]
			continue
		}
		o.net.Advance(o.Flows[o.next].Start, o.ended)
		o.startNext()
	}
	o.drain(o.ended)
}

// drain advances from end to end until nothing flows.
func (o *player) drain(ended func(flow.ID, uint64)) {
	for at, ok := o.net.Next(); ok; at, ok = o.net.Next() {
		o.net.Advance(at, ended)
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

// Bundled plays a list with each run of identical flows (start, path and cap, adjacent in the list) as one flow: its weight
// is their number, its bytes are their sum. The end of a bundle is that of all of its flows.
//
// With equal sizes that changes nothing: identical flows have the same rate, so they end together. With unequal sizes it approximates:
// flow by flow, the weight falls each time a small one ends, and its share goes to all flows limited with it;
// a bundle keeps its weight to its end, which mostly comes earlier than that of its largest flow.
func Bundled(l List) Play {
	bundles, first := bundle(l)
	var weights []int
	for i := range bundles.Flows {
		weights = append(weights, first[i+1]-first[i])
	}
	p := play(bundles, weights)
	var ends []float64
	for i, end := range p.Ends {
		ends = append(ends, slices.Repeat([]float64{end}, weights[i])...)
	}
	p.Ends = ends
	return p
}

// bundle groups flows; first has the index of the first flow of each bundle, and of the one after the last.
func bundle(l List) (bundles List, first []int) {
	bundles = l
	bundles.Flows = nil
	for i, f := range l.Flows {
		if k := len(bundles.Flows) - 1; k >= 0 {
			if b := &bundles.Flows[k]; b.Start == f.Start && b.Path == f.Path && b.Cap == f.Cap {
				b.Bytes += f.Bytes
				continue
			}
		}
		bundles.Flows = append(bundles.Flows, f)
		first = append(first, i)
	}
	return bundles, append(first, len(l.Flows))
}

// bundling is the distance between bundles of unequal flows and the individual flows.
type bundling struct {
	Flows, Bundles int
	Last           []float64 // by bundle: its end over that of its last flow, as lengths from their common start
	Mean           []float64 // by bundle: its end over the mean end of its flows, likewise
	Receivers      []float64 // by last link of the path, which is a receiver: its last end over the one flow by flow
}

func newBundling(l List) bundling {
	bundles, first := bundle(l)
	b := bundling{Flows: len(l.Flows), Bundles: len(bundles.Flows)}
	one, together := Ours(l).Ends, Bundled(l).Ends
	was, is := make([]float64, len(l.Links)), make([]float64, len(l.Links))
	for i, f := range bundles.Flows {
		last, sum := 0.0, 0.0
		for _, end := range one[first[i]:first[i+1]] {
			last, sum = max(last, end-f.Start), sum+end-f.Start
		}
		length := together[first[i]] - f.Start
		b.Last = append(b.Last, length/last)
		b.Mean = append(b.Mean, length/sum*float64(first[i+1]-first[i]))
		path := l.Paths[f.Path]
		to := path[len(path)-1]
		was[to], is[to] = max(was[to], f.Start+last), max(is[to], f.Start+length)
	}
	for k := range was {
		if was[k] > 0 {
			b.Receivers = append(b.Receivers, is[k]/was[k])
		}
	}
	return b
}

// Difference is the distance between two plays of the same list.
type Difference struct {
	Flows   int     // compared
	Missing int     // ended on one side only
	End     float64 // the largest relative difference of the instants at which a flow ended
	Length  float64 // the largest relative difference of the time that a flow took
	Worst   int     // the flow with the largest difference of its end
}

func (d Difference) String() string {
	return fmt.Sprintf("%d flows, ends %.1e, lengths %.1e, %d missing", d.Flows, d.End, d.Length, d.Missing)
}

// met reports whether every end is close enough.
func (d Difference) met() bool { return d.End <= maxDifference && d.Missing == 0 }

// Compare compares the ends of a list's flows.
func Compare(l List, a, b []float64) Difference {
	d := Difference{Worst: -1}
	for i, f := range l.Flows {
		if a[i] < 0 && b[i] < 0 {
			continue
		}
		d.Flows++
		if a[i] < 0 || b[i] < 0 || math.IsNaN(a[i]) || math.IsNaN(b[i]) {
			d.Missing++
			continue
		}
		gap := math.Abs(a[i] - b[i])
		if e := gap / max(a[i], b[i]); e > d.End || d.Worst < 0 {
			d.End, d.Worst = e, i
		}
		d.Length = max(d.Length, gap/(max(a[i], b[i])-f.Start))
	}
	return d
}

// and combines two differences: the larger one, over the flows of both.
func (d Difference) and(o Difference) Difference {
	d.Flows += o.Flows
	d.Missing += o.Missing
	d.Length = max(d.Length, o.Length)
	if o.End > d.End {
		d.End, d.Worst = o.End, o.Worst
	}
	return d
}

// quantile is the value below which a share p of the values lies; 0 of none.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return result.Quantile(values, p)
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// precision is in bits: enough to keep rounding errors far below a float64's resolution.
const precision = 200

func number(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
func zero() *big.Float            { return new(big.Float).SetPrec(precision) }

// Reference plays a list in the simplest way: at each event the rates of all flows are filled up from zero, in 200-bit
// arithmetic. It is slow, and it arbitrates where two others differ. It does not support Alive.
func Reference(l List) []float64 {
	r := reference{List: l, capacity: make([]*big.Float, len(l.Links)), now: zero(), ends: slices.Repeat([]float64{-1}, len(l.Flows))}
	for i, c := range l.Links {
		r.capacity[i] = number(c)
	}
	for r.step() {
	}
	return r.ends
}

type reference struct {
	List
	capacity      []*big.Float
	now           *big.Float
	begun, change int // flows that have started, changes that are made
	running       []*running
	ends          []float64
}

type running struct {
	flow       int
	left, rate *big.Float
	fixed      bool
}

// step advances to the next event; false when there is none.
func (r *reference) step() bool {
	r.fill()
	var next *big.Float
	sooner := func(at *big.Float) {
		if next == nil || at.Cmp(next) < 0 {
			next = at
		}
	}
	if r.begun < len(r.Flows) {
		sooner(number(r.Flows[r.begun].Start))
	}
	if r.change < len(r.Changes) {
		sooner(number(r.Changes[r.change].At))
	}
	for _, f := range r.running {
		sooner(zero().Add(r.now, zero().Quo(f.left, f.rate)))
	}
	if next == nil {
		return false
	}
	took := zero().Sub(next, r.now)
	r.now = next
	still := r.running[:0]
	for _, f := range r.running {
		f.left.Sub(f.left, zero().Mul(f.rate, took))
		if f.left.Cmp(number(float64(r.Flows[f.flow].Bytes)*math.Exp2(-precision/2))) <= 0 {
			r.ends[f.flow], _ = r.now.Float64()
			continue
		}
		still = append(still, f)
	}
	r.running = still
	for ; r.begun < len(r.Flows) && number(r.Flows[r.begun].Start).Cmp(r.now) <= 0; r.begun++ {
		r.running = append(r.running, &running{flow: r.begun, left: number(float64(r.Flows[r.begun].Bytes)), rate: zero()})
	}
	for ; r.change < len(r.Changes) && number(r.Changes[r.change].At).Cmp(r.now) <= 0; r.change++ {
		r.capacity[r.Changes[r.change].Link] = number(r.Changes[r.change].Capacity)
	}
	return true
}

// fill is progressive filling: all rates rise together until a link is full or a flow reaches its cap; flows so limited keep their
// rate, the others rise on.
func (r *reference) fill() {
	count, left := make([]int, len(r.Links)), make([]*big.Float, len(r.Links))
	for i, c := range r.capacity {
		left[i] = zero().Set(c)
	}
	path := func(f *running) []int32 { return r.Paths[r.Flows[f.flow].Path] }
	for _, f := range r.running {
		f.fixed = false
		for _, k := range path(f) {
			count[k]++
		}
	}
	for open := len(r.running); open > 0; {
		var level *big.Float // at which the next flow is limited
		at := -1             // the link that limits it; -1: a cap
		for i, n := range count {
			if n == 0 {
				continue
			}
			if share := zero().Quo(left[i], number(float64(n))); level == nil || share.Cmp(level) < 0 {
				level, at = share, i
			}
		}
		for _, f := range r.running {
			if c := r.Flows[f.flow].Cap; !f.fixed && c > 0 && number(c).Cmp(level) < 0 {
				level, at = number(c), -1
			}
		}
		for _, f := range r.running {
			held := slices.Contains(path(f), int32(at))
			if c := r.Flows[f.flow].Cap; at < 0 {
				held = c > 0 && number(c).Cmp(level) == 0
			}
			if f.fixed || !held {
				continue
			}
			f.fixed, f.rate = true, level
			open--
			for _, k := range path(f) {
				count[k]--
				left[k].Sub(left[k], level)
			}
		}
	}
}
