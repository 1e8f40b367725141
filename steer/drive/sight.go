package drive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// sight is the state of the snapshots.
type sight struct {
	seen  time.Time // last good snapshot
	used  time.Time // last one that the policy could use
	bad   int       // consecutive failed reads
	tried time.Time
}

// retry is when to read again after a failure: with backoff, but no later than the moment at which the silence has lasted too long.
func (s *sight) retry(silence time.Duration) time.Time {
	at := s.tried.Add(min(time.Second<<min(max(s.bad-1, 0), 4), 10*time.Second))
	if end := s.seen.Add(silence); end.After(s.tried) {
		at = earliest(at, end)
	}
	return at
}

// sample takes a snapshot. After too long without one the driver stops acting.
func (d *driver) sample() (snap steer.Snapshot, took time.Duration, ok bool) {
	began := d.now()
	a := d.ask(Request{Op: Sample, Until: began.Add(sensing)})
	snap, err := a.Snapshot, a.Err
	now := d.now()
	s := &d.sight
	s.tried = now
	switch {
	case err == nil:
		s.seen, s.bad = now, 0
		if d.finished = append(d.finished, snap.Finished...); d.mode == "wait" { // a fresh policy starts without history
			d.finished = nil
		}
		return snap, now.Sub(began), true
	case d.ended(): // stopped meanwhile
		return snap, 0, false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v (%w)", sensing, err)
	}
	s.bad++
	silent := now.Sub(s.seen)
	d.emit(Event{Kind: Blind, Err: err, Latency: silent},
		slog.Duration("since", silent.Round(time.Millisecond)), slog.String("why", err.Error()))
	if d.mode != "wait" && silent >= d.Silence {
		d.deadMan(fmt.Sprintf("nothing was seen for %v", silent.Round(time.Second)))
	}
	return snap, 0, false
}

// glance is when to check that the scheduler is still there although the policy sleeps longer than a silence may last.
func (d *driver) glance() time.Time {
	if d.sight.bad > 0 {
		return d.sight.retry(d.Silence)
	}
	if end := d.sight.seen.Add(d.Silence); d.nextSample.After(end) {
		return end.Add(-d.Silence / 4)
	}
	return d.nextSample
}

// pause is the state of a driver that waits for good snapshots.
type pause struct {
	next    time.Time // next sample
	good    time.Time // since when all snapshots were good; zero: the last one was not
	restore time.Time // next restore attempt
	tries   int
}

// deadMan stops acting: everything is restored, and the policy is dropped.
func (d *driver) deadMan(why string) {
	now := d.now()
	for _, k := range d.order {
		k.queued, k.check = nil, nil
	}
	then := "nothing is changed"
	if d.isOpen() {
		then = "everything is put back"
	}
	d.mode = "wait"
	d.away = pause{next: now, restore: now}
	d.emit(Event{Kind: DeadMan}, slog.String("why", why+": "+then+"; waiting for good snapshots"))
}

// await restores what is open and samples until snapshots have been good for long enough. Then a fresh policy starts.
func (d *driver) await(now time.Time) error {
	if d.isOpen() && !now.Before(d.away.restore) {
		if _, err := d.recovery().once(); err != nil {
			d.away.restore = d.now().Add(backOff(d.away.tries))
			d.away.tries++
		}
	}
	each := min(2*time.Second, max(d.Settle/4, time.Millisecond))
	if _, _, ok := d.sample(); !ok {
		d.away.good = time.Time{}
		d.away.next = d.sight.retry(d.Silence)
		return nil
	}
	now = d.now()
	d.away.next = now.Add(each)
	if d.away.good.IsZero() {
		d.away.good = now
		d.away.restore, d.away.tries = now, 0 // the scheduler is back: worth an attempt
	}
	if now.Sub(d.away.good) < d.Settle || d.isOpen() {
		return nil
	}
	var err error
	if d.policy, err = d.New(); err != nil {
		return err
	}
	d.mode = "observe"
	if d.Act {
		d.mode = "act"
	}
	d.sight.used, d.nextSample = now, now
	d.emit(Event{Kind: Back},
		slog.Duration("good", now.Sub(d.away.good).Round(time.Millisecond)), slog.String("why", "a fresh policy begins"))
	return nil
}

// backOff is the wait after the n-th failed restore.
func backOff(n int) time.Duration { return min(500*time.Millisecond<<min(n, 10), 10*time.Second) }
