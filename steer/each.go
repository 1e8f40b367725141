package steer

import (
	"log/slog"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// each is a policy for several queues, made of one policy per queue.
type each []*part

type part struct {
	Steerer
	queue    string
	next     unit.Time       // sample; Never: none
	due      bool            // at the last sample
	finished []Finished      // not passed on yet
	jobs     map[string]bool // that its last actions were for
}

var (
	_ Explainer = each(nil)
	_ Describer = each(nil)
	_ Refuser   = each(nil)
	_ Corrector = each(nil)
)

func newEach(e *Entry, s *Setup) (each, error) {
	var all each
	for _, q := range s.Queues {
		one := *s
		one.Queue, one.Queues = q, []string{q}
		p, err := e.New(&one)
		if err != nil {
			return nil, err
		}
		all = append(all, &part{Steerer: p, queue: q})
	}
	return all, nil
}

// Step implements Steerer: each of the policies samples when it wants to.
func (all each) Step(seen *Snapshot) (do []Action, again unit.Time) {
	next := unit.Never
	for _, p := range all {
		p.finished = append(p.finished, seen.Finished...)
		if p.due = p.next <= seen.Now; p.due {
			own := *seen
			own.Finished, p.finished = p.finished, nil
			some, wait := p.Steerer.Step(&own)
			do = append(do, some...)
			p.jobs = map[string]bool{}
			for i := range some {
				p.jobs[some[i].Job] = true
			}
			if p.next = unit.Never; wait > 0 {
				p.next = seen.Now + wait
			}
		}
		next = min(next, p.next)
	}
	if next == unit.Never {
		return do, 0
	}
	return do, next - seen.Now
}

// Explain implements Explainer: each policy's pairs under the name of its queue, and a combined decision.
func (all each) Explain() (out []slog.Attr) {
	decision, whys := "wait", []string(nil)
	for _, p := range all {
		e, ok := p.Steerer.(Explainer)
		if !ok || !p.due {
			continue
		}
		said := e.Explain()
		what, why := Decided(said)
		if what != "wait" {
			decision = what
		}
		whys = append(whys, p.queue+": "+why)
		out = append(out, slog.Attr{Key: p.queue, Value: slog.GroupValue(said...)})
	}
	return append(out, slog.String("decision", decision), slog.String("why", strings.Join(whys, "; ")))
}

// Refused implements Refuser: a queue that cannot be steered for too long must be restored, and a driver restores all or nothing. What a
// policy said at its last sample holds until its next.
func (all each) Refused() bool {
	for _, p := range all {
		if r, ok := p.Steerer.(Refuser); ok && p.next != unit.Never && r.Refused() {
			return true
		}
	}
	return false
}

// NotMade implements Corrector.
func (all each) NotMade(a Action) {
	for _, p := range all {
		if c, ok := p.Steerer.(Corrector); ok && (a.Kind == SetQueue && SamePath(a.Queue, p.queue) || a.Kind != SetQueue && p.jobs[a.Job]) {
			c.NotMade(a)
		}
	}
}

// Found implements Describer.
func (all each) Found(q *Queue) string {
	for _, p := range all {
		if d, ok := p.Steerer.(Describer); ok && p.queue == q.Name {
			return d.Found(q)
		}
	}
	return ""
}

// Bounds implements Describer.
func (all each) Bounds() string {
	if d, ok := all[0].Steerer.(Describer); ok {
		return d.Bounds()
	}
	return ""
}
