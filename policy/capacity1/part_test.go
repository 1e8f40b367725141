package capacity1

import (
	"maps"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
)

func same(got map[string]int, want map[string]int) bool { return maps.Equal(got, want) }

// halves are two queues of a half each, on ten map slots and ten reduce slots.
func halves(t *testing.T, q Queue) *world {
	a, b := q, q
	a.Name, b.Name = "a", "b"
	a.Capacity, b.Capacity = 50, 50
	return newWorld(t, Config{Queues: []Queue{a, b}}, 5, 2, 2)
}

// A minimum user limit of 100 percent is first come, first served inside a queue.
func TestFullUserLimitIsFIFO(t *testing.T) {
	w := newWorld(t, Config{}, 5, 2, 2)
	w.must("j0", "ann", "", 8, 0)
	w.must("j1", "bob", "", 8, 0)
	w.must("j2", "eve", "", 8, 0)
	w.tick()
	if got := w.fill(mapSlots); !same(got, map[string]int{"j0": 8, "j1": 2}) {
		t.Errorf("%v start", got)
	}
}

// 25 percent lets four users run at once.
func TestQuarterUserLimit(t *testing.T) {
	w := newWorld(t, Config{Queues: []Queue{{Name: "a", MinimumUserLimitPercent: 25}}}, 4, 2, 2)
	for _, u := range []string{"u0", "u1", "u2", "u3", "u4"} {
		w.must(u, u, "a", 8, 0)
	}
	w.tick()
	if got := w.fill(mapSlots); !same(got, map[string]int{"u0": 2, "u1": 2, "u2": 2, "u3": 2}) {
		t.Errorf("%v start", got)
	}
}

// With a factor of 1 and no maximum a single user stops at the queue's share, and the next user takes the queue over it.
func TestNextUserTakesQueueOverItsShare(t *testing.T) {
	w := halves(t, Queue{})
	w.must("j0", "ann", "a", 20, 0)
	w.must("j1", "ann", "a", 20, 0)
	w.tick()
	if got := w.fill(mapSlots); !same(got, map[string]int{"j0": 5}) {
		t.Fatalf("one user: %v start", got)
	}
	w.must("j2", "bob", "a", 20, 0)
	w.tick()
	if got := w.fill(mapSlots); !same(got, map[string]int{"j2": 5}) {
		t.Errorf("the next user: %v start", got)
	}
	w = halves(t, Queue{MaxCapacity: 50})
	w.must("j0", "ann", "a", 20, 0)
	w.must("j1", "bob", "a", 20, 0)
	w.tick()
	if got := w.fill(mapSlots); !same(got, map[string]int{"j0": 5}) {
		t.Errorf("with a maximum: %v start", got)
	}
}

// With a factor of 2 one user of half the cluster can fill it; and gives it back only as its tasks end.
func TestFactorTwoFillsTheCluster(t *testing.T) {
	w := halves(t, Queue{UserLimitFactor: 2})
	w.must("j0", "ann", "a", 20, 0)
	w.tick()
	if got := w.fill(mapSlots); !same(got, map[string]int{"j0": 10}) {
		t.Fatalf("%v start", got)
	}
	w.must("k0", "bob", "b", 20, 0)
	w.tick()
	for range 5 {
		w.end("j0", mapSlots)
		w.fill(mapSlots)
	}
	if a, b := w.held("j0", mapSlots), w.held("k0", mapSlots); a != 5 || b != 5 {
		t.Errorf("after five ends: %d and %d", a, b)
	}
}

// A queue of less than a slot makes progress.
func TestSmallQueue(t *testing.T) {
	w := newWorld(t, Config{Queues: []Queue{{Name: "a", Capacity: 1, MaxCapacity: 1, UserLimitFactor: 0.01}}}, 5, 2, 2)
	w.must("j0", "ann", "a", 3, 0)
	w.tick()
	if got := w.fill(mapSlots); !same(got, map[string]int{"j0": 1}) {
		t.Errorf("%v start", got)
	}
}

func TestActiveUsers(t *testing.T) {
	for _, c := range []struct {
		how  ActiveUsers
		want int
	}{{UsersWithTasks, 10}, {UsersWithJobs, 5}} {
		w := newWorld(t, Config{Queues: []Queue{{Name: "a", MinimumUserLimitPercent: 10}}, ActiveUsers: c.how}, 5, 2, 2)
		w.must("j0", "ann", "a", 20, 0)
		w.must("j1", "bob", "a", 0, 9) // has no maps
		w.tick()
		if got := w.fill(mapSlots); got["j0"] != c.want {
			t.Errorf("way %d: %v start, want %d", c.how, got, c.want)
		}
	}
}

func TestPriorities(t *testing.T) {
	w := newWorld(t, Config{Queues: []Queue{{Name: "a", Capacity: 50, SupportsPriority: true}, {Name: "b", Capacity: 50}}}, 10, 1, 1)
	pri := func(name, queue string, p int) {
		t.Helper()
		w.seq++
		j := &played{tasks: [kinds]int64{1, 0}}
		j.view = policy.Job{
			ID: name, User: name, Queue: queue, Priority: p, Seq: w.seq, Index: int32(len(w.list)), Tasks: 1, Ask: w.nodes[0][0].Total, Stages: j.stages[:],
		}
		if err := w.Order.Arrived(w.now, &j.view); err != nil {
			t.Fatal(err)
		}
		w.list = append(w.list, j)
		w.jobs[name] = j
		w.want(j, mapSlots, 1)
	}
	for _, p := range []struct {
		name string
		pri  int
	}{{"none", 0}, {"low", 2}, {"high", 4}, {"normal", 3}, {"veryhigh", 5}, {"beyond", 9}, {"verylow", 1}, {"below", -4}} {
		pri(p.name, "a", p.pri)
		pri("b"+p.name, "b", p.pri)
	}
	w.tick()
	order := func(queue string) (names []string) {
		w.Order.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
			if j.Queue == queue {
				names = append(names, j.ID)
			}
			return policy.Pass
		})
		return names
	}
	if got, want := order("a"), []string{"veryhigh", "beyond", "high", "none", "normal", "low", "verylow", "below"}; !slices.Equal(got, want) {
		t.Errorf("with priorities %v, want %v", got, want)
	}
	if got, want := order("b"), []string{"bnone", "blow", "bhigh", "bnormal", "bveryhigh", "bbeyond", "bverylow", "bbelow"}; !slices.Equal(got, want) {
		t.Errorf("without %v, want %v", got, want)
	}
	v := &w.jobs["low"].view
	v.Priority = 5
	w.state.SetPriority(v, 2)
	if got := order("a"); !slices.Equal(got[:4], []string{"low", "veryhigh", "beyond", "high"}) {
		t.Errorf("after low was raised: %v", got)
	}
}

func TestHeartbeats(t *testing.T) {
	w := newWorld(t, Config{TasksPerHeartbeat: 2}, 1, 5, 5)
	w.must("j", "ann", "", 9, 9)
	w.release("j")
	w.tick()
	if m, r := w.beat(mapSlots, 0), w.beat(reduceSlots, 0); len(m) != 2 || len(r) != 1 {
		t.Errorf("%v maps and %v reduces in a heartbeat", m, r)
	}
	w = newWorld(t, Config{ReducesPerHeartbeat: -1}, 1, 5, 5)
	w.must("j", "ann", "", 9, 9)
	w.release("j")
	w.tick()
	if m, r := w.beat(mapSlots, 0), w.beat(reduceSlots, 0); len(m) != 5 || len(r) != 5 {
		t.Errorf("%v maps and %v reduces in a heartbeat without limits", m, r)
	}
}

func TestBorrow(t *testing.T) {
	for _, borrow := range []bool{false, true} {
		w := newWorld(t, Config{Borrow: borrow, Queues: []Queue{
			{Name: "a", Capacity: 40, MaxCapacity: 40, UserLimitFactor: 10}, {Name: "b", Capacity: 30, MaxCapacity: 30}, {Name: "c", Capacity: 30},
		}}, 5, 2, 2)
		w.must("a", "ann", "a", 20, 0)
		w.must("b", "bob", "b", 1, 0) // b has a job; c has none
		w.tick()
		want := 4
		if borrow {
			want = 7
		}
		if got := w.fill(mapSlots); !same(got, map[string]int{"a": want, "b": 1}) {
			t.Errorf("borrow %v: %v start", borrow, got)
		}
		w.leave("b")
		if got := w.fill(mapSlots)["a"]; borrow && got != 3 || !borrow && got != 0 {
			t.Errorf("borrow %v: when b is empty too, %d more start", borrow, got)
		}
		w.must("c", "eve", "c", 9, 0)
		w.tick()
		w.end("a", mapSlots)
		if got := w.fill(mapSlots); got["c"] != map[bool]int{false: 3, true: 1}[borrow] || got["a"] != map[bool]int{false: 1, true: 0}[borrow] {
			t.Errorf("borrow %v: when c wants its share, %v start", borrow, got)
		}
	}
}

func TestKnobs(t *testing.T) {
	w := halves(t, Queue{MaxCapacity: 50})
	w.must("j", "ann", "a", 20, 20)
	w.must("k", "ann", "a", 20, 20)
	w.tick()
	w.fill(mapSlots)
	set := func(queue, property string, value, old float64) {
		t.Helper()
		if got, err := w.state.SetQueue(queue, property, value); err != nil || got != old {
			t.Errorf("%s %s = %v: was %v, want %v; %v", queue, property, value, got, old, err)
		}
	}
	set("a", "maximum-capacity", -1, 50)
	set("a", "user-limit-factor", 2, 1)
	set("a", "minimum-user-limit-percent", 30, 100)
	set("a", "minimum-user-limit-percent", 30, 30)
	set("b", "capacity", 20, 50)
	if got := w.fill(mapSlots); !same(got, map[string]int{"j": 5}) {
		t.Errorf("after the limits were raised %v start", got)
	}
	for _, c := range []struct {
		queue, property string
		value           float64
	}{{"x", "capacity", 1}, {"a", "colour", 1}, {"a", "capacity", 0}, {"a", "maximum-capacity", 49}, {"a", "user-limit-factor", 0}} {
		if _, err := w.state.SetQueue(c.queue, c.property, c.value); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	move := func(name, to string) error {
		v := &w.jobs[name].view
		if err := w.state.Move(v, to); err != nil {
			return err
		}
		v.Queue = to
		return nil
	}
	if err := move("j", "x"); err == nil {
		t.Error("a job moved to a queue that is not there")
	}
	if err := move("j", "b"); err == nil {
		t.Error("ten slots moved below a maximum of five")
	}
	set("b", "maximum-capacity", -1, 50)
	if err := move("j", "b"); err != nil {
		t.Fatal(err)
	}
	if a, b := w.state.queues[0].use[0].occupied, w.state.queues[1].use[0].occupied; a != 0 || b != 10 {
		t.Errorf("after the move the queues hold %d and %d", a, b)
	}
	if err := move("k", "b"); err != nil {
		t.Fatal(err)
	}
	w.end("j", mapSlots)
	w.leave("j")
	if got := w.fill(mapSlots); !same(got, map[string]int{"k": 2}) { // two is b's share now, and a user's limit
		t.Errorf("%v start", got)
	}
	w.leave("k")
	for _, q := range w.state.queues {
		if q.jobs != 0 || q.use[0].occupied != 0 || q.initialised != 0 || q.activeTasks != 0 || len(q.byUser) != 0 {
			t.Errorf("queue %s is not empty at the end: %+v", q.set.Name, q)
		}
	}
}
