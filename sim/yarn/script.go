package yarn

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
)

// script is the state of a log's replay.
type script struct {
	instants []Instant
	next     int
	cause    unit.Time       // of the replayed instant; 0: itself
	answer   unit.Time       // likewise
	added    map[int64]bool  // jobs whose admission is logged
	calls    map[int64]int64 // logged calls of each job
	early    map[int64]bool  // jobs whose logged admission came before their submission
}

func (s *script) waitsFor(seq int64) bool { return s.added[seq] && !s.early[seq] }

// startScript validates the log and counts its entries by node and job.
func (e *engine) startScript() error {
	if e.cfg.Script == nil {
		return nil
	}
	s := &e.script
	s.instants = e.cfg.Script.Instants
	s.added, s.calls, s.early = map[int64]bool{}, map[int64]int64{}, map[int64]bool{}
	for i, instant := range s.instants {
		switch {
		case i > 0 && instant.At < s.instants[i-1].At:
			return fmt.Errorf("instant %d of the script lies before the one before it", i)
		case instant.At < 0:
			return fmt.Errorf("instant %d of the script lies before the start", i)
		case instant.Kind == Beat && (instant.Node < 0 || int(instant.Node) >= len(e.nodes)):
			return fmt.Errorf("instant %d of the script is a heartbeat of node %d of %d", i, instant.Node, len(e.nodes))
		}
		switch instant.Kind {
		case Added:
			s.added[instant.Job] = true
		case Beat:
			e.nodes[instant.Node].logged++
		case Tick:
			s.calls[instant.Job]++
		case Round:
			e.round.logged++
		default:
			return fmt.Errorf("instant %d of the script is of unknown kind %d", i, instant.Kind)
		}
	}
	e.nextScripted()
	return nil
}

// cause is when the current event was caused: now, unless a log says otherwise.
func (e *engine) cause() unit.Time {
	if c := e.script.cause; c > 0 && c < e.now {
		return c
	}
	return e.now
}

func (e *engine) nextScripted() {
	if s := &e.script; s.next < len(s.instants) {
		e.push(s.instants[s.next].At, thenCalls, evScript, 0)
	}
}

// scripted replays the next log entry. A node or AM without further entries continues at its own interval.
func (e *engine) scripted() {
	s := &e.script
	instant := s.instants[s.next]
	s.next++
	s.cause, s.answer = instant.Cause, instant.Answer
	defer func() { s.cause, s.answer = 0, 0 }()
	switch instant.Kind {
	case Added:
		if a := e.bySeq(instant.Job); a == nil {
			s.early[instant.Job] = true // not submitted yet, in this run: see arrive
		} else if a.life == submitted {
			e.added(a, e.now, true)
		}
	case Beat:
		n := &e.nodes[instant.Node]
		n.logged--
		n.asleep = n.logged == 0 && e.idle()
		e.beat(n, n.logged == 0)
	case Tick:
		s.calls[instant.Job]--
		if a := e.bySeq(instant.Job); a != nil {
			a.logged--
			if a.life == accepted && (a.am != nil || a.rm.AM.IsZero()) {
				a.life = running // an AM that calls has registered
			}
			e.tick(a, a.logged == 0)
		}
	case Round:
		r := &e.round
		r.logged--
		e.doRound()
		if r.logged == 0 && r.every > 0 {
			if r.asleep = e.idle(); !r.asleep {
				e.nextRound(e.now + r.every)
			}
		}
	}
	e.nextScripted()
}

// bySeq finds an application by its number. Few are present, so it scans.
func (e *engine) bySeq(seq int64) *app {
	for _, a := range e.apps {
		if a != nil && a.rec.Seq == seq {
			return a
		}
	}
	return nil
}
