package endure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Study runs all or some of the parts.
type Study struct {
	Kills     int      // of the steerer, over both schedulers; 200
	Knobs     int      // kills with each scheduler while several knobs are turned; 50
	Applies   int      // kills of "yarn apply"; 50
	Restarts  int      // of the ResourceManager; 5
	Failovers int      // from one ResourceManager to the other; 5
	Apps      []int    // applications in the ResourceManager's list, one size after another; 100, 1,000, 10,000
	Nodes     int      // of the large cluster; 500
	Brief     bool     // faults: only the few that need no waiting, each for a short time
	Only      []string // parts; all
	Seed      uint64   // of the kill times

	Dir    string // of the raw data
	Work   string // of the daemons, kept; "": a temporary one
	Binary string // the command; "": it is built
	Log    io.Writer

	program string // the command's version
	log     *log.Logger
}

// part is one kind of fault.
type part struct {
	name string
	run  func(s *Study, ctx context.Context) error
}

// parts are in the order of the page.
var parts = []part{
	{"kills", (*Study).kills}, {"knobs", (*Study).knobs}, {"apply", (*Study).applies}, {"restarts", (*Study).restarts}, {"failovers", (*Study).failovers}, {"kerberos", (*Study).kerberos},
	{"lies", (*Study).faults}, {"size", (*Study).size},
}

// Parts are the names that Only may have.
func Parts() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// Run runs the selected parts one after another and records what happened. A part with a miss is not an error; the
// page and Misses report it.
func (s *Study) Run(ctx context.Context) error {
	for _, name := range s.Only {
		if !slices.Contains(Parts(), name) {
			return fmt.Errorf("unknown part %q: choose from %s", name, strings.Join(Parts(), ", "))
		}
	}
	s.log = log.New(cmp.Or(s.Log, io.Discard), "", log.Ltime)
	work, clean, err := host.Folder(s.Work, "endure")
	if err != nil {
		return err
	}
	defer clean()
	if s.Work == "" { // a steerer of another account uses it
		if err := os.Chmod(work, 0o755); err != nil {
			return err
		}
	}
	s.Work = work
	if s.program, err = evidence.Program(s.Dir, s.Binary); err != nil {
		return err
	}
	if s.Binary == "" {
		if s.Binary, err = host.Build(ctx, s.Work, host.Product); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if len(s.Only) > 0 && !slices.Contains(s.Only, p.name) {
			continue
		}
		s.say("%s", p.name)
		if err := p.run(s, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (s *Study) say(format string, args ...any) { s.log.Printf(format, args...) }

// folder makes a new folder in the work folder.
func (s *Study) folder(name string) (string, error) {
	dir := filepath.Join(s.Work, name)
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

func (s *Study) head(part string) Head {
	run := evidence.Begin(s.program)
	return Head{Part: part, At: run.At, Hadoop: hadoop.Default, Go: runtime.Version(), Cores: runtime.NumCPU(), Seed: s.Seed, Run: *run}
}

// sheet is the raw data of one run of a part: one JSON object per line, the head first and the summary last.
type sheet[R any] struct {
	Head Head
	Rows []R
	Sum  Sum
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

// save stores it beside the part's earlier runs.
func (t *sheet[R]) save(dir string) error {
	lines := []any{t.Head}
	for i := range t.Rows {
		lines = append(lines, t.Rows[i])
	}
	var b bytes.Buffer
	err := hadoop.WriteLines(&b, append(lines, t.Sum))
	if err != nil {
		return err
	}
	t.Head.Run, err = t.Head.Run.Keep(dir, t.Head.Part, recordExt, b.Bytes())
	return err
}

// load reads one record.
func (t *sheet[R]) load(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	if len(all) < 2 {
		return fmt.Errorf("reading %s: truncated", file)
	}
	last := len(all) - 1
	if err := json.Unmarshal(fmt.Appendf(nil, `{"Head":%s,"Rows":[%s],"Sum":%s}`, all[0], bytes.Join(all[1:last], []byte(",")), all[last]), t); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

// series is every run of a part, in the order of their numbers.
type series[R any] []sheet[R]

// load reads all of them; none if the part was never run.
func (l *series[R]) load(dir, part string) error {
	runs, err := evidence.Series(dir, part, recordExt)
	if err != nil {
		return err
	}
	for i := range runs {
		var t sheet[R]
		if err := t.load(filepath.Join(dir, runs[i].File)); err != nil {
			return err
		}
		t.Head.Run = runs[i]
		*l = append(*l, t)
	}
	return nil
}

// rows are the rows of all runs.
func (l series[R]) rows() (all []R) {
	for i := range l {
		all = append(all, l[i].Rows...)
	}
	return all
}

// held are the heads and the misses of all runs.
func (l series[R]) held() (heads []Head, misses [][]string) {
	for i := range l {
		heads, misses = append(heads, l[i].Head), append(misses, l[i].Sum.Misses)
	}
	return heads, misses
}

// appTotals counts the applications of all runs, and those that succeeded; Apps includes AppsEach.
func (l series[R]) appTotals() (all Sum) {
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
