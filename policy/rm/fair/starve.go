package fair

import (
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// starvation finds starved applications, if the cluster is busy enough, and selects containers of others to preempt
// for them.
func (s *scheduler) starvation(now unit.Time) {
	if !s.busy() {
		return
	}
	s.starved = s.starved[:0]
	for _, q := range s.Queues {
		if q.Leaf && (q.hungry > 0 || !q.Min.IsZero()) {
			s.starvedIn(q, now)
		}
	}
	for _, a := range s.starved {
		s.preempt(a, now)
		a.nextCheck = now + s.site.Fair.WaitBeforeKill + 4*s.site.NodeHeartbeat + s.site.Fair.WaitBeforeNextCheck
	}
}

// busy says whether more than the threshold of the cluster's memory or vcores is in use.
func (s *scheduler) busy() bool {
	u := s.Root.Used
	return float32(s.site.Fair.PreemptionThreshold) < max(float32(u.Mem)/float32(s.Total.Mem), float32(u.Cores)/float32(s.Total.Cores))
}

// starvedIn checks a leaf's applications in order. The first that has its fair share ends the check for fair shares.
func (s *scheduler) starvedIn(q *queue, now unit.Time) {
	var owed unit.Resources
	for _, a := range q.line {
		if now < a.nextCheck {
			continue
		}
		lack := s.belowFair(a, now)
		if lack.IsZero() {
			break
		}
		s.isOwed(a)
		owed = owed.Add(lack)
	}
	rest := less(s.belowMin(q, now), owed)
	for _, a := range q.line {
		if now < a.nextCheck {
			continue
		}
		if rest.IsZero() {
			a.lackMin = unit.Resources{}
			continue
		}
		lack := less(a.Demand.Sub(a.Used), a.lackFair)
		if !atLeast(q.Kind, rest, lack, s.Total) {
			lack, rest = less(lack, rest), unit.Resources{} // as FSLeafQueue does, though rest seems intended
		} else {
			rest = less(rest, lack)
		}
		a.lackMin = lack
		s.isOwed(a)
	}
}

// isOwed adds an application to the starved, smallest deficit first.
func (s *scheduler) isOwed(a *app) {
	if slices.Contains(s.starved, a) {
		return
	}
	owed := a.lackFair.Add(a.lackMin)
	at := len(s.starved)
	for at > 0 && !s.starved[at-1].lackFair.Add(s.starved[at-1].lackMin).Fits(owed) {
		at--
	}
	s.starved = slices.Insert(s.starved, at, a)
}

// belowFair is what an application lacks of min(threshold x fair share, demand), once it has lacked it for long enough.
func (s *scheduler) belowFair(a *app, now unit.Time) unit.Resources {
	q := a.queue
	entitled := times(a.share, q.threshold).Min(a.Demand)
	starved := below(q.Kind, a.Used, entitled, s.Total)
	if !starved {
		a.atFair = now
	}
	a.lackFair = unit.Resources{}
	if starved && now-a.atFair >= q.fairTimeout {
		a.lackFair = less(entitled, a.Used)
	}
	return a.lackFair
}

// belowMin is what a leaf lacks of its minimum share, likewise.
func (s *scheduler) belowMin(q *queue, now unit.Time) unit.Resources {
	lack := less(q.Min.Min(q.Demand), q.Used)
	if lack.IsZero() {
		q.atMin = now
	}
	if now-q.atMin < q.minTimeout {
		return unit.Resources{}
	}
	return lack
}
