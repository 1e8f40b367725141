// Command yardmaster rehearses a scheduling change of a shared data cluster on the cluster's own history.
//
// It is thin: one file a verb, each of which reads flags, calls the packages that do the work, and prints. The exit code is
// 0 when the work is done, 1 when it failed or was cut short, and 2 when the command was used wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/yardmaster/yardmaster/internal/term"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// The first signal asks the work to end and to keep what it has; after it, signals do what they always do, so that a
	// second one ends the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop()
	}()
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is the whole command.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	ink := term.InkFor(os.Stderr)
	fmt.Fprintln(os.Stderr, ink.Bad("yardmaster: ")+err.Error())
	var u *usageError
	if errors.As(err, &u) {
		if u.next != "" {
			fmt.Fprintln(os.Stderr, u.next)
		}
		return exitUsage
	}
	return exitFailed
}

// usageError says that the command was used wrongly.
type usageError struct {
	err  error
	next string // what to do instead; may be empty
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// misuse is an error of use, with what to do next.
func misuse(next, format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...), next: next}
}
