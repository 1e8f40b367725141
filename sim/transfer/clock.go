package transfer

import (
	"github.com/yardmaster/yardmaster/unit"
)

// The network's time is in seconds, the engine's in microseconds: a flow's end is handled at the next whole microsecond.

// sync brings the network up to now, before anything changes in it.
func (w *Worker) sync() {
	if now := w.h.Now().Seconds(); w.net.Now() < now {
		w.net.Advance(now, w.done)
	}
}

// touched requests a wake-up for the network after all events of this instant: rates are recomputed once per instant.
func (w *Worker) touched() {
	if now := w.h.Now(); now < w.plan {
		w.plan = now
		w.h.At(now, wakeNet)
	}
}

// wakeNetwork handles the flows that have ended, and schedules the next wake-up.
func (w *Worker) wakeNetwork() {
	now := w.h.Now()
	if w.plan != now {
		return // superseded by an earlier one
	}
	w.net.Advance(now.Seconds(), w.done) // even if the network is already at now: empty flows end now
	w.plan = unit.Never
	next, ok := w.net.Next()
	if !ok {
		return
	}
	instant := max(unit.CeilSeconds(next), now)
	if instant == unit.Never {
		return
	}
	w.plan = instant
	w.h.At(instant, wakeNet)
}
