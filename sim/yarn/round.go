package yarn

import "github.com/yardmaster/yardmaster/unit"

// roundState is the schedule of the scheduler's own thread: its monitor, or the update of its shares.
type roundState struct {
	every  unit.Time
	asleep bool
	logged int64
}

func (e *engine) nextRound(at unit.Time) { e.push(at, thenRounds, evRound, 0) }

func (e *engine) rounds() {
	e.doRound()
	if r := &e.round; !e.idle() {
		e.nextRound(e.now + r.every)
	} else {
		r.asleep = true
	}
}

func (e *engine) doRound() {
	if notice := e.sched.Round(e.now); len(notice.Killed) > 0 {
		e.taken(notice.Killed)
	}
}
