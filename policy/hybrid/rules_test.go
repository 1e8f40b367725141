package hybrid_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/unit"
)

// hand is an engine by hand: node 0 is a scale-out machine, node 1 a scale-up machine, of four containers each.
type hand struct {
	t     *testing.T
	p     policy.Policy
	nodes [2]*policy.Node
	jobs  []*policy.Job
	now   unit.Time
}

func newHand(t *testing.T, how hybrid.Stealing) *hand {
	t.Helper()
	return with(t, hybrid.Options{Stealing: how})
}

func with(t *testing.T, o hybrid.Options) *hand {
	t.Helper()
	o.Base, o.Classifier, o.Recurring = policy.Spec{Name: "fifo"}, upTo(6), 1
	p, err := hybrid.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := &hand{t: t, p: p}
	kinds, room := [2]string{"", cluster.ScaleUp}, cluster.Unit.Times(4)
	for i := range h.nodes {
		h.nodes[i] = &policy.Node{Index: int32(i), Kind: kinds[i], Total: room, Free: room}
	}
	p.Order.Resized(0, policy.Cluster{Nodes: 2, Kind: func(n int32) string { return kinds[n] },
		Room: func(int32, uint8) unit.Resources { return room }})
	return h
}

// job lets a job of so many maps arrive, some of which can start. Its name is its number.
func (h *hand) job(maps, open int64) *policy.Job {
	h.t.Helper()
	n := len(h.jobs)
	j := &policy.Job{Seq: int64(n), Index: int32(n), ID: fmt.Sprint(n), Tasks: maps, Ask: cluster.Unit, Submitted: h.now,
		Stages: []policy.Stage{{Tasks: maps, Pending: maps, Ask: cluster.Unit}}}
	h.jobs = append(h.jobs, j)
	j.Want(0, open)
	if err := h.p.Order.Arrived(h.now, j); err != nil {
		h.t.Fatal(err)
	}
	return j
}

// offer offers a container of a node until nobody takes it, at most n times, and returns who did.
func (h *hand) offer(node, n int) string {
	var who []string
	for range n {
		if !h.p.Order.Ranked(&policy.Offer{Now: h.now, Node: h.nodes[node]}, func(j *policy.Job) policy.Verdict {
			j.Want(0, -1)
			j.Hold(h.now, cluster.Unit)
			h.p.Order.Started(&policy.Event{Now: h.now, Job: j, Node: h.nodes[node], Size: cluster.Unit})
			who = append(who, j.ID)
			return policy.Took
		}) {
			break
		}
	}
	return strings.Join(who, " ")
}

func (h *hand) want(what, got, want string) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// Idle scale-out machines steal the job nearest to the boundary between the classes, and among equals the one that came first.
func TestStealsTheNearestToTheBoundary(t *testing.T) {
	h := newHand(t, hybrid.WhenIdle)
	for _, maps := range []int64{2, 5, 3, 5, 4} { // at 4.5, 1.5, 3.5, 1.5 and 2.5
		h.job(maps, 1)
	}
	h.want("stolen", h.offer(0, 9), "1 3 4 2 0")
}

// A job that has started is not stolen. A start that was undone does not count.
func TestStealsOnlyWhatHasNotStarted(t *testing.T) {
	h := newHand(t, hybrid.WhenIdle)
	j := h.job(3, 2)
	h.want("scale-up", h.offer(1, 1), "0")
	h.want("stolen after its start", h.offer(0, 1), "")
	j.Yield(0, 0, cluster.Unit)
	j.Want(0, 1)
	h.p.Order.Ended(&policy.Event{Job: j, Node: h.nodes[1], Size: cluster.Unit, Why: policy.Undone})
	h.want("stolen after its start was undone", h.offer(0, 9), "0 0")
}

// By default a job is stolen only if it finds no room on a scale-up machine.
func TestStealsWhatFindsNoRoom(t *testing.T) {
	h := newHand(t, hybrid.WhenFull)
	h.job(4, 4)
	h.job(3, 1)
	h.want("with room for four", h.offer(0, 1), "")
	h.want("scale-up", h.offer(1, 3), "0 0 0")
	h.want("with room for one", h.offer(0, 1), "")
	h.want("scale-up", h.offer(1, 1), "0")
	h.want("without room", h.offer(0, 9), "1")
	h.job(3, 1)
	h.jobs[0].Yield(0, 0, cluster.Unit)
	h.p.Order.Ended(&policy.Event{Job: h.jobs[0], Node: h.nodes[1], Size: cluster.Unit})
	h.want("with room again", h.offer(0, 1), "")
}

// A job that has left is not proposed any more, on either side, and does not keep scale-out machines from stealing.
func TestWhoHasLeft(t *testing.T) {
	for node, maps := range []int64{9, 3} { // on scale-out machines, on scale-up machines
		h := newHand(t, hybrid.WhenIdle)
		h.p.Order.Left(0, h.job(maps, 1))
		h.job(maps, 1)
		h.want("in the queue", h.offer(node, 9), "1")
	}
	h := newHand(t, hybrid.WhenIdle)
	h.p.Order.Left(0, h.job(9, 1))
	h.p.Order.Left(0, h.job(3, 1))
	h.job(3, 1)
	h.want("stolen", h.offer(0, 9), "2")
}

// at goes to an instant at which the policy is called if it asked to be, and says whether jobs may start that could not before.
func (h *hand) at(now unit.Time) (changed bool) {
	h.now = now
	_, changed = h.p.Timer.Tick(now)
	return changed
}

// A small job that has waited for 5 s and finds no room spills, the oldest first: a large one that waits does not keep it back.
func TestSpills(t *testing.T) {
	h := with(t, hybrid.Options{Spill: 5 * unit.Second})
	h.job(6, 6)
	h.want("scale-up", h.offer(1, 4), "0 0 0 0")
	h.job(30, 30)
	h.want("scale-out", h.offer(0, 1), "1")
	h.at(unit.Second)
	h.job(2, 2)
	h.job(5, 1) // nearer to the boundary, but later
	if again, changed := h.p.Timer.Tick(unit.Second); again != 6*unit.Second || changed {
		t.Errorf("asks for %v, changed %v", again, changed)
	}
	h.at(5 * unit.Second)
	h.want("after 4 s", h.offer(0, 1), "1")
	if !h.at(6 * unit.Second) {
		t.Error("at 6 s: nothing new")
	}
	h.offer(0, 1)
	if c := h.p.Order.(*hybrid.Order).Counts(); c.Spilled != 1 || c.Stolen != 1 {
		t.Errorf("%+v", c)
	}
	if side, _ := h.p.Order.(*hybrid.Order).SideOf(h.jobs[2]); side != hybrid.Out {
		t.Error("the oldest did not spill")
	}
	if side, _ := h.p.Order.(*hybrid.Order).SideOf(h.jobs[0]); side != hybrid.Up {
		t.Error("a job that has started spilled")
	}
}

// With room on a scale-up machine nothing spills.
func TestSpillsOnlyWithoutRoom(t *testing.T) {
	h := with(t, hybrid.Options{Spill: 5 * unit.Second})
	h.job(30, 30)
	h.job(2, 2)
	if h.at(unit.Minute) {
		t.Error("something could spill")
	}
	h.want("scale-out", h.offer(0, 1), "0")
}

// When large jobs have waited for 30 s and no small one waits, scale-up machines run their tasks on three quarters of their containers.
func TestHelps(t *testing.T) {
	h := with(t, hybrid.Options{Help: 30 * unit.Second})
	h.at(10 * unit.Second)
	h.job(30, 30)
	h.want("at once", h.offer(1, 9), "")
	if again, changed := h.p.Timer.Tick(10 * unit.Second); again != 40*unit.Second || changed {
		t.Errorf("asks for %v, changed %v", again, changed)
	}
	h.at(39 * unit.Second)
	h.want("after 29 s", h.offer(1, 9), "")
	small := h.job(2, 2)
	h.at(40 * unit.Second)
	h.want("while a small one waits", h.offer(1, 2), "1 1")
	if !h.p.Shifted() {
		t.Error("no small one waits any more: nothing new")
	}
	h.want("three of four", h.offer(1, 9), "0 0 0")
	end := func(j *policy.Job, n int) {
		for range n {
			j.Yield(h.now, h.now, cluster.Unit)
			h.p.Order.Ended(&policy.Event{Now: h.now, Job: j, Node: h.nodes[1], Size: cluster.Unit})
		}
	}
	end(small, 2)
	h.want("a quarter is left", h.offer(1, 9), "")
	if c := h.p.Order.(*hybrid.Order).Counts(); c.Helped != 3 || c.Stolen != 0 {
		t.Errorf("%+v", c)
	}
	// The time that they wait begins again when none waits.
	end(h.jobs[0], 3)
	h.p.Order.Left(h.now, h.jobs[0])
	h.job(30, 30)
	h.at(69 * unit.Second)
	h.want("of the next one", h.offer(1, 9), "")
	h.at(70 * unit.Second)
	if h.offer(1, 9) == "" {
		t.Error("no help after 30 s")
	}
}
