package drive

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

const pollEach = time.Second // interval of checks whether a write is in force

// run drives from the first sample to the last.
func (d *driver) run() (err error) {
	if d.Act {
		d.mode = "act"
		d.Journal.rebase(d.start)
		if len(d.Journal.open) > 0 {
			if _, err := d.recovery().run(); err != nil {
				return err
			}
		}
	}
	if d.policy, err = d.New(); err != nil {
		return err
	}
	d.emit(Event{Kind: Started}, slog.String("engine", d.Scheme.Identity()), slog.String("mode", d.mode))
	why, err := d.loop()
	return d.leave(why, err)
}

// driver is one run.
type driver struct {
	*port
	Rules
	policy     steer.Steerer
	seen       steer.Snapshot    // the policy's last sample
	jobs       map[string]string // queues of its jobs, by ID; nil: not built yet
	finished   []steer.Finished  // not seen by the policy yet
	mode       string
	start      time.Time
	nextSample time.Time
	done       bool // the policy wants no further samples
	sight      sight
	away       pause
	knobs      map[Knob]*knob
	order      []*knob // of knobs, as first changed

	missing map[Knob]absence // during a restore
}

// loop does what is due and sleeps until something else is.
func (d *driver) loop() (why string, err error) {
	d.sight.seen, d.sight.used = d.start, d.start
	d.nextSample = d.now()
	for {
		switch {
		case d.isLost():
			return "the lock is lost", ErrLost
		case d.ended():
			return "told to stop", nil
		case d.done && !slices.ContainsFunc(d.order, func(k *knob) bool { return k.check != nil }):
			return "the policy is done", nil
		}
		now := d.now()
		d.flush(now)
		d.verify(now)
		switch {
		case d.done:
		case d.mode == "wait":
			err = d.await(now)
		case !now.Before(d.nextSample):
			err = d.step()
		case !now.Before(d.glance()):
			d.sample()
		}
		if err != nil {
			return "", err
		}
		until := d.next()
		r := Request{Op: Wait, Until: until, Quiet: !slices.ContainsFunc(d.order, func(n *knob) bool { return n.queued != nil && !until.Before(d.free(n)) })}
		if !d.done {
			r.Next = d.sampling()
		}
		d.ask(r)
	}
}

// next is when something is due.
func (d *driver) next() time.Time {
	at := d.sampling()
	if d.done {
		at = d.now().Add(d.Verify)
	}
	for _, k := range d.order {
		if k.check != nil {
			at = earliest(at, k.check.next)
		}
		if k.queued != nil {
			at = earliest(at, d.free(k))
		}
	}
	return at
}

// sampling is the time of the next sample.
func (d *driver) sampling() time.Time {
	if d.mode == "wait" {
		return d.away.next
	}
	return earliest(d.nextSample, d.glance())
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// step passes a sample to the policy and carries out its actions.
func (d *driver) step() error {
	snap, took, ok := d.sample()
	now := d.now()
	if !ok {
		d.nextSample = d.sight.retry(d.Silence)
		return nil
	}
	snap.Finished, d.finished = d.finished, nil
	d.seen, d.jobs = snap, nil
	d.tidy()
	do, again, err := decide(d.policy, &snap)
	if err != nil {
		return err
	}
	d.nextSample, d.done = now.Add(span(again)), again <= 0
	d.emit(Event{Kind: Decided, Snapshot: &snap, Latency: took}, d.explain(do)...)
	if r, can := d.policy.(steer.Refuser); can && r.Refused() {
		if d.isOpen() && now.Sub(d.sight.used) >= d.Silence {
			d.deadMan(fmt.Sprintf("the policy could use nothing it saw for %v", now.Sub(d.sight.used).Round(time.Second)))
			return nil
		}
	} else {
		d.sight.used = now
	}
	moves := 0
	for _, a := range do {
		if d.now().Sub(now) >= d.Silence { // a scheduler that hangs: what was seen is too old to act on
			break
		}
		if a.Kind == steer.MoveJob && d.Act {
			if moves++; moves > steer.MovesPerSample {
				d.refuse(Knob{Kind: a.Kind, Job: a.Job}, a, fmt.Errorf("at most %d jobs are moved after one sample", steer.MovesPerSample))
				continue
			}
		}
		d.want(a)
	}
	return nil
}

// jobQueue is the queue of a job in the last snapshot.
func (d *driver) jobQueue(job string) (queue string, seen bool) {
	if d.jobs == nil {
		d.jobs = make(map[string]string, len(d.seen.Jobs))
		for i := range d.seen.Jobs {
			d.jobs[d.seen.Jobs[i].ID] = d.seen.Jobs[i].Queue
		}
	}
	queue, seen = d.jobs[job]
	return queue, seen
}

// tidy closes and forgets knobs of jobs that have ended: there is nothing to restore. Jobs that are only missing are queried, a few at a time.
func (d *driver) tidy() {
	const few = 8
	if !d.Act {
		return
	}
	id, asked := d.Scheme.Identity(), 0
	ended := make(map[string]bool, len(d.seen.Finished))
	for i := range d.seen.Finished {
		ended[d.seen.Finished[i].ID] = true
	}
	d.order = slices.DeleteFunc(d.order, func(n *knob) bool {
		if _, seen := d.jobQueue(n.k.Job); seen || n.k.Job == "" || n.queued != nil {
			return false
		}
		if h := d.Journal.open.Find(id, n.k); h != nil {
			if !ended[n.k.Job] {
				if asked++; asked > few {
					return false
				}
				if _, err := d.read(n.k); !errors.Is(err, ErrEnded) {
					return false
				}
			}
			if d.recovery().close(Restored, h, *h.Original, endedWhy) != nil {
				return false
			}
		}
		delete(d.knobs, n.k)
		return true
	})
}

// span converts a wait of the policy.
func span(t unit.Time) time.Duration {
	return time.Duration(min(t, 24*unit.Hour)) * (time.Second / time.Duration(unit.Second))
}

// PanicError says that the policy panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the policy failed: %v", e.Value) }

// decide lets the policy decide, and recovers if it panics.
func decide(p steer.Steerer, seen *steer.Snapshot) (do []steer.Action, again unit.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	do, again = p.Step(seen)
	return do, again, nil
}

// explain describes a decision.
func (d *driver) explain(do []steer.Action) (out []slog.Attr) {
	if !d.Act {
		for _, a := range do {
			out = append(out, slog.String("would", d.describe(a)))
		}
	}
	if e, ok := d.policy.(steer.Explainer); ok {
		return append(out, e.Explain()...)
	}
	if len(do) == 0 {
		return append(out, slog.String("decision", "wait"))
	}
	out = append(out, slog.String("decision", "act"))
	for _, a := range do {
		out = append(out, slog.String("why", a.Why))
	}
	return out
}

// describe says what would be done.
func (d *driver) describe(a steer.Action) string {
	k, err := knobOf(a)
	if err == nil {
		err = d.permitted(k, a)
	}
	if err != nil {
		return "refuse: " + err.Error()
	}
	if k.Property == steer.Capacities {
		return fmt.Sprintf("set the capacities of %s: %v", k.Queue, a.Shares)
	}
	v, note, _ := d.value(k, a, Value{}) // only capacities can be wrong
	if note != "" {
		note = " (" + note + ")"
	}
	return fmt.Sprintf("set %v to %v%s", k, v, note)
}

// leave restores what is open, within Rules.Restore.
func (d *driver) leave(why string, err error) error {
	if why == "" && err != nil {
		why = err.Error()
	}
	if d.isOpen() && !errors.Is(err, ErrLost) {
		d.until = d.now().Add(d.Restore)
		_, failed := d.recovery().run()
		err = both(err, failed)
	}
	d.emit(Event{Kind: Stopped, Err: err}, slog.String("why", why))
	return err
}

func (d *driver) isOpen() bool { return d.Act && len(d.Journal.open) > 0 }

// emit reports an event.
func (d *driver) emit(e Event, attrs ...slog.Attr) {
	e.At, e.Mode = d.now(), d.mode
	if d.Act {
		e.Open = len(d.Journal.open)
	}
	e.Attrs = attrs
	d.notify(e)
}
