package whatif

import (
	"math"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
)

// Picture is what a report shows of a run beyond its figures.
type Picture struct {
	Timeline  *result.Timeline
	Jobs      []result.JobRow
	JobsTotal int64
	Curves    result.Curves
}

// What is kept for a picture: more intervals than a screen has columns, and as many jobs as a busy day has.
const (
	pictureIntervals = 1200
	pictureJobs      = 25_000
)

// painter gathers a Picture.
type painter struct {
	timeline *result.TimelineSink
	jobs     *result.JobSample
}

func newPainter(seed uint64) *painter {
	return &painter{result.NewTimeline(pictureIntervals), result.NewJobSample(pictureJobs, seed)}
}

func (p *painter) picture(curves result.Curves) Picture {
	return Picture{Timeline: p.timeline.Timeline(), Jobs: p.jobs.Rows(), JobsTotal: p.jobs.Seen(), Curves: curves}
}

// Report puts a comparison (or, with one scheduler, a single run) into a report. Facts, title and commands are the caller's.
func (out *Comparison) Report(c *cluster.Cluster) report.Data {
	d := report.Data{Partial: out.Partial, Seeds: out.Seeds}
	if out.Headline != "" {
		d.Verdicts = append([]string{out.Headline}, out.Verdicts...)
	}
	ceiling := float64(c.Containers(cluster.Unit))
	for s, name := range out.Schedulers {
		if s >= len(out.Runs) || len(out.Runs[s]) == 0 {
			continue
		}
		run := report.Run{Name: name, Result: out.Runs[s][0]}
		if s < len(out.Pictures) && out.Pictures[s].Timeline != nil {
			p := out.Pictures[s]
			run.Timeline = report.Timeline{
				Edges: p.Timeline.Edges, Queues: p.Timeline.Queues, Containers: p.Timeline.Containers, Ceiling: ceiling,
			}
			run.Jobs, run.JobsTotal = p.Jobs, p.JobsTotal
			run.Wait, run.Elapsed, run.Slowdown = report.Curve(p.Curves.Wait), report.Curve(p.Curves.Elapsed), report.Curve(p.Curves.Slowdown)
		}
		d.Runs = append(d.Runs, run)
	}
	if len(d.Runs) > 1 {
		for _, row := range out.Rows {
			d.Comparison = append(d.Comparison, row.report())
		}
	}
	if len(out.Runs) > 0 && len(out.Runs[0]) > 0 {
		first := out.Runs[0][0]
		d.Version, d.Assumptions = first.Version, first.Assumptions
	}
	d.Assumptions = append(append([]string{}, out.Notes...), d.Assumptions...)
	seen := map[string]bool{}
	for s, runs := range out.Runs {
		for _, r := range runs {
			for _, m := range r.NotModelled {
				if line := out.names()[s] + ": " + m; !seen[line] {
					seen[line] = true
					d.NotModelled = append(d.NotModelled, line)
				}
			}
		}
	}
	return d
}

// report turns a row into the report's.
func (row *Row) report() report.Row {
	out := report.Row{Metric: row.Metric, Unit: map[Unit]report.Unit{Seconds: report.Seconds, Ratio: report.Ratio, Share: report.Share}[row.Unit]}
	for _, c := range row.Cells {
		cell := report.Cell{Value: c.Mean, Change: c.Change, Half: math.NaN(), Low: c.ChangeLow, High: c.ChangeHigh}
		switch c.Judgement {
		case Better:
			cell.Verdict = report.Better
		case Worse:
			cell.Verdict = report.Worse
		case Unjudged: // without an interval a difference counts from one percent on
			if d := c.Diff; math.Abs(d) > math.Abs(c.Mean-d)/100 {
				if cell.Verdict = report.Worse; (d > 0) == row.More {
					cell.Verdict = report.Better
				}
			}
		case First, Same, Unclear:
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}
