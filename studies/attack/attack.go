// Package attack is the list of attacks on the live commands, run against a real ResourceManager: what an ordinary user of the cluster, a
// lying server, another account of the operator's machine, a peer on the network and the author of a file can make `yardmaster` do.
//
// Each attack runs the command as an operator would. It holds if the exit code and the output are right, the command ended in time and within
// its memory, and the ResourceManager is as it was: its configuration to the letter, and the queue and priority of every other
// application. `go run ./studies attack` runs all of them; TestLabAttacks those that are short.
package attack

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Attack is one row of the list.
type Attack struct {
	Name  string
	Actor string
	Tries string // what it does, and the worst that could come of it
	Holds string // what must hold
	Test  string // the test that runs it, where that is not TestLabAttacks
	Long  bool   // not in CI
	Each  []string
	Steps [][]string // run in order, once for each of Each; none: Test runs it
}

//go:embed attacks.yaml
var listText []byte

var list = *yamlfile.Decode[struct {
	Commands map[string][]string // by name, what steps have in common
	Attacks  []Attack            // by actor
}](listText)

// Result is the outcome of one attack.
type Result struct {
	Name  string        `json:"name"`
	Harms []string      `json:"harms,omitempty"` // none: it held
	Seen  string        `json:"seen,omitempty"`  // the line that answers it
	Took  time.Duration `json:"took_ns"`
	RSS   int64         `json:"rss"` // bytes, the max of its commands
}

// Verdict is HARM or held.
func (r *Result) Verdict() string {
	if len(r.Harms) > 0 {
		return "HARM"
	}
	return "held"
}

// Run is one run of the list, as it is stored.
type Run struct {
	Results []Result `json:"results"`
}

// Study runs the list.
type Study struct {
	Dir    string   // of the records; "": none is stored
	Work   string   // of the daemons, which stays; "": a temporary one
	Binary string   // yardmaster's file; "": it is built
	Only   []string // parts of names; none: all
	Short  bool     // only what CI runs
	Output bool     // log every command and what it wrote
	Log    io.Writer
}

// Run brings a ResourceManager up, runs the attacks one after another, and stores the results.
func (s *Study) Run(ctx context.Context) (Run, error) {
	work, clean, err := host.Folder(s.Work, "attack")
	if err != nil {
		return Run{}, err
	}
	defer clean()
	program := ""
	if s.Dir != "" {
		if program, err = evidence.Program(s.Dir, s.Binary); err != nil {
			return Run{}, err
		}
	}
	if s.Binary == "" {
		if s.Binary, err = host.Build(ctx, work, host.Product); err != nil {
			return Run{}, err
		}
	}
	note := evidence.Begin(program)
	output := io.Discard
	if s.Output {
		output = s.Log
	}
	a, err := openArena(ctx, s.Binary, work, output)
	if err != nil {
		return Run{}, err
	}
	defer a.close()
	var run Run
	for _, x := range list.Attacks {
		if !s.wants(&x) {
			continue
		}
		r, err := a.try(ctx, &x)
		if err != nil {
			return run, fmt.Errorf("%s: %w", x.Name, err)
		}
		r.Seen = strings.ReplaceAll(r.Seen, work, "WORK") // the records are published
		for i := range r.Harms {
			r.Harms[i] = strings.ReplaceAll(r.Harms[i], work, "WORK")
		}
		run.Results = append(run.Results, r)
		fmt.Fprintf(s.Log, "%-5s %-15s %-48s %5.1f s %5d MB  %s\n", r.Verdict(), x.Actor, x.Name, r.Took.Seconds(), r.RSS>>20, r.Seen)
		for _, h := range r.Harms {
			fmt.Fprintf(s.Log, "      %s\n", strings.ReplaceAll(h, "\n", "\n      "))
		}
	}
	if s.Dir == "" {
		return run, nil
	}
	_, err = note.KeepJSON(s.Dir, "attacks", run)
	return run, err
}

func (s *Study) wants(x *Attack) bool {
	named := len(s.Only) == 0 || slices.ContainsFunc(s.Only, func(part string) bool { return strings.Contains(x.Name, part) })
	return len(x.Steps) > 0 && named && !(s.Short && x.Long)
}

// Harms are the attacks of a run that did not hold.
func (r *Run) Harms() (names []string) {
	for _, x := range r.Results {
		if len(x.Harms) > 0 {
			names = append(names, x.Name+": "+strings.Join(x.Harms, "; "))
		}
	}
	return names
}

//go:embed attacks.md.tmpl
var pageText string

// Page writes the page of the list, with the verdicts of the newest stored run; file "": it is only returned.
func Page(dir, file string) (string, error) {
	runs, records, err := evidence.ReadSeries[Run](dir, "attacks")
	if err != nil {
		return "", err
	}
	data := struct {
		Actors  []string
		List    map[string][]Attack
		Verdict map[string]string
		Run     *evidence.Run
		Count   int
	}{List: map[string][]Attack{}, Verdict: map[string]string{}}
	for _, x := range list.Attacks {
		if data.List[x.Actor] == nil {
			data.Actors = append(data.Actors, x.Actor)
		}
		data.List[x.Actor] = append(data.List[x.Actor], x)
		data.Verdict[x.Name] = "not run"
		if x.Test != "" {
			data.Verdict[x.Name] = "`" + x.Test + "`"
		}
	}
	if n := len(runs); n > 0 {
		data.Run, data.Count = &runs[n-1], len(records[n-1].Results)
		for _, r := range records[n-1].Results {
			data.Verdict[r.Name] = r.Verdict()
		}
	}
	return evidence.Page(pageText, file, data, nil)
}

// DefaultDir and DefaultPage are where a checkout has the records and the page.
func DefaultDir(root string) string  { return filepath.Join(root, "docs", "studies", "attacks") }
func DefaultPage(root string) string { return filepath.Join(root, "docs", "attacks.md") }
