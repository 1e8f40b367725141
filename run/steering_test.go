package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
)

// A month of looks leaves a bounded number of points, in order, from its first day to its last.
func TestPointsOfALongRunStayFew(t *testing.T) {
	h := &recorder{rehearsal: &steer.Rehearsal{Queue: "root.default"}}
	const looks = 2_000_000
	for i := range looks {
		h.note(&steer.Snapshot{Now: unit.Time(i) * unit.Second, Queues: []steer.Queue{{Name: "root.default", Running: i % 7, AMShare: 0.05}}})
	}
	if n := len(h.points); n < maxPoints/8 || n > maxPoints {
		t.Fatalf("%d points", n)
	}
	for i := range h.points[1:] {
		if h.points[i+1].At <= h.points[i].At {
			t.Fatalf("point %d is at %v, the next at %v", i, h.points[i].At, h.points[i+1].At)
		}
	}
	if first, last := h.points[0].At, h.points[len(h.points)-1].At; first != 0 || last < 0.99*looks {
		t.Errorf("points from %v to %v", first, last)
	}
}

// What is told of the end is what was in force, not what was asked for.
func TestSteeringTellsWhatIsLeft(t *testing.T) {
	control, err := marp.New("cbt", marp.Defaults("cbt", "root.default"))
	if err != nil {
		t.Fatal(err)
	}
	share := steer.Action{Kind: steer.SetQueue, Queue: "root.default", Property: "maxAMShare"}
	for _, c := range []struct {
		name     string
		receipts []steer.Receipt
		final    float64
		restored bool
	}{
		{"nothing was changed", nil, 0.05, true},
		{"put back", []steer.Receipt{{Action: share, Old: 0.05, New: 0.09}, {Action: share, Old: 0.09, New: 0.05}}, 0.05, true},
		{"left as it was", []steer.Receipt{{Action: share, Old: 0.05, New: 0.09}}, 0.09, false},
		{"the last change failed", []steer.Receipt{{Action: share, Old: 0.05, New: 0.09}, {Action: share, New: 0.05, Err: errors.New("no")}}, 0.09, false},
	} {
		h := &recorder{Steerer: control, kinds: map[string]int64{}, rehearsal: &steer.Rehearsal{Name: "cbt", Queue: "root.default"}, found: 0.05}
		got, err := h.finish(&sim.Summary{Receipts: c.receipts})
		if err != nil || got.Final != c.final || got.Restored != c.restored || len(got.Changes) != len(c.receipts) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	many := make([]steer.Receipt, maxChanges+5)
	h := &recorder{Steerer: control, kinds: map[string]int64{}, rehearsal: &steer.Rehearsal{}}
	if got, err := h.finish(&sim.Summary{Receipts: many}); err != nil || len(got.Changes) != maxChanges || got.MoreChanges != 5 {
		t.Errorf("%d changes and %d more, %v", len(got.Changes), got.MoreChanges, err)
	}
}

// A log that cannot be written fails the run.
func TestSteerLogFails(t *testing.T) {
	control, err := marp.New("cbt", marp.Defaults("cbt", "root.default"))
	if err != nil {
		t.Fatal(err)
	}
	h := &recorder{Steerer: control, kinds: map[string]int64{}, rehearsal: &steer.Rehearsal{Queue: "root.default"}, log: broken{}}
	h.Step(&steer.Snapshot{})
	if _, err := h.finish(&sim.Summary{}); err == nil || !strings.Contains(err.Error(), "steering log") {
		t.Errorf("%v", err)
	}
	if got, err := (*recorder)(nil).finish(&sim.Summary{}); got != (*result.Steering)(nil) || err != nil {
		t.Errorf("nobody steers, and yet %v, %v", got, err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
