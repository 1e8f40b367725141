package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/unit"
)

// A scheduler's figures cover the jobs that finished under it. One that refuses the jobs that would wait longest looks fast, so two
// schedulers are judged against each other only if they finished the same jobs, or nearly so. One that finished nothing has
// no figures at all.
const apartShare = 0.001 // of the first one's finished jobs; from here on the two cover different jobs

// empty reports whether a scheduler finished nothing, in at least one seed.
func (out *Comparison) empty(s int) bool {
	return slices.ContainsFunc(out.Runs[s], func(r *result.Run) bool { return r.Jobs.Finished == 0 })
}

// apart reports whether scheduler s and the first one finished different jobs.
func (out *Comparison) apart(s int) bool {
	if out.empty(0) || out.empty(s) {
		return false
	}
	if out.otherJobs(s) { // on purpose: each is judged by its own jobs, if it finishes as many of them
		a, b := out.tally(0).jobs, out.tally(s).jobs
		return math.Abs(float64(a.LeftOut())/float64(a.Submitted)-float64(b.LeftOut())/float64(b.Submitted)) >= apartShare
	}
	var apart, finished int64
	for i, r := range out.Runs[s] {
		apart += r.Apart(out.Runs[0][i])
		finished += out.Runs[0][i].Jobs.Finished
	}
	return float64(apart) >= apartShare*float64(finished) && apart > 0
}

// otherJobs reports whether a variant has another workload than the first.
func (out *Comparison) otherJobs(s int) bool { return s < len(out.other) && out.other[s] }

// setApart removes the judgements of schedulers that finished other jobs than the first, and the intervals, which would suggest
// a false certainty.
func (out *Comparison) setApart() {
	for s := 1; s < len(out.Runs); s++ {
		if !out.apart(s) {
			continue
		}
		for i := range out.Rows {
			c := &out.Rows[i].Cells[s]
			c.SetApart()
		}
	}
}

// tally counts a scheduler's jobs: those of one seed if all seeds have the same counts, else of all seeds together, and then it says so.
type tally struct {
	jobs   result.JobCounts
	reason string // the most frequent reason for refusing, over all seeds
	seeds  string // " in 5 seeds"
}

func (out *Comparison) tally(s int) tally {
	runs := out.Runs[s]
	t := tally{jobs: runs[0].Jobs}
	var reasons []result.Refusal // in order of first appearance, so that the same runs give the same text
	alike := true
	for i, r := range runs {
		alike = alike && r.Jobs == runs[0].Jobs
		if i > 0 {
			t.jobs.Submitted += r.Jobs.Submitted
			t.jobs.Finished += r.Jobs.Finished
			t.jobs.Refused += r.Jobs.Refused
			t.jobs.Failed += r.Jobs.Failed
			t.jobs.Unfinished += r.Jobs.Unfinished
		}
	next:
		for _, x := range r.Refusals {
			for k := range reasons {
				if reasons[k].Reason == x.Reason {
					reasons[k].Jobs += x.Jobs
					continue next
				}
			}
			reasons = append(reasons, x)
		}
	}
	switch {
	case alike:
		t.jobs = runs[0].Jobs
	case len(runs) > 1:
		t.seeds = fmt.Sprintf(" in %d seeds", len(runs))
	}
	var most int64
	for _, x := range reasons {
		if x.Jobs > most {
			most, t.reason = x.Jobs, x.Reason
		}
	}
	return t
}

// outOf is "30 of 200 jobs", with the number of seeds.
func (t tally) outOf(n int64) string {
	return unit.Number(n) + " of " + unit.Count(t.jobs.Submitted, "job") + t.seeds
}

// reasons says why jobs did not finish: "30 refused (most often: no such queue), 2 failed".
func (t tally) reasons() string {
	var parts []string
	if n := t.jobs.Refused; n > 0 {
		text := unit.Number(n) + " refused"
		if t.reason != "" {
			text += " (most often: " + clip(t.reason, 160) + ")"
		}
		parts = append(parts, text)
	}
	if n := t.jobs.Failed; n > 0 {
		parts = append(parts, unit.Number(n)+" failed")
	}
	if n := t.jobs.Unfinished; n > 0 {
		parts = append(parts, unit.Number(n)+" not finished")
	}
	return strings.Join(parts, ", ")
}

// coverage returns the notes about jobs that are not in the figures, one per scheduler that needs it.
func (out *Comparison) coverage() []string {
	var notes []string
	names := out.Labels()
	for s := range out.Runs {
		t := out.tally(s)
		lost := t.jobs.LeftOut()
		if first := out.tally(0); out.otherJobs(s) && t.jobs.Submitted != first.jobs.Submitted {
			notes = append(notes, fmt.Sprintf("%s has %s, %s has %s: their figures are of other jobs", names[s], unit.Count(t.jobs.Submitted, "job")+t.seeds,
				names[0], unit.Number(first.jobs.Submitted)+first.seeds))
		}
		switch {
		case out.Partial && lost == t.jobs.Unfinished: // said already
		case out.empty(s):
			if lost == 0 { // there were none to finish
				continue
			}
			which := "none of " + unit.Count(t.jobs.Submitted, "job") + t.seeds
			if t.jobs.Finished > 0 {
				which = "in some seeds none, in all " + t.outOf(t.jobs.Finished)
			}
			notes = append(notes, fmt.Sprintf("NOTHING FINISHED under %s: %s; %s. It has no figures here, and no verdict", names[s], which, t.reasons()))
		case out.apart(s):
			notes = append(notes, out.apartNote(s, t))
		case lost > 0 && (s == 0 || out.empty(0)):
			notes = append(notes, fmt.Sprintf("under %s %s did not finish: %s; its figures are of the others", names[s], t.outOf(lost), t.reasons()))
		case lost > 0:
			same := "the same jobs as under " + names[0]
			for i, r := range out.Runs[s] {
				if out.otherJobs(s) {
					same = "as large a share as under " + names[0]
				} else if r.Apart(out.Runs[0][i]) > 0 {
					same = fmt.Sprintf("fewer than 1 job in 1,000 is missing from only one of %s and %s, so they are judged all the same", names[0], names[s])
				}
			}
			notes = append(notes, fmt.Sprintf("under %s %s did not finish: %s; %s", names[s], t.outOf(lost), t.reasons(), same))
		}
	}
	return notes
}

// apartNote says that two columns of the table cover different jobs.
func (out *Comparison) apartNote(s int, t tally) string {
	names := out.Labels()
	text := fmt.Sprintf("DIFFERENT JOBS: under %s %s did not finish", names[s], t.outOf(t.jobs.LeftOut()))
	if t.jobs.LeftOut() == 0 {
		text = fmt.Sprintf("DIFFERENT JOBS: under %s all jobs finished", names[s])
	} else {
		text += ": " + t.reasons()
	}
	first := out.tally(0)
	under := "all finished"
	if n := first.jobs.LeftOut(); n > 0 {
		under = first.outOf(n) + " did not"
	}
	return fmt.Sprintf("%s; under %s %s. Their figures are not of the same jobs, so no difference of %s is called better or worse",
		text, names[0], under, names[s])
}

// apartAnswer is the answer about a scheduler that finished other jobs than the first.
func (out *Comparison) apartAnswer(s int) string {
	finishes := func(t tally) string {
		if n := t.jobs.LeftOut(); n > 0 {
			return t.outOf(n) + " do not finish"
		}
		return "all " + unit.Count(t.jobs.Submitted, "job") + t.seeds + " finish"
	}
	return fmt.Sprintf("cannot be judged as a whole against %s, for they finish different jobs: here %s, there %s.", out.Labels()[0], finishes(out.tally(s)), finishes(out.tally(0)))
}

// Assumptions are those of the first run. Those that hold for its seed's jobs only are marked.
func (out *Comparison) Assumptions() []string {
	lines := append([]string{}, out.Runs[0][0].Assumptions...)
	for i, line := range lines {
		for _, r := range out.Runs[0][1:] {
			if !slices.Contains(r.Assumptions, line) && !slices.Contains(out.read, line) {
				lines[i] += " (of the first seed; each has its own)"
				break
			}
		}
	}
	return lines
}

// clip shortens a reason that is too long for a sentence.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
