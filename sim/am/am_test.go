package am

import (
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var gb = unit.Resources{Mem: 1024, Cores: 1}

// A job of 100 maps on room for 20 containers, as its maps end; then what happens to jobs whose maps hang.
func TestReduces(t *testing.T) {
	busy := func(done, held, asked, reduces int64) State { // no headroom: the job's limit is what it holds
		return State{
			Map: gb, Reduce: gb, Cores: true, Maps: 100, MapsDone: done, MapsHeld: held, MapsWaiting: 100 - done - held, Started: done >= 5,
			Pending: 10 - asked - reduces, Asked: asked, ReduceHeld: reduces,
		}
	}
	with := func(s State, change func(*State)) State { change(&s); return s }
	for _, c := range []struct {
		name  string
		state State
		want  Decision
	}{
		{"slow-start holds reduces back", busy(4, 20, 0, 0), Decision{}},
		{"share of maps done", busy(10, 20, 0, 0), Decision{Ask: 2}},
		{"share of maps done, some asked for", busy(20, 19, 1, 1), Decision{Ask: 2}},
		{"at most the ramp-up limit", busy(70, 20, 0, 0), Decision{Ask: 10}},
		{"at most the ramp-up limit, many reduces", with(busy(70, 20, 0, 0), func(s *State) { s.Pending = 50 }), Decision{Ask: 10}},
		{"every map has a container", busy(80, 20, 0, 0), Decision{Ask: 10}},
		{"maps leave room", with(busy(10, 20, 0, 0), func(s *State) { s.MapsWaiting, s.Headroom = 2, gb.Times(20) }), Decision{Ask: 10}},
		{"headroom counts", with(busy(10, 20, 0, 0), func(s *State) { s.Headroom = gb.Times(20) }), Decision{Ask: 4}},
		{"room has shrunk", busy(20, 5, 4, 0), Decision{Ask: -3}},
		{"room has shrunk, reduces are there", busy(20, 5, 2, 3), Decision{Ask: -2}},
		{"cores do not count", with(busy(10, 20, 0, 0), func(s *State) { s.Cores, s.Reduce.Cores = false, 20 }), Decision{Ask: 2}},
		{"cores count", with(busy(10, 20, 0, 0), func(s *State) { s.Reduce.Cores = 20 }), Decision{}},
		{"nothing asked for in a part", with(busy(10, 20, 0, 0), func(s *State) { s.Reduce.Cores, s.Map.Cores = 0, 0 }), Decision{Ask: 2}},
		{"all are asked for", with(busy(50, 20, 10, 0), func(s *State) { s.Pending = 0 }), Decision{}},

		{"maps hang: half of the room", busy(50, 0, 2, 8), Decision{Ask: -2, Kill: 4}},
		{"maps hang: no more than they need", with(busy(50, 0, 2, 8), func(s *State) { s.MapsWaiting = 1 }), Decision{Ask: -2, Kill: 1}},
		{"maps hang: one map's worth", with(busy(50, 0, 0, 3), func(s *State) { s.Map = gb.Times(2) }), Decision{Kill: 2}},
		{"room for a map", with(busy(50, 0, 0, 8), func(s *State) { s.Headroom = gb }), Decision{}},
		{"room for a map that reduces will take", with(busy(50, 0, 1, 8), func(s *State) { s.Headroom = gb }), Decision{Ask: -1, Kill: 5}},
		{"room for a map for too long", with(busy(50, 0, 0, 8), func(s *State) { s.Headroom, s.Waited = gb, 301*unit.Second }), Decision{Kill: 5}},
		{"no container yet", with(busy(0, 0, 0, 0), func(s *State) { s.Started = true }), Decision{}},
	} {
		config := Defaults()
		if got := config.Reduces(&c.state); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	config := Defaults()
	config.PreemptDelay = unit.Minute
	hang := busy(50, 0, 2, 8)
	hang.Waited = unit.Minute
	if got := config.Reduces(&hang); got.Kill != 0 {
		t.Errorf("before the delay: %+v", got)
	}
	if hang.Waited++; config.Reduces(&hang).Kill != 4 {
		t.Errorf("after the delay: %+v", config.Reduces(&hang))
	}
}

func TestReached(t *testing.T) {
	for _, c := range []struct {
		slowStart  float64
		done, maps int64
		want       bool
	}{{0, 0, 10, true}, {0.05, 0, 10, false}, {0.05, 1, 10, true}, {1, 9, 10, false}, {1, 10, 10, true}, {0.05, 0, 0, true}} {
		if got := Reached(c.slowStart, c.done, c.maps); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestIsMapReduce(t *testing.T) {
	stage := func(k workload.Kind, from ...int) workload.Stage {
		s := workload.Stage{Kind: k}
		for _, f := range from {
			s.After = append(s.After, workload.Edge{From: f})
		}
		return s
	}
	m, r := workload.Map, workload.Reduce
	for _, c := range []struct {
		stages []workload.Stage
		want   bool
	}{
		{[]workload.Stage{stage(m)}, true},
		{[]workload.Stage{stage(m), stage(r, 0)}, true},
		{[]workload.Stage{stage(m), stage(m), stage(r, 0, 1), stage(r, 1)}, true},
		{[]workload.Stage{stage(m), stage(r, 0), stage(r, 1)}, false},
		{[]workload.Stage{stage(m), stage(m, 0)}, false},
		{[]workload.Stage{stage(m), stage(workload.Other, 0)}, false},
	} {
		if got := IsMapReduce(&workload.Job{Stages: c.stages}); got != c.want {
			t.Errorf("%+v: %v", c.stages, got)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, change := range []func(*Settings){
		func(s *Settings) { s.RampUpLimit = 1.1 }, func(s *Settings) { s.PreemptionLimit = -0.1 }, func(s *Settings) { s.PreemptDelay = -1 },
		func(s *Settings) { s.UnconditionalPreemptDelay = 2 * unit.Day },
	} {
		s := Defaults()
		if change(&s); s.Validate() == nil {
			t.Errorf("%+v is valid", s)
		}
	}
	if s := Defaults(); s.Validate() != nil {
		t.Error(s.Validate())
	}
}
