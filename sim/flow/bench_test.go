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

func newRacks(seed uint64, eps float64) *racks {
	r := &racks{n: flow.New(), rnd: rand.New(rand.NewPCG(seed, 1)), perRack: 20}
	r.n.Tolerance(eps)
	for i := range 600 {
		r.out = append(r.out, r.n.AddLink(fmt.Sprint("out ", i), 250e6/8))
		r.in = append(r.in, r.n.AddLink(fmt.Sprint("in ", i), 250e6/8))
	}
	for i := range 30 {
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

// BenchmarkReplace keeps so many flows alive: when one ends, another starts. An operation is one flow.
func BenchmarkReplace(b *testing.B) {
	for _, eps := range []float64{0, 1e-4, 1e-3, 1e-2} {
		for _, alive := range []int{100, 1000, 5000} {
			b.Run(fmt.Sprintf("eps=%g/flows=%d", eps, alive), func(b *testing.B) {
				r := newRacks(1, eps)
				for range alive {
					r.one(600)
				}
				left := alive
				step := func(flow.ID, uint64) { left--; r.one(600) }
				for left > 0 { // the first generation has all its starts at one instant
					at, _ := r.n.Next()
					r.n.Advance(at, step)
				}
				left = b.N
				before := cpu()
				b.ResetTimer()
				for left > 0 {
					at, _ := r.n.Next()
					r.n.Advance(at, step)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "flows/s")
				b.ReportMetric(float64(cpu()-before)/1e3/float64(b.N), "cpu-us/op")
			})
		}
	}
}
