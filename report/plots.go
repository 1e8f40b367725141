package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// plot is a static picture of lines: an SVG that needs no script.
type plot struct {
	Title, Caption, Aria string
	XTicks, YTicks       []plotTick
	Lines                []plotLine
	Dots                 []plotDot
	Note                 string
}

// plotLine is a line and its key.
type plotLine struct{ Name, Full, Class, Path string }

type plotDot struct {
	X, Y        float64
	Class, Text string
}

type plotTick struct {
	At   float64
	Text string
}

// Positions in a plot.
const (
	plotLeft, plotRight = 60.0, 890.0
	plotTop, plotFoot   = 12.0, 216.0
)

const (
	maxPlotRuns = 6   // schedulers with pictures of their jobs
	maxError    = 2.0 // of an estimate; larger ones are drawn there
)

func plotX(share float64) float64 { return tenth(plotLeft + (plotRight-plotLeft)*share) }

func plotY(share float64) float64 {
	return tenth(plotFoot - (plotFoot-plotTop)*min(1, max(0, share)))
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// jobClass is the style of the i-th of many jobs: seven hues, then dashed.
func jobClass(i int) string {
	return "q" + strconv.Itoa(i%7+1) + []string{"", " dash", " dots"}[min(i/7, 2)]
}

// line draws a line through points, interrupted where there is a gap.
func (p *plot) line(name, full, class string, xs, ys []float64, gap float64) {
	var path strings.Builder
	for i := range xs {
		if i == 0 || xs[i]-xs[i-1] > gap {
			fmt.Fprintf(&path, "M%v %vh0", xs[i], ys[i]) // a point, if the next is far off
		} else {
			fmt.Fprintf(&path, "L%v %v", xs[i], ys[i])
		}
	}
	p.Lines = append(p.Lines, plotLine{name, full, class, path.String()})
}

// sizePlot draws mean slowdowns by size, on a logarithmic scale; nil: none is known.
func sizePlot(runs []Run, heads []head) *plot {
	runs = runs[:min(len(runs), maxChartRuns)]
	class := func(g *result.SizeGroup) int { return int(math.Round(2 * math.Log10(g.From/10))) } // as result.SizeClass
	first, last, most := math.MaxInt, math.MinInt, 1.0
	for _, r := range runs {
		if r.Result == nil || r.Result.Spread == nil {
			continue
		}
		for _, g := range r.Result.Spread.BySize {
			first, last, most = min(first, class(&g)), max(last, class(&g)), max(most, g.Slowdown.Mean)
		}
	}
	if first >= last {
		return nil
	}
	p := &plot{
		Title: "Slowdown by size of the job", Caption: "mean slowdown, log scale; a size is the total time of a job's tasks, in container-seconds",
		Aria: "Mean slowdown of jobs by size.",
	}
	top := math.Log(max(2, most*1.05))
	for _, v := range []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1e4, 1e5, 1e6} {
		if math.Log(v) <= top {
			p.YTicks = append(p.YTicks, plotTick{plotY(math.Log(v) / top), figure(v, verdict.Count)})
		}
	}
	n := float64(last - first + 1)
	for i := first; i <= last+1; i++ {
		if n < 14 || i%2 == 0 {
			p.XTicks = append(p.XTicks, plotTick{plotX(float64(i-first) / n), size(10 * math.Pow(10, float64(i)/2))})
		}
	}
	for r, run := range runs {
		if run.Result == nil || run.Result.Spread == nil {
			continue
		}
		hue := "s" + strconv.Itoa(heads[r].Hue)
		var xs, ys []float64
		for _, g := range run.Result.Spread.BySize {
			x, y := plotX((float64(class(&g)-first)+0.5)/n), plotY(math.Log(max(1, g.Slowdown.Mean))/top)
			xs, ys = append(xs, x), append(ys, y)
			p.Dots = append(p.Dots, plotDot{x, y, hue, fmt.Sprintf("%s, %s to %s s: mean slowdown %s of %s jobs", heads[r].Name, size(g.From), size(g.To),
				figure(g.Slowdown.Mean, verdict.Ratio), unit.Number(g.Jobs))})
		}
		p.line(heads[r].Name, heads[r].Full, hue, xs, ys, plotRight)
	}
	return p
}

// size is a bound of sizes, in seconds.
func size(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return unit.Number(int64(math.Round(v)))
}

// jobPlots draw the containers of each job over time, and how wrong its predicted end was.
func jobPlots(runs []Run, heads []head) []plot {
	var out []plot
	for i, r := range runs[:min(len(runs), maxPlotRuns)] {
		of := ""
		if len(runs) > 1 {
			of = heads[i].Name + ": "
		}
		if len(r.ByJob.Queues) > 0 && len(r.ByJob.Edges) > 1 {
			out = append(out, heldPlot(r.ByJob, of))
		}
		if r.Result != nil && r.Result.Estimates != nil {
			out = append(out, errorPlot(r.Result.Estimates, of, r.ByJob.Queues))
		}
	}
	return out
}

func heldPlot(t result.Timeline, of string) plot {
	p := plot{Title: "Containers of each job", Caption: of + "average over each interval", Aria: "Containers held by each job over time."}
	begin, end, most := t.Edges[0], t.Edges[len(t.Edges)-1], 1.0
	for _, row := range t.Containers {
		most = max(most, slices.Max(row))
	}
	write := column([]float64{begin, end}, verdict.Seconds)
	for i := range 5 {
		p.XTicks = append(p.XTicks, plotTick{plotX(float64(i) / 4), write(begin + (end-begin)*float64(i)/4)})
	}
	for i := range 3 {
		v := most * float64(i) / 2
		p.YTicks = append(p.YTicks, plotTick{plotY(v / most), figure(v, verdict.Count)})
	}
	x := func(i int) float64 { return plotX((t.Edges[i] - begin) / max(end-begin, 1e-9)) }
	for k, row := range t.Containers {
		last := len(row)
		for last > 0 && row[last-1] == 0 {
			last--
		}
		var line steps
		for i, v := range row[:last] { // from its first container to its last
			if v > 0 && line.Len() == 0 {
				line.to(x(i), plotFoot)
			}
			if line.Len() > 0 {
				line.to(x(i), plotY(v/most))
			}
		}
		if line.Len() > 0 {
			line.to(x(last), plotFoot)
		}
		p.Lines = append(p.Lines, plotLine{t.Queues[k], t.Queues[k], jobClass(k), line.String()})
	}
	return p
}

// errorPlot draws the errors of each job, or their means. Jobs have the colours that they have among others.
func errorPlot(e *result.Estimates, of string, jobs []string) plot {
	p := plot{
		Title: "Error of predicted ends", Caption: of + "(predicted - actual end) / elapsed, over the life of a job; below 0 the prediction was optimistic",
		Aria: "Errors of the predicted ends of jobs over their lives.",
	}
	lines := e.Series
	if len(lines) == 0 {
		p.Caption += "; " + unit.Number(e.Jobs) + " jobs"
		mean, abs := result.EstimateSeries{ID: "mean", Elapsed: 1}, result.EstimateSeries{ID: "mean of absolute values", Elapsed: 1}
		for _, by := range e.ByLife {
			if by.Jobs > 0 {
				mean.At, mean.Error, abs.Error = append(mean.At, by.From+0.5/float64(len(e.ByLife))), append(mean.Error, by.Error), append(abs.Error, by.Absolute)
			}
		}
		abs.At = mean.At
		lines = []result.EstimateSeries{mean, abs}
	}
	low, high := -0.1, 0.1
	for _, l := range lines {
		for _, x := range l.Error {
			low, high = min(low, max(x, -maxError)), max(high, min(x, maxError))
			if math.Abs(x) > maxError {
				p.Note = "Errors beyond " + whole(maxError) + " are drawn at the edge."
			}
		}
	}
	y := func(x float64) float64 { return plotY((x - low) / (high - low)) }
	for _, v := range []float64{-2, -1, -0.5, 0, 0.5, 1, 2} {
		if v >= low && v <= high {
			p.YTicks = append(p.YTicks, plotTick{y(v), whole(v)})
		}
	}
	for i := range 5 {
		p.XTicks = append(p.XTicks, plotTick{plotX(float64(i) / 4), whole(float64(i) / 4)})
	}
	for k, l := range lines {
		var xs, ys []float64
		step := plotRight // min
		for i := range l.At {
			xs, ys = append(xs, plotX(l.At[i]/max(l.Elapsed, 1e-9))), append(ys, y(l.Error[i]))
			if i > 0 {
				step = min(step, xs[i]-xs[i-1])
			}
		}
		if at := slices.Index(jobs, l.ID); at >= 0 {
			k = at
		}
		p.line(l.ID, l.ID, jobClass(k), xs, ys, 3*max(10, step)) // at least 3 % of the width: see EstimateSink.Sample
	}
	return p
}

// whole is a share in whole percents.
func whole(share float64) string { return strings.Replace(figure(share, verdict.Share), ".0", "", 1) }
