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

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Actors, in the order of the page.
const (
	User    = "ordinary user"
	Server  = "lying server"
	Account = "local account"
	Peer    = "network peer"
	Author  = "file author"
)

// Attack is one row of the list.
type Attack struct {
	Name  string
	Actor string
	Tries string // what it does, and the worst that could come of it
	Holds string // what must hold
	Test  string // the test that runs it, where that is not TestLabAttacks
	Long  bool   // not in CI

	run func(t *trial) // nil: Test runs it
}

// List is the whole list, by actor.
func List() []Attack {
	return slices.Concat(userAttacks(), serverAttacks(), accountAttacks(), peerAttacks(), authorAttacks(), elsewhere())
}

// elsewhere are the attacks that other tests run.
func elsewhere() []Attack {
	return []Attack{
		{Name: "AM redirects to a false ResourceManager", Actor: User, Test: "TestLabHostileAM",
			Tries: "Its AM answers with redirects (300, 302, 307, 308) and Refresh headers to a server of its own, to get our requests and credentials there.",
			Holds: "No request of ours reaches that server; the change is made and restored at the real ResourceManager."},
		{Name: "forged history", Actor: User, Test: "TestLabForgedHistory",
			Tries: "Names a folder of its own as the history's in the configuration of its job, and puts a forged history of another user's job there.",
			Holds: "`import yarn --webhdfs` reads what the history server itself keeps, and leaves out files that do not match its list."},
		{Name: "forged deadlines", Actor: User, Test: "TestLabGoalTags",
			Tries: "Tags eight applications with goals that nobody can reach, to take the containers of a queue that is steered by deadline.",
			Holds: "Others lose no more than by the same applications without tags."},
		{Name: "wrong answers while steering", Actor: Server, Test: "TestLabLies",
			Tries: "Negative, huge and missing numbers, NaN, empty lists, half answers, login pages, refusals and silence while `steer --act` runs.",
			Holds: "Nothing is changed on such answers, a line reports them, and the original value is in force at the end."},
		{Name: "lock held by another account", Actor: Account, Test: "TestRestoreWhileAStrangerHasTheLock",
			Tries: "Takes the lock that excludes a second steerer of the machine, so that nothing can be restored.",
			Holds: "`restore` waits for a limited time and restores all the same, with a warning."},
		{Name: "kill -9 at any moment", Actor: Account, Test: "TestLabApplyKills",
			Tries: "Kills `apply` at random moments.",
			Holds: "The configuration is the old one or the new one, the journal says which, and what is open is restored."},
	}
}

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
	for _, x := range List() {
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
	return x.run != nil && named && !(s.Short && x.Long)
}

// Harms are the attacks of a run that did not hold.
func (r *Run) Harms() (list []string) {
	for _, x := range r.Results {
		if len(x.Harms) > 0 {
			list = append(list, x.Name+": "+strings.Join(x.Harms, "; "))
		}
	}
	return list
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
	}{Actors: []string{User, Server, Account, Peer, Author}, List: map[string][]Attack{}, Verdict: map[string]string{}}
	for _, x := range List() {
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
