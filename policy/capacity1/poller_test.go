package capacity1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func (w *world) initialised() (names string) {
	for _, j := range w.list {
		if j != nil && w.state.jobs[j.view.Index].initialised {
			names += " " + j.view.ID
		}
	}
	return strings.TrimSpace(names)
}

func TestPollerLimitsTasks(t *testing.T) {
	for _, c := range []struct {
		limit int
		want  string
	}{{100, "j0"}, {160, "j0 j1"}, {0, "j0 j1 j2 j3"}} {
		w := newWorld(t, Config{Queues: []Queue{{Name: "a", MaxActiveTasks: c.limit}}}, 2, 4, 1)
		for i := range 4 {
			w.must(fmt.Sprint("j", i), "ann", "a", 79, 1)
		}
		w.tick()
		if got := w.initialised(); got != c.want {
			t.Errorf("limit %d: %s, want %s", c.limit, got, c.want)
		}
	}
	// Per user: others pass.
	w := newWorld(t, Config{Queues: []Queue{{Name: "a", MaxActiveTasksPerUser: 100}}}, 2, 4, 1)
	w.must("j0", "ann", "a", 80, 0)
	w.must("j1", "ann", "a", 80, 0)
	w.must("j2", "ann", "a", 10, 0) // would fit, and must not overtake j1
	w.must("j3", "bob", "a", 80, 0)
	w.tick()
	if got := w.initialised(); got != "j0 j3" {
		t.Errorf("per user: %s", got)
	}
	w.leave("j0")
	if got := w.initialised(); got != "j3" {
		t.Errorf("before the next round: %s", got)
	}
	w.tick()
	if got := w.initialised(); got != "j1 j2 j3" {
		t.Errorf("after j0 left: %s", got)
	}
	if w.tick() {
		t.Error("a round without a change changes something")
	}
}

// With two jobs in the system and two queues of a half each, one job a queue runs at a time.
func TestPollerLimitsJobs(t *testing.T) {
	w := newWorld(t, Config{MaxSystemJobs: 2, Queues: []Queue{{Name: "a", Capacity: 50}, {Name: "b", Capacity: 50}}}, 2, 4, 1)
	for i := range 3 {
		w.must(fmt.Sprint("a", i), "ann", "a", 1, 0)
		w.must(fmt.Sprint("b", i), "bob", "b", 1, 0)
	}
	for i := range 3 {
		w.tick()
		if got, want := w.initialised(), fmt.Sprintf("a%d b%d", i, i); got != want {
			t.Fatalf("round %d: %s, want %s", i, got, want)
		}
		if got := w.fill(mapSlots); len(got) != 2 {
			t.Fatalf("round %d: %v start", i, got)
		}
		w.leave(fmt.Sprint("a", i))
		w.leave(fmt.Sprint("b", i))
	}
	// Half of them for one user.
	w = newWorld(t, Config{MaxSystemJobs: 4, Queues: []Queue{{Name: "a", MinimumUserLimitPercent: 50}}}, 2, 4, 1)
	for i, user := range []string{"ann", "ann", "ann", "bob", "eve"} {
		w.must(fmt.Sprint("j", i), user, "a", 1, 0)
	}
	w.tick()
	if got := w.initialised(); got != "j0 j1 j3 j4" {
		t.Errorf("per user: %s", got)
	}
}

func TestPollInterval(t *testing.T) {
	w := newWorld(t, Config{PollInterval: 3 * unit.Second}, 1, 1, 1)
	if again, changed := w.Timer.Tick(7 * unit.Second); again != 10*unit.Second || changed {
		t.Errorf("again at %v, %v", again, changed)
	}
	w.must("j", "ann", "x", 1, 0)
	if got := w.beat(mapSlots, 0); got != nil {
		t.Errorf("%v starts before it is initialised", got)
	}
	w.tick()
	if got := w.beat(mapSlots, 0); len(got) != 1 {
		t.Errorf("%v starts after", got)
	}
}

func TestSubmissionIsRefused(t *testing.T) {
	w := newWorld(t, Config{MaxSystemJobs: 2, Queues: []Queue{
		{Name: "a", Capacity: 50, MinimumUserLimitPercent: 50, AcceptFactor: 3, MaxActiveTasksPerUser: 10}, {Name: "b", Capacity: 50, AcceptFactor: 1},
	}}, 1, 1, 1)
	refused := func(name, user, queue string, n int64, want string) {
		t.Helper()
		if _, err := w.arrive(name, user, queue, n, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	refused("x", "ann", "c", 1, `there is no queue "c": there are a, b`)
	refused("x", "ann", "a", 10, "has 11 tasks and could never be initialised: maximum-initialized-active-tasks-per-user of queue a is 10")
	w.must("b0", "ann", "b", 9, 1)
	refused("b1", "bob", "b", 1, "queue b has 1 jobs and accepts no more")
	for i := range 2 {
		w.must(fmt.Sprint("a", i), "ann", "a", 1, 1)
	}
	w.must("a2", "ann", "a", 1, 1)
	refused("a3", "bob", "a", 1, "queue a has 3 jobs and accepts no more")
	w.leave("a0")
	w.must("a3", "bob", "a", 1, 1)

	w = newWorld(t, Config{MaxSystemJobs: 4, Queues: []Queue{{Name: "a", MinimumUserLimitPercent: 25, AcceptFactor: 2}}}, 1, 1, 1)
	w.must("a0", "ann", "a", 1, 0)
	w.must("a1", "ann", "a", 1, 0)
	refused("a2", "ann", "a", 1, "user ann has 2 jobs in queue a, which accepts no more of one user")
	w.must("b0", "bob", "a", 1, 0)
}
