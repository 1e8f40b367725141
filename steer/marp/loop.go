package marp

import (
	"cmp"
	"fmt"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// controller is what one controller adds to the common loop. It is called only with plausible readings, while there are
// jobs. It returns what to change and how long to wait; the loop adds the wait after an increase.
type controller interface {
	begin(c *loop, v *view)
	decide(c *loop, v *view) (m move, again unit.Time)
}

// move is a change that a controller asks for. The zero value: no change.
type move struct {
	up, down int     // jobs to admit, jobs whose share is given back
	value    float64 // 0: none
	keep     bool    // not below the value found
	why      string
}

type phase uint8

const (
	waiting  phase = iota // for the first job
	settling              // it was seen; the rest of the batch is coming
	acting
	over
)

// loop runs a controller through a batch: it waits for the jobs, reads the original value, tracks what it has written, lets
// the controller decide, enforces bounds and waits, and restores the value.
//
// Invariants: while known, value is what was written last or read since; found is what was read first, or what a person has set since.
type loop struct {
	set        Settings
	controller controller
	cpu        bool // the controller needs the processors' idle share
	phase      phase
	due        unit.Time // samples before this change nothing
	last       unit.Time // latest time seen
	skew       unit.Time // added to times: how far the clock has been set back so far
	bad        int       // consecutive samples that could not be acted on

	found, value     float64
	hasFound         bool
	known, wrote     bool
	written          unit.Time
	did              Kind      // of the last write
	undone           int       // consecutive writes that were not made
	unfinished       bool      // the batch is over, but the first value is not restored
	ours             []float64 // the last values written
	steps            Steps
	stepped          float64 // AM share that steps were derived from
	k                int64   // AMs that value is meant to admit, when they are counted
	sizes            sizes   // inputs of k
	jobs             map[string]*mark
	unfed            map[string]unit.Time // running jobs that get no task, and since when
	full             unit.Time            // last time the queue had no room for another job
	wasFull          bool
	said             Decision
	minShare, finest float64 // lower bound, half the resolution
	digits           int
	am               unit.Resources // as last seen
	reported         bool           // by a job
}

// sizes are the inputs, besides the share, to the number of AMs.
type sizes struct{ capacity, am unit.Resources }

// count computes the number of AMs that a share admits.
func (c *loop) count(v *view, share float64) {
	c.sizes = sizes{v.capacity, v.am}
	c.k = c.set.Limit.Slots(v.capacity, v.am, c.set.Minimum, share)
}

// mark is a job of the batch.
type mark struct {
	seen  bool // in this sample
	begun bool // it was seen running
	share bool // its share has not been given back yet
	mean  bool // it counts in the mean progress
}

var _ Controller = (*loop)(nil)

// New makes the named controller.
func New(name string, s Settings) (Controller, error) {
	if err := s.Check(name); err != nil {
		return nil, err
	}
	c := &loop{set: s, steps: s.Steps, jobs: map[string]*mark{}, said: blank(0), digits: 3}
	switch name {
	case "cbt":
		c.controller, c.cpu = cbt{&c.set.Idling}, true
	case "cbtws":
		c.controller, c.cpu = &sampler{Idling: &c.set.Idling, Sampling: &c.set.Sampling}, true
	case "cbtwat":
		c.controller, c.cpu = &sampler{Idling: &c.set.Idling, Sampling: &c.set.Sampling, arms: newArms(&c.set.Learning)}, true
	case "ahead":
		c.controller = newAhead(s.Forecasting)
	case "kalman-mem":
		c.controller = &kalman{Band: s.Band}
	case "static":
		c.controller = static{s.Fixed}
	}
	return c, nil
}

func (c *loop) Last() Decision { return c.said }

// Step implements steer.Steerer.
func (c *loop) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	if c.phase == over {
		c.said = blank(c.last)
		c.said.Why = "the batch is over"
		return nil, 0
	}
	v, why := c.set.read(seen, c.cpu)
	if v.now > 0 {
		v.now += c.skew
	}
	c.said = blank(v.now)
	if v.now > 0 && v.now < c.last {
		c.skew += c.last - v.now // stored times stay in the past
		v.now = c.last
		c.due = v.now
		why = cmp.Or(why, "time went backwards")
	}
	if why != "" {
		c.bad++
		if v.now > 0 {
			c.last = v.now
		}
		return c.refuse(why)
	}
	c.last = v.now
	c.said.Pending, c.said.Running = v.pending, v.running
	if v.idleShare >= 0 {
		c.said.Idle = float64(v.idle)
	}
	if v.now < c.due {
		c.said.Why = "it is too early for the next sample"
		return nil, c.due - v.now
	}
	if why := c.sync(&v); why != "" {
		c.bad++
		return c.refuse(why)
	}
	c.bad = 0
	do, again = c.pass(&v)
	if again > 0 {
		c.due = v.now + again
	}
	return do, again
}

// refuse does nothing, and backs off exponentially.
func (c *loop) refuse(why string) ([]steer.Action, unit.Time) {
	c.said.Kind, c.said.Why = Refuse, why
	return nil, c.set.Interval << min(max(c.bad-1, 0), 4)
}

// sets reports whether the controller starts by writing a value of its own.
func (c *loop) sets() bool {
	_, plain := c.controller.(static)
	return (c.set.Preset || plain) && !c.wrote
}

// sizeless is a controller that needs no steps.
type sizeless interface{ sizeless() }

// corrected is a controller that counts on its raises, and must be notified of one that was not made.
type corrected interface{ notMade() }

func (c *loop) pass(v *view) ([]steer.Action, unit.Time) {
	if c.sets() && c.start(v) > 0 {
		if do := c.write(v, Set, c.first(v), "begins from its own value"); do != nil {
			c.count(v, c.value)
			return do, c.set.Interval
		}
	}
	empty := v.pending+v.running == 0
	switch {
	case empty && (c.phase == acting || c.unfinished):
		c.unfinished = false
		return c.finish(v)
	case empty:
		c.phase = waiting
		c.said.Why += "no job is there"
		return nil, c.set.Interval
	case c.phase == waiting:
		c.phase = settling
		if c.set.Settle > 0 {
			c.said.Why += "the first job is there; others may be coming"
			return nil, c.set.Settle
		}
	}
	if c.phase == settling {
		if !c.set.Service && len(v.jobs) != v.pending+v.running {
			c.said.Why += fmt.Sprintf("%d jobs are counted and %d listed: the batch is not complete", v.pending+v.running, len(v.jobs))
			return nil, c.set.Interval
		}
		c.phase = acting
		c.enlist(v)
		c.controller.begin(c, v)
		if c.set.Warm > 0 {
			c.said.Why += fmt.Sprintf("a batch of %d jobs begins", len(v.jobs))
			return nil, c.set.Warm + c.set.Interval
		}
	}
	if c.set.Service {
		c.enlist(v)
	}
	if _, plain := c.controller.(sizeless); !plain && v.running == 0 && v.pending > 0 && v.share > 0 && c.set.Limit.Slots(v.capacity, v.am, c.set.Minimum, c.value) == 0 {
		if first := c.first(v); first > c.value {
			c.count(v, first)
			return c.write(v, Raise, first, fmt.Sprintf("nothing runs, %d waiting, and there is no room for any AM: one more", v.pending)), c.set.Interval + c.set.AfterIncrease
		}
	}
	m, again := c.controller.decide(c, v)
	do := c.apply(v, c.spare(v, m))
	if c.said.Kind == Raise {
		again += c.set.AfterIncrease
	}
	return do, again
}

// enlist adds the jobs that are there to the batch.
func (c *loop) enlist(v *view) {
	if _, plain := c.controller.(sizeless); plain {
		return // it does not track single jobs
	}
	for _, j := range v.jobs {
		if c.jobs[j.ID] == nil {
			c.jobs[j.ID] = &mark{share: true, mean: true}
		}
	}
}

// almostDone counts the jobs of the batch whose share is to be given back now, and drops those that are gone, however
// they ended. A job that ended unnoticed counts too: its room and an increase would otherwise admit two at once. If samples are
// rare, that includes jobs never seen to start; begun says that samples are frequent enough to require it.
func (c *loop) almostDone(v *view, begun bool, done func(j *steer.Job) bool) (n int) {
	for _, j := range v.jobs {
		if m := c.jobs[j.ID]; m != nil {
			m.seen, m.begun = true, m.begun || j.Started
			if m.share && done(j) {
				m.share = false
				n++
			}
		}
	}
	for id, m := range c.jobs {
		if !m.seen {
			if m.share && (m.begun || !begun) {
				n++
			}
			delete(c.jobs, id)
			continue
		}
		m.seen = false
	}
	return n
}

// finish ends the batch. A service goes back to its first value and waits for the next batch.
func (c *loop) finish(v *view) ([]steer.Action, unit.Time) {
	clear(c.jobs)
	if c.set.Service {
		c.phase = waiting
		first := c.first(v)
		if _, plain := c.controller.(sizeless); plain || c.value <= first {
			c.said.Why += "the batch is over"
			return nil, c.set.Interval
		}
		c.count(v, first)
		return c.write(v, Lower, first, "the batch is over: back to the first value"), c.set.Interval
	}
	c.phase = over
	back := c.steps.Start
	if c.hasFound {
		back = c.found
	}
	c.said.Why += "the batch is over"
	if !c.wrote || back == 0 {
		return nil, 0
	}
	return c.write(v, Restore, back, ": the value found at the start comes back"), 0
}

// start is the controller's initial value where it does not take the one it finds.
func (c *loop) start(v *view) float64 {
	if l, ok := c.controller.(static); ok {
		return l.Value
	}
	if _, plain := c.controller.(sizeless); plain && c.steps == (Steps{}) {
		return c.minShare
	}
	if c.set.Slots || c.set.Limit.Whole && c.set.Steps == (Steps{}) && v.share > 0 {
		return c.slotShare(v, 1)
	}
	return c.steps.Start
}

// first is start within the bounds; a static value is taken as it is.
func (c *loop) first(v *view) float64 {
	if _, ok := c.controller.(static); ok {
		return c.start(v)
	}
	return min(max(c.start(v), c.minShare), c.set.Max)
}

// slotShare is the share that lets k AMs run.
func (c *loop) slotShare(v *view, k int64) float64 {
	spare := spareRoom
	if c.set.Limit.Whole && v.am.Mem > 0 { // it rounds up to whole minimum allocations itself
		spare = min(spare, 0.75-float64(c.set.Minimum.Mem)/float64(v.am.Mem))
	}
	return slotShare(v.share, k, spare)
}
