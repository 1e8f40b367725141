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

// newLocality is the share of tasks by locality, a line per scheduler; nil when no run knows the locations of its tasks' input.
func newLocality(runs []Run, heads []head) *SheetTable {
	t := NewTable("Where tasks found their input", []string{"", "on their node", "in their rack", "elsewhere", "tasks with a place"})
	t.Class = "narrow"
	for i, r := range runs[:min(len(runs), maxGroupRuns)] {
		if r.Result == nil {
			continue
		}
		l := r.Result.Locality
		if known := l.Node + l.Rack + l.Off; known > 0 {
			share := func(n int64) string { return figure(float64(n)/float64(known), verdict.Share) }
			t.add(heads[i].cell(), share(l.Node), share(l.Rack), share(l.Off), unit.Number(known))
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return &t
}

// observedView compares runs with what really happened.
type observedView struct {
	Table SheetTable
	Worst []worstJobs
	What  string // "error", or "difference" where a run's settings differ from the observed ones
	Notes []string
}

type worstJobs struct {
	Name string // of the scheduler
	SheetTable
}

const (
	fewObserved    = 3  // jobs below which a median error means nothing
	worstOfOne     = 10 // jobs listed of a single run
	worstOfSeveral = 5  // jobs listed of each of several
	maxWorstRuns   = 4
)

// newObserved is nil when the workload does not say what really happened.
func newObserved(runs []Run, heads []head) *observedView {
	var observed []int // runs
	v := &observedView{What: "error"}
	for i, r := range runs[:min(len(runs), maxGroupRuns)] {
		if r.Result == nil || r.Result.Observed == nil || r.Result.Observed.Jobs < fewObserved {
			continue
		}
		observed = append(observed, i)
		if other := r.Result.Observed.OtherSettings; other != "" {
			v.What = "difference"
			if note := heads[i].Name + ": " + other + "."; len(runs) > 1 {
				v.Notes = append(v.Notes, note)
			} else {
				v.Notes = append(v.Notes, strings.ToUpper(other[:1])+other[1:]+".")
			}
		}
	}
	if len(observed) == 0 {
		return nil
	}
	listed := worstOfOne
	if len(runs) > 1 {
		listed = worstOfSeveral
	}
	v.Table = NewTable(v.What+"s against what was observed", []string{"", "jobs", "median " + v.What, "p95 " + v.What, "mean, signed"})
	v.Table.Class = "narrow"
	for _, i := range observed {
		o := runs[i].Result.Observed
		v.Table.add(heads[i].cell(), unit.Number(o.Jobs), figure(o.MedianError, verdict.Share), figure(o.P95Error, verdict.Share), signedShare(o.MeanSigned))
		if len(o.Worst) == 0 || len(v.Worst) == maxWorstRuns {
			continue
		}
		worst := o.Worst[:min(len(o.Worst), listed)]
		var times []float64
		for _, j := range worst {
			times = append(times, j.Observed, j.Simulated)
		}
		write, t := column(times, verdict.Seconds), NewTable("Largest "+v.What+"s", []string{"job", "observed", "simulated", v.What})
		t.Class = "narrow"
		for _, j := range worst {
			id := clip(j.ID, 80)
			t.add(SheetCell{Text: id, Full: id}, write(j.Observed), write(j.Simulated), signedShare(j.Error))
		}
		v.Worst = append(v.Worst, worstJobs{heads[i].Name, t})
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
