package marp

import (
	"fmt"
	"math"
	"slices"
)

// measure derives steps and bounds from the size of an AM: what a job reports, now or before, overrides the queue's mean.
func (c *loop) measure(v *view) (why string) {
	if v.share > 0 && (!v.guessed || !c.reported) {
		c.am, c.reported = v.am, !v.guessed
	} else if c.am.Mem > 0 {
		v.am = c.am
		v.share = c.set.Limit.Of(v.capacity, c.am)
	}
	// Steps stay for a batch, else what is given back would not be what was taken; unless another AM size makes them meaningless.
	if c.set.Steps == (Steps{}) && v.share > 0 && (c.phase != acting || v.share > 2*c.stepped || v.share < c.stepped/2) {
		c.steps, c.stepped = Derive(v.share), v.share
	}
	_, plain := c.controller.(sizeless)
	switch {
	case v.share > 1:
		return fmt.Sprintf("an AM (%v) is larger than the queue (%v)", v.am, v.capacity)
	case v.share > 0:
		c.digits = digits(v.share)
		if c.minShare = ceilTo(v.share, c.digits); c.set.Limit.Whole {
			c.minShare = min(c.minShare, c.slotShare(v, 1)) // it rounds up itself
		}
	case (!plain && c.steps == Steps{} || c.set.Slots) && v.pending+v.running > 0:
		return "the size of AMs is not known: give it, or steps"
	default:
		c.digits, c.minShare = digits(c.steps.Inc), c.steps.Inc
	}
	c.minShare = min(max(c.minShare, c.set.Min), c.set.Max)
	c.finest = math.Pow10(-c.digits) / 2
	return ""
}

// grain is the resolution of the share in force: an old Capacity Scheduler reports only the limit, in whole minimum allocations.
func (c *loop) grain(v *view) float64 {
	if !c.set.Limit.Whole || v.capacity.Mem <= 0 {
		return c.finest
	}
	return max(c.finest, float64(c.set.Minimum.Mem)/float64(v.capacity.Mem))
}

// sync determines the value in force.
func (c *loop) sync(v *view) (why string) {
	if why := c.measure(v); why != "" {
		return why
	}
	if v.present != 0 && !c.hasFound {
		c.found, c.hasFound = v.present, true
	}
	near := func(x float64) bool { return math.Abs(v.present-x) <= c.finest }
	if n := len(c.ours); n > 0 && near(c.ours[n-1]) {
		c.undone = 0 // the last request is in force
	}
	mine := c.known && (v.present == 0 || near(c.value) || c.wrote && v.now-c.written < c.set.TakeOver)
	switch {
	case mine:
		if c.sizes != (sizes{v.capacity, v.am}) { // the first job reveals the size of AMs; nodes come and go
			c.count(v, c.value)
		}
	case v.present > 0:
		if c.known {
			c.said.Why = fmt.Sprintf("%v is in force, not %v: goes on from there; ", v.present, c.value)
			if !slices.ContainsFunc(c.ours, func(x float64) bool { return math.Abs(v.present-x) <= c.grain(v) }) {
				c.found = v.present // set by a person: to be restored at the end
			}
		}
		c.value, c.known = v.present, true
		c.count(v, v.present)
	case c.sets():
	case v.present < 0:
		return "the queue has no limit for AMs: set one, or let the controller preset its own"
	default:
		return "the share in force is not known: let the controller preset its own"
	}
	if c.set.KeepFound && c.set.Min == 0 && c.hasFound {
		c.minShare = min(max(c.minShare, c.found), c.set.Max)
	}
	return ""
}
