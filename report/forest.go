package report

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/result/verdict"
)

// forest is a picture of changes with their intervals: of all jobs, and of each queue (or user, or class). It is made of HTML, so that it can be
// read on a phone and without scripts.
type forest struct {
	Metric, Base string
	Lines        []forestLine
	Ticks        []forestTick
	Zero         float64 // where no change is, in percent of the width
}

type forestLine struct {
	Name    string
	Touched bool
	Marks   []forestMark
}

// forestMark is one run's change. Positions are in percent of the width.
type forestMark struct {
	Hue            int
	Run            string // its name, if there are several
	Class, Text    string
	At, Low, Width float64
	Judged         bool // has an interval
}

type forestTick struct {
	At   float64
	Text string
}

const (
	forestLines = 8
	forestRuns  = 4
)

// newForest draws the first metric of groups and of all jobs; nil: nothing has a change.
func newForest(rows []verdict.Row, groups []verdict.Group, runs []head) *forest {
	if len(runs) < 2 {
		return nil
	}
	runs = runs[:min(len(runs), forestRuns+1)]
	type line struct {
		name    string
		touched bool
		row     verdict.Row
	}
	var lines []line
	for _, g := range groups {
		if touched := g.Marked(); len(lines) < forestLines && g.Kind == groups[0].Kind && (!g.Few || touched) {
			lines = append(lines, line{g.String(), touched, g.Rows[0]})
		}
	}
	for _, row := range rows {
		if row.Metric == "p95 elapsed" {
			lines = append(lines, line{"all jobs", false, row})
		}
	}
	f := &forest{Metric: "p95 elapsed", Base: runs[0].Name}
	// Positions are by the logarithm of the ratio: half is as far from no change as twice.
	from, to := math.Log(0.9), math.Log(1.1)
	for _, l := range lines {
		for _, c := range l.row.Cells[1:min(len(l.row.Cells), len(runs))] {
			for _, v := range []float64{c.Change, c.ChangeLow, c.ChangeHigh} {
				if finite(v) {
					x := ratioLog(v)
					from, to = min(from, x), max(to, x)
				}
			}
		}
	}
	from, to = from-0.04*(to-from), to+0.04*(to-from)
	at := func(change float64) float64 { return math.Round(1e4*(ratioLog(change)-from)/(to-from)) / 100 }
	f.Zero = at(0)
	for _, l := range lines {
		out := forestLine{Name: l.name, Touched: l.touched}
		for i, c := range compareCells(l.row, func(float64) string { return "" }) {
			cell := l.row.Cells[i]
			if i == 0 || i >= len(runs) || !finite(cell.Change) {
				continue
			}
			m := forestMark{Hue: runs[i].Hue, Class: c.Class, Text: c.Change, At: at(cell.Change)}
			if c.Range != "" {
				m.Text += " (" + c.Range + ")"
			}
			if len(runs) > 2 {
				m.Run = runs[i].Name
			}
			if m.Judged = finite(cell.ChangeLow) && finite(cell.ChangeHigh); m.Judged {
				m.Low = at(cell.ChangeLow)
				m.Width = math.Round(100*(at(cell.ChangeHigh)-m.Low)) / 100
			}
			out.Marks = append(out.Marks, m)
		}
		if len(out.Marks) > 0 {
			f.Lines = append(f.Lines, out)
		}
	}
	if len(f.Lines) == 0 {
		return nil
	}
	for _, v := range []float64{0, -50, 100, -75, 300, -25, 33, -90, 900, -10, 10} {
		tick := forestTick{at(v), signedPercent(v)}
		if tick.At > 2 && tick.At < 98 && !slices.ContainsFunc(f.Ticks, func(o forestTick) bool { return math.Abs(o.At-tick.At) < 12 }) {
			f.Ticks = append(f.Ticks, tick)
		}
	}
	return f
}

// ratioLog is the logarithm of the ratio of a change in percent, within a hundredth and a hundred times.
func ratioLog(change float64) float64 {
	return math.Log(min(100, max(0.01, 1+change/100)))
}

func signedPercent(v float64) string {
	if v == 0 {
		return "no change"
	}
	return change(&verdict.Cell{Change: v}, 1, verdict.Ratio)
}
