// Command lab is for those who work on Yardmaster: it brings real clusters up on this machine, looks at them and takes them
// down again. It is no part of the product.
//
//	go run ./lab up hadoop --scheduler fair --nodes 3
//	go run ./lab status
//	go run ./lab down
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// verb is one thing that the command does. A file verb_NAME.go adds its own to verbs.
type verb struct {
	name  string // one or two words: "status", "up hadoop"
	usage string // one line
	run   func(ctx context.Context, args []string, out io.Writer) error
}

// verbs is what the command can do, in the order in which it is told. Only init functions change it.
var verbs []verb

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// dispatch finds the verb with the most words that the arguments begin with.
func dispatch(ctx context.Context, args []string, out io.Writer) error {
	for words := min(2, len(args)); words > 0; words-- {
		for _, v := range verbs {
			if v.name == strings.Join(args[:words], " ") {
				return v.run(ctx, args[words:], out)
			}
		}
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(out)
		return nil
	}
	usage(os.Stderr)
	return fmt.Errorf("there is no %q", args[0])
}

func usage(out io.Writer) {
	fmt.Fprintln(out, "usage: go run ./lab VERB [options]     (VERB --help tells its options)")
	fmt.Fprintln(out)
	for _, v := range verbs {
		fmt.Fprintf(out, "  %-14s %s\n", v.name, v.usage)
	}
}

// flags makes a flag set that tells its verb when asked for help.
func flags(name, about string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: go run ./lab %s [options]\n\n%s\n\n", name, about)
		f.PrintDefaults()
	}
	return f
}
