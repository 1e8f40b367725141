package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/yardmaster/yardmaster/lab/study"
)

func init() {
	verbs = append(verbs,
		verb{"study masters", "hold the simulator against real daemons with many unmanaged applications", studyMasters},
		verb{"study mapreduce", "run MapReduce jobs, import, predict a change of settings, make it, compare", studyMapReduce},
		verb{"study cycles", "measure the cycles that Hadoop's own examples take for a byte", studyCycles},
	)
}

func studyMasters(ctx context.Context, args []string, out io.Writer) error {
	f := flags("study masters", "Runs a workload of unmanaged applications on real daemons, several times, and the same workload through the simulator;\n"+
		"writes how far they are apart. With --offline it takes the records that are kept.")
	m := study.Masters{Size: study.Full, Log: out}
	f.IntVar(&m.Runs, "runs", 3, "on the daemons, beside those that are kept")
	f.StringVar(&m.Dir, "dir", filepath.Join("docs", "studies", "masters"), "`folder` of the records and the report")
	f.StringVar(&m.Work, "work", "", "`folder` of the daemons, which stays (default: a temporary one)")
	small := f.Bool("small", false, "the miniature that the tests run; needs --dir")
	offline := f.Bool("offline", false, "take the records")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *small {
		if m.Size = study.Mini; m.Dir == filepath.Join("docs", "studies", "masters") {
			return errors.New("study masters: --small needs a --dir of its own")
		}
	}
	if !*offline {
		if err := m.Record(ctx); err != nil {
			return err
		}
	}
	text, err := m.Report(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nwritten to %s\n", text, filepath.Join(m.Dir, "report.md"))
	return nil
}

func studyMapReduce(ctx context.Context, args []string, out io.Writer) error {
	f := flags("study mapreduce", "Runs MapReduce jobs on real daemons, imports their history, predicts what other settings would do, runs the jobs under those settings\n"+
		"and once more under the first, and writes how far prediction and cluster are apart. With --offline it takes the imports that are kept.")
	m := study.MapReduce{Log: out}
	f.StringVar(&m.Dir, "dir", filepath.Join("docs", "studies", "mapreduce"), "`folder` of the imports and the report")
	f.StringVar(&m.Work, "work", "", "`folder` of the daemons, which stays (default: a temporary one)")
	f.StringVar(&m.Binary, "binary", "", "yardmaster's own `file` (default: it is built)")
	offline := f.Bool("offline", false, "take the imports")
	if err := f.Parse(args); err != nil {
		return err
	}
	if !*offline {
		if err := m.Record(ctx); err != nil {
			return err
		}
	}
	text, err := m.Report(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nwritten to %s\n", text, filepath.Join(m.Dir, "report.md"))
	return nil
}

func studyCycles(ctx context.Context, args []string, out io.Writer) error {
	f := flags("study cycles", "Runs TeraSort, WordCount and Sort of Hadoop's examples on inputs of two sizes and writes the cycles that they take for a byte and for a process.\n"+
		"With --offline it takes the records that are kept.")
	s := study.Cycles{Log: out}
	f.StringVar(&s.Dir, "dir", filepath.Join("docs", "studies", "cycles"), "`folder` of the records")
	f.StringVar(&s.Page, "page", filepath.Join("docs", "studies", "cycles.md"), "the report's `file`")
	f.StringVar(&s.Work, "work", "", "`folder` of the daemons, which stays (default: a temporary one)")
	f.StringVar(&s.History, "history", "", "`address` of a history server that has the jobs already; nothing is run")
	offline := f.Bool("offline", false, "take the records")
	if err := f.Parse(args); err != nil {
		return err
	}
	if !*offline {
		if err := s.Record(ctx); err != nil {
			return err
		}
	}
	text, err := s.Report()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nwritten to %s\n", text, s.Page)
	return nil
}
