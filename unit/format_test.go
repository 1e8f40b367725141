package unit_test

import (
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{{0, "0 queues"}, {1, "1 queue"}, {2, "2 queues"}, {999, "999 queues"}, {1000, "1,000 queues"}, {1234567, "1,234,567 queues"}, {-1000, "-1,000 queues"}} {
		if got := unit.Count(c.n, "queue"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestNoBreak(t *testing.T) {
	for in, want := range map[string]string{
		"from 0.1 s to 26.6 min (48 to 52 % less)": "from 0.1_s to 26.6_min (48 to 52_% less)",
		"320 GiB and 320 vcores, 5 MiB; 3 h":       "320_GiB and 320 vcores, 5_MiB; 3_h",
		"2 seeds, 10 s.":                           "2 seeds, 10_s.",
		"job7 s 3 summers":                         "job7_s 3 summers",
		"1 s 2 s":                                  "1_s 2_s",
	} {
		if got := strings.ReplaceAll(unit.NoBreak(in), "\u00a0", "_"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestColumnHasOneUnit(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want []string
	}{
		{[]float64{0.1, 1596}, []string{"0.1 s", "1,596 s"}},
		{[]float64{132, 1776}, []string{"2.2 min", "29.6 min"}},
		{[]float64{29520, 30960}, []string{"8.2 h", "8.6 h"}},
		{[]float64{0.1, 360000}, []string{"<0.01 min", "6,000 min"}},
		{[]float64{0, 0}, []string{"0 s", "0 s"}},
		{[]float64{0, 90, math.NaN()}, []string{"0 s", "90 s", "–"}},
		{[]float64{0.004, 0.1}, []string{"4 ms", "100 ms"}},
		{[]float64{50, 400 * 86400}, []string{"0.01 h", "9,600 h"}},
		{[]float64{3, 40000 * 86400}, []string{"<0.01 d", "40,000 d"}},
	} {
		column := unit.ColumnOf(c.in)
		for i, v := range c.in {
			if got := column.Format(v); got != c.want[i] {
				t.Errorf("%v: got %q, want %q", c.in, got, c.want[i])
			}
		}
	}
}
