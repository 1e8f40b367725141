package result

import (
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func TestVariability(t *testing.T) {
	var twenty []float64
	for i := range 20 {
		twenty = append(twenty, float64(i+1))
	}
	tens := append(slices.Repeat([]float64{1}, 90), slices.Repeat([]float64{10}, 10)...)
	for _, c := range []struct {
		xs          []float64
		p50, p95, v float64
	}{
		{twenty, 10.5, 19.05, 1.8143},
		{tens, 1, 10, 10},
		{slices.Repeat([]float64{3.7}, 7), 3.7, 3.7, 1},
		{[]float64{1, 1.2, 1.5, 2, 2.8, 4, 6, 10, 18, 23.8}, 3.4, 21.19, 6.2324},
	} {
		got := []float64{Quantile(c.xs, 0.5), Quantile(c.xs, 0.95), Variability(c.xs, 0.95)}
		for i, want := range []float64{c.p50, c.p95, c.v} {
			if math.Abs(got[i]-want) > 5e-5 {
				t.Errorf("%v: %v, want %v, %v and %v", c.xs, got, c.p50, c.p95, c.v)
			}
		}
	}
	if v := Variability(tens, 0.9); math.Abs(v-1.9) > 1e-9 {
		t.Errorf("V(90) is %v, want 1.9", v)
	}
	for want, xs := range map[float64][]float64{1: {1, 1, 1, 1, 6}, 2.25: {10, 10, 10, 10, 10, 10, 10, 10, 10, 110}} {
		if got := SCV(xs); math.Abs(got-want) > 1e-12 {
			t.Errorf("SCV of %v is %v, want %v", xs, got, want)
		}
	}
}

func TestSizeClass(t *testing.T) {
	for size, want := range map[float64]int{
		9.99: -1, 10: 0, 31.62: 0, 31.63: 1, 99.99: 1, 100: 2, 1000: 4, 4000: 5, 10_000: 6, 12_000: 6, 18_000: 6, 36_000: 7, 100_000: 8, 200_000: 8, 1e6: 10, 1e7: 12,
	} {
		if got := SizeClass(unit.FromSeconds(size)); got != want {
			t.Errorf("%v s is in class %d, want %d", size, got, want)
		}
	}
}
