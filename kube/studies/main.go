// Command studies shows what the Kubernetes module does on real control planes, whose nodes alone are imitated. It is no part of the product.
//
//	cd kube && YARDMASTER_KUBE=FOLDER go run -trimpath ./studies gain
//
// kube/build.sh makes the folder. Records and pages are in docs/studies, with names that begin with kubernetes; with --offline a study only writes its page.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

// verb is a study: it adds its flags to f and returns what to do once they are parsed.
type verb struct {
	name, about string
	setup       func(f *flag.FlagSet, out io.Writer) func(context.Context) error
}

var verbs []verb

// folder of a study's records, beside those of all studies, for a harness that begins at docs/studies of the main module.
func folder(study string) string {
	return filepath.Join("..", "..", "..", "docs", "studies", "kubernetes-"+study)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:], os.Stdout)
	stop()
	_ = os.RemoveAll(built.dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "studies:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string, out io.Writer) error {
	i := slices.IndexFunc(verbs, func(v verb) bool { return len(args) > 0 && v.name == args[0] })
	if i < 0 {
		fmt.Fprintln(out, "usage: go run ./studies STUDY [options]     (STUDY --help lists its options)")
		for _, v := range verbs {
			fmt.Fprintf(out, "  %-8s %s\n", v.name, v.about)
		}
		return nil
	}
	f := flag.NewFlagSet(verbs[i].name, flag.ExitOnError)
	do := verbs[i].setup(f, out)
	_ = f.Parse(args[1:]) // ends the program on an error
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %s: there are only flags", f.Arg(0))
	}
	return do(ctx)
}
