package plan

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// layout is the racks of each planned job, maps and reduces, in the order of planning.
func layout(p *Plan) map[string][2][]int32 {
	out := map[string][2][]int32{}
	for _, j := range p.Jobs {
		out[j.ID] = [2][]int32{j.MapRacks, j.ReduceRacks}
	}
	return out
}

// Corral widens the job that is longest at the moment, the first of several, and keeps the narrowest widths among the best. Racks
// have ten containers, and maps take 10 s.
func TestCorralWidensTheLongest(t *testing.T) {
	maps := func(id string, n int64) Job { return Job{ID: id, Maps: n, MapTime: 10} }
	for _, x := range []struct {
		jobs     []Job
		online   bool
		racks    int
		want     map[string]int
		makespan float64
	}{
		// 60 s and 10 s in a rack each. With two racks the first takes 30 s; with all three 20 s, and the other one follows: 30 s as
		// well. (To widen the shorter one first would end at 30 s with both in all racks.)
		{[]Job{maps("short", 10), maps("long", 60)}, false, 3, map[string]int{"short": 1, "long": 2}, 30},
		// 20 s and 20 s in a rack each. Either gains from a second rack, and then there is none left for the other.
		{[]Job{maps("b", 20), maps("a", 20)}, true, 3, map[string]int{"a": 2, "b": 1}, 20},
	} {
		p, err := New(context.Background(), Cluster{Racks: racks(x.racks, 10), Uplink: 1}, x.jobs,
			Settings{Planner: Corral, Online: x.online})
		if err != nil {
			t.Fatal(err)
		}
		for id, racks := range layout(p) {
			if len(racks[0]) != x.want[id] {
				t.Errorf("job %s has racks %v, want %d of them", id, racks[0], x.want[id])
			}
		}
		near(t, "makespan", p.Makespan, x.makespan)
	}
}

// A list schedule on three racks by hand: jobs take the racks that are free first. Online a job does not start before it is
// there, and what counts is the total of the times from arrival to end.
func TestCorralListSchedule(t *testing.T) {
	job := func(id string, submit float64, racks int, length float64) *wide {
		return &wide{profile: &profile{Job: &Job{ID: id, Submit: submit}}, racks: racks, lengths: []float64{length, length, length}}
	}
	list := []*wide{job("a", 5, 2, 10), job("b", 6, 1, 30), job("c", 7, 2, 25)}
	free := make([]float64, 3)
	near(t, "batch", corralCost(list, free, false), 35)           // a 0 to 10, b 0 to 30, c 10 to 35 on the racks of a
	near(t, "online", corralCost(list, free, true), 10+30+(40-7)) // a 5 to 15, b 6 to 36, c 15 to 40
	slices.Reverse(list)
	near(t, "online, reversed", corralCost(list, free, true), 25+30+(42-5)) // c 7 to 32, b 6 to 36, a 32 to 42
	turns := []*wide{job("b", 0, 1, 5), job("a", 0, 1, 5), job("long", 0, 1, 9), job("wide", 0, 2, 1)}
	slices.SortFunc(turns, widerFirst)
	got := ""
	for _, w := range turns {
		got += w.ID + " "
	}
	if got != "wide long a b " {
		t.Errorf("order %s", got)
	}
}

// The racks for n tasks in r racks are those that first have ceil(n/r) containers free, or all if a rack has fewer; ties by
// number.
func TestSoonestRacks(t *testing.T) {
	table := timetable{{0, 9}, {1, 2}, {0, 8}, {1, 9}}
	for _, x := range []struct {
		n    int64
		r    int
		want []int
	}{
		{2, 2, []int{0, 2}}, // one in each: free at 0, 1, 0, 1
		{3, 2, []int{1, 2}}, // two in one of them: free at 9, 2, 8, 9
		{4, 2, []int{1, 2}},
		{4, 3, []int{0, 1, 2}}, // of the racks free at 9 the first
		{99, 1, []int{1}},
	} {
		if got := table.soonest(x.n, x.r, nil); !slices.Equal(got, x.want) {
			t.Errorf("%d tasks in %d racks: %v, want %v", x.n, x.r, got, x.want)
		}
	}
}

// Of the feasible pairs the one is taken that completes first, and among equals the one with fewer racks.
func TestPackerTakesTheEarliestPair(t *testing.T) {
	for _, x := range []struct {
		name       string
		containers int64
		job        Job
		pairs      []Pair
		want       Pair
		finish     float64
	}{
		{"more racks end earlier", 1, Job{Maps: 2, MapTime: 10, Reduces: 2, RedTime: 10}, []Pair{{1, 1}, {1, 2}, {2, 1}, {2, 2}},
			Pair{2, 2}, 20},
		{"fewer racks end later", 1, Job{Maps: 2, MapTime: 10, Reduces: 3, RedTime: 10}, []Pair{{1, 3}, {2, 1}}, Pair{1, 3}, 30},
		{"fewer racks among equals", 3, Job{Maps: 3, MapTime: 10, Reduces: 3, RedTime: 10}, []Pair{{1, 3}, {2, 1}}, Pair{2, 1}, 20},
		{"the first of equal size", 3, Job{Maps: 3, MapTime: 10, Reduces: 3, RedTime: 10}, []Pair{{1, 2}, {2, 1}}, Pair{1, 2}, 20},
	} {
		x.job.ID = x.name
		p := onePacker(Cluster{Racks: racks(3, x.containers), Uplink: 1})
		p.heavy(&profile{Job: &x.job, heavy: true, pairs: x.pairs}, 0)
		got := p.plan.Jobs[0]
		if (Pair{len(got.MapRacks), len(got.ReduceRacks)}) != x.want {
			t.Errorf("%s: maps in %v, reduces in %v, want %v", x.name, got.MapRacks, got.ReduceRacks, x.want)
		}
		near(t, x.name, got.Finish, x.finish)
	}
}

// onePacker is a packer on an empty cluster.
func onePacker(c Cluster) *packer {
	p := &packer{c: &c, t: newTimetable(&c), trial: newTimetable(&c), plan: &Plan{}}
	for i := range p.tasks {
		p.tasks[i] = make([]int64, len(c.Racks))
	}
	for _, r := range c.Racks {
		p.plan.Racks = append(p.plan.Racks, Sequence{Rack: r})
	}
	return p
}

// Reduces start when the shuffle is through: after the last map, and the bytes of the busiest port at the rate of the circuit, or
// of the uplink where flows are too small for circuits.
func TestReducesWaitForTheShuffle(t *testing.T) {
	for circuit, want := range map[float64]float64{0: 5 + 100/2. + 7, 50: 5 + 100/50. + 7} {
		p := onePacker(Cluster{Racks: racks(2, 1), Uplink: 2, Circuit: circuit, Elephant: 99})
		p.heavy(&profile{Job: &Job{ID: "a", Maps: 1, MapTime: 5, Reduces: 1, RedTime: 7, Shuffle: 100}, pairs: []Pair{{1, 1}}}, 0)
		got := p.plan.Jobs[0]
		if got.MapRacks[0] != 0 || got.ReduceRacks[0] != 1 {
			t.Errorf("maps in %v, reduces in %v, want them in the two racks", got.MapRacks, got.ReduceRacks)
		}
		near(t, "end", got.Finish, want)
		near(t, "the reduce's container is free", p.t[1][0], want)
	}
}

// The widest job comes first, then the longest, then by ID; online the earliest comes before all that.
func TestTurns(t *testing.T) {
	job := func(id string, submit, width, latency float64) *profile {
		return &profile{Job: &Job{ID: id, Submit: submit}, width: width, latency: latency}
	}
	list := []*profile{job("b", 3, 2, 5), job("a", 3, 2, 5), job("longer", 2, 2, 6), job("wider", 2, 3, 1), job("early", 1, 1, 1)}
	for _, x := range []struct {
		online bool
		want   string
	}{{false, "wider longer a b early"}, {true, "early wider longer a b"}} {
		var got []string
		for _, p := range ordered(list, &Settings{Online: x.online}) {
			got = append(got, p.ID)
		}
		if s := strings.Join(got, " "); s != x.want {
			t.Errorf("online %v: %s, want %s", x.online, s, x.want)
		}
	}
}

// Tetris by hand, in any two of the three dimensions. Of 8 and 16 units each of two parts has room for 4 and 8. The first takes
// a, which has the highest score, and the second b; it has the most left then, and takes d, the only one that fits. c fits
// nowhere, and goes to the first of two parts with as much left.
func TestSubBatchesByScore(t *testing.T) {
	demands := map[string][2]int64{"a": {2, 8}, "b": {4, 2}, "c": {2, 4}, "d": {0, 2}}
	for _, dims := range [][2]int{{0, 1}, {1, 2}, {2, 0}} {
		var jobs []*profile
		for _, id := range []string{"d", "c", "b", "a"} {
			var d [3]int64
			d[dims[0]], d[dims[1]] = demands[id][0], demands[id][1]
			jobs = append(jobs, &profile{Job: &Job{ID: id, Shuffle: float64(d[0]), Maps: d[1], Reduces: d[2]}})
		}
		for i, part := range subBatches(jobs, 2) {
			got := ""
			for _, j := range part {
				got += j.ID
			}
			if want := []string{"ac", "bd"}[i]; got != want {
				t.Errorf("dimensions %v: part %d has %s, want %s", dims, i, got, want)
			}
		}
	}
}

// Racks per task are the mean over the jobs that have such tasks.
func TestLimitAdHoc(t *testing.T) {
	p := Plan{Jobs: []Placed{
		{Maps: 4, MapRacks: []int32{0, 1}, Reduces: 2, ReduceRacks: []int32{0}},
		{Maps: 10, MapRacks: []int32{1}},
		{Reduces: 8, ReduceRacks: []int32{1, 2}},
	}}
	p.LimitAdHoc()
	near(t, "racks per map", p.AdHoc.MapRacks, (2/4.+1/10.)/2)
	near(t, "racks per reduce", p.AdHoc.ReduceRacks, (1/2.+2/8.)/2)
	p = Plan{}
	if p.LimitAdHoc(); p.AdHoc.MapRacks != 0 || p.AdHoc.ReduceRacks != 0 {
		t.Errorf("without jobs: %+v", p.AdHoc)
	}
}

// A wrong arrival is early as often as late, by at most Shift, and never before the start of the history.
func TestShiftedArrivals(t *testing.T) {
	var jobs []*workload.Job
	for range 4000 {
		jobs = append(jobs, mapReduce("j", 50*unit.Second, 1, 1))
	}
	var early, start float64
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range Forecast(jobs, 0, Errors{Shifted: 1, Shift: 100}) {
		least, most = min(least, p.Submit), max(most, p.Submit)
		if p.Submit < 50 {
			early++
		}
		if p.Submit == 0 {
			start++
		}
	}
	// Uniform between -50 and 150: a quarter would be before 0.
	if math.Abs(early/4000-0.5) > 0.05 || math.Abs(start/4000-0.25) > 0.05 || least != 0 || most > 150 || most < 149 {
		t.Errorf("%v of 4000 arrive early, %v at 0; from %v to %v", early, start, least, most)
	}
}
