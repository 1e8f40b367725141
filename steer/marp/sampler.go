package marp

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
)

// sampler is cbtws, and with arms cbtwat. It samples progress only while processors idle; between two samples
// lies at least one pass of housekeeping, after a wait (the lockout), so that they are evenly spaced while the
// processors stay idle: 17 s apart, 47 s after an increase, 37 s when nothing waits.
type sampler struct {
	*Idling
	*Sampling
	arms      *arms // nil: cbtws
	lockout   bool  // a sample was taken; housekeeping is due
	resting   bool  // the lockout ends with this step
	mean      float64
	d         float64   // smoothed; a whole number unless not smoothed
	sampledAt unit.Time // the last one
	any       bool      // a sample was taken before
	before    map[string]float64
	missed    int // consecutive idle samples that admitted nobody
	tracker   int
}

func (s *sampler) begin(c *loop, _ *view) {
	*s = sampler{Idling: s.Idling, Sampling: s.Sampling, arms: s.arms}
	if s.arms != nil {
		s.arms.begin()
	}
}

func (s *sampler) decide(c *loop, v *view) (move, unit.Time) {
	switch {
	case s.resting:
		s.resting = false
	case s.lockout:
		s.lockout, s.resting = false, true
		return move{why: "between samples"}, max(s.Lockout, unit.Millisecond)
	case v.idle > s.IdleAbove:
		s.lockout = true
		return s.sample(c, v)
	}
	m := c.giveBack(v, s.Idling)
	for _, j := range v.jobs {
		if k := c.jobs[j.ID]; k != nil && int(j.Progress) >= 100 {
			k.mean = false
		}
	}
	return m, c.set.Interval
}

func (s *sampler) sample(c *loop, v *view) (m move, again unit.Time) {
	again = c.set.Interval
	mean, raw, n := s.measure(c, v)
	if n == 0 {
		m.why = fmt.Sprintf("%d %% idle, no job has made progress yet", v.idle)
		if v.running == 0 && v.queue.Containers == 0 && v.pending > 0 { // an AM that lingers makes room for the next by itself
			m.up, m.why = 1, fmt.Sprintf("nothing runs, %d waiting: one more", v.pending)
		} else if v.pending > 0 && s.forced() && !s.held(v) {
			m.up, s.missed = 1, 0
			m.why += fmt.Sprintf("; %d idle samples in a row let nobody in, %d waiting: one more", s.ForceAfter, v.pending)
		}
		return m, again
	}
	c.said.Sampled, c.said.Mean, c.said.Raw = true, mean, raw
	d := raw
	if s.Smoothing == EMA {
		d = Smooth(raw, s.d, s.Current, s.Previous)
	}
	c.said.D = d
	before, first := s.d, !s.any
	admit := d > before
	if s.arms != nil {
		admit = s.hit(c, v, d-before, first)
	}
	if s.arms != nil || v.pending > 0 { // cbtws keeps the older sample while nothing waits
		s.mean, s.d, s.sampledAt, s.any = mean, d, v.now, true
		s.remember(c, v)
	}
	m.why = fmt.Sprintf("%d %% idle, smoothed progress %v after %v%s", v.idle, d, before, s.asked(c))
	if v.pending == 0 {
		m.why += ", nothing waits"
		return m, again + s.NothingWaits
	}
	if s.forced() && !admit {
		admit = true
		m.why += fmt.Sprintf("; %d idle samples in a row let nobody in", s.missed)
	}
	switch {
	case admit && s.held(v):
		m.why += ", but a started job has yet to get to work"
	case admit:
		m.up, s.missed = 1, 0
		m.why += fmt.Sprintf(", %d waiting: one more", v.pending)
	default:
		m.why += ": no faster, nobody is let in"
	}
	return m, again
}

// forced counts a sample with idle processors and waiting jobs, and reports whether ForceAfter of them have admitted nobody.
func (s *sampler) forced() bool {
	s.missed++
	return s.ForceAfter > 0 && s.missed >= s.ForceAfter
}

// hit compares the growth with the threshold in use. The tracker counts hits minus misses while nothing waits.
func (s *sampler) hit(c *loop, v *view, growth float64, first bool) (admit bool) {
	theta := s.arms.choose()
	c.said.Theta = theta
	switch t := float64(theta); {
	case growth > t, growth == t && !s.arms.set.Strict:
		s.tracker++
	case growth < 0:
		s.tracker--
	}
	if v.pending > 0 {
		admit = s.tracker > 0
		s.tracker = 0
	}
	if !first || !s.arms.set.DiscardFirst {
		s.arms.score(growth)
	}
	return admit
}

func (s *sampler) asked(c *loop) string {
	if s.arms == nil {
		return ""
	}
	return fmt.Sprintf(" (threshold %d)", c.said.Theta)
}

// measure is the mean progress of the jobs that have made some, and its difference from the previous sample. n is 0 when
// there is nothing to compare: the state is unchanged then.
func (s *sampler) measure(c *loop, v *view) (mean, raw float64, n int) {
	var sum, own float64
	both := 0
	for _, j := range v.jobs {
		if k := c.jobs[j.ID]; k == nil || !k.mean || int(j.Progress) < s.CountFrom {
			continue
		}
		sum += j.Progress
		n++
		if p, ok := s.before[j.ID]; ok {
			own += j.Progress - p
			both++
		}
	}
	if n == 0 {
		return 0, 0, 0
	}
	mean = sum / float64(n)
	raw = mean - s.mean
	if s.PerJob && s.any {
		if both == 0 {
			s.remember(c, v)
			return 0, 0, 0
		}
		raw = own / float64(both)
	}
	if gap := v.now - s.sampledAt; s.PerSample > 0 && s.any && gap > 0 {
		raw *= float64(s.PerSample) / float64(gap)
	}
	return mean, raw, n
}

func (s *sampler) remember(c *loop, v *view) {
	if !s.PerJob {
		return
	}
	s.before = make(map[string]float64, len(v.jobs))
	for _, j := range v.jobs {
		if k := c.jobs[j.ID]; k != nil && k.mean && int(j.Progress) >= s.CountFrom {
			s.before[j.ID] = j.Progress
		}
	}
}
