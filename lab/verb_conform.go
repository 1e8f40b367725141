package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/lab/conform"
)

func init() {
	verbs = append(verbs, verb{"conform", "hold the simulator against SLS, scenario by scenario", runConform})
}

func runConform(ctx context.Context, args []string, out io.Writer) error {
	f := flags("conform", "Runs scenarios under Hadoop's Scheduler Load Simulator (the real ResourceManager and its scheduler; some minutes each),\n"+
		"then through the simulator, and writes how far they are apart. With --offline it takes the records that are kept.")
	names := f.String("scenario", "", "`names` with commas; small: those of CI; all: those too (default: all that are not small)")
	r := conform.Recording{Log: out}
	f.IntVar(&r.Runs, "runs", 2, "of each scenario under SLS, beside those that are kept")
	f.IntVar(&r.Parallel, "parallel", 3, "runs of SLS at the same time")
	f.StringVar(&r.Dir, "record", filepath.Join("docs", "studies", "conformance"), "`folder` of the records")
	f.BoolVar(&r.Missing, "missing", false, "run only as many as lack to --runs")
	offline := f.Bool("offline", false, "run nothing under SLS: take the records")
	doc := f.String("doc", "", "`file` to write (default: docs/conformance.md when all scenarios are compared, else none)")
	if err := f.Parse(args); err != nil {
		return err
	}
	scenarios, err := conform.Named(*names)
	if err != nil {
		return err
	}
	if !*offline {
		if err := conform.Record(ctx, scenarios, r); err != nil {
			return err
		}
	}
	rows, err := conform.Compare(ctx, scenarios, r.Dir)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := conform.Write(&text, rows); err != nil {
		return err
	}
	conform.WriteSpeed(&text, rows)
	if _, err := out.Write(text.Bytes()); err != nil {
		return err
	}
	if *doc == "" && *names == "" {
		*doc = filepath.Join("docs", "conformance.md")
	}
	if *doc != "" {
		if err := os.WriteFile(*doc, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing the table: %w", err)
		}
		fmt.Fprintf(out, "\nwritten to %s\n", *doc)
	}
	return nil
}
