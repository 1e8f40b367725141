// Mutate measures whether unit tests would notice a fault. It breaks one line of the program at a time, from a fixed list
// (mutants.txt), runs the tests of that package only, and reports which mutants no test noticed.
//
//	go run ./scripts/mutate [-p N] [-only REGEXP] [-o PAGE]         run the list; exit 1 below the bar or without a reason
//	go run ./scripts/mutate candidates [-seed N] [-count N] DIR...  draw new entries for the list
//
// The work tree is never changed: the compiler reads the mutant through -overlay. Gremlins, go-mutesting and Ooze were
// considered: they mutate whatever they find in a module, which here takes many hours, and cannot run a fixed list of places or
// keep a survivor's reason. They also copy the module for every worker, or write the mutant into the work tree.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/run"
)

const (
	bar        = 85 // percent of the list that must be killed
	listFile   = "scripts/mutate/mutants.txt"
	minTimeout = 20 * time.Second
	slower     = 5 // than the unmutated tests: a mutant that takes as many times longer hangs
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) > 0 && args[0] == "candidates" {
		return candidates(os.Stdout, args[1:])
	}
	flags := flag.NewFlagSet("mutate", flag.ExitOnError)
	parallel := flags.Int("p", runtime.NumCPU(), "mutants at a time")
	only := flags.String("only", "", "run the entries whose \"FILE FUNCTION\" matches this `regexp`")
	file := flags.String("list", listFile, "the `file` with the mutants")
	page := flags.String("o", "", "write the result to this `page`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	l, err := read(".", *file)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	results := l.run(ctx, temp, wanted, *parallel)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	s := summarise(results)
	before, err := os.ReadFile(*page)
	if err != nil && *page != "" && !os.IsNotExist(err) {
		return err
	}
	text, err := s.page(string(before), *page, began, *parallel)
	if err != nil {
		return err
	}
	fmt.Println("\n" + text)
	return s.verdict()
}

type outcome string

const (
	killed   outcome = "killed"
	timedOut outcome = "timed out" // counts as killed: somebody would notice
	survived outcome = "SURVIVED"
	invalid  outcome = "INVALID" // it does not compile, or the tests fail without it
)

type result struct {
	*mutant
	outcome outcome
	took    time.Duration
	detail  string // why it is invalid
}

func (r result) String() string {
	to := r.new
	if to == "" {
		to = "(deleted)"
	}
	return fmt.Sprintf("%-9s %5.1fs %s:%d: %s  =>  %s%s", r.outcome, r.took.Seconds(), r.file, r.line, r.old, to, r.detail)
}

// run runs every wanted mutant and prints each result as it comes.
func (l *list) run(ctx context.Context, temp string, wanted *regexp.Regexp, parallel int) (results []result) {
	progress := term.NewProgress(os.Stderr, "mutants")
	defer progress.End()
	some := slices.DeleteFunc(slices.Clone(l.mutants), func(m *mutant) bool { return !wanted.MatchString(m.name()) })
	var mu sync.Mutex
	run.Each(ctx, len(some), parallel, func(i int) {
		r := l.try(ctx, some[i], filepath.Join(temp, fmt.Sprint("mutant", i)))
		if ctx.Err() != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		results = append(results, r)
		if progress.Active() {
			fmt.Print("\r\x1b[K")
		}
		fmt.Println(r)
		progress.Set(float64(len(results))/float64(len(l.mutants)), fmt.Sprintf("%d of %d", len(results), len(l.mutants)))
	})
	return results
}

// try builds one mutant and runs its tests, with files whose names begin with prefix.
func (l *list) try(ctx context.Context, m *mutant, prefix string) result {
	out := result{mutant: m, outcome: survived}
	file, err := filepath.Abs(m.file)
	err = errors.Join(err,
		os.WriteFile(prefix+".go", m.src, 0o600),
		os.WriteFile(prefix+".json", fmt.Appendf(nil, `{"Replace": {%q: %q}}`, file, prefix+".go"), 0o600))
	if err != nil {
		out.outcome, out.detail = invalid, ": "+err.Error()
	}
	began := time.Now()
	for _, t := range l.tests[m.dir()] {
		if out.outcome != survived {
			break
		}
		// The tests must pass as they are; how long they take sets the timeout.
		t.once.Do(func() {
			t.limit = 10 * time.Minute
			begin := time.Now()
			if o, detail := t.run(ctx, prefix, ""); o != survived {
				t.failure = fmt.Sprintf(": the tests of %s must pass unmutated: %s %s", t.dir, o, detail)
			}
			t.limit = max(minTimeout, slower*time.Since(begin))
			began = time.Now()
		})
		if out.outcome, out.detail = t.run(ctx, prefix, prefix+".json"); t.failure != "" {
			out.outcome, out.detail = invalid, t.failure
		}
	}
	out.took = time.Since(began)
	return out
}

// tests are those of one package.
type tests struct {
	dir     string
	once    sync.Once
	limit   time.Duration
	failure string // of the unmutated tests
}

// run builds and runs the tests. The binary is run directly, so that the time of the build does not count.
func (t *tests) run(ctx context.Context, prefix, overlay string) (outcome, string) {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-dwarf=false", "-ldflags=-s -w",
		"-o", prefix+".test", "-overlay="+overlay, "./"+t.dir)
	defer func() { _ = os.Remove(prefix + ".test") }() // hundreds of them fill a disk
	if text, err := build.CombinedOutput(); err != nil {
		return invalid, ":\n" + string(text)
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	test := exec.CommandContext(ctx, prefix+".test", "-test.short", "-test.failfast")
	test.Dir = t.dir
	test.Env = append(os.Environ(), "RAPID_NOFAILFILE=true") // a failing case is not kept: the fault is the mutant's
	test.WaitDelay = time.Second
	text, err := test.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return timedOut, ""
	case err != nil && overlay == "":
		return killed, string(bytes.TrimSpace(text))
	case err != nil:
		return killed, ""
	}
	return survived, ""
}
