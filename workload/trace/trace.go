// Package trace opens any workload: it detects the format of a file by its content and yields its jobs in the
// order of their submit times, whatever their order in the file.
package trace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/google"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/rumen"
	"github.com/yardmaster/yardmaster/workload/sls"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/workload/table"
)

// Options carries what each format needs beyond its files. Start from Defaults.
type Options struct {
	Known  Formats // that a file may have; nil: BuiltIn
	Format string  // the name of one; "": recognised by content
	Window int     // sort window, in jobs; 0: DefaultWindow, negative: all
	SWIM   swim.Model
	Rumen  rumen.Options
	SLS    sls.Options
	Synth  sls.SynthOptions
	Google google.Options
	Table  table.Options
	// Users and Queues override the users and queues of the files (see Deal). 0 and empty: as in the files, or the SWIM
	// model's for files of that format, which have neither.
	Users  int
	Queues []string
}

// Defaults are the default options.
func Defaults() Options { return Options{SWIM: swim.Default()} }

// Workload is an open workload. Notes are complete when Next has returned io.EOF.
type Workload struct {
	Format  string
	Files   []string
	src     workload.Source
	readers []workload.Source
	close   []func() error
	extra   []string // assumptions beyond the readers' own
}

var _ workload.Source = (*Workload)(nil)

// Open opens the files of one workload. Several files must be of one format; their jobs are merged by submit time.
func Open(paths []string, opt Options) (_ *Workload, err error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("no workload given: name a file")
	}
	if name, ok := strings.CutPrefix(paths[0], "synth:"); ok && len(paths) == 1 {
		return openPreset(name, opt)
	}
	var files []*given
	defer func() {
		if err != nil {
			for _, g := range files {
				g.release()
			}
		}
	}()
	for _, p := range paths {
		g, err := opt.known().inspect(p, opt.Format)
		if err != nil {
			return nil, err
		}
		files = append(files, g)
		if first := files[0]; g.format != first.format {
			return nil, fmt.Errorf("%s is %s and %s is %s: the files of a workload must be of one format",
				first.name(), first.format.About, g.name(), g.format.About)
		}
	}
	return open(files, opt)
}

// openPreset opens a synthetic workload by name, with its own seed.
func openPreset(name string, opt Options) (*Workload, error) {
	if opt.Format != "" {
		return nil, fmt.Errorf("synth:%s is synthetic, and no %s file: give the format \"auto\"", name, opt.Format)
	}
	config, err := synth.Preset(name)
	if err != nil {
		return nil, err
	}
	src, err := synth.New(config)
	if err != nil {
		return nil, err
	}
	return &Workload{Format: "synthetic", Files: []string{"synth:" + name}, src: opt.Deal().Source(src)}, nil
}

func open(files []*given, opt Options) (*Workload, error) {
	w := &Workload{Format: files[0].format.Name}
	for _, g := range files {
		w.Files = append(w.Files, g.name())
	}
	if err := files[0].format.openAll(w, files, opt); err != nil {
		_ = w.Close()
		return nil, err
	}
	if d := opt.Deal(); w.Format != SWIM && !d.IsZero() {
		w.src = d.Source(w.src)
		w.extra = append(w.extra, d.Assumption())
	}
	return w, nil
}

// openAll opens the files of a workload.
func (f *Format) openAll(w *Workload, files []*given, opt Options) error {
	if f.open != nil {
		return f.open(w, files, opt)
	}
	return w.each(files, opt, func(in *input.File, _ *given) (workload.Source, error) { return f.Read(in, in.Name) })
}

func (o *Options) known() Formats {
	if o.Known == nil {
		return BuiltIn
	}
	return o.Known
}

// Deal is the override of users and queues.
func (o *Options) Deal() Deal { return Deal{Users: o.Users, Queues: o.Queues, Seed: o.SWIM.Seed} }

// Next returns the next job in the order of submit times; io.EOF after the last.
func (w *Workload) Next() (*workload.Job, error) { return w.src.Next() }

// Notes lists what was read, kept and dropped and why.
func (w *Workload) Notes() []workload.Note {
	var all []workload.Note
	at := map[string]int{}
	for _, r := range w.readers {
		n, ok := r.(interface{ Notes() []workload.Note })
		if !ok {
			continue
		}
		for _, note := range n.Notes() {
			if i, seen := at[note.Text]; seen { // the same about several files
				all[i].Count += note.Count
				continue
			}
			at[note.Text] = len(all)
			all = append(all, note)
		}
	}
	return all
}

// Assumptions lists what was assumed because the files do not say.
func (w *Workload) Assumptions() []string {
	var all []string
	for _, r := range w.readers {
		if a, ok := r.(interface{ Assumptions() []string }); ok {
			all = append(all, a.Assumptions()...)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(append(all, w.extra...), func(line string) bool {
		twice := seen[line]
		seen[line] = true
		return twice
	})
}

// Jobs is how many there are, where the files say so; 0: unknown.
func (w *Workload) Jobs() (n int64) {
	for _, r := range w.readers {
		if f, ok := r.(*jobfile.Reader); ok {
			n += f.Jobs()
		}
	}
	return n
}

// Settings returns those under which the jobs were observed; none where the files do not say, or there are several.
func (w *Workload) Settings() jobfile.Settings {
	if len(w.readers) == 1 {
		if r, ok := w.readers[0].(*jobfile.Reader); ok {
			return r.Settings()
		}
	}
	return jobfile.Settings{}
}

// Close closes the files.
func (w *Workload) Close() error {
	var all []error
	for _, c := range w.close {
		all = append(all, c())
	}
	w.close = nil
	return errors.Join(all...)
}

// given is an input file.
type given struct {
	path   string
	file   *input.File // set when it cannot be opened a second time: standard input, a pipe
	format *Format
}

func (g *given) name() string {
	if g.file != nil {
		return g.file.Name
	}
	return g.path
}

// take opens the file, or passes on the open one.
func (g *given) take() (*input.File, error) {
	if f := g.file; f != nil {
		g.file = nil
		return f, nil
	}
	return input.Open(g.path)
}

func (g *given) release() {
	if g.file != nil {
		_ = g.file.Close()
		g.file = nil
	}
}

// inspect detects a file's format.
func (known Formats) inspect(path, format string) (*given, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	g := &given{path: path}
	prefix, err := f.Peek(input.PeekSize)
	switch {
	case err != nil:
	case format != "":
		g.format, err = known.asked(format, prefix, f.Name)
	default:
		g.format, err = known.Recognise(prefix, f.Name)
	}
	if err == nil && g.format.Name == Parquet && f.Gzipped {
		err = fmt.Errorf("%s is a gzipped Parquet file: unpack it first", f.Name)
	}
	if err == nil && !regular(path) {
		g.file = f
		return g, nil
	}
	return g, errors.Join(err, f.Close())
}

// regular says whether a file can be opened again with the same content; standard input and pipes cannot.
func regular(path string) bool {
	if path == "-" {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// Recognise detects the format of a file that starts with prefix.
func (known Formats) Recognise(prefix []byte, name string) (*Format, error) {
	for i := range known {
		if known[i].Sniff(prefix) {
			return &known[i], nil
		}
	}
	if what := otherwise(prefix); what != "" {
		return nil, fmt.Errorf("%s %s", name, what)
	}
	return nil, fmt.Errorf("%s: unknown workload format: it starts with %s; known are %s", name, beginning(prefix), known)
}

// asked finds the requested format, unless the file is detected as another.
func (known Formats) asked(name string, prefix []byte, file string) (*Format, error) {
	f, err := known.find(name)
	if err != nil || f.Sniff(prefix) {
		return f, err
	}
	if other, err := known.Recognise(prefix, file); err == nil {
		return nil, fmt.Errorf("%s looks like %s (%s), not %s: %s", file, other.Name, other.About, name, other.how(file))
	}
	if what := otherwise(prefix); what != "" && len(bytes.TrimSpace(prefix)) > 0 {
		return nil, fmt.Errorf("%s %s", file, what)
	}
	return f, nil // its reader gives the best error, with a position
}

// how says what to do with a file of this format.
func (f *Format) how(file string) string {
	if f.Name == Parquet {
		return "it needs no import; give it with --workload"
	}
	return "yardmaster import " + f.Name + " " + file
}

func (known Formats) String() string {
	var all []string
	for _, f := range known {
		all = append(all, fmt.Sprintf("%s (%s)", f.Name, f.About))
	}
	return strings.Join(all, ", ")
}
