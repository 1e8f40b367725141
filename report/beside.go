package report

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// Optional parts of the page: locality, and the error against what really happened.

const fairnessNote = "Fairness between users is Jain's index of the users' mean slowdowns: 1 when all are slowed down alike, 1/n when of n users " +
	"only one is. A scheduler that gives small users short waits lowers it, for then they are slowed down less than the others."

// localityTable is the share of tasks by locality, a line per scheduler.
type localityTable struct{ Lines []figureRow }

// figureRow is a line of a small table.
type figureRow struct {
	Name, Full string
	Hue        int
	Cells      []string
}

// newLocality is nil when no run knows the locations of its tasks' input.
func newLocality(runs []Run, heads []head) *localityTable {
	t := &localityTable{}
	for i, r := range runs[:min(len(runs), maxGroupRuns)] {
		if r.Result == nil {
			continue
		}
		l := r.Result.Locality
		known := l.Node + l.Rack + l.Off
		if known == 0 {
			continue
		}
		line := figureRow{Name: heads[i].Name, Full: heads[i].Full, Hue: heads[i].Hue}
		for _, n := range []int64{l.Node, l.Rack, l.Off} {
			line.Cells = append(line.Cells, figure(float64(n)/float64(known), verdict.Share))
		}
		line.Cells = append(line.Cells, unit.Number(known))
		t.Lines = append(t.Lines, line)
	}
	if len(t.Lines) == 0 {
		return nil
	}
	return t
}

// observedView compares runs with what really happened.
type observedView struct {
	Lines []figureRow
	Worst []worstJobs
	What  string // "error", or "difference" where a run's settings differ from the observed ones
	Notes []string
}

type worstJobs struct {
	Name string // of the scheduler
	Jobs []figureRow
}

const (
	fewObserved    = 3  // jobs below which a median error means nothing
	worstOfOne     = 10 // jobs listed of a single run
	worstOfSeveral = 5  // jobs listed of each of several
	maxWorstRuns   = 4
)

// newObserved is nil when the workload does not say what really happened.
func newObserved(runs []Run, heads []head) *observedView {
	v := &observedView{What: "error"}
	for i, r := range runs[:min(len(runs), maxGroupRuns)] {
		if r.Result == nil || r.Result.Observed == nil || r.Result.Observed.Jobs < fewObserved {
			continue
		}
		o := r.Result.Observed
		if other := o.OtherSettings; other != "" {
			v.What = "difference"
			if note := heads[i].Name + ": " + other + "."; len(runs) > 1 {
				v.Notes = append(v.Notes, note)
			} else {
				v.Notes = append(v.Notes, strings.ToUpper(other[:1])+other[1:]+".")
			}
		}
		v.Lines = append(v.Lines, figureRow{heads[i].Name, heads[i].Full, heads[i].Hue, []string{
			unit.Number(o.Jobs), figure(o.MedianError, verdict.Share), figure(o.P95Error, verdict.Share), signedShare(o.MeanSigned),
		}})
		most := worstOfOne
		if len(runs) > 1 {
			most = worstOfSeveral
		}
		if len(o.Worst) == 0 || len(v.Worst) == maxWorstRuns {
			continue
		}
		w := worstJobs{Name: heads[i].Name}
		worst := o.Worst[:min(len(o.Worst), most)]
		var times []float64
		for _, j := range worst {
			times = append(times, j.Observed, j.Simulated)
		}
		write := column(times, verdict.Seconds)
		for _, j := range worst {
			w.Jobs = append(w.Jobs, figureRow{Name: clip(j.ID, 80), Cells: []string{
				write(j.Observed), write(j.Simulated), signedShare(j.Error),
			}})
		}
		v.Worst = append(v.Worst, w)
	}
	if len(v.Lines) == 0 {
		return nil
	}
	return v
}

func signedShare(v float64) string {
	if v > 0 {
		return "+" + figure(v, verdict.Share)
	}
	return figure(v, verdict.Share)
}

// localityText is the same in one line, for a single run.
func localityText(l result.Locality) string {
	known := float64(l.Node + l.Rack + l.Off)
	if known == 0 {
		return ""
	}
	return fmt.Sprintf("%s on the node, %s in the rack, %s elsewhere",
		figure(float64(l.Node)/known, verdict.Share), figure(float64(l.Rack)/known, verdict.Share), figure(float64(l.Off)/known, verdict.Share))
}

// again is a command split into words, with --report added if missing.
func again(command string) []string {
	words := strings.Fields(command)
	for _, w := range words {
		if w == "--report" || strings.HasPrefix(w, "--report=") || w == "demo" {
			return words
		}
	}
	if len(words) == 0 || words[0] != "yardmaster" {
		return words
	}
	return append(words, "--report", "report.html")
}

// oneSeed says which of several seeds the charts and the tables below them show.
func oneSeed(seeds []uint64) string {
	switch {
	case len(seeds) < 2:
		return ""
	case seeds[0] == 1:
		return fmt.Sprintf("seed 1 of %d", len(seeds))
	}
	return fmt.Sprintf("seed %d, the first of %d", seeds[0], len(seeds))
}
