package whatif

import (
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/unit"
)

// Picture is what a report shows of a run beyond its figures.
type Picture struct {
	Timeline *result.Timeline
	ByJob    *result.Timeline // containers of each job; nil: there are too many jobs
	Jobs     []result.JobRow  // nil: there are too many
	Curves   result.Curves
}

// What is kept for a picture: more intervals than a screen has columns, and as many jobs as can be told apart.
const (
	pictureIntervals = 1200
	pictureJobs      = 200
	pictureLines     = 20 // jobs with a line of their own
	linePoints       = 400
)

type painter struct {
	timeline *result.TimelineSink
	byJob    *result.JobTimelineSink
	jobs     *result.JobRows
}

func newPainter() *painter {
	return &painter{result.NewTimeline(pictureIntervals), result.NewJobTimeline(pictureLines, linePoints), result.NewJobRows(pictureJobs)}
}

func (p *painter) picture(curves result.Curves) Picture {
	return Picture{Timeline: p.timeline.Timeline(), ByJob: p.byJob.Timeline(), Jobs: p.jobs.Rows(), Curves: curves}
}

// ceilingOf is how many containers the cluster has; 0: its nodes are not counted in containers.
func ceilingOf(c *cluster.Cluster) float64 { return float64(c.Counted()) }

// Report makes a report of a comparison (or, with one scheduler, of a single run). Facts, title and commands are the caller's.
func (out *Comparison) Report(c *cluster.Cluster) report.Data {
	d := report.Data{Partial: out.Partial, Seeds: out.Seeds, Size: out.size(), Ground: out.ground()}
	for _, a := range out.Answers {
		d.Answers = append(d.Answers, a.Text)
	}
	ceiling := ceilingOf(c)
	for s, name := range out.Schedulers {
		if s >= len(out.Runs) || len(out.Runs[s]) == 0 {
			continue
		}
		run := report.Run{Name: name, Label: out.Labels()[s], Result: out.Runs[s][0]}
		if s < len(out.Pictures) && out.Pictures[s].Timeline != nil {
			p := out.Pictures[s]
			run.Timeline = report.Timeline{
				Edges: p.Timeline.Edges, Queues: p.Timeline.Queues, Containers: p.Timeline.Containers, Waiting: p.Timeline.Waiting, Ceiling: ceiling,
			}
			if by := p.ByJob; by != nil {
				run.ByJob = report.Timeline{Edges: by.Edges, Queues: by.Queues, Containers: by.Containers}
			}
			run.Jobs = p.Jobs
			run.Wait, run.Elapsed, run.Slowdown = report.Curve(p.Curves.Wait), report.Curve(p.Curves.Elapsed), report.Curve(p.Curves.Slowdown)
		}
		d.Runs = append(d.Runs, run)
	}
	if len(d.Runs) > 1 {
		main, levels, rest := out.Tables()
		d.Comparison, d.Levels, d.Others, d.Groups = reportRows(main), reportRows(levels), reportRows(rest), out.reportGroups()
	}
	if len(out.Runs) > 0 && len(out.Runs[0]) > 0 {
		first := out.Runs[0][0]
		d.Version = first.Version
		for _, line := range out.Assumptions() { // the reader's notes are listed separately
			if !slices.Contains(out.read, line) {
				d.Assumptions = append(d.Assumptions, line)
			}
		}
		d.Read = out.read
		d.Notices = out.coverage()
		for _, n := range out.Notes {
			if !slices.Contains(d.Notices, n) && n != d.Ground && !strings.HasPrefix(n, "partial: ") { // the page has those elsewhere
				d.Notes = append(d.Notes, n)
			}
		}
	}
	seen := map[string]bool{}
	for s, runs := range out.Runs {
		for _, r := range runs {
			for _, m := range r.NotModelled {
				if line := out.Labels()[s] + ": " + m; !seen[line] {
					seen[line] = true
					d.NotModelled = append(d.NotModelled, line)
				}
			}
		}
	}
	return d
}

// size says how much was compared: "1,204 jobs in 4 queues, 5 seeds". Of a workload that the seeds draw, jobs differ from seed to seed.
func (out *Comparison) size() string {
	if len(out.Runs) == 0 || len(out.Runs[0]) == 0 {
		return ""
	}
	fewest, most, queues := out.Runs[0][0].Jobs.Submitted, int64(0), 0
	for _, r := range out.Runs[0] {
		fewest, most, queues = min(fewest, r.Jobs.Submitted), max(most, r.Jobs.Submitted), max(queues, len(r.ByQueue))
	}
	text := unit.Count(most, "job")
	if fewest < most {
		text = report.Number(fewest) + " to " + text
	}
	if queues > 1 {
		text += " in " + unit.Count(int64(queues), "queue")
	}
	return text + ", " + unit.Count(int64(len(out.Seeds)), "seed")
}

func reportRows(rows []Row) (list []report.Row) {
	for i := range rows {
		list = append(list, rows[i].report())
	}
	return list
}

func (out *Comparison) reportGroups() (list []report.Groups) {
	for i := range out.Groups {
		g := &out.Groups[i]
		if n := len(list); n == 0 || list[n-1].Kind != g.Kind {
			list = append(list, report.Groups{Kind: g.Kind})
		}
		of := &list[len(list)-1]
		of.Lines = append(of.Lines, report.GroupLine{Name: g.Name, Jobs: g.Jobs, Touched: slices.Contains(g.Touched, true), Few: g.Few, Rows: reportRows(g.Rows)})
	}
	return list
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
		case Apart, Missing:
			cell.Verdict = report.None
		case First, Same, Unclear:
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}
