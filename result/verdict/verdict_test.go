package verdict_test

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/result/verdict"
)

// How a difference is formatted: with as many digits as it deserves, and an interval where that has a width. Nearly all is not
// all.
func TestDifferences(t *testing.T) {
	nan := math.NaN()
	cell := func(change, low, high float64) verdict.Cell {
		return verdict.Cell{Diff: change, DiffLow: low, DiffHigh: high, Change: change, ChangeLow: low, ChangeHigh: high}
	}
	for _, x := range []struct {
		cell verdict.Cell
		want string
	}{
		{cell(50, nan, nan), "+50 %"},
		{cell(50, 40, 60), "+50 % (+40 to +60)"},
		{cell(50, 49.8, 50.2), "+50.0 % (+49.8 to +50.2)"},
		{cell(50, 50.01, 50.02), "+50.0 %"},
		{cell(9.94, nan, nan), "+9.9 %"},
		{cell(9.96, nan, nan), "+10 %"},
		{cell(-0.094, nan, nan), "-0.09 %"},
		{cell(-0.1, nan, nan), "-0.1 %"},
		{cell(0, nan, nan), "0.00 %"},
		{cell(-99.4, nan, nan), "-99 %"},
		{cell(-99.97, nan, nan), "-99.97 %"},
		{cell(-99.999, nan, nan), "-99.99 %"},
		{cell(-100, nan, nan), "-100 %"},
		{cell(-99.7, -100, -99.4), "-99.70 % (-100.00 to -99.40)"},
		{cell(9999.4, nan, nan), "+9999 %"},
		{cell(9999.6, nan, nan), "over +9999 %"},
		{verdict.Cell{Diff: nan, Change: 3}, "–"},
		{verdict.Cell{Diff: 3, Change: nan, DiffLow: 1, DiffHigh: 5}, "+3 (+1 to +5)"},
		{verdict.Cell{Diff: -3, Change: nan, DiffLow: -3, DiffHigh: -3}, "-3"},
		{verdict.Cell{Diff: 3, Change: 3, ChangeLow: nan, Judgement: verdict.Apart}, "+3.0 %, other jobs"},
	} {
		if got := x.cell.Difference(verdict.Ratio); got != x.want {
			t.Errorf("%+v: %s, want %s", x.cell, got, x.want)
		}
	}
	for want, c := range map[string]verdict.Cell{
		"-12.3 points (-20.0 to -5.0)": {Diff: -0.123, DiffLow: -0.2, DiffHigh: -0.05, Change: -50}, "+8.0 points": {Diff: 0.08, DiffLow: nan, DiffHigh: nan, Change: 8075},
		"0.0 points (0.0 to +0.1)": {Diff: -0.0001, DiffLow: -0.0002, DiffHigh: 0.001, Change: -1},
	} {
		if got := c.Difference(verdict.Share); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestDifferenceOfAJudgedCell(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		cell verdict.Cell
		unit verdict.Unit
		want string
	}{
		{verdict.Cell{Change: -43.2, ChangeLow: -48.1, ChangeHigh: -37.6, Judgement: verdict.Better}, verdict.Seconds, "-43 % (-48 to -38)"},
		{verdict.Cell{Change: -43.2, ChangeLow: nan, ChangeHigh: nan, Judgement: verdict.Unjudged}, verdict.Seconds, "-43 %"},
		{verdict.Cell{Change: 1.26, ChangeLow: 0.95, ChangeHigh: 1.58, Judgement: verdict.Worse}, verdict.Seconds, "+1.3 % (+0.9 to +1.6)"},
		{verdict.Cell{Change: 0.031, ChangeLow: 0.02, ChangeHigh: 0.042, Judgement: verdict.Worse}, verdict.Seconds, "+0.03 % (+0.02 to +0.04)"},
		{verdict.Cell{Change: 250, ChangeLow: 249.8, ChangeHigh: 250.2, Judgement: verdict.Worse}, verdict.Seconds, "+250.0 % (+249.8 to +250.2)"},
		{verdict.Cell{Change: 250, ChangeLow: 20, ChangeHigh: 1e9, Judgement: verdict.Worse}, verdict.Seconds, "+250 % (+20 to over +9999)"},
		{verdict.Cell{Change: -99.98, ChangeLow: -99.999, ChangeHigh: -99.7, Judgement: verdict.Better}, verdict.Seconds, "-99.98 % (-99.99 to -99.70)"},
		{verdict.Cell{Change: -90, ChangeLow: -99.8, ChangeHigh: -12, Judgement: verdict.Better}, verdict.Seconds, "-90 % (-99 to -12)"},
		{verdict.Cell{Change: -5, ChangeLow: -5, ChangeHigh: -5, Judgement: verdict.Better}, verdict.Seconds, "-5.0 %"},
		{verdict.Cell{Diff: 12, DiffLow: 9, DiffHigh: 15, Change: nan, Judgement: verdict.Worse}, verdict.Seconds, "+12 s (+9 s to +15 s)"},
	} {
		if got := c.cell.Difference(c.unit); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestSubjectCovers(t *testing.T) {
	for _, c := range []struct {
		subject, group verdict.Subject
		want           bool
	}{
		{verdict.Subject{Kind: "queue", Name: "root.prod"}, verdict.Subject{Kind: "queue", Name: "root.prod"}, true},
		{verdict.Subject{Kind: "queue", Name: "root.prod"}, verdict.Subject{Kind: "queue", Name: "prod"}, true},
		{verdict.Subject{Kind: "queue", Name: "root.prod"}, verdict.Subject{Kind: "queue", Name: "root.prod.etl"}, true},
		{verdict.Subject{Kind: "queue", Name: "root.prod"}, verdict.Subject{Kind: "queue", Name: "prod.etl"}, true},
		{verdict.Subject{Kind: "queue", Name: "root.prod"}, verdict.Subject{Kind: "queue", Name: "preprod"}, false},
		{verdict.Subject{Kind: "queue", Name: "root.prod"}, verdict.Subject{Kind: "queue", Name: "production"}, false},
		{verdict.Subject{Kind: "queue", Name: "root.prod"}, verdict.Subject{Kind: "user", Name: "prod"}, false},
		{verdict.Subject{Kind: "user", Name: "a.b"}, verdict.Subject{Kind: "user", Name: "b"}, false},
	} {
		if got := c.subject.Covers(c.group); got != c.want {
			t.Errorf("%v covers %v: %v", c.subject, c.group, got)
		}
	}
}

// A share is judged by the interval that is shown, in points; the ratio of the same figures may be clear.
func TestSharesAreJudgedInPoints(t *testing.T) {
	values := [][]float64{{0.4, 0.05, 0.05}, {0.04, 0.01, 0.01}}
	for u, want := range map[verdict.Unit]verdict.Judgement{verdict.Ratio: verdict.Better, verdict.Share: verdict.Unclear} {
		row := verdict.Row{Metric: "x", Unit: u}
		row.Fill(2, 3, false, func(s, seed int) float64 { return values[s][seed] })
		if c := row.Cells[1]; c.Judgement != want || row.Differs(1, 1) != 0 && want == verdict.Unclear || c.DiffLow > 0 || c.DiffHigh < 0 {
			t.Errorf("%v: %+v", u, c)
		}
	}
}
