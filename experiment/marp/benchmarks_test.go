package marp

import (
	"context"
	"math"
	"testing"
)

// TestBenchmarksAreSetByPRJ: the one number that is fitted gives the source's mean of six at once, and so do reduces that work longer
// in place of a disk.
func TestBenchmarksAreSetByPRJ(t *testing.T) {
	ctx := context.Background()
	for _, b := range benches() {
		for _, c := range []*bench{b, b.diskless(b.longer)} {
			mean, err := c.prj(ctx, 20)
			if err != nil {
				t.Fatal(err)
			}
			if off := mean/b.batch6 - 1; math.Abs(off) > 0.02 {
				t.Errorf("%s (no disk: %v): %.1f s, the source's is %.1f: %+.1f %%", b.name, c.noDisk, mean, b.batch6, 100*off)
			}
		}
	}
}

// TestFitFindsTheRecordedValue: what is recorded is what the fit finds.
func TestFitFindsTheRecordedValue(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some hundreds of batches")
	}
	for _, b := range benches() {
		v, err := b.fitCached(context.Background(), 20)
		if err != nil || math.Abs(v-b.cached) > 0.01 {
			t.Errorf("%s: %v is found, %v is recorded, %v", b.name, v, b.cached, err)
		}
		v, err = b.fitLonger(context.Background(), 20)
		if err != nil || math.Abs(v/b.longer-1) > 0.02 {
			t.Errorf("%s without a disk: %v is found, %v is recorded, %v", b.name, v, b.longer, err)
		}
	}
}
