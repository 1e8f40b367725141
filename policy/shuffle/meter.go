package shuffle

import (
	"errors"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Meter measures how a policy treats shuffles.
type Meter struct {
	jobs    Jobs
	nodes   int64
	over    int64
	samples int64

	links     Links
	racks     int32
	busy      int64 // samples of congested racks
	events    int64
	linkTicks int64 // samples of racks
	was       []bool
}

// Watch adds a meter to any policy that does not preempt. Neither its decisions nor the run's results change.
func Watch(p policy.Policy) (policy.Policy, *Meter, error) {
	if _, takes := p.Order.(policy.Preemptor); takes {
		return p, nil, errors.New("the meter does not measure a policy that preempts")
	}
	m := &Meter{jobs: Jobs{Bounds: DefaultBounds()}}
	p.Order = metered{p.Order, m}
	p.Timer = &ticks{Timer: p.Timer, m: m}
	return p, m, nil
}

// OverThreshold is the mean share of nodes whose running maps are predicted to produce more than the traffic threshold, sampled every
// second.
func (m *Meter) OverThreshold() float64 {
	return float64(m.over) / float64(max(1, m.samples))
}

// Uplinks makes the meter sample the uplinks of so many racks, before the run: they are congested at a mean load of threshold or more over a
// second.
func (m *Meter) Uplinks(n policy.Network, racks int, threshold float64) {
	m.links, m.racks = Links{Period: unit.Second, Threshold: threshold, net: n}, int32(racks)
}

// Congestion is how often an uplink became congested, and the mean share of racks that were.
func (m *Meter) Congestion() (events int64, share float64) {
	return m.events, float64(m.busy) / float64(max(1, m.linkTicks))
}

// take takes a sample of the nodes and uplinks.
func (m *Meter) take(now unit.Time) {
	if m.jobs.maps > 0 {
		m.samples += m.nodes
		m.over += m.jobs.Over()
	}
	m.was = m.was[:0]
	for r := range m.racks {
		m.was = append(m.was, m.links.Congested(r))
	}
	m.links.Tick(now)
	for r, was := range m.was {
		if m.linkTicks++; m.links.WasCongested(int32(r)) {
			m.busy++
			if !was {
				m.events++
			}
		}
	}
}

type metered struct {
	policy.Order
	m *Meter
}

func (w metered) Resized(now unit.Time, c policy.Cluster) {
	w.m.nodes = int64(c.Nodes)
	w.m.jobs.Resized(c)
	w.Order.Resized(now, c)
}

func (w metered) Arrived(now unit.Time, j *policy.Job) error {
	err := w.Order.Arrived(now, j)
	if err == nil {
		w.m.jobs.Arrived(j)
	}
	return err
}

func (w metered) Changed(now unit.Time, j *policy.Job) {
	w.m.jobs.Changed(w.m.jobs.Of(j.Index))
	w.Order.Changed(now, j)
}

func (w metered) Started(e *policy.Event) {
	w.m.jobs.Started(w.m.jobs.Of(e.Job.Index), e)
	w.Order.Started(e)
}

func (w metered) Ended(e *policy.Event) {
	w.m.jobs.Ended(w.m.jobs.Of(e.Job.Index), e)
	w.Order.Ended(e)
}

func (w metered) Left(now unit.Time, j *policy.Job) {
	w.m.jobs.Left(w.m.jobs.Of(j.Index))
	w.Order.Left(now, j)
}

// Why explains with the policy's own order.
func (w metered) Why(now unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	if x, ok := w.Order.(policy.Explainer); ok {
		return x.Why(now, j, to)
	}
	return to
}

// Refusal passes the question on.
func (w metered) Refusal(now unit.Time, j *policy.Job, s int, n *policy.Node, near policy.Near) (r policy.Reason) {
	if x, ok := w.Order.(policy.Refuser); ok {
		r = x.Refusal(now, j, s, n, near)
	}
	return r
}

// ticks samples every second, between the ticks of the policy's own timer.
type ticks struct {
	policy.Timer
	m            *Meter
	next, sample unit.Time // tick of the policy's timer, sample
}

func (t *ticks) Tick(now unit.Time) (again unit.Time, changed bool) {
	if now >= t.sample {
		t.sample = now + unit.Second
		t.m.take(now)
	}
	again = t.sample
	if t.Timer != nil {
		if now >= t.next {
			t.next, changed = t.Timer.Tick(now)
		}
		again = min(again, t.next)
	}
	return again, changed
}
