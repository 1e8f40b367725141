package live

import (
	"errors"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	. "github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
)

// climber adds a step to what it takes for the present value, every five seconds.
type climber struct{ value float64 }

func (c *climber) Step(s *steer.Snapshot) ([]steer.Action, unit.Time) {
	if c.value == 0 {
		c.value = s.Queues[0].AMShare
	}
	c.value += 0.04
	return []steer.Action{{Kind: steer.SetQueue, Queue: share.Queue, Property: share.Property, Value: c.value}}, 5 * sec
}

func (c *climber) NotMade(steer.Action) { c.value = 0 }

// Refusals do not add up: the first change that is made is one step.
func TestNoLeapAfterRefusals(t *testing.T) {
	w := newWorld(t)
	refused := errors.New("400: rejected")
	w.writeErr = func() error { return refused }
	w.at(32*time.Second, func() { w.writeErr = nil })
	w.lastly(w.drive(w.until(37*time.Second), &climber{}, nil), "")
	w.wrote("0.090", "0.050")
	w.mustBe(found)
}

// Changes that overtake each other, none of them ever in force, are told of all the same.
func TestUnverifiedThoughOvertaken(t *testing.T) {
	w := newWorld(t)
	w.delay = time.Hour
	w.lastly(w.drive(w.until(45*time.Second), &climber{}, nil), "does not go by it yet")
	if e := w.event(Unverified); e.Kind != Unverified || e.At.Sub(w.told[0].At) > 41*time.Second {
		t.Errorf("%+v", e)
	}
}

// A job that is missing from the list has not ended for that: what was changed stays open, and is put back.
func TestMissingIsNotEnded(t *testing.T) {
	w := newWorld(t)
	prio := Knob{Kind: steer.SetPriority, Job: "job_1"}
	w.conf[prio] = Value{Text: "1", Set: true, Number: 1}
	there := []steer.Job{{ID: "job_1"}}
	w.snap = func(s *steer.Snapshot) { s.Jobs = there }
	p := steer.Func(func(s *steer.Snapshot) ([]steer.Action, unit.Time) {
		if len(s.Jobs) == 0 {
			return nil, 5 * sec
		}
		return []steer.Action{{Kind: steer.SetPriority, Job: "job_1", Value: 5}}, 5 * sec
	})
	w.at(7*time.Second, func() { there = nil })
	w.at(17*time.Second, func() {
		if _, open, err := ReadJournal(w.dir); err != nil || len(open) != 1 {
			t.Errorf("%d are open, %v", len(open), err)
		}
	})
	w.lastly(w.drive(w.until(20*time.Second), p, nil), "")
	w.wrote("5.000", "1")
	if w.conf[prio].Text != "1" {
		t.Errorf("the priority is left at %v", w.conf[prio])
	}
}
