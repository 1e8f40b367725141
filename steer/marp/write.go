package marp

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/steer"
)

// apply turns a controller's move into at most one action within the bounds.
func (c *loop) apply(v *view, m move) []steer.Action {
	if m.up > 0 && v.pending == 0 { // controllers ensure this; last check
		m.up = 0
	}
	want, k, recount := c.value, c.k, false
	switch {
	case m.value > 0:
		want = m.value
	case m.up == 0 && m.down == 0: // the value may be finer than what we write
		c.said.Why += m.why
		return nil
	case c.set.Slots:
		top := max(1, int64(1/v.share))
		k = min(max(c.k+int64(m.up)-int64(m.down), min(c.k, 1)), top)
		if k == c.k {
			m.why += fmt.Sprintf("; stays at %d %s", k, plural(int(k), "AM", "AMs"))
			break
		}
		want = c.slotShare(v, k)
		m.why += fmt.Sprintf("; room for %d %s", k, plural(int(k), "AM", "AMs"))
	default:
		want = roundTo(c.value+float64(m.up)*c.steps.Inc-float64(m.down)*c.steps.Dec, c.digits)
	}
	rises := want > c.value
	lower := c.minShare
	if m.keep && c.hasFound {
		lower = max(lower, c.found)
	}
	if held := min(max(want, lower), c.set.Max); held != want {
		m.why += fmt.Sprintf("; held at %v instead of %v", held, want)
		want, recount = held, c.set.Slots && m.value == 0
	}
	// Clamping to a bound must neither reverse the direction nor admit jobs when none waits.
	if want == c.value || rises != (want > c.value) || rises && v.pending == 0 {
		c.said.Why += m.why
		return nil
	}
	if c.k = k; recount { // the bound admits another number than intended
		c.count(v, want)
	}
	kind := Lower
	if rises {
		kind = Raise
	}
	return c.write(v, kind, want, m.why)
}

// write makes the action and takes the new value as ours.
func (c *loop) write(v *view, kind Kind, want float64, why string) []steer.Action {
	if c.known && want == c.value {
		c.said.Why += why
		c.wrote = c.wrote || kind == Set // already set
		return nil
	}
	c.said.Kind, c.said.New = kind, want
	if c.known {
		c.said.Old = c.value
		why += fmt.Sprintf(" (%v -> %v)", c.value, want)
	} else {
		why += fmt.Sprintf(" (-> %v)", want)
	}
	c.said.Why += why
	c.value, c.known, c.wrote, c.written, c.did = want, true, true, v.now, kind
	if c.ours = append(c.ours, want); len(c.ours) > remembered {
		c.ours = slices.Delete(c.ours, 0, 1)
	}
	return []steer.Action{c.action(want, c.said.Why)}
}

func (c *loop) action(value float64, why string) steer.Action {
	return steer.Action{Kind: steer.SetQueue, Queue: c.set.Queue, Property: c.set.Limit.Property, Value: value, Why: why}
}

// NotMade implements steer.Corrector: the next sample takes the value in force again, and a first value is retried.
func (c *loop) NotMade(steer.Action) {
	c.written = -c.set.TakeOver
	c.undone++
	c.due = max(c.due, c.last+c.set.Interval<<min(c.undone, 6)) // failed writes back off exponentially
	if c.did == Set {
		c.wrote = false
	}
	c.unfinished = c.phase == waiting && c.did == Lower
	if l, ok := c.controller.(corrected); ok && c.did == Raise {
		l.notMade()
	}
}

// remembered is how many of our own values are recognised when they come into force late.
const remembered = 8
