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

// TestFitFindsTheRecordedValue: the recorded value is the fitted one.
func TestFitFindsTheRecordedValue(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some hundreds of batches")
	}
	for _, b := range benches() {
		v, err := b.fitCached(context.Background(), 20)
		if err != nil || math.Abs(v-b.cached) > 0.01 {
			t.Errorf("%s: %v is found, %v is recorded, %v", b.Name, v, b.cached, err)
		}
		v, err = b.fitLonger(context.Background(), 20)
		if err != nil || math.Abs(v/b.longer-1) > 0.02 {
			t.Errorf("%s without a disk: %v is found, %v is recorded, %v", b.Name, v, b.longer, err)
		}
	}
}

// fit finds the value of a parameter at which the mean time of six at once is the source's. The time rises with it, or falls.
func (b *bench) fit(ctx context.Context, lo, hi float64, seeds uint64, set func(*bench, float64)) (float64, error) {
	off := func(v float64) (float64, error) {
		c := *b
		set(&c, v)
		mean, err := c.prj(ctx, seeds)
		return mean - b.Batch6, err
	}
	below, err := off(lo)
	if err != nil {
		return 0, err
	}
	for hi-lo > 1e-3*(math.Abs(hi)+math.Abs(lo)) {
		mid := (lo + hi) / 2
		d, err := off(mid)
		if err != nil {
			return 0, err
		}
		if (d < 0) == (below < 0) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2, nil
}

// fitCached fits cached to batches of six at once and nothing else.
func (b *bench) fitCached(ctx context.Context, seeds uint64) (float64, error) {
	return b.fit(ctx, 0, 1, seeds, func(c *bench, v float64) { c.cached = v })
}

// fitLonger fits longer in the same way.
func (b *bench) fitLonger(ctx context.Context, seeds uint64) (float64, error) {
	return b.fit(ctx, 0.1, 100, seeds, func(c *bench, v float64) { *c = *b.diskless(v) })
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
