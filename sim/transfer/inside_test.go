package transfer

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

func TestDefaults(t *testing.T) {
	for in, want := range map[Options]Options{
		{}: {Pairs: 32, Copiers: 5, Steps: 20, Tolerance: 0.01},
		{Pairs: -1, Copiers: -1, Steps: -1, Tolerance: -1}:                          {Pairs: math.MaxInt64, Copiers: 5, Steps: 20, Tolerance: -1},
		{Pairs: 1, Copiers: 1, Steps: 1, Tolerance: 0.5, Racks: true, Congested: 1}: {Pairs: 1, Copiers: 1, Steps: 1, Tolerance: 0.5, Racks: true, Congested: 1},
	} {
		if got := New(in).opt; got != want {
			t.Errorf("%+v: %+v, want %+v", in, got, want)
		}
	}
}

// A shuffle is fetched in at most Options.Steps steps, and in so many that they add no more than 4096 flows: one per reader and place that it
// fetches from. These are the nodes that made the output; the reader's connections, if the maps are many; or the racks.
func TestStepsOfAShuffle(t *testing.T) {
	for _, x := range []struct {
		opt                 Options
		maps, reduces, want int64
	}{
		{Options{}, 4, 10, 20},                   // 4 nodes: 102
		{Options{}, 30, 100, 4},                  // 10 nodes
		{Options{}, 32, 100, 4},                  // still from nodes
		{Options{}, 33, 100, 8},                  // 5 connections
		{Options{Copiers: 2}, 33, 100, 20},       // 2 connections: 20.5
		{Options{Steps: 3}, 33, 100, 3},          //
		{Options{Racks: true}, 100, 500, 4},      // 2 racks
		{Options{Racks: true}, 1, 500, 8},        // 1 of them
		{Options{Pairs: -1}, 1000, 100, 4},       // 10 nodes
		{Options{}, 1, 5000, 0},                  // none
		{Options{Steps: 9, Copiers: 1}, 4, 0, 9}, //
	} {
		w := New(x.opt)
		w.rack, w.rep = make([]int32, 10), make([]int32, 2)
		if got := w.steps(x.maps, x.reduces); got != x.want {
			t.Errorf("%+v: %d maps and %d reduces in %d steps, want %d", x.opt, x.maps, x.reduces, got, x.want)
		}
	}
	for _, x := range []struct{ tasks, steps, want int64 }{{100, 20, 5}, {101, 20, 6}, {99, 20, 5}, {7, 20, 1}, {7, 2, 4}, {7, 1, math.MaxInt64}, {7, 0, math.MaxInt64}} {
		st := stage{nextAt: math.MaxInt64}
		if st.feed(3, x.tasks, x.steps); st.nextAt != x.want || len(st.feeds) != 1 || st.feeds[0] != 3 {
			t.Errorf("%d tasks in %d steps: the first is of %d, want %d", x.tasks, x.steps, st.nextAt, x.want)
		}
	}
}

// clock is a host that has nothing but the time.
type clock struct {
	sim.Host
	now unit.Time
}

func (c clock) Now() unit.Time { return c.now }

// The progress of a task is that of its own work, from the end of its start-up and transfers.
func TestProgress(t *testing.T) {
	for _, x := range []struct {
		began, length, now unit.Time
		want               float64
	}{{-1, 20, 30, 0}, {10, 20, 5, 0}, {10, 20, 10, 0}, {10, 20, 15, 0.25}, {10, 20, 30, 1}, {10, 20, 40, 1}, {10, 0, 10, 0}, {0, 20, 5, 0.25}, {10, 1, 11, 1}} {
		w := New(Options{})
		w.h, w.tasks = clock{now: x.now}, []task{{}, {began: x.began, length: x.length}}
		if got := w.Progress(1); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
