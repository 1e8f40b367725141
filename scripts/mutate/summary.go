package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

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

// page is the result as a page of docs/studies. Its table of runs continues that of the page before.
func (s *summary) page(before string, began time.Time, parallel int) string {
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Study: would the unit tests notice?

Faults from a fixed list ([mutants.txt](../../scripts/mutate/mutants.txt)) are put into the program, one at a time. A fault is
killed if the tests of its own package fail; the golden pages of studies are not among them. The list begins with rules that an
audit found untested; the rest was drawn with a fixed seed, by lines of code. The bar is %d %%. `+"`make mutate`"+` runs the list and writes this page.

| program | date | minutes | at a time | load average | mutants | killed | timed out | survived | score |
|---|---|---|---|---|---|---|---|---|---|
`, bar)
	if _, runs, ok := strings.Cut(before, "---|\n"); ok {
		runs, _, _ = strings.Cut(runs, "\n\n")
		b.WriteString(runs + "\n")
	}
	fmt.Fprintf(&b, "| %s | %s | %.0f | %d | %.1f %s", strings.TrimSpace(string(commit)), began.UTC().Format(time.DateOnly),
		time.Since(began).Minutes(), parallel, host.LoadAverage(host.FiveMinutes), strings.TrimPrefix(s.all.String(), "| all "))
	b.WriteString("\nThe last run, by package:\n\n")
	b.WriteString("| package | mutants | killed | timed out | survived | score |\n|---|---|---|---|---|---|\n")
	for _, r := range s.packages {
		b.WriteString(r.String())
	}
	b.WriteString("\n## Survivors\n\n")
	for _, r := range s.survivors {
		to := "deleted"
		if r.new != "" {
			to = "becomes `" + r.new + "`"
		}
		fmt.Fprintf(&b, "- %s, %s: `%s` %s. %s\n", r.file, r.function, r.old, to, r.reason)
	}
	return b.String()
}
