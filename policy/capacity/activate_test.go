package capacity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/unit"
)

// How many applications are active at once, for AMs of one size.
func TestActivation(t *testing.T) {
	quarter := "root.queues=a,b root.a.capacity=25 root.b.capacity=75"
	for _, c := range []struct {
		name, settings string
		total          int64
		am             int64
		users          []string
		want           int
	}{
		{"a tenth of one queue", "root.queues=a root.a.capacity=100", 102400, 1024, rep("u", 20), 10},
		{"AMs of 1536 round up to 2048", "root.queues=a root.a.capacity=100", 102400, 1536, rep("u", 20), 5},
		{"one user: a tenth of the guarantee", quarter, 102400, 1024, rep("u", 20), 3},
		{"four users: the queue's limit", quarter, 102400, 1024, rep("u v w x", 20), 10},
		{"user-limit-factor 4", quarter + " root.a.user-limit-factor=4", 102400, 1024, rep("u", 20), 10},
		{"three nodes of 10240", "root.queues=a root.a.capacity=100", 30720, 1024, rep("u", 20), 3},
		{"the first always passes", "root.queues=a root.a.capacity=100", 10240, 2048, rep("u", 20), 1},
		{"no AM, no limit", "root.queues=a root.a.capacity=100", 10240, 0, rep("u", 20), 20},
	} {
		o := fromSettings(t, strings.Fields(c.settings)...)
		w := newWorld(mb(c.total), o)
		am := unit.Resources{}
		if c.am > 0 {
			am = arith.Default.Normalise(mb(c.am), step, mb(8192))
		}
		for i, u := range c.users {
			if err := w.arrive(fmt.Sprint(i), u, "a", 0, am, mb(1024), 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.activated(); got != c.want {
			t.Errorf("%s: %d active, want %d", c.name, got, c.want)
		}
	}
}

func rep(users string, n int) (list []string) {
	names := strings.Fields(users)
	for len(list) < n {
		list = append(list, names[len(list)*len(names)/n])
	}
	return list
}

// With minimum-user-limit-percent 25 and four active users each may activate one AM of 1024 in a quarter of 102400.
func TestActivationOfFourActiveUsers(t *testing.T) {
	o := fromSettings(t, "root.queues=a,b", "root.a.capacity=25", "root.b.capacity=75", "root.a.minimum-user-limit-percent=25")
	w := newWorld(mb(102400), o)
	users := []string{"u", "v", "w", "x"}
	for _, u := range users {
		if err := w.arrive(u+"1", u, "a", 0, mb(1024), mb(1024), 5); err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range users {
		if err := w.arrive(u+"2", u, "a", 0, mb(1024), mb(1024), 5); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.activated(); got != 4 {
		t.Errorf("%d active, want 1 each", got)
	}
}

// A smaller AM behind one that does not fit may pass; the room of a finished job lets the next in.
func TestActivationSkipsAndRefills(t *testing.T) {
	o := fromSettings(t, "root.queues=a", "root.a.capacity=100")
	w := newWorld(mb(40960), o) // limit 4096
	for i, m := range []int64{3072, 2048, 1024, 1024} {
		if err := w.arrive(fmt.Sprint(i), "u", "a", 0, mb(m), mb(1024), 1); err != nil {
			t.Fatal(err)
		}
	}
	states := func() (s string) {
		for _, j := range w.list {
			s += fmt.Sprint(o.apps[j.Index].state == active, " ")
		}
		return s
	}
	if got := states(); got != "true false true false " {
		t.Fatalf("active: %s", got)
	}
	w.fill()
	j := w.jobs["0"]
	w.end(j, 1, false) // its only task; the AM and the job follow
	if got := states(); got != "true true true " {
		t.Fatalf("after the first job: active %s", got)
	}
}

// A lost AM sends its application back to wait for activation.
func TestLostAM(t *testing.T) {
	o := fromSettings(t, "root.queues=a", "root.a.capacity=100")
	w := newWorld(mb(10240), o)
	for _, id := range []string{"1", "2"} {
		if err := w.arrive(id, "u", "a", 0, mb(1024), mb(1024), 3); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.once() + w.once(); got != "11" {
		t.Fatalf("first starts: %s", got)
	}
	w.end(w.jobs["1"], 0, true)
	if o.apps[w.jobs["1"].Index].state != active {
		t.Error("the only room for an AM is free again: the first in order takes it")
	}
	if got := w.once(); got != "1" || w.jobs["1"].running[1].stage != -1 {
		t.Errorf("%q started next, want the AM of 1", got)
	}
}

func TestUserLimitHoldsAUserBack(t *testing.T) {
	// One user alone is held at the guarantee plus one container; with factor 2 it takes twice that.
	for _, c := range []struct {
		factor string
		want   int
	}{{"1", 51}, {"2", 100}, {"-1", 100}, {"0.5", 26}} {
		o := fromSettings(t, "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.a.user-limit-factor="+c.factor)
		w := newWorld(mb(102400), o)
		if err := w.arrive("1", "u", "a", 0, unit.Resources{}, mb(1024), 200); err != nil {
			t.Fatal(err)
		}
		if got := w.fill()["1"]; got != c.want {
			t.Errorf("user-limit-factor %s: %d containers, want %d", c.factor, got, c.want)
		}
	}
	// Two users, 50 % each: with maximum = guarantee 25 each, with maximum 100 % 50 each.
	for _, c := range []struct {
		max  string
		want int
	}{{"50", 25}, {"100", 50}} {
		o := fromSettings(t, "root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.a.maximum-capacity="+c.max,
			"root.a.minimum-user-limit-percent=50")
		w := newWorld(mb(102400), o)
		for _, u := range []string{"u", "v"} {
			if err := w.arrive(u, u, "a", 0, unit.Resources{}, mb(1024), 200); err != nil {
				t.Fatal(err)
			}
		}
		got := w.fill()
		if got["u"] != c.want+1 || got["v"] != c.want-1 { // the first ends one container above its limit
			t.Errorf("maximum %s: %v, want about %d each", c.max, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	o := fromSettings(t, "maximum-applications=100", "root.queues=a,b,c", "root.a.capacity=10", "root.b.capacity=85", "root.c.capacity=5",
		"root.c.state=STOPPED", "root.b.minimum-user-limit-percent=50", "root.b.user-limit-factor=0.1", "root.a.queues=x,y", "root.a.x.capacity=50",
		"root.a.y.capacity=50")
	w := newWorld(mb(102400), o)
	refused := func(queue, user string, want string) {
		t.Helper()
		err := w.arrive("r", user, queue, 0, mb(1024), mb(1024), 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("queue %s: %v, want %q", queue, err, want)
		}
	}
	refused("nope", "u", `no leaf queue "nope": there are root.a.x, root.a.y, root.b, root.c`)
	refused("root.a", "u", "no leaf queue")
	refused("c", "u", "STOPPED")
	for i, q := range []string{"x", "a.x", "root.a.x", "root.a.x", "x"} {
		if err := w.arrive(fmt.Sprint(i), "u", q, 0, mb(1024), mb(1024), 1); err != nil {
			t.Fatal(err)
		}
	}
	refused("x", "v", "queue root.a.x already has 5 applications")
	for i := range 4 {
		if err := w.arrive(fmt.Sprint("b", i), "u", "b", 0, mb(1024), mb(1024), 1); err != nil {
			t.Fatal(err)
		}
	}
	refused("b", "u", "user u already has 4 applications")
	for i := range 81 {
		if err := w.arrive(fmt.Sprint("v", i), fmt.Sprint("v", i), "b", 0, mb(1024), mb(1024), 1); err != nil {
			t.Fatal(err)
		}
	}
	refused("b", "z", "queue root.b already has 85 applications")
}
