// Package answers asks an operator's questions of histories and checks every sentence of the answers. Each question is asked twice: as an operator
// would, and with 20 other perturbed replays. A claim of "better" or "worse" is overturned unless the second set's interval excludes no change
// on the same side. Records are kept in docs/studies/answers, and the page is made from them.
//
// A history is a folder with a scenario, as `import yarn` makes it, and a file QUESTIONS with a variant per line. folders.sh makes those of the study.
package answers

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/whatif"
)

//go:embed page.md
var page string

const (
	dir    = "docs/studies/answers"
	series = "answers"
	second = 1001 // first seed of the second set
)

// record is what one history answered.
type record struct {
	History string   `json:"history"`
	Clock   string   `json:"clock"`
	Replays int      `json:"replays"` // of the operator's command
	Command []string `json:"command"`
	Answers []answer `json:"answers"`
}

type answer struct {
	Text    string         `json:"text"`
	Verdict whatif.Verdict `json:"verdict"`
	Claims  []checked      `json:"claims"`
}

// checked is a claim and what the second set says of it, in percent.
type checked struct {
	whatif.Claim
	Change   float64   `json:"change"`
	CI       []float64 `json:"ci95"`
	Overturn bool      `json:"overturned"`
}

// comparison is what is read of compare --json.
type comparison struct {
	Seeds   []uint64 `json:"seeds"`
	Answers []struct {
		Scheduler, Text string
		Verdict         whatif.Verdict
		Claims          []whatif.Claim
	} `json:"answers"`
	Metrics []row `json:"metrics"`
	Groups  []struct {
		verdict.Subject
		Metrics []row `json:"metrics"`
	} `json:"groups"`
}

type row struct {
	Metric     string `json:"metric"`
	More       bool   `json:"more_is_better"`
	Schedulers []struct {
		Scheduler  string    `json:"scheduler"`
		Change     float64   `json:"change_percent"`
		CI         []float64 `json:"change_percent_ci95"`
		Difference []float64 `json:"difference_ci95"`
	} `json:"schedulers"`
}

// Run asks the questions of histories, each NAME=FOLDER, unless offline, and writes the page.
func Run(ctx context.Context, offline bool, histories []string) error {
	if !offline {
		program, err := evidence.Program(dir, "")
		if err != nil {
			return err
		}
		work, err := os.MkdirTemp("", "answers")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(work) }()
		tool := filepath.Join(work, "yardmaster")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", tool, "./cmd/yardmaster").CombinedOutput(); err != nil {
			return fmt.Errorf("building: %w\n%s", err, out)
		}
		for _, h := range histories {
			name, folder, ok := strings.Cut(h, "=")
			if !ok {
				return fmt.Errorf("%q is not NAME=FOLDER", h)
			}
			for _, clock := range []string{"ideal", "hadoop"} {
				begun := evidence.Begin(program)
				rec, err := ask(ctx, tool, name, folder, clock)
				if err != nil {
					return fmt.Errorf("%s, clock %s: %w", name, clock, err)
				}
				if _, err := begun.KeepJSON(dir, series, rec); err != nil {
					return err
				}
			}
		}
	}
	runs, records, err := evidence.ReadSeries[record](dir, series)
	if err != nil {
		return err
	}
	_, err = evidence.Page(page, dir+".md", struct {
		Runs    []evidence.Run
		Records []*record
	}{runs, records}, nil)
	return err
}

// ask asks the questions of a folder, QUESTIONS there, one a line, and checks the answers.
func ask(ctx context.Context, tool, name, folder, clock string) (*record, error) {
	b, err := os.ReadFile(filepath.Join(folder, "QUESTIONS"))
	if err != nil {
		return nil, err
	}
	args := []string{"compare", folder, "--clock", clock, "--json"}
	for _, q := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		args = append(args, "--variant", q)
	}
	first, err := compare(ctx, tool, args)
	if err != nil {
		return nil, err
	}
	other, err := compare(ctx, tool, append(args, "--seed", fmt.Sprint(second), "--seeds", "20"))
	if err != nil {
		return nil, err
	}
	rec := &record{History: name, Clock: clock, Replays: len(first.Seeds), Command: args[2:]}
	for _, a := range first.Answers {
		out := answer{Text: a.Text, Verdict: a.Verdict}
		for _, c := range a.Claims {
			out.Claims = append(out.Claims, other.check(a.Scheduler, c))
		}
		rec.Answers = append(rec.Answers, out)
	}
	return rec, nil
}

func compare(ctx context.Context, tool string, args []string) (*comparison, error) {
	fmt.Fprintln(os.Stderr, "yardmaster", strings.Join(args, " "))
	c := exec.CommandContext(ctx, tool, args...)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return nil, err
	}
	out := &comparison{}
	return out, json.Unmarshal(text, out)
}

// check looks a claim up in the second set.
func (c *comparison) check(variant string, claim whatif.Claim) checked {
	out := checked{Claim: claim, Overturn: true}
	rows := c.Metrics
	if claim.Kind != "" {
		rows = nil
		for _, g := range c.Groups {
			if g.Subject == claim.Subject {
				rows = g.Metrics
			}
		}
	}
	for _, r := range rows {
		for _, cell := range r.Schedulers {
			if r.Metric != claim.Metric || cell.Scheduler != variant {
				continue
			}
			out.Change, out.CI = cell.Change, cell.CI
			ci := cell.CI
			if len(ci) < 2 {
				ci = cell.Difference
			}
			if len(ci) == 2 {
				rises, falls := ci[0] > 0, ci[1] < 0
				out.Overturn = !(rises && r.More == claim.Better || falls && r.More != claim.Better)
			}
		}
	}
	return out
}
