// Command studies proves the product and is no part of it: it reruns published experiments, runs live studies on real clusters, and brings such clusters
// up on this machine.
//
//	go run ./studies reproduce capacity
//	go run ./studies lab up hadoop --scheduler fair --nodes 3
//	go run ./studies lab down
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
	name  string // one to three words: "flows", "lab status", "lab up hadoop"
	args  string // of the command line, for its usage; "" if it takes none
	usage string // one line
	about string // shown with its options
	// setup adds the verb's flags to f and returns the action to run once they are parsed; f has the arguments then.
	setup func(f *flag.FlagSet, out io.Writer) action
}

type action = func(ctx context.Context) error

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "studies:", err)
		os.Exit(1)
	}
}

// dispatch finds the verb with the most words that prefixes the arguments.
func dispatch(ctx context.Context, args []string, out io.Writer) error {
	verbs := slices.Concat(computed, measured, clusters)
	for words := min(3, len(args)); words > 0; words-- {
		for _, v := range verbs {
			if v.name == strings.Join(args[:words], " ") {
				return v.run(ctx, args[words:], out)
			}
		}
	}
	if len(args) > 0 && !slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
		return fmt.Errorf("unknown verb %q: `go run ./studies help` lists them", strings.Join(args[:min(2, len(args))], " "))
	}
	fmt.Fprintf(out, "usage: go run ./studies VERB [options]     (VERB --help lists its options)\n\n")
	for _, v := range verbs {
		fmt.Fprintf(out, "  %-16s %s\n", v.name, v.usage)
	}
	return nil
}

func (v *verb) run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet(v.name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: go run ./studies %s [options]\n\n%s\n\n", strings.TrimSpace(v.name+" "+v.args), v.about)
		f.PrintDefaults()
	}
	do := v.setup(f, out)
	words := []string{"--"}
	for len(args) > 0 { // options may stand after arguments
		if err := f.Parse(args); err != nil {
			return err
		}
		if args = f.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	if len(words) > 1 && v.args == "" {
		return fmt.Errorf("%s takes no arguments, only options: what is %q?", v.name, words[1])
	}
	if err := f.Parse(words); err != nil {
		return err
	}
	return do(ctx)
}
