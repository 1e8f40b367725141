package steer_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// one is a policy of one queue that samples at its own interval.
type one struct {
	queue    string
	every    unit.Time
	steps    []unit.Time
	refused  bool
	notMade  []steer.Action
	decision string
}

func (o *one) Step(s *steer.Snapshot) ([]steer.Action, unit.Time) {
	o.steps = append(o.steps, s.Now)
	return []steer.Action{{Kind: steer.SetQueue, Queue: o.queue, Property: "weight", Value: 1}}, o.every
}

func (o *one) Explain() []slog.Attr {
	return []slog.Attr{slog.String("decision", o.decision), slog.String("why", "so")}
}
func (o *one) Refused() bool             { return o.refused }
func (o *one) NotMade(a steer.Action)    { o.notMade = append(o.notMade, a) }
func (o *one) Found(*steer.Queue) string { return "found " + o.queue }
func (o *one) Bounds() string            { return "all" }

// A policy for one queue is made once for each of several, each with its own interval; together they are one policy.
func TestEach(t *testing.T) {
	var made []*one
	r := steer.Registry{{Name: "one", New: func(s *steer.Setup) (steer.Steerer, error) {
		if s.Queue == "root.bad" {
			return nil, errors.New("bad")
		}
		o := &one{queue: s.Queue, every: unit.Time(len(made)+2) * unit.Second, decision: "wait"}
		made = append(made, o)
		return o, nil
	}}}
	if _, err := r.New("one", &steer.Setup{Queues: []string{"root.a", "root.bad"}}); err == nil {
		t.Error("a queue that cannot be steered")
	}
	made = nil
	p, err := r.New("one", &steer.Setup{Queue: "root.a", Queues: []string{"root.a", "root.b"}})
	if err != nil || len(made) != 2 {
		t.Fatal(made, err)
	}
	now, did := unit.Time(0), 0
	for now < 7*unit.Second {
		do, again := p.Step(&steer.Snapshot{Now: now})
		did += len(do)
		if again <= 0 {
			t.Fatal("it has ended")
		}
		now += again
	}
	s := unit.Second
	if a, b := made[0].steps, made[1].steps; !slices.Equal(a, []unit.Time{0, 2 * s, 4 * s, 6 * s}) || !slices.Equal(b, []unit.Time{0, 3 * s, 6 * s}) || did != 7 {
		t.Error(a, b, did)
	}
	made[1].decision = "raise"
	said := p.(steer.Explainer).Explain()
	if decision, why := steer.Decided(said); decision != "raise" || why != "root.a: so; root.b: so" {
		t.Error(said)
	}
	if p.(steer.Refuser).Refused() {
		t.Error("refused")
	}
	if made[1].refused = true; !p.(steer.Refuser).Refused() {
		t.Error("one that refuses is not heard")
	}
	// What a policy said holds until its next sample, though another one's is due before.
	made[1].refused = false
	made[0].every, made[1].every = 100*unit.Second, unit.Second
	made[0].refused = true
	now += 10 * unit.Second
	for range 3 {
		if _, again := p.Step(&steer.Snapshot{Now: now, Finished: []steer.Finished{{ID: "j"}}}); !p.(steer.Refuser).Refused() {
			t.Error("the refusal is forgotten")
		} else {
			now += again
		}
	}
	made[0].refused = false
	p.(steer.Corrector).NotMade(steer.Action{Kind: steer.SetQueue, Queue: "root.b"})
	if len(made[0].notMade) != 0 || len(made[1].notMade) != 1 {
		t.Error(made[0].notMade, made[1].notMade)
	}
	if d := p.(steer.Describer); d.Found(&steer.Queue{Name: "root.b"}) != "found root.b" || d.Bounds() != "all" || !strings.HasPrefix(d.Found(&steer.Queue{Name: "root.a"}), "found root.a") {
		t.Error(d.Bounds())
	}
}
