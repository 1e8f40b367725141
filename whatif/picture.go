package whatif

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
)

// Picture is what a report shows of a run beyond its figures.
type Picture struct {
	Timeline *result.Timeline
	ByJob    *result.Timeline // containers of each job; nil: there are too many jobs
	Jobs     []result.JobRow  // nil: there are too many
	Curves   result.Curves
	Ceiling  []report.Level // containers of the cluster over time; nil: not counted
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

func (p *painter) picture(s *run.Spec, curves result.Curves) Picture {
	return Picture{Ceiling: ceilingOf(s), Timeline: p.timeline.Timeline(), ByJob: p.byJob.Timeline(), Jobs: p.jobs.Rows(), Curves: curves}
}

// ceilingOf is how many containers a run's cluster has, from the start and after each loss and return of nodes; nil: its nodes are not counted in
// containers.
func ceilingOf(s *run.Spec) []report.Level {
	if s.Cluster.Counted() == 0 {
		return nil
	}
	changes := map[unit.Time]int64{0: s.Cluster.Counted()}
	for _, l := range s.Model.Losses {
		at := slices.IndexFunc(s.Cluster.Nodes, func(n cluster.Node) bool { return n.Name == l.Node })
		if at < 0 {
			continue
		}
		lost := (&cluster.Cluster{Slots: s.Cluster.Slots, Nodes: s.Cluster.Nodes[at : at+1]}).Counted()
		if changes[l.At] -= lost; l.For > 0 {
			changes[l.At+l.For] += lost
		}
	}
	var out []report.Level
	n := int64(0)
	for _, at := range slices.Sorted(maps.Keys(changes)) {
		n += changes[at]
		out = append(out, report.Level{From: at.Seconds(), Containers: float64(n)})
	}
	return out
}

// Report makes a report of a comparison (or, with one scheduler, of a single run). Facts, title and commands are the caller's.
func (out *Comparison) Report() report.Data {
	d := report.Data{Partial: out.Partial, Seeds: out.Seeds, Size: out.size(), Ground: out.ground()}
	for _, a := range out.Answers {
		d.Answers = append(d.Answers, a.Text)
	}
	for s, name := range out.Schedulers {
		if s >= len(out.Runs) || len(out.Runs[s]) == 0 {
			continue
		}
		run := report.Run{Name: name, Label: out.Labels()[s], Result: out.Runs[s][0]}
		if s < len(out.Pictures) && out.Pictures[s].Timeline != nil {
			p := out.Pictures[s]
			run.Timeline = report.Timeline{
				Edges: p.Timeline.Edges, Queues: p.Timeline.Queues, Containers: p.Timeline.Containers, Waiting: p.Timeline.Waiting, Ceiling: p.Ceiling,
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
		d.Notices = slices.Concat(out.Warnings, out.coverage())
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

// size says how much was compared: "1,204 jobs in 4 queues, 5 replays", or "1,204 to 1,310 jobs in 4 queues, 5 seeds" of a workload that the seeds draw.
func (out *Comparison) size() string {
	if len(out.Runs) == 0 || len(out.Runs[0]) == 0 {
		return ""
	}
	fewest, most, queues := out.Runs[0][0].Jobs.Submitted, int64(0), 0
	for _, r := range out.Runs[0] {
		fewest, most, queues = min(fewest, r.Jobs.Submitted), max(most, r.Jobs.Submitted), max(queues, len(r.ByQueue))
	}
	text, each := unit.Count(most, "job"), "replay"
	if fewest < most {
		each = "seed"
		text = unit.Number(fewest) + " to " + text
	}
	if queues > 1 {
		text += " in " + unit.Count(int64(queues), "queue")
	}
	return text + ", " + unit.Count(int64(len(out.Seeds)), each)
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
		if row.Unit == Share { // in points
			cell.Change, cell.Low, cell.High = 100*c.Diff, 100*c.DiffLow, 100*c.DiffHigh
		}
		switch c.Judgement {
		case Better:
			cell.Verdict = report.Better
		case Worse:
			cell.Verdict = report.Worse
		case Unjudged, Apart, Missing:
			cell.Verdict = report.None
		case First, Same, Unclear, Differs:
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}
