package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"path"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/workload/spark/remote"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// sparkFlags are the flags of import spark.
type sparkFlags struct {
	login
	webhdfs  []string
	endpoint string
	running  bool
	parallel int
	output   string
}

func newImportSpark() *cobra.Command {
	var f sparkFlags
	cmd := &cobra.Command{
		Use:   "spark LOG... -o JOBS.parquet",
		Short: "Import Spark applications from their event logs",
		Args: func(cmd *cobra.Command, args []string) error {
			help := "See \"" + cmd.CommandPath() + " --help\"."
			switch {
			case len(args) == 0:
				return misuse(help, "import spark: no logs: name a file, a folder, s3://BUCKET/PREFIX, hdfs:///PATH or the URL of a Spark history server")
			case f.output == "":
				return misuse(help, "import spark: no output file: give -o FILE.parquet")
			case f.parallel < 1 || f.parallel > 64:
				return misuse(help, "import spark: --parallel is from 1 to 64, not %d", f.parallel)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return labelled("import", importSpark(cmd, &f, args)) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&f.webhdfs, "webhdfs", nil, "web `URL` of the NameNode, for hdfs:///PATH; several separated by commas")
	fs.StringVar(&f.endpoint, "s3-endpoint", "", "`URL` of the store, for s3://BUCKET/PREFIX; default: Amazon's. Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION")
	fs.BoolVar(&f.running, "running", false, "include applications whose log has no end, as of their last event")
	fs.IntVar(&f.parallel, "parallel", min(runtime.GOMAXPROCS(0), 64), "read `N` logs at a time")
	f.addWho(cmd)
	fs.StringVarP(&f.output, "output", "o", "", "write the jobs to `FILE`")
	setGroup(fs, inSource, "webhdfs", "s3-endpoint", "running", "parallel")
	setGroup(fs, inOutput, "output")
	return cmd
}

// source finds the logs of one argument.
func (f *sparkFlags) source(arg string) (spark.Source, error) {
	if !strings.Contains(arg, "://") {
		return spark.Local(arg), nil
	}
	u, err := url.Parse(arg)
	if err != nil {
		return nil, misuse("", "import spark: %v", err)
	}
	if u.User != nil { // the file names its sources
		return nil, misuse("", "import spark: %s: a name or password in an address would show in logs", u.Redacted())
	}
	switch u.Scheme {
	case "http", "https":
		return remote.Server(arg), nil
	case "s3", "s3a", "s3n":
		return remote.FromEnvironment(f.endpoint, os.Getenv).Logs(u.Host, strings.TrimPrefix(u.Path, "/")), nil
	case "hdfs", "webhdfs":
		if len(f.webhdfs) == 0 {
			return nil, misuse("", "import spark: %s needs --webhdfs, the web URL of the NameNode", arg)
		}
		c, err := f.client(rest.Options{NameNodes: f.webhdfs, Parallel: f.parallel})
		if err != nil {
			return nil, err
		}
		return hdfsFiles(c.Files(), u.Path, deepest), nil
	case "file":
		return spark.Local(u.Path), nil
	}
	return nil, misuse("", "import spark: %s: logs are read from files, s3://, hdfs:// and the http:// of a Spark history server", arg)
}

// deepest is how far below a folder of HDFS logs are looked for.
const deepest = 8

// hdfsFiles lists all files in a folder of HDFS, and in those below it down to a depth.
func hdfsFiles(files *rest.Files, dir string, depth int) spark.Source {
	return func(ctx context.Context) iter.Seq2[spark.File, error] {
		return func(yield func(spark.File, error) bool) {
			for s, err := range files.List(ctx, dir) {
				name := path.Join(dir, s.Name)
				if depth < deepest && (errors.Is(err, rest.ErrForbidden) || errors.Is(err, rest.ErrNotFound)) {
					err = nil // it counts as a log that cannot be read: the others can
				}
				open := func(ctx context.Context) (io.ReadCloser, error) { return files.Open(ctx, name) }
				switch {
				case !s.IsDir():
					if !yield(spark.File{Name: name, Size: s.Length, Open: open}, err) {
						return
					}
				case depth > 0:
					for f, err := range hdfsFiles(files, name, depth-1)(ctx) {
						if !yield(f, err) {
							return
						}
					}
				}
			}
		}
	}
}

// logs finds all logs of the arguments, each once.
func (f *sparkFlags) logs(ctx context.Context, args []string) (logs []spark.Log, err error) {
	for _, arg := range args {
		src, err := f.source(arg)
		if err != nil {
			return nil, err
		}
		some, err := src.Logs(ctx)
		if err != nil {
			return nil, err
		}
		logs = append(logs, some...)
	}
	if len(logs) == 0 {
		return nil, fmt.Errorf("%s: there are no logs", strings.Join(args, " "))
	}
	return logs, nil
}

func importSpark(cmd *cobra.Command, f *sparkFlags, args []string) error {
	ctx := cmd.Context()
	logs, err := f.logs(ctx, args)
	if err != nil {
		return err
	}
	out, err := prepare(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.discard()
	k := sparkKept{ids: map[string]bool{}, first: 1 << 62}
	defer k.close()
	var total, read int64
	for i := range logs {
		total += logs[i].Size()
	}
	type result struct {
		job   *workload.Job
		notes workload.Notes
		err   error
	}
	line := term.NewProgress(os.Stderr, "importing")
	err = spark.Ordered(ctx, logs, f.parallel, func(ctx context.Context, l *spark.Log) (r result) {
		a, err := l.Read(ctx, nil)
		if err != nil {
			return result{err: err}
		}
		r.job, r.notes, r.err = a.Job(spark.Options{Running: f.running})
		return r
	}, func(l *spark.Log, r result) error {
		read += l.Size()
		line.Set(float64(read)/float64(max(total, 1)), count(int64(len(k.ids)))+" applications")
		return k.take(r.job, r.notes, r.err)
	})
	line.End()
	if ctx.Err() != nil {
		return errors.New("stopped before the end: nothing was written")
	}
	if err != nil {
		return err
	}
	title := baseNames(args, "-")
	if len(k.ids) == 0 {
		if len(logs) == 1 && k.broken != nil {
			return k.broken
		}
		return noJobs(title, k.notes)
	}
	var sum importSum
	err = out.write(func(w io.Writer) error {
		jw := jobfile.NewWriter(w, jobfile.NewMeta(build.Version(), "spark: "+title, spark.Assumptions()))
		jw.SetNotes(k.notes)
		return cmp.Or(k.each(func(j *workload.Job) error { return sum.write(jw, j) }), jw.Close())
	})
	if err != nil {
		return err
	}
	sum.show(cmd.OutOrStdout(), k.notes, spark.Assumptions(), f.output)
	return nil
}
