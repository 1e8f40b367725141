package mapreduce

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// What takes longer than can be counted never comes: the job is stuck, and the run ends.
func TestLaterThanTime(t *testing.T) {
	for _, c := range []struct {
		input      unit.Bytes
		cycles     float64
		stragglers sim.Stragglers
	}{
		{1e15, 1e12, sim.Stragglers{}},
		{1e8, 1e9, sim.Stragglers{Share: 1, Factor: 1e6}},
	} {
		w, err := New(round())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		j := &workload.Job{ID: "a", Stages: []workload.Stage{{Tasks: 1, Ask: cluster.Unit, Input: c.input, CyclesPerByte: c.cycles}}}
		sum, err := sim.Run(ctx, sim.Config{
			Cluster: cluster.Uniform(1, 1, cluster.Unit), Source: workload.Slice{j}.Source(), Sink: &book{jobs: map[string]sim.JobRecord{}},
			NoAlone: true, Worker: w, Model: sim.Model{Stragglers: c.stragglers},
			NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil },
		})
		cancel()
		if err != nil || sum.Partial || sum.Stuck != 1 {
			t.Errorf("%+v: %+v, %v", c, sum, err)
		}
	}
}

// peeker asks for the progress of the first task at an instant.
type peeker struct {
	*Worker
	at       unit.Time
	progress float64
}

const wakePeek = wakeMask // none of the worker's own

func (p *peeker) Bind(h sim.Host) error {
	h.At(p.at, wakePeek)
	return p.Worker.Bind(h)
}

func (p *peeker) Wake(what uint64) {
	if what == wakePeek {
		p.progress = p.Progress(0)
		return
	}
	p.Worker.Wake(what)
}

// A block on its way counts as it goes, also while nothing else happens on the network; and links are used from the start of the run to
// its end.
func TestProgressOfATransfer(t *testing.T) {
	m := round()
	m.JVMCycles, m.SortCycles = 0, 0
	c := cluster.Uniform(2, 1, cluster.Unit)
	c.Network = &cluster.Network{Topology: cluster.Star, Node: mib}
	c.Nodes[1].Room = unit.Resources{Mem: 1, Cores: 1} // no room: the task runs on the other node
	j := &workload.Job{ID: "a", Stages: []workload.Stage{{
		Tasks: 1, Ask: cluster.Unit, Input: 8 * mib, CyclesPerByte: 1e6 / mib, Hosts: &workload.Hosts{Names: []string{"node2"}, Of: [][]int32{{0}}},
	}}}
	for _, at := range []struct{ seconds, share float64 }{{4, 0.125}, {12, 0.375}, {14, 0.4375}, {20, 0.75}} {
		p := &peeker{at: unit.FromSeconds(at.seconds)}
		x := &bench{cluster: c, model: m, jobs: []*workload.Job{j}, wrap: func(w *Worker) sim.Worker { p.Worker = w; return p }}
		_, sum, _ := x.run(t)
		// 8 s of the other node's disk, 8 s of the network, 8 s of the processor.
		if math.Abs(p.progress-at.share) > 1e-3 {
			t.Errorf("after %v s: %v done, want %v", at.seconds, p.progress, at.share)
		}
		if l := sum.Traffic.Links[1]; math.Abs(l.Utilisation-1.0/3) > 1e-3 || sum.Traffic.Settled == 0 {
			t.Errorf("8 s of 24 s: %+v", l)
		}
	}
}
