package drive

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// The machines are tested where they run, in steer/drive/live. Here are the parts that need no machine.

func TestTogether(t *testing.T) {
	list := []Setting{{Queue: "root.a", Property: "capacity", Text: "40", Set: true}, {Property: "maximum-applications"}}
	k, v, err := Together(list)
	if err != nil || !k.IsTogether() || k.String() != "root.a.capacity, maximum-applications" {
		t.Fatalf("%v, %v", k, err)
	}
	if got, err := k.Settings(v); err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("%+v, %v; want %+v", got, err, list)
	}
	for _, other := range []Knob{
		{Kind: steer.MoveJob, Property: k.Property}, {Property: together + "capacity"}, {Kind: steer.SetQueue, Property: "capacity"},
	} {
		if other.IsTogether() {
			t.Errorf("%+v is taken for several settings", other)
		}
	}
}

func TestCapacities(t *testing.T) {
	v, err := Capacities(map[string]string{"b": "60.0", "a": "40"})
	if err != nil || v != (Value{Text: "a=40,b=60.0", Number: 60, Set: true}) {
		t.Errorf("%+v, %v", v, err)
	}
	for _, text := range []string{"", "40%", "-1", "100.5", "NaN"} {
		if v, err := Capacities(map[string]string{"a": text}); err == nil || !strings.Contains(err.Error(), "the capacity of a is") {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
}

func TestKnobOf(t *testing.T) {
	share := []steer.Share{{Queue: "root.a", Value: 40}}
	queue := func(name, property string, shares ...steer.Share) steer.Action {
		return steer.Action{Kind: steer.SetQueue, Queue: name, Property: property, Shares: shares}
	}
	knob := func(name, property string) Knob { return Knob{Kind: steer.SetQueue, Queue: name, Property: property} }
	for _, c := range []struct {
		name string
		a    steer.Action
		want Knob
		err  string
	}{
		{"a property", queue("root.a", "maxAMShare"), knob("root.a", "maxAMShare"), ""},
		{"capacities", queue("root", steer.Capacities, share...), knob("root", steer.Capacities), ""},
		{"no queue", queue("", "maxAMShare"), knob("", "maxAMShare"), "does not say"},
		{"no property", queue("root.a", ""), knob("root.a", ""), "does not say"},
		{"no shares", queue("root", steer.Capacities), knob("root", steer.Capacities), "does not say"},
		{"a priority", steer.Action{Kind: steer.SetPriority, Job: "j"}, Knob{Kind: steer.SetPriority, Job: "j"}, ""},
		{"a move", steer.Action{Kind: steer.MoveJob, Job: "j", Queue: "root.a"}, Knob{Kind: steer.MoveJob, Job: "j"}, ""},
		{"a move nowhere", steer.Action{Kind: steer.MoveJob, Job: "j"}, Knob{Kind: steer.MoveJob, Job: "j"}, "does not say"},
		{"a kill", steer.Action{Kind: steer.KillJob, Job: "j"}, Knob{Kind: steer.KillJob, Job: "j"}, "cannot be undone"},
	} {
		got, err := knobOf(c.a)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

type scheme struct{ Scheme }

func TestDefaults(t *testing.T) {
	given := Rules{Scheme: scheme{}, New: func() (steer.Steerer, error) { return nil, nil }, Silence: -1}
	r, err := given.withDefaults(), given.check()
	if err != nil || r.PerHour != 120 || r.Silence != time.Minute || r.Settle != 15*time.Second ||
		r.Verify != 20*time.Second || r.Restore != 30*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
	given.Restore = time.Hour
	if r = given.withDefaults(); r.Restore != time.Hour {
		t.Errorf("%v", r.Restore)
	}
	given.Act = true
	if given.check() == nil {
		t.Error("changes are made without a journal")
	}
}

func TestBackOff(t *testing.T) {
	for n, want := range map[int]time.Duration{
		0: 500 * time.Millisecond, 1: time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second,
	} {
		if got := backOff(n); got != want {
			t.Errorf("after %d failures %v, want %v", n, got, want)
		}
	}
}

func TestBoth(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	if both(nil, nil) != nil || both(a, nil) != a || both(nil, b) != b { //nolint:errorlint // the same error, not wrapped
		t.Error("one error alone is not passed on")
	}
	if err := both(a, b); !errors.Is(err, a) || !errors.Is(err, b) || err.Error() != "a; b" {
		t.Error(err)
	}
}

func TestEventString(t *testing.T) {
	e := Event{Kind: RestoreFailed, Attrs: []slog.Attr{
		slog.String("knob", "root.a maxAMShare"), slog.Float64("new", 0.5), slog.String("why", ""),
	}}
	if got, want := e.String(), `restore-failed knob="root.a maxAMShare" new=0.5 why=""`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
