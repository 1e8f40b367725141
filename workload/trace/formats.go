package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/google"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/rumen"
	"github.com/yardmaster/yardmaster/workload/sls"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/table"
)

// Names of the formats.
const (
	Parquet = "parquet"
	SWIM    = "swim"
	Rumen   = "rumen"
	SLS     = "sls"
	Synth   = "synth"
	Google  = "google"
	Table   = "table"
)

// Format is a workload format.
type Format struct {
	Name  string // as typed
	About string // for help
	// Sniff reports whether a file that starts with prefix has this format.
	Sniff func(prefix []byte) bool
	// Read reads the jobs of one file, in any order; name is for errors. The reader may have methods Notes and Assumptions, as *Workload does.
	Read func(r io.Reader, name string) (workload.Source, error)

	open func(w *Workload, files []*given, opt Options) error // in place of Read, of formats with options
}

// Formats are those that a workload may have, in detection order: the first match wins.
type Formats []Format

// BuiltIn are the formats of this repository.
var BuiltIn = Formats{
	{Name: Parquet, About: "a workload file of yardmaster import", Sniff: func(p []byte) bool { return bytes.HasPrefix(p, []byte("PAR1")) }, open: openParquet},
	{Name: SWIM, About: "SWIM, tab-separated lines", Sniff: swim.Sniff, open: openSWIM},
	{Name: Google, About: "Google cluster data 2011, job_events and task_events", Sniff: google.Sniff, open: openGoogle},
	{Name: Rumen, About: "Rumen job trace, JSON", Sniff: rumen.Sniff, open: openRumen},
	{Name: Synth, About: "SYNTH description of the Scheduler Load Simulator, JSON", Sniff: sls.SniffSynth, open: openSynth},
	{Name: SLS, About: "job trace of the Scheduler Load Simulator, JSON", Sniff: sls.Sniff, open: openSLS},
	{Name: Table, About: "a table of jobs: CSV or sacct's output with a header, Parquet of any writer", Sniff: table.Sniff, open: openTable},
}

// find finds a format by name.
func (known Formats) find(name string) (*Format, error) {
	var names []string
	for i := range known {
		if known[i].Name == name {
			return &known[i], nil
		}
		names = append(names, known[i].Name)
	}
	return nil, fmt.Errorf("unknown workload format %q: want one of %s", name, strings.Join(names, ", "))
}

// each opens every file with its own reader, sorts their jobs and merges them.
func (w *Workload) each(files []*given, opt Options, read func(f *input.File, g *given) (workload.Source, error)) error {
	var sorted []workload.Source
	for _, g := range files {
		f, err := g.take()
		if err != nil {
			return err
		}
		w.close = append(w.close, f.Close)
		r, err := read(f, g)
		if err != nil {
			return err
		}
		w.readers = append(w.readers, r)
		sorted = append(sorted, Sorted(r, opt.Window, f.Name))
	}
	w.src = Merged(sorted...)
	return nil
}

func openParquet(w *Workload, files []*given, _ Options) error {
	var all []workload.Source
	for _, g := range files {
		if g.file != nil {
			return fmt.Errorf("%s is Parquet, which is read from its end: name a file on disk", g.name())
		}
		r, err := jobfile.Open(g.path)
		if err != nil {
			return err
		}
		w.close = append(w.close, r.Close)
		w.readers = append(w.readers, r)
		all = append(all, r)
	}
	w.src = Merged(all...)
	return nil
}

func openTable(w *Workload, files []*given, opt Options) error {
	r := table.New(opt.Table)
	for _, g := range files {
		if err := addTable(r, g); err != nil {
			return err
		}
	}
	w.readers, w.src = []workload.Source{r}, r
	return r.End()
}

func addTable(r *table.Reader, g *given) error {
	f, err := g.take()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read-only
	if prefix, _ := f.Peek(4); string(prefix) != "PAR1" {
		return r.AddText(f)
	}
	if !regular(g.path) || f.Gzipped {
		return fmt.Errorf("%s is Parquet, which is read from its end: name a file on disk that is not gzipped", g.path)
	}
	return r.AddParquet(g.path)
}

func openSWIM(w *Workload, files []*given, opt Options) error {
	if opt.Users > 0 {
		opt.SWIM.Users = opt.Users
	}
	if len(opt.Queues) > 0 {
		opt.SWIM.Queues = opt.Queues
	}
	return w.each(files, opt, func(f *input.File, g *given) (workload.Source, error) {
		r, err := swim.NewReader(f, f.Name, opt.SWIM)
		if err != nil || len(files) == 1 {
			return r, err
		}
		// Every SWIM file counts its jobs from 0.
		return &prefixed{r, strings.TrimSuffix(filepath.Base(g.path), filepath.Ext(g.path)) + "/"}, nil
	})
}

func openGoogle(w *Workload, files []*given, opt Options) error {
	parts := make([]google.Part, len(files))
	for i, g := range files {
		parts[i] = google.Part{Path: g.path, File: g.file}
		g.file = nil // google closes it
	}
	r, err := google.OpenParts(parts, opt.Google)
	if err != nil {
		return err
	}
	w.close = append(w.close, r.Close)
	w.readers, w.src = []workload.Source{r}, r
	return nil
}

func openRumen(w *Workload, files []*given, opt Options) error {
	o := opt.Rumen
	if o.Base == 0 {
		base, err := earliest(files)
		if err != nil {
			return err
		}
		o.Base = base
	}
	w.extra = []string{fmt.Sprintf("rumen: task lengths as observed in successful attempts; a task whose size the trace does not give asks for %v", cmp.Or(o.Ask, cluster.Unit))}
	return w.each(files, opt, func(f *input.File, _ *given) (workload.Source, error) { return rumen.NewReader(f, f.Name, o), nil })
}

func openSLS(w *Workload, files []*given, opt Options) error {
	w.extra = slsAssumptions(opt.SLS)
	return w.each(files, opt, func(f *input.File, _ *given) (workload.Source, error) { return sls.NewReader(f, f.Name, opt.SLS), nil })
}

func openSynth(w *Workload, files []*given, opt Options) error {
	o := opt.Synth
	w.extra = append(slsAssumptions(o.Options), fmt.Sprintf("synth: jobs drawn from the description with seed %d; no real cluster behind them", o.Seed))
	return w.each(files, opt, func(f *input.File, _ *given) (workload.Source, error) { return sls.NewSynthReader(f, f.Name, o), nil })
}

func slsAssumptions(o sls.Options) []string {
	am := "no AM containers"
	if !o.NoAM {
		am = fmt.Sprintf("an AM without a size asks for %v", cmp.Or(o.AM, cluster.Unit))
	}
	return []string{fmt.Sprintf("sls: a task without a size asks for %v; %s", cmp.Or(o.Ask, cluster.Unit), am)}
}

// earliest is the first submit time of all files, so that they share a clock and no job is before its start; 0 (the
// reader takes its first job's) when a file can be read only once.
func earliest(files []*given) (int64, error) {
	var first int64
	for _, g := range files {
		if g.file != nil {
			return 0, nil
		}
		f, err := input.Open(g.path)
		if err != nil {
			return 0, err
		}
		t, err := rumen.Earliest(f, f.Name)
		_ = f.Close()
		if err != nil {
			return 0, err
		}
		if t > 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return first, nil
}

// prefixed keeps the names of jobs from several files apart.
type prefixed struct {
	*swim.Reader
	prefix string
}

func (p *prefixed) Next() (*workload.Job, error) {
	j, err := p.Reader.Next()
	if err == nil {
		j.ID = p.prefix + j.ID // the reader does not keep the job
	}
	return j, err
}

// otherwise recognises files commonly mistaken for workloads; "": unknown.
func otherwise(prefix []byte) string {
	text := bytes.TrimLeft(bytes.TrimPrefix(prefix, []byte("\xef\xbb\xbf")), " \t\r\n")
	keys := input.JSONKeys(prefix)
	switch {
	case len(text) == 0 && len(prefix) == 0:
		return "is empty"
	case len(text) == 0:
		return "holds only white space"
	case rumen.SniffTopology(prefix):
		return "describes a cluster (Rumen topology), not a workload: give it with --cluster"
	case sls.SniffNodes(prefix), keys["rack"]:
		return "describes a cluster (SLS nodes), not a workload: give it with --cluster"
	case keys["Event"]:
		return "is a Spark event log: make a workload of it with yardmaster import spark"
	case bytes.HasPrefix(text, []byte("<?xml")), bytes.HasPrefix(text, []byte("<configuration")), bytes.HasPrefix(text, []byte("<allocations")):
		return "is XML, perhaps a scheduler's configuration, not a workload: give it with --scheduler"
	}
	return ""
}

// beginning shows the first bytes of a file.
func beginning(prefix []byte) string {
	head := prefix[:min(len(prefix), 40)]
	for cut := 0; cut < utf8.UTFMax-1 && len(head) > 0 && !utf8.Valid(head); cut++ { // it may end inside a character
		head = head[:len(head)-1]
	}
	control := func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }
	if !utf8.Valid(head) || bytes.ContainsFunc(head, control) {
		return fmt.Sprintf("the bytes % x", prefix[:min(len(prefix), 12)])
	}
	more := ""
	if len(head) < len(prefix) {
		more = "..."
	}
	return fmt.Sprintf("%q%s", head, more)
}
