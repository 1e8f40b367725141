package tune

import (
	_ "embed"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

//go:embed page.md.tmpl
var pageText string

// row is a record with its run.
type row struct {
	*record
	Program string
	Load    string
}

// Keep counts the random points that keep the bounds.
func (r *record) Keep() (n int) {
	for _, m := range r.Random {
		if m.Kept {
			n++
		}
	}
	return n
}

// Found counts the searches with an answer.
func (r *record) Found() (n int) {
	for _, a := range r.Answers {
		if a.Found {
			n++
		}
	}
	return n
}

// mean is that of the searches; one without an answer counts as no change.
func (r *record) mean(of func(a *answer) float64) (sum float64) {
	for i := range r.Answers {
		if a := &r.Answers[i]; a.Found {
			sum += of(a) / float64(len(r.Answers))
		}
	}
	return sum
}

// Searched is the mean change of the goal in the search, Confirmed that on the confirmation.
func (r *record) Searched() float64 { return r.mean(func(a *answer) float64 { return a.Searched }) }

// Confirmed is the mean change of the goal on the confirmation.
func (r *record) Confirmed() float64 {
	return r.mean(func(a *answer) float64 { return a.Expected[0].Percent[0] / 100 })
}

// Broken counts the answers of which a bound was exceeded on the confirmation, clearly or not.
func (r *record) Broken() (n int) {
	for _, a := range r.Answers {
		for _, f := range a.Expected {
			if f.Unclear || !a.Found && len(a.Refuted) > 0 {
				n++
				break
			}
		}
	}
	return n
}

// BestRandom is the best of the random points that keep the bounds, in words.
func (r *record) BestRandom() string {
	if r.Best < 0 {
		return "none"
	}
	return signed(r.Random[r.Best].Change)
}

// FreshRandom is what it does on the confirmation.
func (r *record) FreshRandom() string {
	switch {
	case r.Fresh == nil:
		return "-"
	case r.Fresh.Kept:
		return signed(r.Fresh.Change)
	}
	return signed(r.Fresh.Change) + ", a bound not kept by a standard error: " + r.Fresh.Broken
}

// noBar is the verdict on a history where no random point could be compared with: it says nothing, and counts for nothing.
const noBar = "no bar"

// Verdict is that of both bars.
func (r *record) Verdict() string {
	switch {
	case r.Best < 0:
		return noBar
	case r.Found() < len(r.Answers):
		return "**missed**: no answer with some seeds"
	case math.Round(1e4*r.Searched()) > math.Round(1e4*r.Random[r.Best].Change):
		return "**missed**"
	}
	return "met"
}

func signed(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }

// version is a program with its histories.
type version struct {
	Name      string
	Rows      []row
	Met, Bars int
}

func (v *version) add(r row) {
	v.Rows = append(v.Rows, r)
	switch r.Verdict() {
	case "met":
		v.Met++
		fallthrough
	default:
		v.Bars++
	case noBar:
	}
}

// writePage writes the page from all records, the latest version first.
func writePage() error {
	runs, records, err := evidence.ReadSeries[record](dir, series)
	if err != nil {
		return err
	}
	var developed []row
	var versions []*version
	for i, rec := range records {
		load := "not recorded"
		if l := runs[i].Load; len(l) == 2 {
			load = fmt.Sprintf("%.1f, %.1f", l[0], l[1])
		}
		r := row{rec, runs[i].ProgramText(), load}
		if r.Developed {
			developed = append(developed, r)
			continue
		}
		if n := len(versions); n == 0 || versions[n-1].Name != r.Program {
			versions = append(versions, &version{Name: r.Program})
		}
		versions[len(versions)-1].add(r)
	}
	slices.Reverse(versions)
	_, err = evidence.Page(pageText, dir+".md", map[string]any{"Histories": histories(), "Developed": developed, "Versions": versions,
		"Points": randomPoints, "Seeds": seeds, "Budget": budget}, nil)
	return err
}
