package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/history"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// yarnFlags are the flags of import yarn.
type yarnFlags struct {
	login
	history, webhdfs []string
	doneDir, jhist   string
	sparkLogs        string
	endpoint         string // of s3://
	since, until     string
	running          bool
	rate             float64
	parallel         int
	noConf           bool
	anonymise        bool
	salt             string
	output           string
}

func newImportYarn() *cobra.Command {
	var f yarnFlags
	cmd := &cobra.Command{
		Use:   "yarn --rm URL --history URL --webhdfs URL -o DIR",
		Short: "Import the history of a YARN cluster",
		Args: func(cmd *cobra.Command, args []string) error {
			help := "See \"" + cmd.CommandPath() + " --help\"."
			switch {
			case len(args) > 0:
				return misuse(help, "import yarn: %q is not a flag", args[0])
			case len(f.rm) == 0 && len(f.history) == 0 && f.jhist == "":
				return misuse(help, "import yarn: no source: give --rm URL, --history URL or --jhist DIR")
			case f.jhist != "" && len(f.webhdfs) > 0 && !isHDFS(f.sparkLogs):
				return misuse(help, "import yarn: --jhist and --webhdfs both say where history files are: give one")
			case len(f.webhdfs) > 0 && f.doneDir == "" && len(f.history) == 0 && !isHDFS(f.sparkLogs):
				return misuse(help, "import yarn: --webhdfs needs --history, which knows where the files are, or --done-dir")
			case f.sparkLogs != "" && len(f.rm) == 0:
				return misuse(help, "import yarn: --spark-logs needs --rm, which knows whose applications they are; yardmaster import spark reads logs alone")
			case isHDFS(f.sparkLogs) && len(f.webhdfs) == 0:
				return misuse(help, "import yarn: --spark-logs %s needs --webhdfs, to read it", f.sparkLogs)
			case len(f.history) > 1:
				return misuse(help, "import yarn: there is one history server, not %d", len(f.history))
			case f.running && f.until != "":
				return misuse(help, "import yarn: --running and --until conflict: what is running now has not finished by --until; give one")
			case f.running && len(f.rm) == 0:
				return misuse(help, "import yarn: --running needs --rm, which knows what runs")
			case f.salt != "" && !f.anonymise:
				return misuse(help, "import yarn: --salt belongs to --anonymise")
			case !(f.rate >= 0.01 && f.rate <= 1000):
				return misuse(help, "import yarn: --rm-rate is from 0.01 to 1000 requests a second, not %v", f.rate)
			case f.parallel < 1 || f.parallel > 64:
				return misuse(help, "import yarn: --parallel is from 1 to 64, not %d", f.parallel)
			case f.output == "":
				return misuse(help, "import yarn: no output folder: give -o DIR")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return labelled("import", importYarn(cmd, &f))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	f.addRM(cmd)
	fs.StringSliceVar(&f.history, "history", nil, "web `URL` of the JobHistoryServer")
	fs.StringSliceVar(&f.webhdfs, "webhdfs", nil, "web `URL` of the NameNode, to read history files from HDFS; several separated by commas")
	fs.StringVar(&f.doneDir, "done-dir", "", "`PATH` of finished history files in HDFS; default: as the history server reports (mapreduce.jobhistory.done-dir)")
	fs.StringVar(&f.jhist, "jhist", "", "read history files from the local folder `DIR`")
	fs.StringVar(&f.sparkLogs, "spark-logs", "", "simulate Spark applications stage by stage, from event logs in the `FOLDER`, hdfs:///PATH (through --webhdfs), s3://BUCKET/PREFIX, or the URL of a Spark history server")
	fs.StringVar(&f.endpoint, "s3-endpoint", "", "`URL` of the store, for s3://BUCKET/PREFIX; default: Amazon's")
	fs.StringVar(&f.since, "since", "7d", "applications that finished within this `TIME` before now, or from a day or time on (2026-11-01, 2026-11-01T14:30); all: without limit")
	fs.StringVar(&f.until, "until", "", "leave out what finished after this `TIME` before now, after the end of a day (2026-11-07), or after a time (2026-11-07T14:30)")
	fs.BoolVar(&f.running, "running", false, "include applications that are running, with what they have held so far")
	f.addTimeout(cmd, 0, "give up after this `TIME` (default: no limit)")
	f.addWho(cmd)
	fs.Float64Var(&f.rate, "rm-rate", 2, "at most `N` requests a second to the ResourceManager")
	fs.IntVar(&f.parallel, "parallel", 4, "read `N` history files, or ask the history server for `N` jobs, at a time")
	fs.BoolVar(&f.noConf, "no-job-conf", false, "do not read the jobs' configurations (300 KB each): the size of AMs and the slow-start are assumed")
	fs.BoolVar(&f.anonymise, "anonymise", false, "replace the names of users, queues, jobs and hosts by pseudonyms")
	fs.StringVar(&f.salt, "salt", "", "`TEXT` from which pseudonyms are made; the same salt gives the same names. Default: drawn once and kept")
	fs.StringVarP(&f.output, "output", "o", "", "write into the folder `DIR`, or beside the workload DIR/NAME.parquet")
	setGroup(fs, inSource, "rm", "history", "webhdfs", "done-dir", "jhist", "spark-logs", "s3-endpoint", "since", "until", "running", "timeout")
	setGroup(fs, inOutput, "anonymise", "salt", "output")
	return cmd
}

func importYarn(cmd *cobra.Command, f *yarnFlags) error {
	ctx := cmd.Context()
	if f.timeout > 0 {
		var stop func()
		ctx, stop = context.WithTimeout(ctx, f.timeout)
		defer stop()
	}
	now := time.Now()
	since, err := when("--since", f.since, now)
	if err != nil {
		return err
	}
	var until time.Time
	if f.until != "" {
		if until, err = when("--until", f.until, now); err != nil {
			return err
		}
		if isDay(f.until) {
			until = until.AddDate(0, 0, 1).Add(-time.Millisecond)
		}
		if until.Before(since) {
			return misuse("", "--until %s ends before --since %s begins", f.until, f.since)
		}
	}
	o := history.Options{
		Since: since, Until: until, Running: f.running, Now: now, Dir: f.output, Jobs: "jobs.parquet", Parallel: f.parallel, NoConf: f.noConf,
		Anonymise: f.anonymise, Salt: f.salt, Tool: build.Version(), Source: f.source(), RM: len(f.rm) > 0, History: len(f.history) > 0,
	}
	if strings.HasSuffix(f.output, ".parquet") {
		o.Dir, o.Jobs = filepath.Dir(f.output), filepath.Base(f.output)
	}
	if o.RM || o.History || len(f.webhdfs) > 0 {
		servers := rest.Options{NameNodes: f.webhdfs, RMRate: f.rate, Parallel: f.parallel}
		if o.History {
			servers.History = f.history[0]
		}
		if o.Client, err = f.client(servers); err != nil {
			return err
		}
		defer o.Client.CloseIdle()
	}
	switch {
	case f.jhist != "":
		if st, err := os.Stat(f.jhist); err != nil || !st.IsDir() {
			return fmt.Errorf("--jhist %s: there is no such folder", f.jhist)
		}
		o.Files = history.Local(f.jhist)
	case len(f.webhdfs) > 0 && (o.History || f.doneDir != ""):
		if f.doneDir == "" {
			if f.doneDir, err = history.DoneDir(ctx, o.Client); err != nil {
				return err
			}
		}
		o.Files, o.Check = history.WebHDFS(o.Client.Files(), f.doneDir), o.History
	}
	if o.Logs, err = f.logs(o.Client); err != nil {
		return err
	}
	line := term.NewProgress(os.Stderr, "importing")
	if line.Active() {
		o.Progress = line.Set
	}
	sum, err := history.Run(ctx, o)
	line.End()
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("--timeout %v is over: %w", f.timeout, err)
	}
	if err != nil {
		return err
	}
	if sum.Scenario {
		if err := writeScenario(ctx, &o, sum); err != nil {
			return err
		}
	}
	showYarn(cmd.OutOrStdout(), &o, sum)
	return nil
}

func isHDFS(place string) bool {
	return strings.HasPrefix(place, "hdfs://") || strings.HasPrefix(place, "webhdfs://")
}

// logs is the folder of Spark event logs; nil: none.
func (f *yarnFlags) logs(c *rest.Client) (history.Folder, error) {
	if isHDFS(f.sparkLogs) {
		u, err := url.Parse(f.sparkLogs)
		if err != nil || u.Path == "" || u.Path == "/" || u.User != nil {
			return nil, fmt.Errorf("--spark-logs %s: it looks like hdfs:///spark-logs", f.sparkLogs)
		}
		return history.WebHDFS(c.Files(), u.Path), nil
	}
	if f.sparkLogs == "" {
		return nil, nil
	}
	if st, err := os.Stat(f.sparkLogs); !strings.Contains(f.sparkLogs, "://") && (err != nil || !st.IsDir()) {
		return nil, fmt.Errorf("--spark-logs %s: there is no such folder", f.sparkLogs)
	}
	src, err := (&sparkFlags{endpoint: f.endpoint}).source(f.sparkLogs)
	return history.Logs(src, f.sparkLogs), err
}

// source names the servers and folders, for the file.
func (f *yarnFlags) source() string {
	parts := slices.Concat(f.rm, f.history, f.webhdfs)
	if f.jhist != "" {
		parts = append(parts, f.jhist)
	}
	if f.sparkLogs != "" {
		parts = append(parts, f.sparkLogs)
	}
	return strings.Join(parts, " ")
}

// when parses 7d, 36h (before now), 2026-11-01 (its start), 2026-11-01T14:30 (with seconds and a zone or without) or all (no time).
func when(flag, text string, now time.Time) (time.Time, error) {
	if text == "all" && flag == "--since" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04"} {
		if instant, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return instant, nil
		}
	}
	t, err := unit.ParseTime(text)
	if err != nil || t < 0 || t > 100*365*unit.Day {
		words := "a length of time (7d, 36h), a day (2026-11-01) or a time (2026-11-01T14:30)"
		if flag == "--since" {
			words = "a length of time (7d, 36h), a day (2026-11-01), a time (2026-11-01T14:30) or all"
		}
		return time.Time{}, misuse("", "%s: %q is not %s", flag, text, words)
	}
	return now.Add(-time.Duration(t) * time.Microsecond), nil
}

func isDay(text string) bool {
	_, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	return err == nil
}

// writeScenario writes the scenario file that makes the folder ready to simulate. An existing one is kept: a person may
// have changed it.
func writeScenario(ctx context.Context, o *history.Options, sum *history.Summary) error {
	path := filepath.Join(o.Dir, scenario.FileName)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	s := scenario.Default()
	s.Workload, s.Cluster = []string{o.Jobs}, history.ClusterFile
	s.Clock = scenario.Hadoop
	for _, file := range append(slices.Clone(sum.Files), sum.Kept...) {
		switch name := filepath.Base(file); name {
		case history.CapacityFile, history.FairFile:
			s.Schedulers = []string{name}
		case history.SiteFile:
			s.Yarn.Site = name
		}
	}
	c := &sum.Calibration
	for _, learned := range []struct {
		into    *unit.Time
		value   unit.Time
		samples int
	}{
		{&s.Yarn.AMStart, c.AMStart, c.AMSamples},
		{&s.Yarn.ContainerStart, c.ContainerStart, 1}, // the assumed delay matches how task lengths are measured
		{&s.Yarn.ContainerExit, c.ContainerExit, c.ExitSamples},
		{&s.Yarn.Commit, c.Commit, c.CommitSamples},
	} {
		if learned.samples > 0 {
			*learned.into = learned.value
		}
	}
	out, err := prepare(ctx, path)
	if err != nil {
		return err
	}
	defer out.discard()
	err = out.write(func(w io.Writer) error {
		_, err := io.WriteString(w, "# Made by yardmaster import yarn: the delays are learned from the history. It is kept as it is when the folder is imported into again.\n"+string(s.YAML()))
		return err
	})
	if err == nil {
		sum.Files = append(sum.Files, path)
	}
	return err
}

func showYarn(out io.Writer, o *history.Options, sum *history.Summary) {
	ink := term.InkFor(os.Stdout)
	fmt.Fprintf(out, "%s: %s (%s new), %s, submitted over %v\n", sum.Files[0], unit.Count(sum.Jobs, "job"), count(sum.New), unit.Count(sum.Tasks, "task"), sum.Span)
	showList(out, "Read", noteLines(sum.Notes), ink)
	showGround(out, sum.Assumptions, nil, ink)
	if len(sum.Files) > 1 {
		showList(out, "Written", sum.Files, ink)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, scenario.FileName)); err == nil {
		fmt.Fprintf(out, "\nNext: yardmaster simulate %s\n", o.Dir)
	}
}
