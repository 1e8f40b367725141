// Package cli is the command yardmaster, with the policies and trace formats of this repository and of others: the main of another module calls Main with its
// own.
//
// It is thin: every subcommand reads flags, calls the packages that do the work, and prints. The exit code is
// 0 when the work is done, 1 when it failed or was cut short, and 2 for a usage error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// Option adds to what the command knows.
type Option func(*scenario.Catalogue)

// WithPolicy adds a dispatch policy, which --scheduler takes by its name.
func WithPolicy(e policy.Entry) Option {
	return func(c *scenario.Catalogue) {
		if _, taken := c.Policies.Find(e.Name); taken || e.Name == "" || e.New == nil {
			panic(fmt.Sprintf("cli: policy %q needs a name of its own and a constructor", e.Name))
		}
		c.Policies = append(slices.Clip(c.Policies), e)
	}
}

// WithSteering adds a steering policy, which --steer and yarn steer take by its name.
func WithSteering(e steer.Entry) Option {
	return func(c *scenario.Catalogue) {
		if c.Steering.Find(e.Name) != nil || e.Name == "" || e.New == nil {
			panic(fmt.Sprintf("cli: steering policy %q needs a name of its own and a constructor", e.Name))
		}
		c.Steering = append(slices.Clip(c.Steering), e)
	}
}

// WithTrace adds a trace format, which import and --workload recognise by its content. It is tried after those of this repository.
func WithTrace(f trace.Format) Option {
	return func(c *scenario.Catalogue) {
		if slices.ContainsFunc(c.Traces, func(k trace.Format) bool { return k.Name == f.Name }) || f.Name == "" || f.Sniff == nil || f.Read == nil {
			panic(fmt.Sprintf("cli: trace format %q needs a name of its own, Sniff and Read", f.Name))
		}
		c.Traces = append(slices.Clip(c.Traces), f)
	}
}

// Main runs the command line of this process and ends it.
func Main(options ...Option) {
	known := *scenario.BuiltIn
	for _, add := range options {
		add(&known)
	}
	if code, is := asInit(); is {
		os.Exit(code)
	}
	// A reader of our output may stop reading; files must be written all the same.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	left := &leftovers{}
	ctx, cancel := context.WithCancel(contextWith(context.Background(), left))
	go handleSignals(signals, cancel, time.Now, func() {
		left.remove()
		os.Exit(exitFailed)
	})
	code := run(ctx, &known, os.Args[1:])
	cancel()
	os.Exit(code)
}

// sameRequest is how long after the first signal further ones count as the same request: a terminal, a shell and a supervisor may all send it.
const sameRequest = time.Second

// handleSignals stops the work. The first signal asks it to stop and to keep what it has; one that comes later than sameRequest after it ends the
// program immediately.
func handleSignals(signals <-chan os.Signal, end func(), now func() time.Time, atOnce func()) {
	var first time.Time
	for range signals {
		switch t := now(); {
		case first.IsZero():
			first = t
			end()
		case t.Sub(first) > sameRequest:
			atOnce()
			return
		}
	}
}

func run(ctx context.Context, known *scenario.Catalogue, args []string) int {
	out := newConsole(os.Stdout)
	root := newRoot(known)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(term.NewScreen(os.Stderr, term.Ink{}))
	err := root.ExecuteContext(ctx)
	lost := out.Flush() // before its error is reported
	code := exitDone
	if err != nil {
		code = tell(err)
	}
	if lost != nil {
		if !errors.Is(lost, syscall.EPIPE) { // the reader has gone
			_ = tell(fmt.Errorf("cannot write to standard output: %w", securefile.Cause(lost)))
		}
		code = max(code, exitFailed)
	}
	return code
}

// tell prints an error and returns its exit code.
func tell(err error) int {
	ink := term.InkFor(os.Stderr)
	for i, line := range strings.Split(term.Clean(err.Error()), "\n") {
		switch {
		case i == 0:
			line = ink.Bad("yardmaster: ") + line
		case line != "" && line[0] != ' ': // a server's words must not pass as ours
			line = "  " + line
		}
		fmt.Fprintln(os.Stderr, line)
	}
	var u *usageError
	if !errors.As(err, &u) {
		return exitFailed
	}
	if u.next != "" {
		fmt.Fprintln(os.Stderr, term.Clean(u.next))
	}
	return exitUsage
}

// usageError says that the command was used wrongly.
type usageError struct {
	err  error
	next string // what to do instead; may be empty
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// misuse is a usage error, with what to do next.
func misuse(next, format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...), next: next}
}

// labelled adds the verb that failed. Usage errors name it themselves.
func labelled(verb string, err error) error {
	if _, usage := errors.AsType[*usageError](err); usage || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", verb, err)
}

// withHangup makes a context that SIGHUP ends, too.
func withHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) { // nohup
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}
