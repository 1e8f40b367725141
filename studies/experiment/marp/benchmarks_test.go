package marp

import (
	"context"
	"math"
	"testing"
)

// TestBenchmarksAreSetByPRJ: the only fitted number gives the source's mean of six at once, and so do longer reduces
// in place of a disk.
func TestBenchmarksAreSetByPRJ(t *testing.T) {
	ctx := context.Background()
	for _, b := range benches() {
		for _, c := range []*bench{b, b.diskless(b.longer)} {
			mean, err := c.prj(ctx, 20)
			if err != nil {
				t.Fatal(err)
			}
			if off := mean/b.Batch6 - 1; math.Abs(off) > 0.02 {
				t.Errorf("%s (no disk: %v): %.1f s, the source's is %.1f: %+.1f %%", b.Name, c.noDisk, mean, b.Batch6, 100*off)
			}
		}
	}
}

// TestFitFindsTheRecordedValue: the recorded value is the fitted one. The time rises with it, or falls: so it suffices that batches are shorter than the
// source's on one side of it and longer on the other. Only if they are not is the fit itself computed, to tell what to record.
func TestFitFindsTheRecordedValue(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some hundreds of batches")
	}
	for _, b := range benches() {
		for _, p := range []struct {
			name              string
			recorded, within  float64
			smallest, largest float64
			with              func(float64) *bench
		}{
			{"cached", b.cached, 0.01, 0, 1, func(v float64) *bench { c := *b; c.cached = v; return &c }},
			{"longer, without a disk", b.longer, 0.02 * b.longer, 0.1, 100, b.diskless},
		} {
			longer := func(v float64) bool {
				mean, err := p.with(v).prj(context.Background(), 20)
				if err != nil {
					t.Fatal(err)
				}
				return mean > b.Batch6
			}
			if longer(p.recorded-p.within) == longer(p.recorded+p.within) {
				t.Errorf("%s: %s is recorded as %v, and %v is found", b.Name, p.name, p.recorded, bisect(p.smallest, p.largest, longer))
			}
		}
	}
}

// bisect finds where a condition changes.
func bisect(lo, hi float64, holds func(float64) bool) float64 {
	for below := holds(lo); hi-lo > 1e-3*(math.Abs(hi)+math.Abs(lo)); {
		if mid := (lo + hi) / 2; holds(mid) == below {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// prj is the mean time of batches of six at once, over seeds from 1.
func (b *bench) prj(ctx context.Context, seeds uint64) (float64, error) {
	sum := 0.0
	for seed := range seeds {
		batch := b.batch(six, seed+1).under("prj", Fair)
		o, err := batch.Play(ctx, seed+1)
		if err != nil {
			return 0, err
		}
		sum += o.Makespan
	}
	return sum / float64(seeds), nil
}
