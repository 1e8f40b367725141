package yarn

import "github.com/yardmaster/yardmaster/unit"

// explain answers Config.Why, as the engine of ideal time does.
func (e *engine) explain() {
	w := e.cfg.Why
	e.ask = unit.Never
	for _, a := range e.apps {
		if a == nil || a.src.ID != w.ID {
			continue
		}
		w.Present, w.Running, w.Pending = true, int64(len(a.conts)), a.pending
		if a.life == submitted {
			w.Pending = 1 // the AM
		} else if a.pending > 0 {
			w.Reasons = e.sched.Why(&a.rm, w.At, nil)
		}
		return
	}
}
