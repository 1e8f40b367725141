package marp

import (
	"fmt"
	"math"
)

// measure finds steps and bounds from the size of a master: what a job tells, now or before, counts for more than the queue's mean.
func (c *loop) measure(v *view) (why string) {
	if v.share > 0 && (!v.guessed || c.master.Mem == 0) {
		c.master = v.master
	} else if c.master.Mem > 0 {
		v.master = c.master
		v.share = c.set.Rule.of(v.capacity, c.master)
	}
	if c.set.Steps == (Steps{}) && v.share > 0 && c.at != acting {
		c.steps = Derive(v.share)
	}
	_, plain := c.law.(sizeless)
	switch {
	case v.share > 1:
		return fmt.Sprintf("a master (%v) is larger than the queue (%v)", v.master, v.capacity)
	case v.share > 0:
		c.digits = digits(v.share)
		c.least = ceilTo(v.share, c.digits)
	case (!plain && c.steps == Steps{} || c.set.Slots) && v.pending+v.running > 0:
		return "the size of masters is not known: give it, or steps"
	default:
		c.digits, c.least = digits(c.steps.Inc), c.steps.Inc
	}
	if c.set.Min > 0 {
		c.least = c.set.Min
	}
	c.finest = math.Pow10(-c.digits) / 2
	return ""
}

// sync finds out what value is in force.
func (c *loop) sync(v *view) (why string) {
	if why := c.measure(v); why != "" {
		return why
	}
	if v.present != 0 && !c.hasFound {
		c.found, c.hasFound = v.present, true
	}
	if c.set.KeepFound && c.set.Min == 0 && c.hasFound {
		c.least = min(max(c.least, c.found), c.set.Max)
	}
	mine := c.known && (v.present == 0 || math.Abs(v.present-c.value) <= c.finest || c.wrote && v.now-c.written < c.set.TakeOver)
	switch {
	case mine:
		if c.sizes != (sizes{v.capacity, v.master}) { // the first job tells how large masters are; nodes come and go
			c.count(v, c.value)
		}
	case v.present > 0:
		if c.known {
			c.said.Why = fmt.Sprintf("%v is in force, not %v: goes on from there; ", v.present, c.value)
		}
		c.value, c.known = v.present, true
		c.count(v, v.present)
	case c.sets():
	case v.present < 0:
		return "the queue has no limit for masters: set one, or let the controller preset its own"
	default:
		return "the share in force is not known: let the controller preset its own"
	}
	return ""
}
