package planned_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/unit"
)

// hand is an engine by hand: racks of one node, and jobs of maps that the plan does not know.
type hand struct {
	t     *testing.T
	p     policy.Policy
	racks []policy.Node
	jobs  int32
}

func newHand(t *testing.T, racks int, adHoc plan.AdHoc) *hand {
	return planHand(t, &plan.Plan{Racks: make([]plan.Sequence, racks), AdHoc: adHoc})
}

func planHand(t *testing.T, p *plan.Plan) *hand {
	racks := len(p.Racks)
	h := &hand{t: t, p: planned.New(p)}
	c := policy.Cluster{Nodes: racks, Room: func(int32, uint8) unit.Resources { return one.Times(9) }}
	for i := range int32(racks) {
		h.racks = append(h.racks, policy.Node{Index: i, Rack: i})
		c.Racks, c.Working = append(c.Racks, i), append(c.Working, 1)
	}
	h.p.Order.Resized(0, c)
	return h
}

func (h *hand) job(id string, maps int64, input unit.Bytes) *policy.Job {
	h.t.Helper()
	j := &policy.Job{ID: id, Index: h.jobs, Seq: int64(h.jobs), Tasks: maps, Input: input, Ask: one,
		Stages: []policy.Stage{{Tasks: maps, Pending: maps, Ask: one}}}
	h.jobs++
	j.Want(policy.MapSlot, maps)
	if err := h.p.Order.Arrived(0, j); err != nil {
		h.t.Fatal(err)
	}
	return j
}

// start runs maps of a job in a rack, whatever the order thinks of it.
func (h *hand) start(j *policy.Job, rack, n int) {
	for range n {
		j.Want(policy.MapSlot, -1)
		j.Stages[0].Pending, j.Stages[0].Running = j.Stages[0].Pending-1, j.Stages[0].Running+1
		j.Hold(0, one)
		h.p.Order.Started(&policy.Event{Job: j, Node: &h.racks[rack], Size: one})
	}
}

// end ends maps of a job in a rack.
func (h *hand) end(j *policy.Job, rack, n int) {
	for range n {
		j.Stages[0].Running, j.Stages[0].Done = j.Stages[0].Running-1, j.Stages[0].Done+1
		j.Yield(0, 0, one)
		h.p.Order.Ended(&policy.Event{Job: j, Node: &h.racks[rack], Size: one})
	}
}

// first is the job that is proposed first for a container of a rack.
func (h *hand) first(rack int) (id string) {
	h.p.Order.Ranked(&policy.Offer{Node: &h.racks[rack]}, func(j *policy.Job) policy.Verdict {
		id = j.ID
		return policy.Enough
	})
	return id
}

// A rack that runs a job with a presumed large shuffle goes on with it only while it holds fewer containers than any small job
// that waits; of several, with the one that holds fewest. Another rack prefers such jobs.
func TestLargeJobsGoOnInTheirRacks(t *testing.T) {
	for _, x := range []struct {
		large []int // containers held by large jobs, all in rack 0
		small int   // by the small job, in rack 2
		want  [2]string
	}{
		{[]int{2}, 3, [2]string{"large0", "large0"}},
		{[]int{2}, 2, [2]string{"small", "large0"}},
		{[]int{2}, 1, [2]string{"small", "large0"}},
		{[]int{2, 1}, 3, [2]string{"large1", "large1"}},
		{[]int{1, 2}, 3, [2]string{"large0", "large0"}},
		{[]int{2, 0}, 3, [2]string{"large0", "large1"}}, // the other one runs nothing here
		{[]int{0}, 1, [2]string{"large0", "large0"}},    // nothing large runs here
	} {
		h := newHand(t, 3, plan.AdHoc{HeavyInput: gb})
		for i, held := range x.large {
			h.start(h.job(fmt.Sprint("large", i), 9, gb+1), 0, held)
		}
		h.start(h.job("small", 9, gb), 2, x.small)
		if got := [2]string{h.first(0), h.first(1)}; got != x.want {
			t.Errorf("large jobs hold %v, the small one %d: %v, want %v", x.large, x.small, got, x.want)
		}
	}
}

// A limited job outside the plan has one rack for every two maps, as the planned ones have, and at least one: the first replica
// of its input lies there, and the others in as many other racks, if there are so many.
func TestInputOfLimitedJobs(t *testing.T) {
	for _, x := range []struct {
		racks         int
		maps          int64
		first, others int
	}{
		{6, 4, 2, 2}, {6, 5, 3, 3}, {6, 1, 1, 1}, {3, 4, 2, 1}, {3, 6, 3, 0}, {3, 99, 3, 0},
	} {
		h := newHand(t, x.racks, plan.AdHoc{HeavyInput: gb, MapRacks: 0.5})
		first, others := h.p.Input(h.job("a", x.maps, 1))
		seen := map[int32]bool{}
		for _, r := range append(append([]int32{}, first...), others...) {
			seen[r] = true
		}
		if len(first) != x.first || len(others) != x.others || len(seen) != x.first+x.others {
			t.Errorf("%d maps in %d racks: input in %v, then %v", x.maps, x.racks, first, others)
		}
	}
}

// A rack does not go on with a large job all of whose tasks there have ended.
func TestLargeJobsThatHaveLeftARack(t *testing.T) {
	h := newHand(t, 3, plan.AdHoc{HeavyInput: gb})
	gone, here := h.job("gone", 9, 2*gb), h.job("here", 9, 2*gb)
	h.start(h.job("small", 9, 1), 2, 5)
	h.start(gone, 0, 3)
	h.start(here, 0, 4)
	for _, x := range []struct {
		ends int
		want string
	}{{1, "gone"}, {1, "gone"}, {1, "here"}} {
		if h.end(gone, 0, x.ends); h.first(0) != x.want {
			t.Errorf("while it runs %d maps: %s, want %s", gone.Running, h.first(0), x.want)
		}
	}
}

// A limited job outside the plan runs in the first racks that it started in, as many as it may have, however many maps it has in
// each.
func TestLimitedJobsKeepTheirRacks(t *testing.T) {
	h := newHand(t, 3, plan.AdHoc{HeavyInput: gb, MapRacks: 0.25})
	j := h.job("a", 8, 1) // two racks, of any three that have its input
	for _, step := range []struct {
		rack, starts int
		want         [3]string // where it may start then
	}{{0, 2, [3]string{"a", "a", "a"}}, {2, 1, [3]string{"a", "", "a"}}, {2, 2, [3]string{"a", "", "a"}}} {
		h.start(j, step.rack, step.starts)
		if got := [3]string{h.first(0), h.first(1), h.first(2)}; got != step.want {
			t.Errorf("after %d more in rack %d: %q, want %q", step.starts, step.rack, got, step.want)
		}
	}
}

// The input of a planned job lies in the racks of its maps, in each as much as it has maps there: a share for each map, of at
// most 1024.
func TestInputOfPlannedJobs(t *testing.T) {
	for _, x := range []struct{ maps, want [2]int64 }{
		{[2]int64{4, 2}, [2]int64{4, 2}}, {[2]int64{3072, 1024}, [2]int64{768, 256}}, {[2]int64{4095, 1}, [2]int64{1023, 1}},
	} {
		p := &plan.Plan{Racks: make([]plan.Sequence, 3)}
		p.Jobs = []plan.Placed{{ID: "a", Maps: x.maps[0] + x.maps[1], MapRacks: []int32{0, 1}}}
		for r, n := range x.maps {
			p.Racks[r].Run = []plan.Entry{{Job: "a", Count: n}}
		}
		made := planned.New(p)
		j := &policy.Job{ID: "a", Stages: []policy.Stage{{}}}
		if err := made.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		first, others := made.Input(j)
		var got [2]int64
		for _, r := range first {
			got[r]++
		}
		if got != x.want || len(others) != 1 || others[0] != 2 {
			t.Errorf("maps %v: shares %v, others in %v", x.maps, got, others)
		}
	}
}

// circuits is a plan for circuits of one rack: a job with a large shuffle and 6 maps, then one with 2, and a small one.
func circuits(s plan.Settings) *plan.Plan {
	s.Planner = plan.JobPacker
	return &plan.Plan{Settings: s, Aggregate: true, Jobs: []plan.Placed{
		{ID: "large", Heavy: true, Maps: 6, MapRacks: []int32{0}}, {ID: "short", Heavy: true, Maps: 2, MapRacks: []int32{0}}, {ID: "light", Maps: 3, MapRacks: []int32{0}},
	}, Racks: []plan.Sequence{{Run: []plan.Entry{{Job: "large", Count: 6}, {Job: "short", Count: 2}, {Job: "light", Count: 3}}}, {}}}
}

// In a plan for circuits a job without a large shuffle runs in any rack, before a planned job that holds more containers; its input lies where the plan says.
func TestLightJobsRunAnywhere(t *testing.T) {
	h := planHand(t, circuits(plan.Settings{}))
	large, light := h.job("large", 6, 9), h.job("light", 3, 9)
	if got := [2]string{h.first(0), h.first(1)}; got != [2]string{"large", "light"} {
		t.Errorf("at first: %v", got)
	}
	h.start(large, 0, 1)
	if got := h.first(0); got != "light" {
		t.Errorf("while the large one holds more: %s", got)
	}
	h.start(light, 1, 1)
	if got := h.first(0); got != "large" {
		t.Errorf("while it holds as much: %s", got)
	}
	if first, _ := h.p.Input(light); len(first) == 0 || slices.Contains(first, 1) {
		t.Errorf("its input lies in %v", first)
	}
}

// Online, a rack runs the smaller of the planned jobs that can run, unless the plan's order counts; in a batch it does.
func TestSmallerJobsFirstOnline(t *testing.T) {
	for _, x := range []struct {
		s    plan.Settings
		want string
	}{{plan.Settings{Online: true}, "short"}, {plan.Settings{Online: true, InOrder: true}, "large"}, {plan.Settings{}, "large"}} {
		h := planHand(t, circuits(x.s))
		h.job("large", 6, 9)
		h.job("short", 2, 9)
		if got := h.first(0); got != x.want {
			t.Errorf("%+v: %s, want %s", x.s, got, x.want)
		}
	}
}
