package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/attack"
	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/studies/endure"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/live"
	"github.com/yardmaster/yardmaster/studies/steering"
	"github.com/yardmaster/yardmaster/studies/yardstick"
)

// measured are the verbs that measure real programs and report.
var measured = []verb{
	{"attack", "", "make every attack of docs/attacks.md on a real ResourceManager; run it before a release",
		"Brings a real ResourceManager up and runs the live commands as an operator does, while a user, a lying server, another account, a network peer or the author\n" +
			"of a file attacks them. Prints a line for each attack, stores the results and writes docs/attacks.md. With --offline it only writes the page.", attackVerb},
	{"conform", "", "compare the simulator with SLS, scenario by scenario",
		"Runs scenarios under Hadoop's Scheduler Load Simulator (the real ResourceManager and its scheduler; some minutes each),\n" +
			"then through the simulator, and reports the differences. With --offline it uses the stored records.", runConform},
	{"endure", "", "inject faults into the steering of real daemons, and check what is left behind",
		"Runs the command `yarn steer --act` on real daemons while it is killed, loses its ResourceManager, and gets wrong answers and refusals; writes\n" +
			"a report. With --offline it uses the stored records.", new(endure.Study).Study().Verb},
	{"flows", "", "compare the flow network with SimGrid: every end, and the speed",
		"Gives SimGrid and the flow network the same lists of flows, compares when each flow ends, measures the speed of both, and writes\n" +
			"the study's page. With --offline it uses the stored records. Needs g++ and SimGrid (Debian: apt-get install g++ libsimgrid-dev).", flowsVerb},
	{"packets", "", "play a shuffle in ns-3, with packets, beside the flow network",
		"Plays shuffles of 20 nodes in ns-3, records when each flow ended, and writes the study's page, which compares them with the flow network.\n" +
			"With --offline it uses the stored records. Needs g++ and ns-3 (Debian: apt-get install g++ libns3-dev).", packetsVerb},
	{"marp-live", "", "steer real MapReduce batches by every controller, measure, compare with the simulator",
		"Runs batches of real MapReduce jobs under fixed AM shares and under every controller, in turn and repeatedly, with the\n" +
			"Fair and the Capacity Scheduler, and writes a report. Batches with a record are not rerun: raise --repetitions for more.", (&steering.Study{Size: steering.Full}).Study().Verb},
	{"unmanaged", "", "compare the simulator with real daemons under many unmanaged applications",
		"Runs a workload of unmanaged applications on real daemons, several times, and the same workload through the simulator;\n" +
			"reports the differences. With --offline it uses the stored records.", (&live.AMs{Size: live.Full}).Study().Verb},
	{"sizes", "", "steer real applications by size: FIFO, FBQ, TAGS, SITA, COMP; compare with rehearsals",
		"Runs the same unmanaged applications on real daemons under FIFO and under each size-based steering policy, in turn and repeatedly, and\n" +
			"compares the slowdowns with those that rehearsals predict. With --offline it uses the stored records.", (&live.Sized{Size: live.SizedFull}).Study().Verb},
	{"settings", "", "predict changes of settings, apply them to real daemons, compare",
		"Runs unmanaged applications and MapReduce jobs on real daemons under the present settings, predicts three changes of settings from that run's history, stores the\n" +
			"predictions, and runs the same under each change; repeatedly, with other arrivals each time. With --offline it uses the stored records.", studySettings},
	{"deadlines", "", "steer four real applications towards their deadlines, beside the same ones first in, first out",
		"Runs four unmanaged applications with deadlines on real daemons, in four ways at the same time: first in, first out, and steered by deadline, in max\n" +
			"mode by priorities and by queues and in min mode. Reports how late each is and every decision. With --offline it uses the stored records.", live.Deadlines().Verb},
	{"mapreduce", "", "run MapReduce jobs, import, predict a change of settings, make it, compare",
		"Runs MapReduce jobs on real daemons, imports their history, predicts what other settings would do, runs the jobs under those settings\n" +
			"and once more under the first, and compares prediction and cluster. With --offline it uses the stored imports.", new(live.MapReduce).Study().Verb},
	{"spark", "", "run Spark applications, import, predict other executors and queues, measure, compare",
		"Runs Spark applications on real daemons, imports their event logs, predicts what other executors, other queues and dynamic allocation would do, runs the\n" +
			"applications under each, and once more as they were. With --offline it uses the stored records. Needs python3 with pip, which installs PySpark.", new(live.Spark).Study().Verb},
	{"spark-idle", "", "ask `spark queue` about notebooks that hold idle executors, do as it says, and measure",
		"Runs notebooks that hold executors beside jobs that want the room, on real daemons; asks `spark queue` what to set, stores the answer, sets it and runs\n" +
			"them again. With --offline it uses the stored records. Needs python3 with pip, which installs PySpark.", (&live.Spark{Idle: true}).Study().Verb},
	{"spark-size", "", "predict from one run how long Spark applications take with other numbers of executors, and measure",
		"Runs three Spark applications on real daemons with two executors each, stores what `spark size` says of other numbers, and runs them with those.\n" +
			"With --offline it uses the stored records. Needs python3 with pip, which installs PySpark.", new(live.SparkSize).Study().Verb},
	{"eta", "", "ask real daemons when their applications will end, and compare",
		"Runs unmanaged applications on real daemons, imports them, and asks `eta` about others every few seconds; reports how often the intervals hold.\n" +
			"With --offline it uses the stored records.", new(live.ETA).Study().Verb},
	{"watch", "", "apply a change of known effect to real daemons, and compare it with what the watch reports",
		"Lowers a queue's maximum capacity with `yarn apply` while the same applications run in a queue that is not changed, and compares what the\n" +
			"watch reports with the difference. With --offline it uses the stored records.", (&live.Watched{Apps: 24}).Study().Verb},
	{"cycles", "", "measure the CPU cycles per byte of Hadoop's own examples",
		"Runs TeraSort, WordCount and Sort of Hadoop's examples on inputs of two sizes and reports their CPU cycles per byte and per process.\n" +
			"With --offline it uses the stored records.", new(live.Cycles).Study().Verb},
}

// kept is the default folder of a study's records.
func kept(name string) string { return filepath.Join("docs", "studies", name) }

// list splits a comma-separated flag.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func runConform(f *flag.FlagSet, out io.Writer) action {
	names := f.String("scenario", "", "comma-separated `names`; small: those of CI; all: those too (default: all that are not small)")
	r := conform.Recording{Log: out}
	f.IntVar(&r.Runs, "runs", 2, "number of runs of each scenario under SLS, besides those already stored")
	f.IntVar(&r.Parallel, "parallel", 3, "concurrent runs of SLS")
	f.StringVar(&r.Dir, "record", kept("conformance"), "`folder` of the records")
	f.BoolVar(&r.Missing, "missing", false, "run only what is missing to reach --runs")
	offline := f.Bool("offline", false, "do not run SLS: use the stored records")
	doc := f.String("doc", "", "`file` to write (default: docs/conformance.md when all scenarios are compared, else none)")
	return func(ctx context.Context) error {
		scenarios, err := conform.Named(*names)
		if err != nil {
			return err
		}
		if *doc == "" && *names == "" {
			*doc = filepath.Join("docs", "conformance.md")
		}
		record := func(ctx context.Context) error { return conform.Record(ctx, scenarios, r) }
		return harness.Recorded(ctx, out, *offline, record, func(ctx context.Context) (string, string, error) {
			rows, err := conform.Compare(ctx, scenarios, r.Dir)
			if err != nil {
				return "", "", err
			}
			text, err := conform.Page(rows, *doc)
			return text, *doc, err
		})
	}
}

func attackVerb(f *flag.FlagSet, out io.Writer) action {
	s := attack.Study{Log: out}
	f.StringVar(&s.Dir, "out", attack.DefaultDir("."), "`folder` of the records")
	page := f.String("page", attack.DefaultPage("."), "`file` of the page")
	only := f.String("only", "", "comma-separated parts of `names` (default: all); nothing is stored then")
	f.BoolVar(&s.Short, "short", false, "leave out the long ones, as in CI; nothing is stored then")
	f.BoolVar(&s.Output, "verbose", false, "print every command and what it wrote")
	f.StringVar(&s.Work, "work", "", "`folder` of the daemons, which stays (default: a temporary one)")
	f.StringVar(&s.Binary, "binary", "", "yardmaster's own `file` (default: it is built)")
	offline := f.Bool("offline", false, "only write the page, from the stored records")
	return func(ctx context.Context) error {
		if s.Only = list(*only); len(s.Only) > 0 || s.Short {
			s.Dir, *page = "", ""
		}
		var run attack.Run
		if !*offline {
			var err error
			if run, err = s.Run(ctx); err != nil {
				return err
			}
		}
		if *page != "" {
			if _, err := attack.Page(s.Dir, *page); err != nil {
				return err
			}
			fmt.Fprintf(out, "\nwritten to %s\n", *page)
		}
		if harms := run.Harms(); len(harms) > 0 {
			return fmt.Errorf("%d attacks did harm", len(harms))
		}
		return nil
	}
}

// flowNetwork is a verb of the flow network's study, whose page is beside the folder of its records.
func flowNetwork(f *flag.FlagSet, out io.Writer, record func(ctx context.Context, dir string) error) action {
	dir := f.String("dir", kept("flow-network"), "`folder` of the records; the page is beside it")
	offline := f.Bool("offline", false, "use the stored records")
	return func(ctx context.Context) error {
		return harness.Recorded(ctx, out, *offline, func(ctx context.Context) error { return record(ctx, *dir) }, func(context.Context) (string, string, error) {
			text, err := yardstick.WritePage(*dir)
			return text, *dir + ".md", err
		})
	}
}

func flowsVerb(f *flag.FlagSet, out io.Writer) action {
	small := f.Bool("small", false, "only compare what the tests do, and store nothing")
	study := flowNetwork(f, out, func(ctx context.Context, dir string) error {
		return yardstick.RecordFlows(ctx, dir, yardstick.Full, out)
	})
	return func(ctx context.Context) error {
		if *small {
			_, err := yardstick.CompareFlows(ctx, yardstick.Mini, out)
			return err
		}
		return study(ctx)
	}
}

func packetsVerb(f *flag.FlagSet, out io.Writer) action {
	most := f.Duration("most", 10*time.Minute, "time limit for each shuffle")
	return flowNetwork(f, out, func(ctx context.Context, dir string) error { return yardstick.RecordPackets(ctx, dir, *most, out) })
}

func studySettings(f *flag.FlagSet, out io.Writer) action {
	s := live.Settings{Size: live.SettingsFull}
	h := s.Study()
	f.IntVar(&h.Clusters, "clusters", 1, "labs side by side, which share the repetitions")
	export := f.String("export", "", "write the workload as a scenario to a `folder`, and run nothing")
	run := h.Verb(f, out)
	return func(ctx context.Context) error {
		if *export != "" {
			return s.Export(*export)
		}
		return run(ctx)
	}
}
