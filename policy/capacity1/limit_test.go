package capacity1

import (
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func TestUserLimit(t *testing.T) {
	for _, c := range []struct {
		percent, factor float64
		users           int
		occupied, want  int64
	}{
		{100, 1, 50, 0, 60},
		{25, 1, 50, 0, 15},
		{25, 1, 2, 0, 30},
		{25, 1, 50, 60, 16},
		{100, 2, 50, 100, 101},
		{100, 1, 1, 80, 60},
	} {
		if got := UserLimit(60, c.occupied, 1, c.users, c.percent, c.factor); got != c.want {
			t.Errorf("percent %v, factor %v, %d users, %d occupied: limit %d, want %d", c.percent, c.factor, c.users, c.occupied, got, c.want)
		}
	}
	if got := UserLimit(0, 0, 1, 3, 1, 0.1); got != 1 {
		t.Errorf("the smallest limit is %d, want 1", got)
	}
}

func TestDerivedLimits(t *testing.T) {
	for _, c := range []struct {
		jobs              int
		capacity, percent float64
		factor            int
		want              Limits
	}{
		{3000, 50, 100, 10, Limits{1500, 1500, 15000, 15000}},
		{3000, 70, 25, 10, Limits{2100, 525, 21000, 5250}},
		{2, 50, 100, 10, Limits{1, 1, 10, 10}},
		{2, 70, 100, 1, Limits{2, 2, 2, 2}},
		{2, 30, 100, 1, Limits{1, 1, 1, 1}},
		{10, 33, 50, 3, Limits{4, 2, 12, 6}},
		{1, 1, 1, 1, Limits{1, 1, 1, 1}},
	} {
		q := Queue{Capacity: c.capacity, MinimumUserLimitPercent: c.percent, AcceptFactor: c.factor}
		if got := q.Limits(c.jobs); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestSlotsOfQueues(t *testing.T) {
	w := newWorld(t, Config{Queues: []Queue{
		{Name: "a", Capacity: 70, MaxCapacity: 70}, {Name: "b", Capacity: 28.9, MaxCapacity: 50}, {Name: "c"},
	}}, 3, 4, 1)
	for i, want := range []usage{{capacity: 8, maximum: 8}, {capacity: 3, maximum: 6}, {maximum: -1}} {
		if got := w.state.queues[i].use[mapSlots]; got.capacity != want.capacity || got.maximum != want.maximum {
			t.Errorf("queue %d: %d of map slots, at most %d; want %d, %d", i, got.capacity, got.maximum, want.capacity, want.maximum)
		}
	}
	if got := w.state.queues[2].set.Capacity; got < 1.0999 || got > 1.1001 {
		t.Fatalf("the rest is %v", got)
	}
}

func TestCompleteRefuses(t *testing.T) {
	q := func(q Queue) Config { q.Name = "a"; return Config{Queues: []Queue{q}} }
	for _, c := range []struct {
		c    Config
		want string
	}{
		{q(Queue{Capacity: 0.5}), "capacity is 0.5: want 1 to 100"},
		{q(Queue{Capacity: 101}), "sum to 101"},
		{q(Queue{Capacity: -3}), "capacity is -3"},
		{q(Queue{Capacity: 50, MaxCapacity: 40}), "maximum-capacity is 40, less than the capacity 50"},
		{q(Queue{Capacity: 50, MaxCapacity: 120}), "maximum-capacity is 120"},
		{q(Queue{MinimumUserLimitPercent: 101}), "minimum-user-limit-percent is 101"},
		{q(Queue{MinimumUserLimitPercent: -1}), "minimum-user-limit-percent is -1"},
		{q(Queue{UserLimitFactor: -1}), "user-limit-factor is -1"},
		{q(Queue{MaxActiveTasks: 10, MaxActiveTasksPerUser: 11}), "more than the queue's maximum-initialized-active-tasks 10"},
		{q(Queue{MaxActiveTasks: -1}), "maximum-initialized-active-tasks is -1"},
		{q(Queue{MaxActiveTasksPerUser: -1}), "per-user is -1"},
		{q(Queue{AcceptFactor: -1}), "init-accept-jobs-factor is -1"},
		{Config{Queues: []Queue{{Name: "a", Capacity: 60}, {Name: "b", Capacity: 41}}}, "sum to 101"},
		{Config{Queues: []Queue{{Name: "a", Capacity: 100}, {Name: "b"}}}, "queue b has no capacity, and the others leave 0"},
		{Config{Queues: []Queue{{Name: "a"}, {Name: "a"}}}, "queue a is named twice"},
		{Config{Queues: []Queue{{Capacity: 10}}}, "queue 1 has no name"},
		{Config{Queues: []Queue{{Name: "a"}, {Name: "b"}}, AnyQueue: true}, "there are 2"},
		{Config{MaxSystemJobs: -1}, "maximum-system-jobs is -1"},
		{Config{PollInterval: -unit.Second}, "init-poll-interval"},
		{Config{WorkerThreads: -1}, "init-worker-threads is -1"},
		{Config{TasksPerHeartbeat: -1}, "maximum-tasks-per-heartbeat is -1"},
		{Config{TasksAfterOffSwitch: -1}, "maximum-tasks-after-offswitch is -1"},
		{Config{ReducesPerHeartbeat: -2}, "reduces-per-heartbeat is -2"},
		{Config{NodeDelay: 9, RackDelay: 3}, "rack-delay is 3, less than node-delay 9"},
		{Config{LocalityWaitFactor: 1.5}, "locality-wait-factor is 1.5"},
		{Config{ActiveUsers: 7}, "not known"},
		{Config{OffSwitch: 7}, "not known"},
	} {
		if _, err := New(c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.c, err, c.want)
		}
	}
	// What the thesis prints as forbidden and its experiments use.
	if _, err := New(Config{Queues: []Queue{{Name: "a", Capacity: 50, MaxCapacity: 50}, {Name: "b", Capacity: 50, MaxCapacity: 50, MinimumUserLimitPercent: 100}}}); err != nil {
		t.Error(err)
	}
}

// Queues go by the part of their share that they use, map slots and reduce slots apart.
func TestQueueOrder(t *testing.T) {
	for _, c := range []struct {
		order QueueOrder
		want  string // queues of the first ten maps, a with 70 percent of ten slots and b with 30
	}{
		{LeastLoaded, "abaabaabaa"},
		{EqualRunning, "abbaabaaaa"}, // ties stay as they were; a user of b stops at its share
		{MostLoaded, "aaaaaaabbb"},   // a user of a stops at a's share
	} {
		w := newWorld(t, Config{Queues: []Queue{{Name: "a", Capacity: 70}, {Name: "b", Capacity: 30}}, QueueOrder: c.order}, 10, 1, 10)
		w.must("a", "ann", "a", 50, 50)
		w.must("b", "bob", "b", 50, 50)
		w.tick()
		got := ""
		for i := range 10 {
			got += strings.Join(w.beat(mapSlots, i), "")
		}
		if got != c.want {
			t.Errorf("order of starts %s, want %s", got, c.want)
		}
		w.release("a")
		if got := w.beat(reduceSlots, 0); !slices.Equal(got, []string{"a"}) {
			t.Errorf("reduces %v: maps must not count", got)
		}
	}
}
