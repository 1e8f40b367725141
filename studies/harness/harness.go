// Package harness runs live studies. A study declares the ways to run its workload, how one run is made, what it records and the template of its page;
// the harness brings the daemons up, runs the ways in turn and repeatedly, stores a record of each run as soon as it is complete, with the program's version and the
// computer's load, and writes the page from all records, without Hadoop.
package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Options are the choices that every study has.
type Options struct {
	Repetitions int      // of every way: besides those already stored, or in all where the study resumes
	Only        []string // ways; empty: all
	Dir         string   // of the records
	Page        string   // file of the page; "": that of the study
	Work        string   // of the daemons, kept; "": a temporary folder
	Binary      string   // the program; "": it is built
	Log         io.Writer
}

// Study declares a live study. R is the record of one run.
type Study[R any] struct {
	Options
	Folder string                // of the records, in docs/studies
	File   string                // of the page, relative to that folder; "": beside it, with its name
	Flags  func(f *flag.FlagSet) // adds those of its own; nil: it has none
	Small  func()                // makes the study the miniature that the tests run; nil: it has none

	Ways     []string                      // to run the workload; none: there is one
	First    string                        // a way that goes first in every repetition; "": none
	Order    func(repetition int) []string // of the ways; nil: they are rotated by one in each repetition
	Together bool                          // the ways of a repetition are one run
	// Key says which run a record is of. With it, repetitions are numbered after those that have records, or from 1 if the study resumes.
	Key    func(rec *R) (way string, repetition int)
	Resume bool // runs with a record are not made again
	From   int  // number of the first repetition; 0: the next one, or 1
	// Parts are made one after another, each with its own daemons; nil: the study is not divided. They use the folder and the options of the whole.
	Parts func() []*Study[R]
	Again error // a part that fails with it is continued on new daemons, up to three times; nil: none is

	Lab      func() hadoop.Options                         // the daemons of all runs; nil: each run has its own
	Clusters int                                           // labs side by side, which share the repetitions; 0: one
	Nice     int                                           // below 0: daemons go before other work, where permitted
	Command  bool                                          // runs use the product's command
	Ready    func(ctx context.Context, bench *Bench) error // is called once the daemons are up
	// Run makes one run and returns its record and its result in a few words.
	Run func(ctx context.Context, now *Run) (rec *R, summary string, err error)

	Series string // of the records
	Ext    string // of their files; "": compressed JSON
	// Keep stores a record, and Stored reads all of them; nil: they are JSON files of the series.
	Keep   func(began *evidence.Run, rec *R) (evidence.Run, error)
	Stored func() ([]evidence.Run, []*R, error)

	Template string // of the page
	// Facts are what the page shows besides the records, and the functions that its template has; nil: nothing.
	Facts func(ctx context.Context, runs []evidence.Run, records []*R) (map[string]any, template.FuncMap, error)
	// Verdict is an error if the records have what must not be; it is asked when the page is written.
	Verdict func() error
}

// Bench is what runs are made on.
type Bench struct {
	*Options
	Cluster *hadoop.Cluster // nil: the study has no daemons in common
	Bin     string          // the product's command, where the study uses it
	Program string          // its version

	ends []func()
}

// Defer calls f when the last run has been made.
func (b *Bench) Defer(f func()) { b.ends = append(b.ends, f) }

// Run is one run.
type Run struct {
	*Bench
	Way        string
	Repetition int // from 1
	Place      int // in the repetition, from 1
	Began      *evidence.Run
}

func (r *Run) String() string {
	return strings.TrimPrefix(fmt.Sprintf("%s, repetition %d", r.Way, r.Repetition), ", ")
}

// Selected are the ways that were asked for.
func (s *Study[R]) Selected() []string {
	return slices.DeleteFunc(slices.Clone(s.Ways), func(way string) bool { return len(s.Only) > 0 && !slices.Contains(s.Only, way) })
}

// order lists the ways of a repetition.
func (s *Study[R]) order(repetition int) (list []string) {
	if s.Order != nil {
		return s.Order(repetition)
	}
	turning := slices.DeleteFunc(slices.Clone(s.Ways), func(way string) bool { return way == s.First })
	if s.First != "" {
		list = append(list, s.First)
	}
	for i := range turning {
		list = append(list, turning[(i+repetition-1)%len(turning)])
	}
	return list
}

// Plan lists the runs to make.
func (s *Study[R]) Plan() (list []*Run, err error) {
	for _, way := range s.Only {
		if !slices.Contains(s.Ways, way) {
			return nil, fmt.Errorf("unknown %q: choose from %s", way, strings.Join(s.Ways, ", "))
		}
	}
	have, last := map[string]bool{}, 0
	if s.Key != nil {
		_, records, err := s.Records()
		if err != nil {
			return nil, err
		}
		for _, rec := range records {
			way, repetition := s.Key(rec)
			have[fmt.Sprint(repetition, way)], last = true, max(last, repetition)
		}
		if s.Resume {
			last = 0
		}
	}
	from := cmp.Or(s.From, last+1)
	for repetition := from; repetition < from+s.Repetitions; repetition++ {
		ways := s.order(repetition)
		if s.Together || len(ways) == 0 {
			list = append(list, &Run{Repetition: repetition, Place: 1})
			continue
		}
		for i, way := range ways {
			if (len(s.Only) == 0 || slices.Contains(s.Only, way)) && !(s.Resume && have[fmt.Sprint(repetition, way)]) {
				list = append(list, &Run{Way: way, Repetition: repetition, Place: i + 1})
			}
		}
	}
	return list, nil
}

// Record makes the runs and stores their records.
func (s *Study[R]) Record(ctx context.Context) error {
	if _, err := s.Plan(); err != nil {
		return err
	}
	s.Log = cmp.Or(s.Log, io.Discard)
	bench := Bench{Options: &s.Options}
	var err error
	if bench.Program, err = evidence.Program(s.Dir, s.Binary); err != nil {
		return err
	}
	if s.Command {
		var remove func()
		if bench.Bin, remove, err = host.Program(ctx, s.Binary); err != nil {
			return err
		}
		defer remove()
	}
	parts := []*Study[R]{s}
	if s.Parts != nil {
		parts = s.Parts()
	}
	for _, part := range parts {
		err := part.runAll(ctx, bench)
		for again := 0; s.Again != nil && errors.Is(err, s.Again) && again < 3; again++ {
			fmt.Fprintf(s.Log, "%v: again, on new daemons\n", err)
			err = part.runAll(ctx, bench)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runAll makes the planned runs, on as many clusters as asked for. A cluster that fails does not stop the others.
func (s *Study[R]) runAll(ctx context.Context, bench Bench) error {
	plan, err := s.Plan()
	if err != nil || len(plan) == 0 {
		return err
	}
	clusters := max(1, s.Clusters)
	failed := make(chan error, clusters)
	for i := range clusters {
		own := bench
		share := slices.DeleteFunc(slices.Clone(plan), func(r *Run) bool { return (r.Repetition-plan[0].Repetition)%clusters != i })
		go func() { failed <- s.record(ctx, &own, share) }()
	}
	for range clusters {
		err = errors.Join(err, <-failed)
	}
	return err
}

// record makes the runs of one bench.
func (s *Study[R]) record(ctx context.Context, bench *Bench, plan []*Run) error {
	defer func() {
		for _, end := range slices.Backward(bench.ends) {
			end()
		}
	}()
	if s.Nice < 0 {
		end, err := host.First(s.Nice)
		bench.Defer(end)
		if err != nil {
			fmt.Fprintln(s.Log, "going before other work is not permitted here:", err)
		}
	}
	if s.Lab != nil {
		o, work, err := s.Lab(), s.Work, error(nil)
		o.Log = s.Log
		if work != "" { // another attempt, part or cluster has a folder of its own
			if err = os.MkdirAll(work, 0o755); err == nil {
				work, err = os.MkdirTemp(work, "lab-")
			}
		}
		if err != nil {
			return err
		}
		c, down, err := hadoop.UpIn(ctx, work, o)
		if err != nil {
			return err
		}
		bench.Cluster = c
		bench.Defer(down)
	}
	if s.Ready != nil {
		if err := s.Ready(ctx, bench); err != nil {
			return err
		}
	}
	start := time.Now()
	for i, now := range plan {
		now.Bench, now.Began = bench, evidence.Begin(bench.Program)
		rec, summary, err := s.Run(ctx, now)
		if err != nil {
			return fmt.Errorf("%v: %w", now, err)
		}
		kept, err := s.keep(now.Began, rec)
		if err != nil {
			return err
		}
		left := time.Since(start) / time.Duration(i+1) * time.Duration(len(plan)-i-1)
		fmt.Fprintf(s.Log, "%s  %d/%d  %v: %s; load %s; about %v left\n", time.Now().Format(time.TimeOnly), i+1, len(plan), now, summary, kept.LoadText(), left.Round(time.Second))
	}
	return nil
}

func (s *Study[R]) keep(began *evidence.Run, rec *R) (evidence.Run, error) {
	switch {
	case s.Keep != nil:
		return s.Keep(began, rec)
	case s.Ext == "":
		return began.KeepJSON(s.Dir, s.Series, rec)
	}
	b, err := json.MarshalIndent(rec, "", " ")
	if err != nil {
		return *began, err
	}
	return began.Keep(s.Dir, s.Series, s.Ext, append(b, '\n'))
}

// Records are all stored records, with their lines of the ledger.
func (s *Study[R]) Records() ([]evidence.Run, []*R, error) {
	switch {
	case s.Stored != nil:
		return s.Stored()
	case s.Ext == "":
		return evidence.ReadSeries[R](s.Dir, s.Series)
	}
	return evidence.ReadRecords[R](s.Dir, s.Series, s.Ext)
}

// Report writes the page and returns its text and its file.
func (s *Study[R]) Report(ctx context.Context) (text, file string, err error) {
	runs, records, err := s.Records()
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("%s has no records yet: leave out --offline to make them", s.Dir)
	}
	if err != nil {
		return "", "", err
	}
	data := map[string]any{"Dir": filepath.Base(s.Dir), "Kept": runs, "Records": records, "Newest": records[len(records)-1]}
	var funcs template.FuncMap
	if s.Facts != nil {
		var own map[string]any
		if own, funcs, err = s.Facts(ctx, runs, records); err != nil {
			return "", "", err
		}
		maps.Copy(data, own)
	}
	file = cmp.Or(s.Page, filepath.Clean(s.Dir)+".md")
	if s.Page == "" && s.File != "" {
		file = filepath.Join(s.Dir, s.File)
	}
	text, err = evidence.Page(s.Template, file, data, funcs)
	return text, file, err
}

// Verb adds the study's flags and returns what its command does: it records, unless that is switched off, and writes the page.
func (s *Study[R]) Verb(f *flag.FlagSet, out io.Writer) func(context.Context) error {
	s.Log = out
	folder := filepath.Join("docs", "studies", s.Folder)
	f.StringVar(&s.Dir, "dir", folder, "`folder` of the records")
	f.StringVar(&s.Page, "page", "", "`file` of the page (default: "+cmp.Or(s.File, "the folder's name with .md, beside it")+")")
	f.StringVar(&s.Work, "work", "", "`folder` of the daemons, which stays (default: a temporary one)")
	offline, small := f.Bool("offline", false, "only write the page, from the stored records"), new(bool)
	if s.Command {
		f.StringVar(&s.Binary, "binary", "", "yardmaster's own `file` (default: it is built)")
	}
	if s.Repetitions > 0 {
		f.IntVar(&s.Repetitions, "repetitions", s.Repetitions, "number of repetitions of every way"+map[bool]string{false: ", besides those already stored"}[s.Resume])
		if s.Key != nil {
			f.IntVar(&s.From, "from", s.From, "`number` of the first repetition (default: the first one"+map[bool]string{false: " that is not stored)", true: ")"}[s.Resume])
		}
	} else {
		s.Repetitions = 1
	}
	if len(s.Ways) > 0 {
		f.Func("only", "comma-separated `ways`: "+strings.Join(s.Ways, ", ")+" (default: all)", func(list string) error {
			s.Only = strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
			return nil
		})
	}
	if s.Flags != nil {
		s.Flags(f)
	}
	if s.Small != nil {
		f.BoolVar(small, "small", false, "the miniature that the tests run; needs --dir")
	}
	return func(ctx context.Context) error {
		if *small {
			if s.Dir == folder {
				return errors.New("--small needs its own --dir")
			}
			s.Small()
		}
		err := Recorded(ctx, out, *offline, s.Record, s.Report)
		if err == nil && s.Verdict != nil {
			err = s.Verdict()
		}
		return err
	}
}

// Recorded records, unless offline, and then prints the text of the report and its file.
func Recorded(ctx context.Context, out io.Writer, offline bool, record func(context.Context) error, report func(context.Context) (text, file string, err error)) error {
	if !offline {
		if err := record(ctx); err != nil {
			return err
		}
	}
	text, file, err := report(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(out, text)
	if file != "" {
		fmt.Fprintf(out, "\nwritten to %s\n", file)
	}
	return nil
}
