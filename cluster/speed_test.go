package cluster

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func TestSpeed(t *testing.T) {
	s := ScaleUpSpeed()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		input, shuffle unit.Bytes
		want, within   float64
	}{
		{0, 0, 1 / 0.3, 0},
		{unit.MiB, unit.MiB, 1 / 0.3, 0.001},
		{32 * unit.GiB, 32 * unit.GiB, 1.55, 1e-9},                  // TeraSort
		{64 * unit.GiB, 64 * unit.GiB * 16 / 10, 1.55, 1e-6},        // WordCount
		{64 * unit.GiB, 640 * unit.GiB, 1.55, 1e-9},                 // constant above the last point
		{1000 * unit.TiB, 1000 * unit.TiB, 40.0 / 24 * 0.65, 0.001}, // scale-out takes 35 % less
		{10823317586, 0, 1.55, 0.002},                               // 32 GiB / 2^(1/0.6): 10.08 GiB
		{32 * unit.GiB, 64 * unit.GiB, 1.8563, 1e-3},                // h = 16.75 GiB
	} {
		if got := s.Of(c.input, c.shuffle); math.Abs(got-c.want) > c.within {
			t.Errorf("%v, %v: %v, want %v", c.input, c.shuffle, got, c.want)
		}
	}
	// It falls with the input, and grows with the shuffle.
	for x := unit.MiB; x < 100*unit.TiB; x *= 2 {
		if s.Of(x, x) <= s.Of(2*x, 2*x) || s.Of(x, 0) > s.Of(x, x/2) || s.Of(x, x/2) > s.Of(x, 2*x) {
			t.Errorf("%v: %v, %v, %v", x, s.Of(x, 0), s.Of(x, x), s.Of(2*x, 2*x))
		}
	}
	for _, bad := range []Speed{
		{}, {Small: math.NaN()}, {Small: 1e9}, {Small: 2, Even: 3, Large: 1, Cross: s.Cross}, {Small: 3, Even: 2, Cross: s.Cross},
		{Small: 3, Even: 2, Large: 1, Cross: []Cross{{1, 5}, {1, 6}}}, {Small: 3, Even: 2, Large: 1, Cross: []Cross{{1, 0}}},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if got := (&Speed{Small: 2}).Of(unit.TiB, 0); got != 2 {
		t.Errorf("a constant speed of 2 is %v", got)
	}
	for _, text := range []string{"", "1", "32GB", "1GB@x", "x@1"} {
		if _, err := ParseCross(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
