package result

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/sim"
)

// withoutJobs is a run of ten jobs in which some are refused.
func withoutJobs(seqs ...int64) *Run {
	c := NewCollector(Options{})
	for i := range int64(10) {
		if seq := 9 - i; slices.Contains(seqs, seq) {
			c.Job(refused(seq, "no such queue"))
		} else {
			c.Job(done(seq, "ann", "etl", 0, 1, 2, 1))
		}
	}
	lost := int64(len(seqs))
	return c.Finish(sim.Summary{Submitted: 10, Finished: 10 - lost, Refused: lost}, Scenario{}, nil)
}

func TestApartCountsJobsThatFinishedInOneRunOnly(t *testing.T) {
	for _, c := range []struct {
		a, b []int64
		want int64
	}{
		{nil, nil, 0},
		{[]int64{3, 4}, []int64{4, 3}, 0},
		{[]int64{3, 4}, nil, 2},
		{[]int64{3, 4}, []int64{4, 5, 6}, 3},
		{[]int64{0, 9}, []int64{1, 8}, 4}, // as many, but others
	} {
		a, b := withoutJobs(c.a...), withoutJobs(c.b...)
		if x, y := a.Apart(b), b.Apart(a); x != c.want || y != c.want {
			t.Errorf("%v and %v: %d and %d, want %d", c.a, c.b, x, y, c.want)
		}
	}
	unknown := &Run{Jobs: JobCounts{Submitted: 10, Finished: 7, Refused: 2, Failed: 1}}
	if got := unknown.Apart(withoutJobs(1)); got != 4 {
		t.Errorf("%d, want all that were left out when nobody knows which", got)
	}
}

func TestApartIsTheSymmetricDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfDistinct(rapid.Int64Range(0, 9), rapid.ID[int64])
		a, b := set.Draw(t, "a"), set.Draw(t, "b")
		want := int64(0)
		for i := range int64(10) {
			if slices.Contains(a, i) != slices.Contains(b, i) {
				want++
			}
		}
		if got := withoutJobs(a...).Apart(withoutJobs(b...)); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}
