package mapreduce

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/fabric"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
)

// network is the cluster's network and its next wake-up.
type network struct {
	flows   *flow.Network
	fabric  *fabric.Fabric
	number  []int32 // the fabric's numbers of the engine's nodes
	path    []flow.Link
	wake    unit.Time
	changed bool
	done    func(flow.ID, uint64)
	traffic sim.Traffic
}

// newNetwork builds a cluster's network; nil if it has none. The engine's order of nodes differs by seed.
func newNetwork(w *Worker, described, c *cluster.Cluster) (*network, error) {
	if described.Network == nil {
		return nil, nil
	}
	n := &network{flows: flow.New(), wake: unit.Never, done: func(_ flow.ID, data uint64) { w.finished(data) }}
	var err error
	if n.fabric, err = fabric.Build(described, n.flows); err != nil {
		return nil, err
	}
	n.number, err = n.fabric.Numbers(c)
	return n, err
}

// bring advances the network to now, to be changed. Rates are recomputed once for all changes at one instant.
func (n *network) bring(w *Worker) {
	if w.now > n.flows.Now() {
		n.flows.Advance(w.now, n.done)
	}
	n.changed = true
}

func (n *network) start(w *Worker, a, from, to int32, bytes float64) {
	n.bring(w)
	f, t := n.number[from], n.number[to]
	n.path = n.fabric.Path(f, t, w.tasks[w.acts[a].task].key, n.path)
	ac := &w.acts[a]
	ac.where = onNetwork
	ac.id = int32(n.flows.Start(n.path, bytes, flow.Options{Data: w.data(a)}))
	n.traffic.Flows++
	switch ac.purpose {
	case aRead:
		n.traffic.Read += bytes
	case aFetch:
		n.traffic.Shuffled += bytes
	default:
		return // replicas of output
	}
	if n.fabric.Rack(f) != n.fabric.Rack(t) {
		n.traffic.CrossRack += bytes
	}
}

func (n *network) stop(w *Worker, a int32) {
	n.bring(w)
	if w.acts[a].where == onNetwork { // it did not finish just now
		n.flows.Stop(flow.ID(w.acts[a].id))
	}
}

// roundTrip is the round-trip time of a request, in seconds.
func (n *network) roundTrip(from, to int32) float64 {
	return 2 * n.fabric.Latency(n.number[from], n.number[to]).Seconds()
}

// due reports whether a wake-up is the one requested last.
func (n *network) due(w *Worker) bool { return n.wake == w.host.Now() }

func (n *network) advance(w *Worker) {
	n.wake = unit.Never
	n.bring(w)
	n.flows.Advance(w.now, n.done)
}

// plan requests a wake-up for the next finish.
func (n *network) plan(w *Worker) {
	if !n.changed {
		return
	}
	n.changed = false
	if at, ok := n.flows.Next(); ok {
		if t := w.instant(at); t < n.wake {
			n.wake = t
			w.host.At(t, wakeNetwork)
		}
	}
}

// share is the progress of a transfer now. The network may be at an earlier instant: rates are constant until its next finish.
func (n *network) share(ac *activity, now float64) float64 {
	if ac.bytes <= 0 {
		return 1
	}
	id := flow.ID(ac.id)
	if next, ok := n.flows.Next(); ok {
		now = min(now, next)
	}
	left := n.flows.Left(id) - n.flows.Rate(id)*(now-n.flows.Now())
	return min(1, max(0, 1-left/ac.bytes))
}

// Uplink implements policy.Network. The cluster must describe a network.
func (w *Worker) Uplink(rack int32) (in, out float64) { return w.net.fabric.Uplink(rack) }

// Carried implements policy.Network.
func (w *Worker) Carried(rack int32) (in, out float64) {
	w.enter()
	w.net.bring(w)
	w.leave()
	return w.net.fabric.Carried(rack)
}

// Traffic is the network's traffic, for the run's summary; nil without a network.
func (w *Worker) Traffic() *sim.Traffic {
	if w.net == nil {
		return nil
	}
	n := w.net
	w.enter()
	n.bring(w)
	w.leave()
	n.traffic.Settled, n.traffic.Links, n.traffic.Congested = int64(n.flows.Settled()), n.fabric.Uses(), n.fabric.Congested()
	return &n.traffic
}
