package transfer

import (
	"github.com/yardmaster/yardmaster/unit"
)

// The network's time is in seconds, the engine's in microseconds: a flow's end is heard at the next whole one.

// sync brings the network up to now, before anything changes in it.
func (w *Worker) sync() {
	if now := w.h.Now().Seconds(); w.net.Now() < now {
		w.net.Advance(now, w.done)
	}
}

// touched asks for a look at the network once all that happens now has happened: rates are worked out once an instant.
func (w *Worker) touched() {
	if now := w.h.Now(); now < w.plan {
		w.plan = now
		w.h.At(now, wakeNet)
	}
}

// wakeNetwork plays the flows that have come to their end, and plans the next look.
func (w *Worker) wakeNetwork() {
	now := w.h.Now()
	if w.plan != now {
		return // overtaken by an earlier one
	}
	w.net.Advance(now.Seconds(), w.done) // also when the network is there already: what is empty ends now
	w.plan = unit.Never
	next, ok := w.net.Next()
	if !ok {
		return
	}
	at := max(unit.CeilSeconds(next), now)
	if at == unit.Never {
		return
	}
	w.plan = at
	w.h.At(at, wakeNet)
}
