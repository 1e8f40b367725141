package deadline

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(b)) }

func seconds(list ...float64) (sum unit.Time) {
	for _, s := range list {
		sum += unit.FromSeconds(s)
	}
	return sum
}

// Needs of a job in seconds, by hand.
func TestNeed(t *testing.T) {
	const now = 1000 * unit.Second
	four := []float64{10, 12, 8, 10}
	for _, c := range []struct {
		name           string
		done, elapsed  []float64
		unstarted      int64
		until          unit.Time
		literal        bool
		left, sum, req float64
	}{
		{"some running", four, []float64{4, 6}, 18, 50, false, 190, 10, 1.8},
		{"overdue, literal", four, []float64{15, 6}, 18, 50, true, 179, -1, 1.58},
		{"overdue, clamped", four, []float64{15, 6}, 18, 50, false, 184, 4, 1.68},
		{"surplus", four, []float64{4, 6}, 2, 200, false, 30, 10, -1.85},
		{"none running", []float64{30}, nil, 100, 600, false, 3000, 0, 5},
		{"one launched", []float64{30}, []float64{0}, 99, 600, false, 3000, 30, 4},
		{"five launched", []float64{30}, make([]float64, 5), 95, 600, false, 3000, 150, 0},
		{"nothing left to start", []float64{20, 20}, []float64{5, 5, 5}, 0, 10, false, 45, 45, 1.5},
	} {
		mean := float64(seconds(c.done...)) / float64(len(c.done))
		var r Running
		for i := range c.elapsed { // oldest last, as events may come
			r.Add(now - seconds(c.elapsed[i]))
		}
		sum := r.Left(now, mean, !c.literal)
		w := Work{Left: sum + float64(c.unstarted)*mean, Running: int64(len(c.elapsed)), Unstarted: c.unstarted}
		if !near(sum/1e6, c.sum) || !near(w.Left/1e6, c.left) {
			t.Errorf("%s: running %v s, left %v s, want %v and %v", c.name, sum/1e6, w.Left/1e6, c.sum, c.left)
		}
		if got := w.Need(now, now+c.until*unit.Second); !near(got, c.req) {
			t.Errorf("%s: needs %v, want %v", c.name, got, c.req)
		}
	}
	// 190 s of work on 60 containers, 100 s after the submission.
	if got := (Work{Left: 190e6}).End(100*unit.Second, 60) / 1e6; math.Abs(got-103.17) > 0.005 {
		t.Errorf("it ends at %v s, want 103.17", got)
	}
	if got := (Work{Running: 3, Unstarted: 7}).Need(now, unit.Never); got != -3 {
		t.Errorf("without a goal: %v", got)
	}
	if got := (Work{Running: 3, Unstarted: 7}).Need(now, now); got != 7 {
		t.Errorf("a goal that cannot be met: %v", got)
	}
}

// The running sum equals the definition, whatever comes and goes.
func TestPropertyRunning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Running
		var model []unit.Time
		now := unit.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += unit.Time(rapid.IntRange(0, 5).Draw(t, "time"))
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1, 2:
				at := now - unit.Time(rapid.IntRange(0, 3).Draw(t, "ago"))
				r.Add(at)
				model = append(model, at)
			case 3, 4:
				if len(model) > 0 {
					i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
					r.Remove(model[i])
					model = append(model[:i], model[i+1:]...)
				}
			case 5:
				n := rapid.IntRange(0, len(model)).Draw(t, "how many")
				slices.Sort(model)
				r.Drop(n)
				model = model[n:]
			default:
				r.Restart(now)
				for i := range model {
					model[i] = now
				}
			}
			mean := rapid.Float64Range(0, 20).Draw(t, "mean")
			var clamped, literal float64
			for _, s := range model {
				clamped += max(0, mean-float64(now-s))
				literal += mean - float64(now-s)
			}
			if got := r.Left(now, mean, true); !near(got, clamped) {
				t.Fatalf("clamped: %v, want %v", got, clamped)
			}
			if got := r.Left(now, mean, false); !near(got, literal) {
				t.Fatalf("literal: %v, want %v", got, literal)
			}
			if r.Len() != len(model) {
				t.Fatalf("%d, want %d", r.Len(), len(model))
			}
		}
	})
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		now       float64
		estimated bool
		want      State
	}{
		{0, false, NoData}, {5, false, NoData}, {9, true, Adjust}, {99.999, true, Adjust}, {100, true, Missed}, {130, true, Missed}, {100, false, Missed},
	} {
		if got := StateOf(unit.FromSeconds(c.now), 100*unit.Second, c.estimated); got != c.want {
			t.Errorf("at %v: %v, want %v", c.now, got, c.want)
		}
	}
}

func TestLateness(t *testing.T) {
	const now = 120 * unit.Second
	x := func(running int64) float64 {
		return Work{Left: 60e6, Running: running}.Lateness(now, 0, 100*unit.Second, true)
	}
	for running, want := range map[int64]float64{2: -0.50, 3: -0.40, 4: -0.35, 5: -0.32} {
		if got := x(running); !near(got, want) {
			t.Errorf("X with %d: %v, want %v", running, got, want)
		}
	}
	y := Work{Left: 30e6, Running: 3}.Lateness(now, 50*unit.Second, 110*unit.Second, true)
	if math.Abs(y+1.0/3) > 1e-9 || x(4) > y || x(5) < y {
		t.Errorf("Y: %v", y)
	}
	if !math.IsInf(x(0), -1) || !math.IsInf(Work{Left: 1, Running: 1}.Lateness(now, 0, 1, false), -1) {
		t.Error("a job that holds nothing, or of which nothing is known, is infinitely late")
	}
}

// What is set aside for reduces, either way.
func TestReserve(t *testing.T) {
	j := &policy.Job{Deadline: 1000 * unit.Second, Tasks: 730, Pending: 600, Stages: []policy.Stage{
		{Tasks: 601, Pending: 600, Done: 1, Worked: 20 * unit.Second},
		{Tasks: 130, Pending: 130, Later: 130, Slot: policy.ReduceSlot, After: []workload.Edge{{From: 0}}},
	}}
	j.Waiting[policy.MapSlot] = 600
	for mode, want := range map[bool]float64{false: 13.187, true: 15.9} {
		s := Defaults()
		s.CostRatio, s.WorkMode = 1.5, mode
		o := New(s)
		o.Resized(0, policy.Cluster{Slots: [policy.Slots]int64{600, 60}})
		if err := o.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		w, aim, estimated := o.work(0, j, policy.MapSlot)
		if got := w.Need(0, aim); !estimated || math.Abs(got-want) > 5e-4 {
			t.Errorf("work mode %v: %v, want %v", mode, got, want)
		}
	}
}

// Reduces that hold containers while they wait for maps have all of their work before them, however long ago they started; once
// the maps are done, what they have worked since counts.
func TestReducesThatWaitForMaps(t *testing.T) {
	const now = 100 * unit.Second
	j := &policy.Job{Deadline: 1000 * unit.Second, Tasks: 7, Stages: []policy.Stage{
		{Tasks: 2, Done: 1, Running: 1, Worked: 20 * unit.Second},
		{Tasks: 5, Pending: 5, Slot: policy.ReduceSlot, After: []workload.Edge{{From: 0}}},
	}}
	j.Want(policy.ReduceSlot, 5)
	o := New(Defaults())
	o.Resized(0, policy.Cluster{Slots: [policy.Slots]int64{60, 60}})
	if err := o.Arrived(0, j); err != nil {
		t.Fatal(err)
	}
	maps, reduces := &j.Stages[0], &j.Stages[1]
	for range 2 {
		j.Want(policy.ReduceSlot, -1)
		reduces.Pending, reduces.Running = reduces.Pending-1, reduces.Running+1
		o.Started(&policy.Event{Now: now - 15*unit.Second, Job: j, Stage: 1})
	}
	left := func(at unit.Time, want float64) {
		t.Helper()
		if w, _, _ := o.work(at, j, policy.ReduceSlot); w.Left != want*1e6 || w.Running != 2 || w.Unstarted != 3 {
			t.Errorf("at %v: %v s left, %d running, %d unstarted, want %v s, 2 and 3", at, w.Left/1e6, w.Running, w.Unstarted, want)
		}
	}
	left(now, 3*20+2*20)
	maps.Running, maps.Done, maps.Worked = 0, 2, 40*unit.Second
	o.Ended(&policy.Event{Now: now, Job: j, Stage: 0, Held: unit.Second, Worked: 20 * unit.Second})
	left(now, 3*20+2*20)
	left(now+5*unit.Second, 3*20+2*15)
}

// A job aims at its goal; with a tail guard earlier, by its longest finished task. Maps aim at what the reduces leave of it.
func TestAim(t *testing.T) {
	for _, x := range []struct {
		guard   bool
		reduces int64
		want    unit.Time
	}{
		{false, 0, 1000}, {true, 0, 970}, {false, 120, 960}, {true, 120, 930}, // two waves of 20 s
	} {
		s := Defaults()
		s.TailGuard = x.guard
		o := New(s)
		o.Resized(0, policy.Cluster{Slots: [policy.Slots]int64{60, 60}})
		j := &policy.Job{Deadline: 1000 * unit.Second, Stages: []policy.Stage{{Tasks: 10, Pending: 10}}}
		if x.reduces > 0 {
			j.Stages = append(j.Stages, policy.Stage{Tasks: x.reduces, Pending: x.reduces, Later: x.reduces, Slot: policy.ReduceSlot,
				After: []workload.Edge{{}}})
		}
		j.Want(policy.MapSlot, 10)
		if err := o.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		for _, e := range []policy.Event{{Worked: 10}, {Worked: 30}, {Worked: 20}, {Worked: 99, Why: policy.Lost}} {
			e.Job, e.Worked = j, e.Worked*unit.Second
			if m := &j.Stages[0]; e.Why == policy.Done {
				m.Pending, m.Done, m.Worked = m.Pending-1, m.Done+1, m.Worked+e.Worked
			}
			o.Ended(&e)
		}
		if _, aim, _ := o.work(0, j, policy.MapSlot); aim != x.want*unit.Second {
			t.Errorf("tail guard %v, %d reduces: aims at %v, want %d s", x.guard, x.reduces, aim, x.want)
		}
	}
}

// The order of serving, and what each mode gives away.
func TestShare(t *testing.T) {
	const now, goal = 100 * unit.Second, 200 * unit.Second
	claim := func(need float64, running int64) Claim {
		return Claim{Work: Work{Left: (need + float64(running)) * float64(goal-now), Running: running, Unstarted: 60}, Goal: goal, Aim: goal, Estimated: true}
	}
	for _, c := range []struct {
		free     int
		min, max [3]int64
	}{
		{2, [3]int64{2, 0, 0}, [3]int64{2, 0, 0}}, {5, [3]int64{2, 1, 0}, [3]int64{3, 2, 0}}, {8, [3]int64{2, 1, 0}, [3]int64{5, 3, 0}},
	} {
		for mode, want := range map[bool][3]int64{true: c.min, false: c.max} {
			s, free := Defaults(), c.free
			s.Min = mode
			got := s.Share(now, []Claim{claim(1.8, 0), claim(0.4, 0), claim(-3, 4)}, func(int) bool { free--; return free >= 0 })
			if [3]int64(got) != want {
				t.Errorf("%d free, min mode %v: %v, want %v", c.free, mode, got, want)
			}
		}
	}
	for _, mode := range []bool{true, false} { // one without data takes all it can start, and the others the rest
		s, free := Defaults(), 60
		s.Min = mode
		list := []Claim{claim(1.8, 0), claim(0.4, 0), {Work: Work{Unstarted: 40}, Goal: goal, Aim: goal}}
		got := s.Share(now, list, func(int) bool { free--; return free >= 0 })
		if got[2] != 40 || mode && (got[0] != 2 || got[1] != 1) || !mode && got[0]+got[1] != 20 {
			t.Errorf("min mode %v: %v", mode, got)
		}
	}
	names := []string{"A", "B", "C", "D", "E"}
	list := map[string]*Claim{}
	for i, c := range []Claim{claim(9, 0), {Submitted: 50, Goal: goal}, {Submitted: 40, Goal: goal}, {Goal: now, Estimated: true}, claim(-1, 2)} {
		list[names[i]] = &c
	}
	slices.SortFunc(names, func(a, b string) int { return list[a].Compare(list[b], now) })
	if got := strings.Join(names, " "); got != "D C B A E" {
		t.Errorf("order %s", got)
	}
	// Of equal needs the earlier goal comes first, then the earlier submission.
	early, late := claim(1, 0), claim(1, 0)
	late.Goal++
	if early.Compare(&late, now) >= 0 || late.Compare(&early, now) <= 0 {
		t.Error("the later goal comes first")
	}
	early, late = claim(1, 0), claim(1, 0)
	late.Submitted++
	if early.Compare(&late, now) >= 0 || late.Compare(&early, now) <= 0 || early.Compare(&early, now) != 0 {
		t.Error("the later submission comes first")
	}
}
