// Package jobfile reads and writes the workload format: one Parquet file, one row per job, its stages nested in
// the row, sorted by submit time. docs/format.md documents every column.
//
// Writing and reading use bounded memory: rows are flushed in groups, and a reader holds one page of each column. The same
// jobs give the same bytes. A truncated, damaged or malicious file is refused with an error.
package jobfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/internal/parq"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Version is the version of the format that this package writes. It also reads version 2, which has no executors, and version 1, which has no gangs
// and no named resources either.
const Version = "3"

// Keys of a file's metadata. In the file they carry the prefix "yardmaster.".
const (
	MetaFormat      = "format"      // Version; set by the Writer
	MetaTool        = "version"     // of the program that wrote the file
	MetaSource      = "source"      // what it was made from, in words
	MetaAssumptions = "assumptions" // a JSON list of sentences
	MetaSettings    = "settings"    // a JSON Settings: under which the jobs were observed; absent if unknown
	MetaNotes       = "notes"       // a JSON list of {"text", "count"}: what was read, kept and dropped
)

const prefix = "yardmaster."

// Settings identifies a cluster's configuration when its jobs were observed: the SHA-256 of each file; "": none.
type Settings struct {
	Scheduler string `json:"scheduler,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	Site      string `json:"site,omitempty"`
}

// Meta is the value of MetaSettings.
func (s Settings) Meta() string { return jsonOf(s) }

// jsonOf marshals strings and numbers, which cannot fail.
func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("jobfile: " + err.Error())
	}
	return string(text)
}

// NewMeta returns the metadata that every file should have.
func NewMeta(tool, source string, assumptions []string) map[string]string {
	list := append([]string{}, assumptions...) // none is [], not null
	return map[string]string{MetaTool: tool, MetaSource: source, MetaAssumptions: jsonOf(list)}
}

// Limits of the format.
const (
	// MaxListed is the number of task lengths, edges and hosts that one job can list. More tasks than that are
	// described by a quantile table or a distribution.
	MaxListed = 1 << 20

	maxNamed   = 4 * workload.MaxStages // named resources of a job's containers
	maxRow     = 16 << 20               // bytes of one job; always within the reader's limits
	groupJobs  = 20_000
	groupBytes = 64 << 20
	// manyGroups is the number of row groups from which groups grow, to keep the footer of a very long workload small.
	manyGroups    = 500
	manyGroupJobs = 500_000
)

var limits = parq.Limits{First: maxNamed, Deeper: MaxListed}

// Writer writes jobs.
type Writer struct {
	w      *parq.Writer[jobRow]
	last   unit.Time
	bytes  int
	groups int
	row    [1]jobRow
}

// NewWriter returns a Writer to w, whose file carries meta (see NewMeta). Close completes the file but leaves w open.
func NewWriter(w io.Writer, meta map[string]string) *Writer {
	keys := map[string]string{}
	for k, v := range meta {
		keys[prefix+k] = v
	}
	keys[prefix+MetaFormat] = Version
	keys[prefix+MetaNotes] = "[]" // reserves its position among the keys, which are sorted; see SetNotes
	return &Writer{w: parq.NewWriter[jobRow](w, keys)}
}

// ErrTooLarge is that a job lists or names too much.
var ErrTooLarge = errors.New("larger than a workload file takes of one job")

// Check says why a job cannot be written.
func Check(j *workload.Job) error {
	_, err := check(j)
	return err
}

// check also estimates the size of the job's row in bytes.
func check(j *workload.Job) (size int, err error) {
	if err := j.Validate(); err != nil {
		return 0, err
	}
	size, listed, named := sizeOf(j)
	switch {
	case listed > MaxListed:
		err = fmt.Errorf("job %s is %w: %d task lengths or hosts of at most %d: give a quantile table", j.ID, ErrTooLarge, listed, MaxListed)
	case named > maxNamed:
		err = fmt.Errorf("job %s is %w: %d named resources of at most %d", j.ID, ErrTooLarge, named, maxNamed)
	case size > maxRow:
		err = fmt.Errorf("job %s is %w: %d bytes of at most %d: shorten its names or its lists", j.ID, ErrTooLarge, size, maxRow)
	}
	return size, err
}

// Write adds a job. Jobs come in the order of their submit times.
func (w *Writer) Write(j *workload.Job) error {
	size, err := check(j)
	if err != nil {
		return fmt.Errorf("writing jobs: %w", err)
	}
	if j.Submit < w.last {
		return fmt.Errorf("writing jobs: job %s is submitted at %v, after one at %v: sort the jobs by submit time first",
			j.ID, j.Submit, w.last)
	}
	row := toRow(j)
	for i := range row.Stages {
		if h := row.Stages[i].Hosts; h != nil {
			if _, err := fromHosts(h); err != nil { // never write what cannot be read back
				return fmt.Errorf("writing jobs: job %s: stage %d: %w", j.ID, i, err)
			}
		}
	}
	w.last = j.Submit
	w.bytes += size
	w.row[0] = row
	if err := w.w.Write(w.row[:]); err != nil {
		return fmt.Errorf("writing job %s: %w", j.ID, err)
	}
	full := int64(groupJobs)
	if w.groups >= manyGroups {
		full = manyGroupJobs
	}
	if w.w.Pending() >= full || w.bytes >= groupBytes {
		w.bytes = 0
		w.groups++
		if err := w.w.Flush(); err != nil {
			return fmt.Errorf("writing jobs: %w", err)
		}
	}
	return nil
}

// SetNotes stores the notes of the trace's reader, which are complete only when all jobs were read. It may be called
// until Close.
func (w *Writer) SetNotes(notes []workload.Note) {
	w.w.SetKey(prefix+MetaNotes, jsonOf(append([]workload.Note{}, notes...)))
}

// Close completes the file.
func (w *Writer) Close() error {
	if err := w.w.Close(); err != nil {
		return fmt.Errorf("writing jobs: %w", err)
	}
	return nil
}

// Reader reads jobs. It is a workload.Source.
type Reader struct {
	r    *parq.Reader[jobRow]
	name string
	meta map[string]string // by the Meta keys
	list []string
	said []workload.Note
	last unit.Time
	row  int64
}

var _ workload.Source = (*Reader)(nil)

// versions are those that are read, newest first, each with the fields of jobRow that its rows do not have.
var versions = []struct {
	name    string
	without []string
}{{Version, nil}, {"2", []string{"Executors"}}, {"1", []string{"Executors", "Gangs", "Named"}}}

func openAny(open func(without ...string) (*parq.Reader[jobRow], error)) (r *parq.Reader[jobRow], version string, err error) {
	var newest error
	for _, v := range versions {
		r, err := open(v.without...)
		if !errors.Is(err, parq.ErrOther) {
			return r, v.name, err
		}
		if newest == nil {
			newest = err
		}
	}
	return nil, "", fmt.Errorf("%w: make a workload file with yardmaster import; of a table of jobs, with yardmaster import parquet", newest)
}

// Open opens a workload file.
func Open(path string) (*Reader, error) {
	r, version, err := openAny(func(without ...string) (*parq.Reader[jobRow], error) {
		return parq.Open[jobRow](path, limits, without...)
	})
	if err != nil {
		return nil, err
	}
	return newReader(r, version, path)
}

// NewReader reads a workload file of size bytes from src; name is used in errors.
func NewReader(src io.ReaderAt, size int64, name string) (*Reader, error) {
	r, version, err := openAny(func(without ...string) (*parq.Reader[jobRow], error) {
		return parq.NewReader[jobRow](src, size, limits, without...)
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return newReader(r, version, name)
}

func newReader(r *parq.Reader[jobRow], want, name string) (*Reader, error) {
	meta := map[string]string{}
	for k, v := range r.Keys() {
		if k, ok := strings.CutPrefix(k, prefix); ok {
			meta[k] = v
		}
	}
	fail := func(text string, args ...any) (*Reader, error) {
		_ = r.Close()
		return nil, fmt.Errorf("reading %s: %s", name, fmt.Sprintf(text, args...))
	}
	if v := meta[MetaFormat]; v != want {
		return fail("its format is version %q and this program reads version %q: import the trace again", v, want)
	}
	out := &Reader{r: r, name: name, meta: meta}
	for _, x := range []struct {
		key, what string
		into      any
	}{{MetaAssumptions, "assumptions", &out.list}, {MetaNotes, "notes", &out.said}} { // files of earlier programs have no notes
		if text := meta[x.key]; text != "" {
			if err := json.Unmarshal([]byte(text), x.into); err != nil {
				return fail("its list of %s cannot be read: %v", x.what, err)
			}
		}
	}
	return out, nil
}

// Next returns the next job, io.EOF after the last.
func (r *Reader) Next() (*workload.Job, error) {
	row, err := r.r.Next()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.name, err)
	}
	r.row++
	j, err := fromRow(row)
	if err != nil {
		return nil, fmt.Errorf("reading %s: row %d: %w", r.name, r.row, err)
	}
	if j.Submit < r.last {
		return nil, fmt.Errorf("reading %s: row %d: job %s is submitted before the job above it: sort the rows by submit_us",
			r.name, r.row, j.ID)
	}
	r.last = j.Submit
	return j, nil
}

// Settings returns those under which the jobs were observed; none where the file does not say.
func (r *Reader) Settings() Settings {
	var s Settings
	if err := json.Unmarshal([]byte(r.meta[MetaSettings]), &s); err != nil {
		return Settings{}
	}
	return s
}

// Assumptions returns what was assumed when the file was made.
func (r *Reader) Assumptions() []string { return r.list }

// Notes returns what was read, kept and dropped when the file was made.
func (r *Reader) Notes() []workload.Note { return r.said }

// Jobs is the number of jobs in the file.
func (r *Reader) Jobs() int64 { return r.r.Rows() }

// Close releases the file.
func (r *Reader) Close() error { return r.r.Close() }
