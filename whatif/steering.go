package whatif

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// helm lets a controller steer a run and writes down what it sees and decides.
type helm struct {
	steer.Steerer
	who    *steer.Rehearsal
	seed   uint64
	log    io.Writer
	kinds  map[string]int64
	points []result.SteerPoint
	every  unit.Time // points are not closer than that
	next   unit.Time
	found  float64
	blind  string
	there  bool     // the queue had a job at some look
	others []string // queues that had one
	err    error    // of the log
}

var (
	_ steer.Refuser   = (*helm)(nil)
	_ steer.Renewer   = (*helm)(nil)
	_ steer.Declarer  = (*helm)(nil)
	_ steer.Corrector = (*helm)(nil)
)

// mostPoints are more than a picture has columns; mostChanges are more than anybody reads.
const (
	mostPoints  = 4000
	mostChanges = 10_000
)

// helm makes that of a run; nil: nobody steers it.
func (p *Plan) helm(scheduler, seed int) (*helm, error) {
	who := p.Schedulers[scheduler].Steer
	if who == nil {
		return nil, nil
	}
	c, err := who.New(p.Seeds[seed])
	if err != nil {
		return nil, err
	}
	h := &helm{Steerer: c, who: who, seed: p.Seeds[seed], kinds: map[string]int64{}}
	if p.SteerLog != nil {
		h.log = p.SteerLog(scheduler, seed)
	}
	return h, nil
}

// Step implements steer.Steerer.
func (h *helm) Step(seen *steer.Snapshot) ([]steer.Action, unit.Time) {
	h.note(seen)
	do, again := h.Steerer.Step(seen)
	var said []slog.Attr
	if e, ok := h.Steerer.(steer.Explainer); ok {
		said = e.Explain()
	}
	kind, why := steer.Decided(said)
	if h.kinds[kind]++; kind == steer.Refuse {
		h.blind = why
	}
	if h.log != nil && h.err == nil {
		_, h.err = fmt.Fprintln(h.log, steer.Line(seen.Now, said))
	}
	return do, again
}

// Refused implements steer.Refuser.
func (h *helm) Refused() bool {
	r, ok := h.Steerer.(steer.Refuser)
	return ok && r.Refused()
}

// Allow implements steer.Declarer.
func (h *helm) Allow(kind steer.Kind, property string) error {
	return h.who.Needs.Allow(kind, property, steer.AMLimit{Property: h.who.Property})
}

// Renew implements steer.Renewer: a fresh policy, in the same book.
func (h *helm) Renew() (_ steer.Steerer, err error) {
	h.Steerer, err = h.who.New(h.seed)
	return h, err
}

// NotMade implements steer.Corrector.
func (h *helm) NotMade(a steer.Action) {
	if c, ok := h.Steerer.(steer.Corrector); ok {
		c.NotMade(a)
	}
}

// note keeps what is seen of the queue, where it differs from what was seen before. When there is too much of it, every other point
// goes and further ones are kept half as often.
func (h *helm) note(seen *steer.Snapshot) {
	for i := range seen.Queues {
		q := &seen.Queues[i]
		busy := q.Running+q.Waiting > 0
		if q.Name != h.who.Queue {
			if busy && !h.there && !slices.Contains(h.others, q.Name) {
				h.others = append(h.others, q.Name)
			}
			continue
		}
		h.there = h.there || busy
		h.found = cmp.Or(h.found, q.MasterShare)
		p := result.SteerPoint{At: seen.Now.Seconds(), Share: q.MasterShare, Running: q.Running, Waiting: q.Waiting}
		if n := len(h.points); n > 0 {
			last := h.points[n-1]
			if last.At = p.At; last == p || seen.Now < h.next {
				return
			}
		}
		h.points, h.next = append(h.points, p), seen.Now+h.every
		if len(h.points) > mostPoints {
			for k := range h.points[:mostPoints/2] {
				h.points[k] = h.points[2*k]
			}
			h.points = h.points[:mostPoints/2]
			h.every = max(2*h.every, unit.Second)
		}
	}
}

// missed says that the wrong queue was steered: jobs were seen, and none of them in it.
func (h *helm) missed() error {
	if h == nil || h.there || len(h.others) == 0 {
		return nil
	}
	slices.Sort(h.others)
	return fmt.Errorf("steering: queue %s never had a job; choose one that did with --steer-queue: %s", h.who.Queue, strings.Join(h.others, ", "))
}

// finish says what became of it all.
func (h *helm) finish(receipts []steer.Receipt) (*result.Steering, error) {
	if h == nil {
		return nil, nil
	}
	if h.err != nil {
		return nil, fmt.Errorf("steering log: %w", h.err)
	}
	d := h.who.Delays
	out := &result.Steering{
		Policy: h.who.Name, Queue: h.who.Queue,
		Delays:    result.SteerDelays{Sense: d.Sense.Seconds(), Queue: d.Queue.Seconds(), Poll: d.Poll.Seconds(), Age: d.Age.Seconds()},
		Decisions: []result.SteerCount{}, Changes: []result.SteerChange{},
		Found: h.found, Least: h.found, Most: h.found, Final: h.found, Blind: h.blind, Points: h.points,
	}
	words := slices.Concat(steer.Decisions, slices.Sorted(maps.Keys(h.kinds)))
	for i, kind := range words {
		if n := h.kinds[kind]; n > 0 && slices.Index(words, kind) == i {
			out.Looks += n
			out.Decisions = append(out.Decisions, result.SteerCount{Kind: kind, Count: n})
		}
	}
	knobs := map[string][2]float64{} // of queues: the value found, and the last one
	for _, r := range receipts {
		c := result.SteerChange{Asked: r.Asked.Seconds(), InForce: r.InForce.Seconds(), Knob: knobName(&r.Action), Old: r.Old, New: r.New, Why: r.Action.Why}
		if r.Err != nil {
			c.Failed = r.Err.Error()
		} else {
			was, turned := knobs[c.Knob]
			if !turned {
				was[0] = r.Old
			}
			if out.Series == "" && r.Action.Kind != steer.MoveJob {
				out.Series, out.Found, out.Least, out.Most = c.Knob, r.Old, r.Old, r.Old
			}
			if was[1] = r.New; c.Knob == out.Series {
				out.Least, out.Most, out.Final = min(out.Least, r.New), max(out.Most, r.New), r.New
			}
			if r.Action.Kind == steer.SetQueue {
				knobs[c.Knob] = was
			}
		}
		if len(out.Changes) < mostChanges {
			out.Changes = append(out.Changes, c)
		} else {
			out.MoreChanges++
		}
	}
	out.Restored = true
	for _, v := range knobs {
		out.Restored = out.Restored && math.Abs(v[0]-v[1]) < 1e-9
	}
	if h.who.Property != "" && strings.HasSuffix(out.Series, " "+h.who.Property) {
		out.Series = "" // the share
	}
	return out, nil
}

func knobName(a *steer.Action) string {
	switch a.Kind {
	case steer.SetPriority:
		return "priority of " + a.Job
	case steer.MoveJob:
		return "queue of " + a.Job
	}
	return a.Queue + " " + a.Property
}
