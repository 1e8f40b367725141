package yardstick

import "github.com/yardmaster/yardmaster/lab/host"

// Bundled plays a list with each run of flows that are alike (start, path and cap, side by side in the list) as one flow: its weight
// is their number, its bytes are theirs together. The end of a bundle is that of all of its flows.
//
// With equal sizes that changes nothing: alike flows have the same rate, so they end together. With unequal sizes it approximates:
// flow by flow, the weight falls each time that a small one ends, and what it leaves goes to all who are held back with it;
// a bundle keeps its weight to its end, which mostly comes earlier than that of its largest flow.
func Bundled(l List) Play {
	bundles, first := bundle(l)
	o := newPlayer(bundles)
	for i := range bundles.Flows {
		o.weights = append(o.weights, first[i+1]-first[i])
	}
	before := host.CPU()
	o.byTheClock()
	p := Play{CPU: (host.CPU() - before).Seconds(), Ends: make([]float64, len(l.Flows))}
	for i, end := range o.ends {
		for k := first[i]; k < first[i+1]; k++ {
			p.Ends[k] = end
		}
	}
	return p
}

// bundle puts flows together; first has the number of the first flow of each bundle, and of the one after the last.
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

// bundling is how far bundles of unequal flows are from the flows one by one.
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
