package report

import (
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
)

// wide is the number of schedulers above which the table is transposed: a line per scheduler, so that it can be sorted and read on a phone.
const wide = 5

// comparison is the table of differences, in one of its two forms.
type comparison struct {
	Turned   bool
	Runs     []head
	Base     string
	Metrics  []string
	Lines    []compareLine
	Ground   string // what the intervals cover, or why there are none
	None     bool   // some are not judged
	Fairness string // what the figure means, where it is shown
}

type compareLine struct {
	Name, Full string
	Note       string // what a metric means, if its name does not say
	Hue        int
	Cells      []compareCell
}

type compareCell struct {
	Value, Key   string
	First        bool // of the run that the others are compared with
	Change       string
	Range        string // "−48 to −38"
	Class, Words string // of the verdict
}

func newComparison(rows []verdict.Row, runs []head, ground string) *comparison {
	c := &comparison{Turned: len(runs) > wide, Runs: runs, Base: runs[0].Name, Ground: typeset(ground)}
	cells := make([][]compareCell, len(rows))
	for i, row := range rows {
		c.Metrics = append(c.Metrics, row.Metric)
		if strings.HasPrefix(row.Metric, "fairness") {
			c.Fairness = fairnessNote
		}
		var values []float64
		for _, cell := range row.Cells {
			values = append(values, cell.Mean)
			c.None = c.None || notJudged(cell.Judgement)
		}
		cells[i] = compareCells(row, column(values, row.Unit))
	}
	if !c.Turned {
		for i, row := range rows {
			line := compareLine{Name: row.Metric, Cells: cells[i]}
			if strings.HasPrefix(row.Metric, "fairness") {
				line.Note = fairnessNote
			}
			c.Lines = append(c.Lines, line)
		}
		return c
	}
	for r, run := range runs {
		line := compareLine{Name: run.Name, Full: run.Full, Hue: run.Hue}
		for i := range rows {
			line.Cells = append(line.Cells, cells[i][r])
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

// compareCells are the cells of a row, with how each differs from the first.
func compareCells(row verdict.Row, write func(float64) string) []compareCell {
	out := make([]compareCell, len(row.Cells))
	for r := range row.Cells {
		cell, c := &row.Cells[r], &out[r]
		*c = compareCell{Value: write(cell.Mean), Key: key(cell.Mean), First: r == 0}
		if r == 0 {
			continue
		}
		c.Change, c.Range = change(cell, row.Cells[0].Mean, row.Unit), interval(cell, row.Unit)
		switch {
		case cell.Judgement == verdict.Better:
			c.Class, c.Words = "good", "better"
		case cell.Judgement == verdict.Worse:
			c.Class, c.Words = "bad", "worse"
		case notJudged(cell.Judgement):
			c.Class, c.Words = "same none", "not judged"
		default:
			c.Class, c.Words = "same", "no clear difference"
		}
	}
	return out
}

// notJudged reports whether nothing can be said of a difference: it has no interval, a figure is missing, or the two are of different jobs.
func notJudged(j verdict.Judgement) bool {
	return j == verdict.Unjudged || j == verdict.Apart || j == verdict.Missing
}

func stat(s result.Stats, v float64) float64 {
	if s.Count == 0 {
		return math.NaN()
	}
	return v
}
