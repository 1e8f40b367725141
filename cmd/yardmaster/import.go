package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/trace"
)

func newImport() *cobra.Command {
	var (
		flags scenarioFlags
		file  string
	)
	cmd := &cobra.Command{
		Use:   "import FORMAT FILE... -o JOBS.parquet",
		Short: "Turn a trace into the common form",
		Long: `Read a trace and write it as one Parquet file, which is smaller, faster to read and the same for every format. What was
read, kept and dropped is said, and what had to be assumed goes into the file and into every result made from it.

The formats are:
` + formatList() + `
FORMAT may also be "auto": the files are recognised by what is in them.`,
		Example: `  yardmaster import swim FB-2010_samples_24_times_1hr_0.tsv -o jobs.parquet
  yardmaster import rumen job-trace.json.gz -o jobs.parquet
  yardmaster import swim TRACE.tsv --block 256MB --map-rate 50MB -o jobs.parquet`,
		Args: func(cmd *cobra.Command, args []string) error {
			see := "See \"" + cmd.CommandPath() + " --help\"."
			if len(args) == 0 {
				return misuse(see, "import: the format is missing; it is one of %s", strings.Join(formatNames(), ", "))
			}
			if !known(args[0]) {
				return misuse("The formats are "+strings.Join(formatNames(), ", ")+".", "import: there is no format %q%s", args[0], suggest.Hint(args[0], formatNames()))
			}
			if len(args) == 1 {
				return misuse(see, "import: the files are missing")
			}
			if file == "" {
				return misuse(see, "import: say where to with -o FILE.parquet")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			var names []string
			for _, f := range trace.Formats() {
				if f.Name != trace.Parquet {
					names = append(names, f.Name+"\t"+f.About)
				}
			}
			return append(names, "auto\trecognise the files by what is in them"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s := scenario.Default()
			if err := flags.apply(&s); err != nil {
				return err
			}
			if err := s.Trace.SWIM.Validate(); err != nil {
				return &usageError{err: err}
			}
			opt := s.TraceOptions()
			if args[0] != "auto" {
				opt.Format = args[0]
			}
			return importTrace(cmd.Context(), args[1:], opt, file)
		},
	}
	flags.add(cmd, func(t *scenario.Setting) bool { return t.In == "trace" })
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the jobs to `FILE`")
	setGroup(cmd.Flags(), "output", headings[3])
	return cmd
}

// formatNames are what import takes: Parquet is what it makes.
func formatNames() []string {
	var names []string
	for _, f := range trace.Formats() {
		if f.Name != trace.Parquet {
			names = append(names, f.Name)
		}
	}
	return append(names, "auto")
}

func formatList() string {
	var out strings.Builder
	for _, f := range trace.Formats() {
		if f.Name != trace.Parquet {
			fmt.Fprintf(&out, "  %-8s %s\n", f.Name, f.About)
		}
	}
	return out.String()
}

func known(name string) bool {
	for _, n := range formatNames() {
		if n == name {
			return true
		}
	}
	return false
}

func importTrace(ctx context.Context, paths []string, opt trace.Options, file string) error {
	w, err := trace.Open(paths, opt)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // it was only read
	var sum importSum
	line := term.NewProgress(os.Stderr, "importing")
	err = writeFile(file, func(out io.Writer) error {
		var names []string
		for _, p := range paths {
			names = append(names, filepath.Base(p))
		}
		jw := jobfile.NewWriter(out, jobfile.NewMeta(build.Version(), w.Format+": "+strings.Join(names, " "), w.Assumptions()))
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
			if err := jw.Write(j); err != nil {
				return err
			}
			sum.jobs++
			sum.tasks += j.Tasks()
			sum.last = max(sum.last, j.Submit)
			if sum.jobs%1000 == 0 {
				line.Set(-1, count(sum.jobs)+" jobs")
			}
		}
		return jw.Close()
	})
	line.End()
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	sum.show(w, file)
	return nil
}

// importSum is what was written.
type importSum struct {
	jobs, tasks int64
	last        unit.Time
}

func (s importSum) show(w *trace.Workload, file string) {
	ink := term.InkFor(os.Stdout)
	fmt.Printf("%s: %s jobs, %s tasks, submitted over %v\n", file, count(s.jobs), count(s.tasks), s.last)
	var lines []string
	for _, n := range w.Notes() {
		if n.Count > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s", n.Text, count(n.Count)))
		} else {
			lines = append(lines, n.Text)
		}
	}
	if len(lines) > 0 {
		fmt.Println(ink.Bold("Read"))
		for _, l := range lines {
			fmt.Print("  - " + term.Wrap(l, "    ", min(term.Width(os.Stdout), 110))[4:])
		}
	}
	showGround(os.Stdout, w.Assumptions(), nil, ink)
}
