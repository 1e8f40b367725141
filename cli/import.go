package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/trace"
)

func newImport(known *scenario.Catalogue) *cobra.Command {
	var (
		flags = scenarioFlags{known: known}
		file  string
	)
	cmd := &cobra.Command{
		Use:   "import FORMAT FILE... -o JOBS.parquet",
		Short: "Convert a trace into the common format",
		Args: func(cmd *cobra.Command, args []string) error {
			names := append(formatWords(known).names(), "csv", "parquet", "auto")
			help := "See \"" + cmd.CommandPath() + " --help\"."
			if len(args) == 0 {
				return misuse(help, "import: the format is missing; it is one of %s", strings.Join(names, ", "))
			}
			if !slices.Contains(names, args[0]) {
				return misuse("The formats are "+strings.Join(names, ", ")+".", "import: there is no format %q%s", args[0], suggest.Hint(args[0], names))
			}
			if len(args) == 1 {
				return misuse(help, "import: the files are missing")
			}
			if file == "" {
				return misuse(help, "import: no output file: give -o FILE.parquet")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return append(formatWords(known), "csv\tthe same as table", "parquet\tthe same as table", "auto\tdetect the format from the contents of the files"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s := known.Default()
			if err := flags.apply(&s); err != nil {
				return err
			}
			if err := s.Trace.SWIM.Validate(); err != nil {
				return &usageError{err: err}
			}
			return importTrace(cmd, s, args[0], args[1:], file)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool { return t.In == "trace" })
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the jobs to `FILE`")
	setGroup(cmd.Flags(), inOutput, "output")
	cmd.AddCommand(newImportYarn(), newImportSpark(), newImportKube(), newImportPrometheus())
	return cmd
}

// formatWords are the formats that import reads: all but Parquet, which it writes.
func formatWords(known *scenario.Catalogue) words {
	all := slices.DeleteFunc(slices.Clone(known.Traces), func(f trace.Format) bool { return f.Name == trace.Parquet })
	return wordsOf(all, func(f *trace.Format) (string, string) { return f.Name, f.About })
}

func importTrace(cmd *cobra.Command, s scenario.Scenario, format string, paths []string, file string) error {
	ctx := cmd.Context()
	opt := s.TraceOptions()
	switch format {
	case "auto":
	case "csv", trace.Parquet: // a workload file needs no import
		opt.Format = trace.Table
	default:
		opt.Format = format
	}
	w, err := trace.Open(paths, opt)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { _ = w.Close() }() // read-only
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	title := strings.Join(names, " ")
	if err := s.CheckTrace(w.Format, title); err != nil {
		return &usageError{err: fmt.Errorf("import: %w", err)}
	}
	out, err := prepare(ctx, file)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer out.discard()
	var sum importSum
	line := term.NewProgress(os.Stderr, "importing")
	err = out.write(func(f io.Writer) error {
		jw := jobfile.NewWriter(f, jobfile.NewMeta(build.Version(), w.Format+": "+title, w.Assumptions()))
		for {
			j, err := w.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return errors.New("stopped before the end: nothing was written")
			}
			if err := sum.write(jw, j); err != nil {
				return err
			}
			if sum.jobs%1000 == 0 {
				line.Set(-1, count(sum.jobs)+" jobs")
			}
		}
		if sum.jobs == 0 {
			return noJobs(title, w.Notes())
		}
		jw.SetNotes(w.Notes()) // they are complete only now
		return jw.Close()
	})
	line.End()
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	sum.show(cmd.OutOrStdout(), w.Notes(), w.Assumptions(), file)
	return nil
}

// noJobs says that nothing can be simulated, and why the records were dropped.
func noJobs(title string, notes []workload.Note) error {
	var why []string
	for _, n := range notes {
		if n.Count > 0 {
			why = append(why, fmt.Sprintf("%s: %s", n.Text, count(n.Count)))
		}
	}
	if len(why) == 0 {
		return fmt.Errorf("%s holds no jobs: nothing was written", title)
	}
	return fmt.Errorf("%s holds no jobs that can be simulated (%s): nothing was written", title, strings.Join(why, "; "))
}

type importSum struct {
	jobs, tasks int64
	last        unit.Time
}

// write writes a job and counts it.
func (s *importSum) write(w *jobfile.Writer, j *workload.Job) error {
	s.jobs++
	s.tasks += j.Tasks()
	s.last = max(s.last, j.Submit)
	return w.Write(j)
}

func (s *importSum) show(out io.Writer, notes []workload.Note, assumed []string, file string) {
	ink := term.InkFor(os.Stdout)
	fmt.Fprintf(out, "%s: %s, %s, submitted over %v\n", file, unit.Count(s.jobs, "job"), unit.Count(s.tasks, "task"), s.last)
	showList(out, "Read", noteLines(notes), ink)
	showGround(out, assumed, nil, ink)
}

// noteLines are notes with their numbers of records.
func noteLines(notes []workload.Note) []string {
	lines := make([]string, len(notes))
	for i, n := range notes {
		if lines[i] = n.Text; n.Count > 0 {
			lines[i] += ": " + count(n.Count)
		}
	}
	return lines
}
