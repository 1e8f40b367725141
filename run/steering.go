package run

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// recorder wraps a steering policy and records what it sees and decides.
type recorder struct {
	steer.Steerer
	rehearsal *steer.Rehearsal
	seed      uint64
	log       io.Writer
	kinds     map[string]int64
	points    []result.SteerPoint
	every     unit.Time // min distance between points
	next      unit.Time
	found     float64
	blind     string
	there     bool     // the queue had a job in some sample
	others    []string // queues that had one
	err       error    // of the log
}

var (
	_ steer.Refuser   = (*recorder)(nil)
	_ steer.Renewer   = (*recorder)(nil)
	_ steer.Declarer  = (*recorder)(nil)
	_ steer.Corrector = (*recorder)(nil)
)

// maxPoints is more than a picture has columns; maxChanges is more than anybody reads.
const (
	maxPoints  = 4000
	maxChanges = 10_000
)

// newRecorder wraps the steering policy of a run; nil: the run is not steered.
func newRecorder(s *Spec) *recorder {
	rehearsal := s.Scheduler.Steer
	if rehearsal == nil {
		return nil
	}
	b := &recorder{rehearsal: rehearsal, seed: s.Seed, log: s.SteerLog, kinds: map[string]int64{}}
	kept := *rehearsal
	kept.New = func(uint64) (steer.Steerer, error) { return b.Renew() }
	s.Scheduler.Steer = &kept
	return b
}

// Step implements steer.Steerer.
func (b *recorder) Step(seen *steer.Snapshot) ([]steer.Action, unit.Time) {
	b.note(seen)
	do, again := b.Steerer.Step(seen)
	var attrs []slog.Attr
	if e, ok := b.Steerer.(steer.Explainer); ok {
		attrs = e.Explain()
	}
	kind, why := steer.Decided(attrs)
	if b.kinds[kind]++; kind == steer.Refuse {
		b.blind = why
	}
	if b.log != nil && b.err == nil {
		_, b.err = fmt.Fprintln(b.log, steer.Line(seen.Now, attrs))
	}
	return do, again
}

// Refused implements steer.Refuser.
func (b *recorder) Refused() bool {
	r, ok := b.Steerer.(steer.Refuser)
	return ok && r.Refused()
}

// Allow implements steer.Declarer.
func (b *recorder) Allow(kind steer.Kind, property string) error {
	return b.rehearsal.Needs.Allow(kind, property, amlimit.Limit{Property: b.rehearsal.Property})
}

// Renew implements steer.Renewer: a fresh policy, with the same recorder.
func (b *recorder) Renew() (_ steer.Steerer, err error) {
	b.Steerer, err = b.rehearsal.New(b.seed)
	return b, err
}

// NotMade implements steer.Corrector.
func (b *recorder) NotMade(a steer.Action) {
	if c, ok := b.Steerer.(steer.Corrector); ok {
		c.NotMade(a)
	}
}

// note records the state of the queue where it has changed. At the limit it drops every other point
// and halves the sampling rate.
func (b *recorder) note(seen *steer.Snapshot) {
	p, steered := result.SteerPoint{At: seen.Now.Seconds()}, false
	for i := range seen.Queues {
		q := &seen.Queues[i]
		busy := q.Running+q.Waiting > 0
		if q.Name != b.rehearsal.Queue && !slices.ContainsFunc(b.rehearsal.Queues, func(name string) bool { return steer.SamePath(name, q.Name) }) {
			if busy && !b.there && !slices.Contains(b.others, q.Name) {
				b.others = append(b.others, q.Name)
			}
			continue
		}
		steered = true
		b.there = b.there || busy
		b.found = cmp.Or(b.found, q.AMShare)
		p.Share = cmp.Or(p.Share, q.AMShare)
		p.Running += q.Running
		p.Waiting += q.Waiting
	}
	if !steered {
		return
	}
	if n := len(b.points); n > 0 {
		last := b.points[n-1]
		if last.At = p.At; last == p || seen.Now < b.next {
			return
		}
	}
	b.points, b.next = append(b.points, p), seen.Now+b.every
	if len(b.points) > maxPoints {
		for k := range b.points[:maxPoints/2] {
			b.points[k] = b.points[2*k]
		}
		b.points = b.points[:maxPoints/2]
		b.every = max(2*b.every, unit.Second)
	}
}

// finish summarises the steering. It is an error to have steered a queue that never had a job while others had.
func (b *recorder) finish(sum *sim.Summary) (*result.Steering, error) {
	if b == nil {
		return nil, nil
	}
	if !sum.Partial && !b.there && len(b.others) > 0 {
		slices.Sort(b.others)
		return nil, fmt.Errorf("steering: queue %s never had a job; choose one that did with --steer-queue: %s", b.rehearsal.QueueNames(), strings.Join(b.others, ", "))
	}
	if b.err != nil {
		return nil, fmt.Errorf("steering log: %w", b.err)
	}
	d := b.rehearsal.Delays
	out := &result.Steering{
		Policy: b.rehearsal.Name, Queue: b.rehearsal.QueueNames(),
		Delays:    result.SteerDelays{Sense: d.Sense.Seconds(), Queue: d.Queue.Seconds(), Poll: d.Poll.Seconds(), Age: d.Age.Seconds()},
		Decisions: []result.SteerCount{}, Changes: []result.SteerChange{},
		Found: b.found, Least: b.found, Most: b.found, Final: b.found, Blind: b.blind, Points: b.points,
	}
	words := slices.Concat(steer.Decisions, slices.Sorted(maps.Keys(b.kinds)))
	for i, kind := range words {
		if n := b.kinds[kind]; n > 0 && slices.Index(words, kind) == i {
			out.Looks += n
			out.Decisions = append(out.Decisions, result.SteerCount{Kind: kind, Count: n})
		}
	}
	knobs := map[string][2]float64{} // of queues: the original value, and the last one
	for _, r := range sum.Receipts {
		c := result.SteerChange{Asked: r.Asked.Seconds(), InForce: r.InForce.Seconds(), Knob: knobName(&r.Action), Old: r.Old, New: r.New, Why: r.Action.Why}
		if r.Action.Kind == steer.MoveJob {
			c.OldQueue, c.NewQueue = r.OldQueue, r.Action.Queue
		}
		if r.Err != nil {
			c.Failed = r.Err.Error()
			out.Refused++
		} else {
			out.Made++
			was, turned := knobs[c.Knob]
			if !turned {
				was[0] = r.Old
			}
			if out.Series == "" && r.Action.Kind == steer.SetQueue {
				out.Series, out.Found, out.Least, out.Most = c.Knob, r.Old, r.Old, r.Old
			}
			if was[1] = r.New; c.Knob == out.Series {
				out.Least, out.Most, out.Final = min(out.Least, r.New), max(out.Most, r.New), r.New
			}
			if r.Action.Kind == steer.SetQueue {
				knobs[c.Knob] = was
			}
		}
		if len(out.Changes) < maxChanges {
			out.Changes = append(out.Changes, c)
		} else {
			out.MoreChanges++
		}
	}
	out.Restored = true
	for _, v := range knobs {
		out.Restored = out.Restored && math.Abs(v[0]-v[1]) < 1e-9
	}
	if b.rehearsal.Property != "" && strings.HasSuffix(out.Series, " "+b.rehearsal.Property) {
		out.Series = "" // the share
	} else if out.Series == "" && out.Made > 0 {
		out.Series = result.JobKnobs
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
