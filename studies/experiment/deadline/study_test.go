package deadline

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/experimenttest"
)

// Two seeds of everything, from end to end: what the source reports holds, and every figure that a check or a section needs exists.
func TestStudy(t *testing.T) {
	s := Study()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range s.Experiments {
		ids = append(ids, e.ID)
	}
	if want := []string{"DL-1", "DL-2", "DL-3", "DL-4a", "DL-4b", "DL-X1", "DL-X2"}; !slices.Equal(ids, want) {
		t.Errorf("%v", ids)
	}
	if f := experimenttest.Whole(t, s, []uint64{1, 2}, 4, "-"); !f.OK() {
		t.Error("a check that must hold does not")
	}
	if got := sections(x.NewRuns([]uint64{1}, nil)); len(got) != 0 {
		t.Errorf("%d sections of nothing", len(got))
	}
}

// The record of slots adds up: what the jobs' tasks take, no more maps than slots, and the same seed gives the same.
func TestWatch(t *testing.T) {
	for _, id := range []string{"DL-2", "DL-3", "DL-4a", "DL-X1"} {
		a, err1 := runners[id](context.Background(), 3)
		b, err2 := runners[id](context.Background(), 3)
		if err1 != nil || err2 != nil || !maps.Equal(a, b) {
			t.Errorf("%s: the same seed gave other figures (%v, %v)", id, err1, err2)
		}
	}
	jobs := four(3, 120, nil)
	want := 0.0
	for _, j := range jobs {
		for _, l := range j.Stages[0].Length.Values {
			want += l.Seconds()
		}
	}
	w, err := play(context.Background(), 3, jobs, managed("mode=min").fresh)
	if err != nil || math.Abs(w.busy-want) > 1e-3 {
		t.Fatalf("%v slot-seconds of %v, %v", w.busy, want, err)
	}
	for at := 0.0; at < 7000; at += 7 {
		maps := 0
		for _, t := range w.jobs {
			maps += t.at(at)
		}
		if maps > slots {
			t.Errorf("%d maps at %v s", maps, at)
		}
	}
	mean, peak := (&track{steps: []step{{0, 4}, {10e6, 2}, {20e6, 0}}}).mean(5, 25)
	if mean != 2 || peak != 4 {
		t.Errorf("mean %v, peak %v", mean, peak)
	}
}

// Checks notice schedulers that do not do what they should: max in place of min, and the reverse; Fair without its weights.
func TestChecksCanFail(t *testing.T) {
	figures := map[string][]x.Metrics{}
	for id, broken := range map[string]string{"DL-2": "DL-3", "DL-3": "DL-2", "DL-4a": "DL-4b", "DL-4b": "DL-4a"} {
		for _, seed := range []uint64{1, 2} {
			m, err := runners[broken](context.Background(), seed)
			if err != nil {
				t.Fatal(err)
			}
			figures[id] = append(figures[id], m)
		}
	}
	r := x.NewRuns([]uint64{1, 2}, figures)
	for _, c := range Study().Checks {
		switch c.ID {
		case "DL-2-J1-held", "DL-2-J1-grows", "DL-2-J1-missed", "DL-2-J2-close", "DL-3-J1-met", "DL-3-busy", "DL-3-idle", "DL-4a-joins", "DL-4b-joins", "DL-4b-below":
			if j := c.Judge.Of(r); j.Holds {
				t.Errorf("%s holds although the scheduler is another: %s", c.ID, j.Ours)
			}
		}
	}
}

// Every switch of DL-X2 has an effect.
func TestSwitchesAreFelt(t *testing.T) {
	m, err := runners["DL-X2"](context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"min-guard", "min-literal", "min-samples", "min-work", "max", "max-guard", "max-cap"} {
		base, same := "min", true
		if name != "max" && name[:3] == "max" {
			base = "max"
		}
		for _, job := range names {
			same = same && m[base+"/150/"+job+"/length"] == m[name+"/150/"+job+"/length"]
		}
		if same {
			t.Errorf("%s: the same run times as %s", name, base)
		}
	}
}
