package drive

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// knob is the driver's state of a knob that the policy has changed.
type knob struct {
	k       Knob
	written time.Time     // time of the last attempt; zero: never
	queued  *steer.Action // queued until the knob may be written again
	since   time.Time     // when it was asked for
	check   *check
	failed  error // why the last change was not made, or is not in force
}

// want handles an action of the policy: it is written now, queued, or refused.
func (d *driver) want(a steer.Action) {
	k, err := knobOf(a)
	if err == nil && k.Kind != steer.MoveJob && (math.IsNaN(a.Value) || math.IsInf(a.Value, 0)) {
		err = fmt.Errorf("%v is no value", a.Value)
	}
	if err == nil && d.Allow != nil {
		err = d.Allow(k)
	}
	if err == nil {
		err = d.permitted(k, a)
	}
	if !d.Act {
		return // the decision's log line says what would be done
	}
	if err != nil {
		d.refuse(k, a, err)
		return
	}
	n := d.knobs[k]
	if n == nil {
		n = &knob{k: k}
		d.knobs[k] = n
		d.order = append(d.order, n)
	}
	if q := n.queued; q != nil && (q.Value != a.Value || q.Queue != a.Queue || !slices.Equal(q.Shares, a.Shares)) {
		d.reportRefused(k, *q, errors.New("the policy has changed its mind before it could be written"))
	}
	now := d.now()
	n.queued, n.since = &a, now
	if free := d.free(n); now.Before(free) {
		wait := free.Sub(now)
		d.emit(Event{Kind: Queued, Knob: k, Action: a, Since: now, New: a.Value, Latency: wait}, slog.String("knob", k.String()), slog.Float64("new", a.Value),
			slog.Duration("wait", wait), slog.String("why", fmt.Sprintf("writes of a knob are at least %v apart", d.spacing(k))))
		return
	}
	d.flush(now)
}

// permitted says why the policy may not touch a queue or a job.
func (d *driver) permitted(k Knob, a steer.Action) error {
	in := steer.Bounds{Queues: d.Queues}
	queues := []string{a.Queue}
	switch {
	case k.Job != "":
		queue, seen := d.jobQueue(k.Job)
		if !seen {
			return errors.New("it is not among the jobs that are seen")
		}
		if queues[0] = queue; k.Kind == steer.MoveJob {
			queues = append(queues, a.Queue)
		}
	case k.Property == steer.Capacities:
		queues = nil
		for _, s := range a.Shares {
			queues = append(queues, s.Queue)
		}
	}
	for _, q := range queues {
		if !in.Has(q) {
			return fmt.Errorf("queue %s is not among those that may be steered: %s", q, strings.Join(d.Queues, ", "))
		}
	}
	return nil
}

func (d *driver) spacing(k Knob) time.Duration { return max(d.Spacing, d.Scheme.Spacing(k)) }

// free is when a knob may be written again.
func (d *driver) free(n *knob) time.Time {
	if n.written.IsZero() {
		return n.written
	}
	return n.written.Add(d.spacing(n.k))
}

// flush writes queued changes that are due.
func (d *driver) flush(now time.Time) {
	for _, n := range d.order {
		if n.queued == nil || now.Before(d.free(n)) {
			continue
		}
		a := *n.queued
		n.queued = nil
		if !d.isLost() {
			d.change(n, a)
		}
	}
}

// refuse reports that a change was not made, also to the policy: otherwise it would continue from a value that was never in force, and the next
// change would be a jump.
func (d *driver) refuse(k Knob, a steer.Action, err error) {
	d.reportRefused(k, a, err)
	d.notMade(a)
}

func (d *driver) notMade(a steer.Action) {
	if c, ok := d.policy.(steer.Corrector); ok {
		c.NotMade(a)
	}
}

func (d *driver) reportRefused(k Knob, a steer.Action, err error) {
	e := Event{Kind: Refused, Knob: k, Action: a, Since: d.now(), New: a.Value, Err: err}
	if n := d.knobs[k]; n != nil {
		e.Since, n.failed = n.since, err
	}
	d.emit(e, slog.String("knob", k.String()), slog.Float64("new", a.Value),
		slog.String("why", err.Error()))
}

// value is what to write for an action, within bounds; the note says how it was adjusted.
func (d *driver) value(k Knob, a steer.Action, present Value) (v Value, note string, err error) {
	switch {
	case k.Kind == steer.MoveJob:
		return Value{Text: a.Queue, Set: true}, "", nil
	case k.Property == steer.Capacities:
		v, err = present.withShares(k.Queue, a.Shares)
		return v, "", err
	}
	number := a.Value
	if d.Bound != nil {
		number, note = d.Bound(k, number)
	}
	return d.Scheme.Value(k, number), note, nil
}

// goesBack reports whether an action asks for the original value; v is what would be written for it.
func goesBack(k Knob, a steer.Action, v, original Value) bool {
	if k.Kind == steer.MoveJob || k.Property == steer.Capacities {
		return Same(k, v, original)
	}
	return near(a.Value, original.Number)
}

// change writes one knob: read, journal, write.
func (d *driver) change(n *knob, a steer.Action) {
	k := n.k
	held := d.Journal.open.Find(d.Scheme.Identity(), k)
	limit := d.tooMany(k)
	if limit != nil && held == nil { // an open knob may still go back to its original value
		d.refuse(k, a, limit)
		return
	}
	present, err := d.read(k)
	if err != nil && d.ended() {
		return // told to stop meanwhile
	}
	if err != nil {
		d.refuse(k, a, fmt.Errorf("what is configured cannot be read: %w", err))
		return
	}
	original := present
	if held == nil && present.Mark != "" || held != nil && held.MarkedByOther(present) {
		d.refuse(k, a, MarkedError(present.Mark))
		return
	}
	if held != nil {
		original = *held.Original
		if !Same(k, present, original) && !held.Wrote(present) {
			original = present
			original.Mark = ""
			d.emit(Event{Kind: Foreign, Knob: k, Old: held.New.Number, New: present.Number}, slog.String("knob", k.String()),
				slog.String("old", held.New.String()), slog.String("new", present.String()),
				slog.String("why", "somebody else has changed it: this is what will be put back"))
			if d.now().Sub(n.since) > time.Second { // the action was based on another value
				d.refuse(k, a, errors.New("somebody else has changed it while this waited"))
				return
			}
		}
	}
	v, note, err := d.value(k, a, present)
	if err == nil && k.Kind == steer.MoveJob && !(&steer.Bounds{Queues: d.Queues}).Has(present.Text) {
		err = fmt.Errorf("it is in queue %s now, which is not among those that may be steered", present.Text)
	}
	if err != nil {
		d.refuse(k, a, err)
		return
	}
	v.Mark = d.Journal.Mark
	back := goesBack(k, a, v, original)
	if back {
		v, note = original, ""
	}
	if k.Kind == steer.SetPriority && Same(k, v, present) && !near(v.Number, a.Value) && !back {
		d.refuse(k, a, fmt.Errorf("the cluster allows no priority of %v: it stays at %v", a.Value, v))
		return
	}
	if Same(k, v, present) && (held == nil || d.onItsWay(n, v)) {
		d.emit(Event{Kind: Kept, Knob: k, Action: a, Since: n.since, Old: present.Number, New: v.Number}, slog.String("knob", k.String()),
			slog.String("new", v.String()), slog.String("why", join(note, "it is there already")))
		return
	}
	if limit != nil && !back {
		d.refuse(k, a, limit)
		return
	}
	d.put(n, a, original, present, v, note)
}

// MarkedError says that a value was written by another driver, or by an earlier one whose journal is lost: the value before it is unknown here. It
// holds the mark.
type MarkedError string

func (e MarkedError) Error() string {
	return fmt.Sprintf("it was set by a steerer that has not put it back; its journal is %s (machine:folder). Restore from there first; if that "+
		"journal is lost, set the value by hand and remove the mark", string(e))
}

func join(note, why string) string {
	if note == "" {
		return why
	}
	return note + "; " + why
}

// onItsWay reports whether a configured value needs no further write.
func (d *driver) onItsWay(n *knob, v Value) bool {
	if n.check != nil && Same(n.k, n.check.want, v) {
		return true
	}
	in, _ := d.inForce(n.k, v)
	return in
}

// tooMany enforces the limit on writes per hour.
func (d *driver) tooMany(k Knob) error {
	recent := d.Journal.recent
	if k.Kind == steer.MoveJob || len(recent) < d.PerHour {
		return nil
	}
	next := recent[len(recent)-d.PerHour].Add(time.Hour)
	if !d.now().Before(next) {
		return nil
	}
	return fmt.Errorf("writes are limited to %d an hour; the next is allowed at %s", d.PerHour, next.Format(time.TimeOnly))
}

// put journals a change, makes it, and journals the outcome.
func (d *driver) put(n *knob, a steer.Action, original, old, v Value, note string) {
	k, id := n.k, d.Scheme.Identity()
	opened := d.Journal.open.Find(id, k) == nil
	now := d.now()
	line := Entry{At: now, What: Before, Engine: id, Knob: k, Original: &original, Old: &old, New: &v, Why: join(note, a.Why)}
	if err := d.log(line); err != nil {
		d.refuse(k, a, fmt.Errorf("it cannot be written down, so it is not done: %w", err))
		return
	}
	if d.isLost() {
		return // the next lock holder resolves the entry above: nothing was changed
	}
	err := d.write(Request{Knob: k, Value: v, Entry: line, Since: n.since})
	first := now // of the consecutive writes not seen in force
	if n.check != nil {
		first = n.check.first
	}
	n.written, n.check = d.now(), nil
	after := Entry{At: n.written, What: After, Engine: id, Knob: k, New: &v}
	why := join(note, a.Why)
	if err != nil {
		after.Err = err.Error()
		after.Doubt = errors.Is(err, ErrOutcomeUnknown)
	}
	noted := d.log(after)
	switch {
	case err == nil:
		if Same(k, v, original) && d.isBack(n, v) {
			noted = both(noted, d.close(n, "the policy has put it back"))
		}
	case after.Doubt: // read back and decide
		got := d.ask(Request{Op: Read, Knob: k, Until: d.within(), Final: true})
		now, failed := got.Value, got.Err
		switch {
		case failed != nil:
			noted = both(both(err, failed), noted)
			why = join(fmt.Sprintf("%v, and it cannot be read back: %v", err, failed), why)
		case Same(k, now, v):
			why = join(fmt.Sprintf("%v; it was, as it reads back", err), why)
		default:
			d.refuse(k, a, fmt.Errorf("%w; it was not: %v is configured", err, now))
			return
		}
	default:
		if opened {
			noted = both(noted, d.close(n, "nothing was changed"))
		}
		d.refuse(k, a, both(err, noted))
		return
	}
	d.emit(Event{Kind: Asked, Knob: k, Old: old.Number, New: v.Number, Err: noted}, slog.String("knob", k.String()),
		slog.String("old", old.String()), slog.String("new", v.String()), slog.String("original", original.String()),
		slog.String("why", why))
	n.check = &check{act: a, want: v, old: old, first: first, since: now, next: n.written, until: earliest(n.written.Add(d.Verify), first.Add(2*d.Verify))}
}

func (d *driver) close(n *knob, why string) error {
	return d.log(Entry{At: n.written, What: Closed, Engine: d.Scheme.Identity(), Knob: n.k, Why: why})
}

// both joins two errors in one line.
func both(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// isBack reports whether a knob certainly has its original value, in force. If in doubt it stays open, which does no harm.
func (d *driver) isBack(n *knob, original Value) bool {
	now, err := d.read(n.k)
	if err != nil || !Same(n.k, now, original) || d.Journal.open.Find(d.Scheme.Identity(), n.k).doubtful(n.written) {
		return false
	}
	in, _ := d.inForce(n.k, original)
	return in
}
