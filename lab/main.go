// Command lab is for developers of Yardmaster: it brings real clusters up on this machine, inspects them and takes them
// down again. It is not part of the product.
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
	"slices"
	"strings"
	"syscall"
)

// verb is one subcommand.
type verb struct {
	name  string // one or two words: "status", "up hadoop"
	usage string // one line
	about string // shown with its options
	// setup adds the verb's flags to f and returns the action to run once they are parsed.
	setup func(f *flag.FlagSet, out io.Writer) action
}

type action func(ctx context.Context) error

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

// dispatch finds the verb with the most words that prefixes the arguments.
func dispatch(ctx context.Context, args []string, out io.Writer) error {
	verbs := slices.Concat(clusters, studies)
	for words := min(2, len(args)); words > 0; words-- {
		for _, v := range verbs {
			if v.name == strings.Join(args[:words], " ") {
				return v.run(ctx, args[words:], out)
			}
		}
	}
	help := len(args) == 0 || slices.Contains([]string{"help", "-h", "--help"}, args[0])
	if !help {
		out = os.Stderr
	}
	fmt.Fprintf(out, "usage: go run ./lab VERB [options]     (VERB --help lists its options)\n\n")
	for _, v := range verbs {
		fmt.Fprintf(out, "  %-14s %s\n", v.name, v.usage)
	}
	if !help {
		return fmt.Errorf("unknown verb %q", args[0])
	}
	return nil
}

func (v *verb) run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet(v.name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: go run ./lab %s [options]\n\n%s\n\n", v.name, v.about)
		f.PrintDefaults()
	}
	do := v.setup(f, out)
	if err := f.Parse(args); err != nil {
		return err
	}
	return do(ctx)
}
