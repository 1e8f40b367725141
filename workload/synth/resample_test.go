package synth

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// A sample has distinct jobs of the original, in order of their new submit times; the original stays as it is.
func TestResample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(t, "jobs")
		var base workload.Slice
		for i := range n {
			base = append(base, &workload.Job{ID: fmt.Sprint(i), Submit: unit.Time(i) * unit.Minute, Deadline: unit.Time(i)*unit.Minute + unit.Hour})
		}
		r := Resampling{Jobs: rapid.IntRange(0, n).Draw(t, "sample"), Arrivals: Respread{How: rapid.SampledFrom([]string{"", "batch", "uniform", "exponential"}).Draw(t, "how")}}
		if how := r.Arrivals.How; how != "" && how != "batch" {
			r.Arrivals.Time = 14 * unit.Second
		}
		out, err := r.Apply(base, rapid.Uint64().Draw(t, "seed"))
		want := r.Jobs
		if want == 0 {
			want = n
		}
		if err != nil || len(out) != want {
			t.Fatalf("%d jobs of %d, want %d: %v", len(out), n, want, err)
		}
		seen := map[string]bool{}
		for i, j := range out {
			if seen[j.ID] || i > 0 && j.Submit < out[i-1].Submit || j.Deadline-j.Submit != unit.Hour {
				t.Fatalf("job %s, submit %v, deadline %v", j.ID, j.Submit, j.Deadline)
			}
			seen[j.ID] = true
			switch {
			case r.Arrivals.How == "batch" && j.Submit != 0, r.Arrivals.How == "uniform" && j.Submit > 14*unit.Second,
				r.Arrivals.How == "" && !slices.Contains(base, j):
				t.Fatalf("job %s arrives at %v", j.ID, j.Submit)
			}
		}
		for i, j := range base {
			if j.Submit != unit.Time(i)*unit.Minute {
				t.Fatal("the original has changed")
			}
		}
	})
	if _, err := (Resampling{Jobs: 2}).Apply(workload.Slice{{}}, 1); err == nil {
		t.Error("a sample larger than the workload")
	}
}

func TestParseRespread(t *testing.T) {
	for _, s := range []string{"batch", "resampled", "uniform:5400s", "exponential:0.5s"} {
		if r, err := ParseRespread(s); err != nil || r.String() != s {
			t.Errorf("%s: %v, %v", s, r, err)
		}
	}
	if r, err := ParseRespread("trace"); err != nil || r != (Respread{}) {
		t.Error(r, err)
	}
	for _, s := range []string{"poisson", "uniform", "uniform:0s", "uniform:x", "batch:3s", "resampled:1h"} {
		if r, err := ParseRespread(s); err == nil {
			t.Errorf("%s: %v", s, r)
		}
	}
}
