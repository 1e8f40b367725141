package marp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSmoothVectors(t *testing.T) {
	cases := []struct {
		before, d, mean float64
		raw, want       float64
		admit           bool
	}{
		{0.0, 0, 50.0, +50.0, 20, true},
		{50.0, 20, 42.5, -7.5, 9, false},
		{42.5, 9, 52.0, +9.5, 9, false},
		{52.0, 9, 63.5, +11.5, 10, true},
		{0.0, 0, 1.25, +1.25, 0, false},   // a half goes to the even number
		{0.0, 0, 1.251, +1.251, 0, false}, // 0.5004 is 0.500 first
		{0.0, 0, 1.26, +1.26, 1, true},
		{0.0, 1, 2.25, +2.25, 2, true}, // 0.9 + 0.6 = 1.5: to the even number, upwards
		{0.0, 2, -0.5, -0.5, 1, false},
		{0.0, 0, -1.25, -1.25, 0, false},
		{0.0, 0, -1.26, -1.26, -1, false},
		{0.0, -1, -2.25, -2.25, -2, false},
	}
	for _, c := range cases {
		if raw := c.mean - c.before; math.Abs(raw-c.raw) > 1e-9 {
			t.Errorf("raw %v, want %v", raw, c.raw)
		}
		got := Smooth(c.raw, c.d, 0.40, 0.60)
		if got != c.want || (got > c.d) != c.admit || math.Signbit(got) && got == 0 {
			t.Errorf("smooth(%v, %v) = %v, want %v", c.raw, c.d, got, c.want)
		}
	}
}

// A value rises only if the raw one exceeds it by 1.25 points or more, and a constant pace comes to rest within that. (To three decimals:
// 0.40 x raw is rounded by up to 0.0005, which is 0.00125 of raw.)
func TestSmoothThreshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.Float64Range(-100, 100).Draw(t, "raw")
		d := float64(rapid.IntRange(-100, 100).Draw(t, "before"))
		got := Smooth(raw, d, 0.40, 0.60)
		if got != math.Trunc(got) {
			t.Fatalf("%v is not whole", got)
		}
		const lo, hi = 1.25 - 0.00125 - 1e-9, 1.25 + 0.00125 + 1e-9
		if over := raw - d; got > d && over < lo || got <= d && over > hi {
			t.Fatalf("%v after %v gives %v", raw, d, got)
		}
		for range 100 {
			d = Smooth(raw, d, 0.40, 0.60)
		}
		if next := Smooth(raw, d, 0.40, 0.60); next != d || math.Abs(raw-d) > hi {
			t.Fatalf("a constant %v rests at %v", raw, d)
		}
	})
}

// Smoothed, a series with starts and ends of jobs in it varies less than its plain differences.
func TestSmoothedVariesLess(t *testing.T) {
	means := []float64{0, 30, 50, 60, 46, 55, 63, 48, 57, 66, 75, 60, 68, 77, 85, 70, 78, 90}
	var smoothed, plain []float64
	d, was := 0.0, 0.0
	for i := 1; i < len(means); i++ {
		raw := means[i] - means[i-1]
		next := Smooth(raw, d, 0.40, 0.60)
		smoothed, plain = append(smoothed, next-d), append(plain, raw-was)
		d, was = next, raw
	}
	if a, b := variance(smoothed), variance(plain); a >= b {
		t.Errorf("variance %v smoothed, %v plain", a, b)
	}
}

func variance(x []float64) (v float64) {
	m := 0.0
	for _, y := range x {
		m += y / float64(len(x))
	}
	for _, y := range x {
		v += (y - m) * (y - m) / float64(len(x)-1)
	}
	return v
}
