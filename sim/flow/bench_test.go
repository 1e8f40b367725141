package flow_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/yardmaster/yardmaster/sim/flow"
)

// racks is 30 racks of 20 nodes: 250 Mbit/s a node, 1 Gbit/s a rack, each way.
type racks struct {
	n                 *flow.Network
	out, in, up, down []flow.Link
	rnd               *rand.Rand
	perRack, started  int
	path              [4]flow.Link
}

func newRacks(seed uint64, eps float64) *racks { return racksOf(30, 20, seed, eps) }

func racksOf(count, perRack int, seed uint64, eps float64) *racks {
	r := &racks{n: flow.New(), rnd: rand.New(rand.NewPCG(seed, 1)), perRack: perRack}
	r.n.Tolerance(eps)
	for i := range count * perRack {
		r.out = append(r.out, r.n.AddLink(fmt.Sprint("out ", i), 250e6/8))
		r.in = append(r.in, r.n.AddLink(fmt.Sprint("in ", i), 250e6/8))
	}
	for i := range count {
		r.up = append(r.up, r.n.AddLink(fmt.Sprint("up ", i), 1e9/8))
		r.down = append(r.down, r.n.AddLink(fmt.Sprint("down ", i), 1e9/8))
	}
	return r
}

func (r *racks) route(a, b int) []flow.Link {
	if a/r.perRack == b/r.perRack {
		r.path = [4]flow.Link{r.out[a], r.in[b]}
		return r.path[:2]
	}
	r.path = [4]flow.Link{r.out[a], r.up[a/r.perRack], r.down[b/r.perRack], r.in[b]}
	return r.path[:]
}

// one starts a flow between two random nodes.
func (r *racks) one(nodes int) {
	a := r.rnd.IntN(nodes)
	b := r.rnd.IntN(nodes - 1)
	if b >= a {
		b++
	}
	r.started++
	r.n.Start(r.route(a, b), 1e6*(1+99*r.rnd.Float64()), flow.Options{Data: uint64(r.started)})
}

// cpu is the processor time this process has used, in nanoseconds: the clock on the wall says little on a shared machine.
func cpu() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// churn keeps so many flows alive: when one ends, another starts. It gives the processor time of one flow in microseconds,
// once every flow of the first generation, which all started at one instant, is gone.
func churn(b *testing.B, n *flow.Network, alive, flows int, one func()) float64 {
	for range alive {
		one()
	}
	left := alive
	step := func(flow.ID, uint64) { left--; one() }
	for left > 0 {
		at, _ := n.Next()
		n.Advance(at, step)
	}
	left = flows
	b.ResetTimer()
	before := cpu()
	for left > 0 {
		at, _ := n.Next()
		n.Advance(at, step)
	}
	return float64(cpu()-before) / 1e3 / float64(flows)
}

// BenchmarkReplace is random flows on 30 racks of 20 nodes; an operation is one flow, its start and its end.
func BenchmarkReplace(b *testing.B) {
	for _, eps := range []float64{0, 1e-4, 1e-3, 1e-2} {
		for _, alive := range []int{100, 1000, 5000, 20000} {
			b.Run(fmt.Sprintf("eps=%g/flows=%d", eps, alive), func(b *testing.B) {
				r := newRacks(1, eps)
				b.ReportMetric(churn(b, r.n, alive, b.N, func() { r.one(600) }), "cpu-us/flow")
			})
		}
	}
}

// BenchmarkGrowth is how much dearer a flow is beside five times as many others.
func BenchmarkGrowth(b *testing.B) {
	for _, eps := range []float64{0, 1e-3, 1e-2} {
		b.Run(fmt.Sprintf("eps=%g", eps), func(b *testing.B) {
			var took [2]float64
			for range b.N {
				for i, alive := range []int{1000, 5000} {
					r := newRacks(1, eps)
					took[i] += churn(b, r.n, alive, 3000, func() { r.one(600) })
				}
			}
			b.ReportMetric(took[1]/took[0], "times")
		})
	}
}

// BenchmarkShuffle is many flows on few paths: 30 nodes at one switch, all to all.
func BenchmarkShuffle(b *testing.B) {
	for _, eps := range []float64{0, 1e-3, 1e-2} {
		for _, alive := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("eps=%g/flows=%d", eps, alive), func(b *testing.B) {
				r := newRacks(1, eps)
				r.perRack = 30 // one rack: only the nodes' own links are crossed
				b.ReportMetric(churn(b, r.n, alive, b.N, func() { r.one(30) }), "cpu-us/flow")
			})
		}
	}
}

// BenchmarkJoin is a flow that joins 5,000 others on a path that is in use already and stops again, rates settled after both.
func BenchmarkJoin(b *testing.B) {
	for _, eps := range []float64{0, 1e-3, 1e-2} {
		b.Run(fmt.Sprintf("eps=%g", eps), func(b *testing.B) {
			r := newRacks(1, eps)
			for range 5000 {
				r.one(600)
			}
			path := r.route(0, 599)
			for range 100 {
				r.n.Start(path, 1e9, flow.Options{})
			}
			r.n.Next()
			before := cpu()
			for b.Loop() {
				id := r.n.Start(path, 1e9, flow.Options{})
				r.n.Next()
				r.n.Stop(id)
				r.n.Next()
			}
			b.ReportMetric(float64(cpu()-before)/1e3/float64(b.N), "cpu-us/flow")
		})
	}
}
