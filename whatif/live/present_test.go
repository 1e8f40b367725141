package live

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// What an application holds and waits for says how far it is: of maps, all that are not seen are done; reduces are requested a few
// at a time.
func TestPresent(t *testing.T) {
	gb := unit.Resources{Mem: 1024, Cores: 1}
	stage := func(kind workload.Kind, tasks int64, after ...workload.Edge) workload.Stage {
		return workload.Stage{Kind: kind, Tasks: tasks, Ask: gb, After: after, Length: workload.Fixed(10 * unit.Second)}
	}
	stages := []workload.Stage{stage(workload.Map, 10), stage(workload.Reduce, 4, workload.Edge{})}
	h := Learn(workload.Slice{{User: "u", Queue: "q", AM: gb, Stages: stages}})
	mapper, reducer := Container{Priority: 20, Size: gb}, Container{Priority: 10, Size: gb}
	asks := func(priority int32, n int64, size int64) rm.Ask {
		return rm.Ask{Priority: priority, Place: rm.Anywhere, Count: n, Size: gb.Times(size)}
	}
	for _, x := range []struct {
		name string
		app  App
		done []int64
		size []int64 // GiB of a task
	}{
		{"maps run and wait", App{Held: []Container{mapper, mapper}, Asks: []rm.Ask{asks(20, 3, 1)}}, []int64{5, 0}, []int64{1, 1}},
		{"the last map runs", App{Held: []Container{mapper}, Asks: []rm.Ask{asks(10, 1, 3)}}, []int64{9, 0}, []int64{1, 3}},
		{"maps and reduces wait", App{Asks: []rm.Ask{asks(20, 4, 2), asks(10, 1, 3)}}, []int64{6, 0}, []int64{2, 3}},
		{"reduces run", App{Held: []Container{reducer, reducer}}, []int64{10, 2}, []int64{1, 1}},
		{"only progress is known", App{Progress: 0.5, Asks: []rm.Ask{asks(20, 0, 1)}}, []int64{5, 2}, []int64{1, 1}},
	} {
		a := x.app
		a.User, a.Queue, a.AM, a.Up = "u", "q", gb, true
		s := &study{v: &View{Now: 100 * unit.Second}, h: h, tasks: 100}
		out, capped := s.present(&prospect{app: &a, donors: []int32{0}, weight: []float64{1}, order: []int{0}}, 0, []float64{1}, 1)
		if !slices.Equal(out.Done, x.done) || capped {
			t.Errorf("%s: done %v, want %v; capped %v", x.name, out.Done, x.done, capped)
		}
		for i, want := range x.size {
			if got := out.Job.Stages[i].Ask; got != gb.Times(want) {
				t.Errorf("%s: a task of stage %d asks for %v, want %v", x.name, i, got, gb.Times(want))
			}
		}
	}
}

// What containers that are held have had so far is not of the past.
func TestDone(t *testing.T) {
	a := App{Service: 100_000, Held: []Container{
		{Since: 60 * unit.Second, Size: unit.Resources{Mem: 1000}}, {Since: 90 * unit.Second, Size: unit.Resources{Mem: 2000}},
	}}
	if got := a.done(100 * unit.Second); got != 40_000 {
		t.Errorf("%v MiB-seconds, want 100,000 less 40 s of 1000 MiB and 10 s of 2000", got)
	}
}

// A single application is read, with its progress: all of it, or none if it makes no sense.
func TestTakeOne(t *testing.T) {
	for percent, want := range map[float64]float64{-1: 0, 0: 0, 25: 0.25, 100: 1, 101: 0} {
		v := View{Cluster: cluster.Uniform(1, 1, unit.Resources{Mem: 4096, Cores: 4})}
		v.take([]rest.App{{ID: "a", StartedTime: 1000, ElapsedTime: 5000, Progress: percent}}, nil, nil, nil)
		if len(v.Apps) != 1 || v.Apps[0].Progress != want || v.Now != 5*unit.Second {
			t.Errorf("%v %%: %+v at %v", percent, v.Apps, v.Now)
		}
	}
}

// Nodes that run and have room are taken, however few; others are not.
func TestTakeNodes(t *testing.T) {
	node := func(id, state string, mb, cores int64) rest.Node {
		return rest.Node{ID: id, State: state, Rack: "/r", AvailMemoryMB: mb, AvailableVirtualCores: cores}
	}
	var v View
	ids, places, err := v.takeNodes([]rest.Node{
		node("a:1", "LOST", 4096, 4), node("b:1", "RUNNING", 0, 4), node("c:1", "RUNNING", 4096, 0), node("d:1", "RUNNING", 1, 1),
	})
	if err != nil || len(ids) != 1 || len(v.Cluster.Nodes) != 1 || ids["d:1"] != 0 ||
		places["d"] != rm.OnNode(0) || places["*"] != rm.Anywhere {
		t.Errorf("%v, %v, %v", ids, places, err)
	}
	if _, _, err := v.takeNodes([]rest.Node{node("a:1", "LOST", 4096, 4)}); err == nil {
		t.Error("nothing runs, and nobody says so")
	}
}

// Heartbeats of a long simulation are spaced, up to a twentieth of a task's mean length.
func TestPace(t *testing.T) {
	lengths := slices.Repeat([]unit.Time{100 * unit.Second}, 1000)
	s := &yarn.State{Apps: []yarn.Present{{Done: []int64{0}, Job: &workload.Job{Stages: []workload.Stage{
		{Tasks: 1000, Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Lengths{Kind: workload.List, Values: lengths}},
	}}}}}
	v := View{Cluster: cluster.Uniform(10, 1, unit.Resources{Mem: 10240, Cores: 10})}
	v.Timing.NodeHeartbeat, v.Timing.AMHeartbeat = unit.Second, 10*unit.Second
	// 100 of 1000 tasks run at once: 1000 s, with ten heartbeats a second.
	for most, want := range map[float64]unit.Time{1e6: unit.Second, 1e4: unit.Second, 5000: 2 * unit.Second, 100: 5 * unit.Second} {
		if got := v.pace(s, most); got.NodeHeartbeat != want || got.AMHeartbeat != 10*unit.Second {
			t.Errorf("at most %v: %v and %v, want %v and 10 s", most, got.NodeHeartbeat, got.AMHeartbeat, want)
		}
	}
}
