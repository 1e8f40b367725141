package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/lab/steering"
)

func init() {
	verbs = append(verbs, verb{"study marp-live", "steer real MapReduce batches by every controller, measure, compare with the simulator", studyMarpLive})
}

func studyMarpLive(ctx context.Context, args []string, out io.Writer) error {
	f := flags("study marp-live", "Runs batches of real MapReduce jobs under shares of masters that stand still and under every controller, in turn and several times, with the\n"+
		"Fair and the Capacity Scheduler, and writes a report. Batches that have a record are not run again: ask for more repetitions.")
	s := steering.Study{Size: steering.Full, Log: out}
	f.StringVar(&s.Dir, "dir", filepath.Join("docs", "studies", "marp-live"), "`folder` of the records and pictures")
	f.StringVar(&s.Page, "page", filepath.Join("docs", "studies", "marp-live.md"), "the report's `file`")
	f.StringVar(&s.Work, "work", "", "`folder` of the daemons, which stays (default: a temporary one)")
	f.StringVar(&s.Binary, "binary", "", "yardmaster's own `file` (default: it is built)")
	f.IntVar(&s.Repetitions, "repetitions", 5, "of every arm")
	only := f.String("only", "", "`arms`, with commas: fifo, prj, prj-2, 0.9, cbt, cbtws, cbtwat, ahead, kalman-mem (default: all)")
	scheduler := f.String("scheduler", "both", "fair, capacity or both")
	f.BoolVar(&s.First, "first", false, "let daemons and jobs go before other work on the computer, where that is allowed")
	report := f.Bool("report", false, "only write the report, from the records that are there")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch *scheduler {
	case "fair", "capacity":
		s.Schedulers = []string{*scheduler}
	case "both":
		s.Schedulers = []string{"fair", "capacity"}
	default:
		return errors.New("study marp-live: --scheduler is fair, capacity or both")
	}
	if *only != "" {
		s.Only = strings.Split(*only, ",")
	}
	if !*report {
		if err := s.Record(ctx); err != nil {
			return err
		}
	}
	if err := s.Report(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "written to %s\n", s.Page)
	return nil
}
