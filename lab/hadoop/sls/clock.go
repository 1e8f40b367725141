package sls

import (
	"fmt"
	"sort"
)

// finish moves all instants to the trace's clock.
func (p *parser) finish() error {
	r := p.rec
	if !p.based {
		return fmt.Errorf("the log of SLS has no start of the trace: it did not get that far")
	}
	r.Machine.StartUp = float64(p.zero) / 1000
	shift := func(ts ...*int64) {
		for _, t := range ts {
			if *t >= 0 {
				*t -= p.zero
			}
		}
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		shift(&j.Submit, &j.Added, &j.Asked, &j.Master, &j.Launched, &j.End, &j.Removed)
	}
	for i := range r.Containers {
		c := &r.Containers[i]
		shift(&c.Reserved, &c.Allocated, &c.Acquired, &c.Running, &c.Ended)
	}
	for i := range r.Kills {
		r.Kills[i].At -= p.zero
	}
	for i := range r.GivenUp {
		r.GivenUp[i].At -= p.zero
	}
	r.Log.Kinds = p.kinds.String()
	r.Log.At = make([]int64, len(p.at))
	last := p.zero
	for i, t := range p.at {
		r.Log.At[i], last = t-last, t
	}
	var slips []int64
	for i := range r.Nodes {
		r.Nodes[i].Phase = -1
		if len(p.beats[i]) > 0 {
			first, s := phase(p.beats[i], r.Beat)
			r.Nodes[i].Phase = first - p.zero
			slips = append(slips, s...)
		}
	}
	sort.Slice(slips, func(a, b int) bool { return slips[a] < slips[b] })
	if n := len(slips); n > 0 {
		r.Machine.SlipP50, r.Machine.SlipP95, r.Machine.SlipMax = slips[n/2], slips[n*95/100], slips[n-1]
	}
	if !p.ended {
		return fmt.Errorf("the log of SLS ends before its applications did")
	}
	return nil
}

// phase finds the grid that a node's heartbeats lie on: they come every period, late at times and never early. It returns
// the first instant of the grid and how late each heartbeat was.
func phase(beats []int64, period int64) (first int64, late []int64) {
	first = beats[0]
	for i, t := range beats {
		first = min(first, t-int64(i)*period)
	}
	late = make([]int64, len(beats))
	for i, t := range beats {
		late[i] = t - int64(i)*period - first
	}
	return first, late
}
