package endure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/soak"
)

// Study runs all or some of the parts.
type Study struct {
	Kills     int           // of the steerer, over both schedulers
	Knobs     int           // kills with each scheduler while several knobs are turned
	Applies   int           // kills of "yarn apply"
	Restarts  int           // of the ResourceManager
	Failovers int           // from one ResourceManager to the other
	Apps      []int         // applications in the ResourceManager's list, one size after another
	Nodes     int           // of the large cluster
	Upgrades  int           // changes of the version that steers
	Old       string        // the commit of the other version; "": the same
	Days      int           // virtual, of a rehearsal
	SoakFor   time.Duration // how long the steerer is left running
	Brief     bool          // faults: only the few that need no waiting, each for a short time
	Seed      uint64        // of the kill times

	work, bin string // the folder of the daemons, and the command
	program   string // the command's version
	log       *log.Logger
}

// part is one kind of fault.
type part struct {
	name string
	row  func() any // an empty row of its record
	run  func(s *Study, ctx context.Context, t *sheet) error
}

// parts are in the order of the page.
var parts = []part{
	{"kills", row[Kill], (*Study).kills}, {"knobs", row[Kill], (*Study).knobs}, {"apply", row[Apply], (*Study).applies}, {"restarts", row[Gap], (*Study).restarts},
	{"failovers", row[Gap], (*Study).failovers}, {"kerberos", row[Secured], (*Study).kerberos}, {"lies", row[FaultResult], (*Study).faults}, {"size", row[Size], (*Study).size},
	{"upgrades", row[Upgrade], (*Study).upgrades}, {"soak", row[soak.Record], (*Study).soak}, {"days", row[soak.Record], (*Study).days},
}

func row[R any]() any { return new(R) }

// Study declares it: the parts are its ways. A part with a miss is not an error; the page and the verdict report it.
func (s *Study) Study() *harness.Study[sheet] {
	h := &harness.Study[sheet]{Folder: "endure", File: filepath.Join("..", "endurance.md"), Command: true, Template: pageText}
	h.Flags = func(f *flag.FlagSet) {
		s.Apps = []int{100, 1000, 10000}
		f.IntVar(&s.Kills, "kills", 200, "number of kills of the steerer, over both schedulers")
		f.IntVar(&s.Knobs, "knobs", 50, "number of kills with each scheduler while the steerer turns knobs of several queues and applications")
		f.IntVar(&s.Applies, "applies", 50, "number of kills of yarn apply")
		f.IntVar(&s.Restarts, "restarts", 5, "number of restarts of the ResourceManager")
		f.IntVar(&s.Failovers, "failovers", 5, "number of failovers from one ResourceManager to the other")
		f.IntVar(&s.Nodes, "nodes", 500, "nodes of the large cluster")
		f.IntVar(&s.Upgrades, "upgrades", 10, "number of changes of the version that steers")
		f.StringVar(&s.Old, "old", "", "`file` of the other version (default: the same)")
		f.IntVar(&s.Days, "days", 30, "virtual days of a rehearsal")
		f.DurationVar(&s.SoakFor, "soak-for", 2*time.Hour, "how long a steerer is left running")
		f.Uint64Var(&s.Seed, "seed", 1, "seed of the kill times")
		f.BoolVar(&s.Brief, "brief", false, "fewer faults and fewer samples, as in CI")
	}
	h.Order = func(int) []string { return h.Ways }
	for _, p := range parts {
		h.Ways = append(h.Ways, p.name)
	}
	h.Ready = func(_ context.Context, bench *harness.Bench) error {
		work, clean, err := host.Folder(bench.Work, "endure")
		if err != nil {
			return err
		}
		bench.Defer(clean)
		s.work, s.bin, s.program, s.log = work, bench.Bin, bench.Program, log.New(bench.Log, "", log.Ltime)
		if bench.Work == "" { // a steerer of another account uses what was made here
			err = os.Chmod(work, 0o755)
		}
		if bench.Binary == "" {
			err = errors.Join(err, os.Chmod(filepath.Dir(s.bin), 0o755))
		}
		return err
	}
	h.Run = func(ctx context.Context, now *harness.Run) (*sheet, string, error) {
		t := &sheet{Head: Head{Part: now.Way, At: now.Began.At, Hadoop: hadoop.Default, Go: runtime.Version(), Cores: runtime.NumCPU(), Seed: s.Seed}}
		err := parts[slices.Index(h.Ways, now.Way)].run(s, ctx, t)
		return t, fmt.Sprintf("%d rows, %d misses", len(t.Rows), len(t.Sum.Misses)), err
	}
	h.Keep = func(began *evidence.Run, t *sheet) (evidence.Run, error) { return t.keep(h.Dir, began) }
	h.Stored = func() ([]evidence.Run, []*sheet, error) { return stored(h.Dir) }
	h.Facts = func(_ context.Context, _ []evidence.Run, list []*sheet) (map[string]any, template.FuncMap, error) {
		r, err := recordsOf(list), error(nil)
		if all := rows[soak.Record](r["soak"]); len(all) > 0 {
			err = soak.Picture(filepath.Join(h.Dir, "size.svg"), slices.MaxFunc(all, func(a, b *soak.Record) int { return cmp.Compare(a.Lasted, b.Lasted) }))
		}
		return r.data(), pageFuncs, err
	}
	h.Verdict = func() error {
		_, list, err := stored(h.Dir)
		if misses := recordsOf(list).misses(); len(misses) > 0 {
			err = fmt.Errorf("%d checks failed: see the page", len(misses))
		}
		return err
	}
	return h
}

func (s *Study) say(format string, args ...any) { s.log.Printf(format, args...) }

// folder makes a new folder in the work folder.
func (s *Study) folder(name string) (string, error) {
	dir := filepath.Join(s.work, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// Head says where and when a part ran.
type Head struct {
	Part   string    `json:"part"`
	At     time.Time `json:"at"`
	Hadoop string    `json:"hadoop"`
	Go     string    `json:"go"`
	Cores  int       `json:"cores"`
	Seed   uint64    `json:"seed"`

	Run evidence.Run `json:"-"` // its line of the ledger
}

// sheet is the record of one run of a part: one JSON object per line, the head first and the summary last.
type sheet struct {
	Head Head
	Rows []any // pointers
	Sum  Sum
}

// add adds a row, and its miss under a name, if it has one.
func (t *sheet) add(row any, miss, name string, args ...any) {
	if t.Rows = append(t.Rows, row); miss != "" {
		t.Sum.miss("%s: %s", fmt.Sprintf(name, args...), miss)
	}
}

// Sum is the summary of a part's rows.
type Sum struct {
	Capacity AppCounts   `json:"capacity,omitzero"` // of kills
	Fair     AppCounts   `json:"fair,omitzero"`
	Apps     AppCounts   `json:"fate,omitzero"`   // of faults
	AppsEach []AppCounts `json:"fates,omitempty"` // of restarts and failovers
	Final    []string    `json:"final,omitempty"` // results of the final checks
	Tried    []string    `json:"tried,omitempty"` // of knobs: what a ResourceManager answers
	Misses   []string    `json:"misses"`
}

func (s *Sum) miss(format string, args ...any) {
	s.Misses = append(s.Misses, fmt.Sprintf(format, args...))
}

// recordExt is the file extension of records.
const recordExt = ".jsonl"

// keep stores it beside the part's earlier runs.
func (t *sheet) keep(dir string, began *evidence.Run) (evidence.Run, error) {
	var b bytes.Buffer
	if err := hadoop.WriteLines(&b, slices.Concat([]any{t.Head}, t.Rows, []any{t.Sum})); err != nil {
		return *began, err
	}
	return began.Keep(dir, t.Head.Part, recordExt, b.Bytes())
}

// load reads one record.
func (t *sheet) load(file string, row func() any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	if len(all) < 2 {
		return fmt.Errorf("reading %s: truncated", file)
	}
	last := len(all) - 1
	err = errors.Join(json.Unmarshal(all[0], &t.Head), json.Unmarshal(all[last], &t.Sum))
	for _, line := range all[1:last] {
		r := row()
		err = errors.Join(err, json.Unmarshal(line, r))
		t.Rows = append(t.Rows, r)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

// stored reads all runs of all parts, in the order of the page and of their numbers.
func stored(dir string) (all []evidence.Run, list []*sheet, err error) {
	for _, p := range parts {
		runs, err := evidence.Series(dir, p.name, recordExt)
		if err != nil {
			return nil, nil, err
		}
		for _, run := range runs {
			t := &sheet{}
			if err := t.load(filepath.Join(dir, run.File), p.row); err != nil {
				return nil, nil, err
			}
			t.Head.Run = run
			all, list = append(all, run), append(list, t)
		}
	}
	return all, list, nil
}

// series are all runs of a part.
type series []*sheet

// rows are the rows of all runs.
func rows[R any](l series) (all []*R) {
	for _, t := range l {
		for _, r := range t.Rows {
			all = append(all, r.(*R))
		}
	}
	return all
}

// appTotals counts the applications of all runs, and those that succeeded; Apps includes AppsEach.
func (l series) appTotals() (all Sum) {
	for i := range l {
		sum := &l[i].Sum
		all.Capacity.add(sum.Capacity)
		all.Fair.add(sum.Fair)
		for _, f := range append(sum.AppsEach, sum.Apps) {
			all.Apps.add(f)
		}
	}
	return all
}

func (f *AppCounts) add(o AppCounts) {
	f.Submitted, f.Succeeded = f.Submitted+o.Submitted, f.Succeeded+o.Succeeded
}
