package main

import (
	_ "embed"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

type row struct {
	name                                string
	mutants, killed, timedOut, survived int
}

func (r *row) count(o outcome) {
	r.mutants++
	switch o {
	case killed:
		r.killed++
	case timedOut:
		r.timedOut++
	case survived:
		r.survived++
	}
}

func (r *row) score() float64 { return 100 * float64(r.killed+r.timedOut) / float64(max(r.mutants, 1)) }

func (r *row) String() string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %.0f %% |\n", r.name, r.mutants, r.killed, r.timedOut, r.survived, r.score())
}

type summary struct {
	packages  []*row
	all       row
	survivors []result
}

func summarise(results []result) *summary {
	slices.SortStableFunc(results, func(a, b result) int { return strings.Compare(a.name(), b.name()) })
	s := &summary{all: row{name: "all"}}
	for _, r := range results {
		if n := len(s.packages); n == 0 || s.packages[n-1].name != r.dir() {
			s.packages = append(s.packages, &row{name: r.dir()})
		}
		s.packages[len(s.packages)-1].count(r.outcome)
		s.all.count(r.outcome)
		if r.outcome == survived {
			s.survivors = append(s.survivors, r)
		} else if r.reason != "" {
			fmt.Printf("%s:%d no longer survives; delete its reason: %s\n", r.file, r.line, r.reason)
		}
	}
	return s
}

// verdict is an error unless enough was killed and every survivor has a reason.
func (s *summary) verdict() error {
	unexplained := 0
	for _, r := range s.survivors {
		if r.reason == "" {
			unexplained++
		}
	}
	switch wrong := s.all.mutants - s.all.killed - s.all.timedOut - s.all.survived; {
	case wrong > 0:
		return fmt.Errorf("%d mutants are invalid; correct or delete them in %s", wrong, listFile)
	case s.all.score() < bar:
		return fmt.Errorf("%.1f %% killed, below the bar of %d %%; write tests that notice the survivors", s.all.score(), bar)
	case unexplained > 0:
		return fmt.Errorf("%d survivors have no reason; write a test, or a line \"= REASON\" in %s", unexplained, listFile)
	}
	return nil
}

//go:embed study.md.tmpl
var pageText string

// page is the result as a page of docs/studies, written to file unless that is "". Its table of runs continues that of the page before.
func (s *summary) page(before, file string, began time.Time, parallel int) (string, error) {
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	earlier := ""
	if _, runs, ok := strings.Cut(before, "---|\n"); ok {
		runs, _, _ = strings.Cut(runs, "\n\n")
		earlier = runs + "\n"
	}
	var survivors []string
	for _, r := range s.survivors {
		change := "deleted"
		if r.new != "" {
			change = "becomes `" + r.new + "`"
		}
		survivors = append(survivors, fmt.Sprintf("%s, %s: `%s` %s. %s", r.file, r.function, r.old, change, r.reason))
	}
	return evidence.Page(pageText, file, map[string]any{
		"Bar": bar, "Earlier": earlier, "Commit": strings.TrimSpace(string(commit)), "Began": began.UTC().Format(time.DateOnly), "Minutes": time.Since(began).Minutes(),
		"Parallel": parallel, "Load": host.LoadAverage(host.FiveMinutes), "All": strings.TrimPrefix(s.all.String(), "| all "), "Packages": s.packages, "Survivors": survivors,
	}, nil)
}
