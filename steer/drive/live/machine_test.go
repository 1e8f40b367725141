package live

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	. "github.com/yardmaster/yardmaster/steer/drive"
)

// step is a request and its answer.
type step struct {
	asked string
	got   Answer
}

func textOf(r Request) string {
	return fmt.Sprint(r.Op, r.Knob, r.Value, r.Entry.What, r.Entry.Why, r.Event, r.Until, r.Final)
}

// recorded drives a world through a machine and keeps all requests and answers.
func recorded(t *testing.T, w *world, ctx context.Context, rules Rules) (steps []step, err error) {
	m, err := NewMachine(rules)
	if err != nil {
		t.Fatal(err)
	}
	l := &Runner{Engine: w, Journal: rules.Journal, Observe: w.observe, Clock: w}
	for a := l.answer(ctx, Answer{}); ; {
		r, more := m.Next(a)
		if !more {
			return steps, m.Err()
		}
		a = l.answer(ctx, l.do(ctx, &r))
		steps = append(steps, step{textOf(r), a})
	}
}

// A machine goes by nothing but its answers: those of a live run, given to another one, give the same requests in the same order; and one that is
// not asked any further has asked for nothing else.
func TestTheSameAnswersGiveTheSameRequests(t *testing.T) {
	w := newWorld(t)
	w.delay = 3 * time.Second
	started := w.now
	n := 0
	w.writeErr = func() error {
		if n++; n == 2 {
			return errors.New("400: rejected")
		}
		return nil
	}
	w.at(70*time.Second, func() { w.snapErr = func() error { return errAway } })
	w.at(150*time.Second, func() { w.snapErr = nil })
	rules := func(j *Journal) Rules {
		return Rules{Scheme: w, New: func() (steer.Steerer, error) { return asks(10*sec, 0.09, 0.13, 0.17, 0.13), nil }, Act: true, Journal: j}
	}
	j := w.journal()
	defer j.Close()
	live, err := recorded(t, w, w.until(4*time.Minute), rules(j.Journal))
	if err != nil || len(live) < 100 {
		t.Fatal(len(live), err)
	}
	for _, cut := range []int{len(live), len(live) / 2, 7} {
		again := MemoryJournal("again")
		again.Mark = j.Mark
		m, err := NewMachine(rules(again))
		if err != nil {
			t.Fatal(err)
		}
		a := Answer{Now: started}
		for i := range live[:cut] {
			r, more := m.Next(a)
			if !more || textOf(r) != live[i].asked {
				t.Fatalf("request %d: %s, live: %s", i, textOf(r), live[i].asked)
			}
			if a = live[i].got; r.Op == Log && a.Err == nil {
				if err := again.Append(r.Entry); err != nil {
					t.Fatal(err)
				}
			}
		}
		if cut == len(live) {
			if _, more := m.Next(a); more || m.Err() != nil {
				t.Error("it goes on", m.Err())
			}
		}
		m.Abandon()
	}
	w.mustBe(found)
}
