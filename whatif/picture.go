package whatif

import (
	"maps"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
)

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

func (p *painter) picture(s *run.Spec, curves result.Curves) report.Picture {
	out := report.Picture{Ceiling: ceilingOf(s), Timeline: *p.timeline.Timeline(), Jobs: p.jobs.Rows(), Curves: curves}
	if byJob := p.byJob.Timeline(); byJob != nil {
		out.ByJob = *byJob
	}
	return out
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
		if s < len(out.Pictures) {
			run.Picture = out.Pictures[s]
		}
		d.Runs = append(d.Runs, run)
	}
	if len(d.Runs) > 1 {
		main, levels, rest := out.Tables()
		d.Comparison, d.Levels, d.Others, d.Groups = main, levels, rest, out.Groups
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
