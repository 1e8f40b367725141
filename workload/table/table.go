// Package table reads a table of jobs from any system: text with a header (CSV and its relatives, what sacct prints) or a Parquet file of any
// writer (DuckDB, pandas, Spark). A row is a job, or a stage of one.
//
// Nothing says in which order such tables are, so all rows are kept in memory, some 900 bytes each with all that is around them, and sorted.
package table

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/internal/parq"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// MaxRows is the number of rows that are taken.
const MaxRows = 10_000_000

// Options say how to read tables.
type Options struct {
	Columns      []string       // ROLE=COLUMN; the others are found by their names
	Ask          unit.Resources // of a task, where no column says
	FinishedOnly bool           // leave out jobs that failed or were killed
}

// Reader yields the jobs of tables in the order of their submit times.
type Reader struct {
	opt     Options
	records []record
	jobs    [][]record // of one job each
	names   map[string]string
	first   unit.Time
	ids     map[string]int
	said    workload.Notes
	dropped drops
	read    int64

	noTasks, noCores, noMem, noPriority, zoneless, fromStart, gangs int64
}

// record is a row that can be used.
type record struct {
	id, name, user, queue, class, outcome, stage string
	after                                        string
	submit, start, finish, deadline              unit.Time // absolute; missing: none
	length                                       unit.Time
	tasks                                        int64
	ask                                          unit.Resources
	priority                                     int
	gang, inTurn                                 bool // all tasks start at once; a stage comes after the one before
}

const missing = unit.Time(-1 << 62)

// New returns a Reader without rows. Add the files, and then End.
func New(opt Options) *Reader {
	return &Reader{opt: opt, names: map[string]string{}, ids: map[string]int{}}
}

// AddText adds a file of text.
func (r *Reader) AddText(f *input.File) error {
	prefix, err := f.Peek(input.PeekSize)
	if err != nil {
		return err
	}
	t, err := openText(f, f.Name, prefix)
	if err != nil {
		return err
	}
	return r.add(t, f.Name)
}

// AddParquet adds a Parquet file.
func (r *Reader) AddParquet(path string) error {
	t, err := parq.OpenTable(path)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }() // read-only
	if t.Keys()["yardmaster.format"] != "" {
		return fmt.Errorf("%s is a workload file: it needs no import; give it with --workload", path)
	}
	return r.add(&columnar{Table: t, name: path}, path)
}

func (r *Reader) add(in rows, name string) error {
	columns, err := choose(in.header(), r.opt.Columns)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at := make([]int, len(columns))
	for i := range columns {
		at[i] = columns[i].at
	}
	if err := in.choose(at); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p := parser{Reader: r, columns: columns, rows: in, inTurn: true}
	p.describe(in.header())
	for {
		row, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.read++; len(r.records) >= MaxRows {
			return fmt.Errorf("%s: more than %d jobs: import parts of it, each of some weeks", in.where(), MaxRows)
		}
		if row == nil {
			r.dropped.add("rows with more or fewer fields than the header", in.where())
			continue
		}
		if rec, ok := p.record(row); ok {
			r.records = append(r.records, rec)
		}
	}
}

// drops counts dropped rows by reason, in the order in which the reasons were met.
type drops []drop

type drop struct {
	reason, first string
	count         int64
}

func (d *drops) add(reason, where string) {
	i := slices.IndexFunc(*d, func(have drop) bool { return have.reason == reason })
	if i < 0 {
		i = len(*d)
		*d = append(*d, drop{reason: reason, first: where})
	}
	(*d)[i].count++
}

// End sorts the rows. An input without a usable row is an error.
func (r *Reader) End() error {
	if r.read == 0 {
		return fmt.Errorf("the table has a header and no rows")
	}
	if r.said.Add(r.read, "rows read"); len(r.records) == 0 {
		var why []string
		for _, d := range r.dropped {
			why = append(why, fmt.Sprintf("%d %s (the first: %s)", d.count, d.reason, d.first))
		}
		return fmt.Errorf("none of %d rows can be used: %s; if a column was misunderstood, name the right one with --columns", r.read, strings.Join(why, "; "))
	}
	r.said.Add(r.noTasks, "rows without a number of tasks have one")
	r.said.Add(r.noPriority, "rows whose priority is not a number have 0")
	slices.SortStableFunc(r.records, func(a, b record) int { return cmp.Compare(a.submit, b.submit) })
	r.gather()
	r.first = r.records[0].submit
	return nil
}

// gather puts the rows of a job's stages together. The job is submitted with the first of them.
func (r *Reader) gather() {
	place := map[string]int{}
	for i, rec := range r.records {
		if k, ok := place[rec.id]; ok && rec.stage != "" {
			r.jobs[k] = append(r.jobs[k], rec)
			continue
		}
		if rec.stage != "" {
			place[rec.id] = len(r.jobs)
		}
		r.jobs = append(r.jobs, r.records[i:i+1:i+1])
	}
}

var _ workload.Source = (*Reader)(nil)

// Next returns the next job, io.EOF after the last.
func (r *Reader) Next() (*workload.Job, error) {
	for len(r.jobs) > 0 {
		j, err := r.job(r.jobs[0])
		r.jobs = r.jobs[1:]
		if err == nil {
			err = j.Validate()
		}
		if err == nil {
			return j, nil
		}
		r.dropped.add("jobs that cannot run", err.Error())
	}
	return nil, io.EOF
}

func (r *Reader) job(rows []record) (*workload.Job, error) {
	f := rows[0]
	slices.SortStableFunc(rows, func(a, b record) int { return cmp.Compare(a.start, b.start) })
	if len(rows) > workload.MaxStages {
		return nil, fmt.Errorf("job %s: has %d stages; at most %d are taken", f.id, len(rows), workload.MaxStages)
	}
	j := &workload.Job{ID: f.id, Name: f.name, User: f.user, Queue: f.queue, Class: f.class, Submit: f.submit - r.first, Priority: f.priority}
	if n := r.ids[j.ID]; n > 0 {
		j.ID = fmt.Sprintf("%s#%d", j.ID, n+1)
	}
	r.ids[f.id]++
	if f.deadline != missing && f.deadline > r.first {
		j.Deadline = f.deadline - r.first
	}
	launch, finish, failed := missing, missing, ""
	place := map[string]int{} // of the stages so far
	for i := range rows {
		s := &rows[i]
		st := workload.Stage{Name: s.stage, Kind: workload.Other, Tasks: s.tasks, Ask: s.ask, Length: workload.Fixed(s.length)}
		if s.gang {
			st.Gang = s.tasks
		}
		var needs []int
		if s.inTurn && i > 0 {
			needs = []int{i - 1}
		}
		for need := range strings.FieldsFuncSeq(s.after, func(c rune) bool { return strings.ContainsRune(" ,[]'\"", c) }) {
			k, ok := place[need]
			if !ok {
				return nil, fmt.Errorf("job %s: its stage %s comes after %s, which is no stage of it that started before", f.id,
					input.Clip([]byte(s.stage)), input.Clip([]byte(need)))
			}
			needs = append(needs, k)
		}
		slices.Sort(needs)
		for _, k := range slices.Compact(needs) {
			st.After = append(st.After, workload.Edge{From: k, SlowStart: 1})
		}
		place[s.stage] = i
		j.Stages = append(j.Stages, st)
		if launch == missing { // the rows are in the order of their starts
			launch = s.start
		}
		finish = max(finish, s.finish)
		if s.failed() {
			failed = s.outcome
		}
	}
	if launch != missing && finish >= launch {
		j.Observed = &workload.Observed{Launch: max(0, launch-r.first), Finish: max(0, finish-r.first), Outcome: failed}
	}
	return j, nil
}

// Notes says which columns were read, and which rows dropped.
func (r *Reader) Notes() []workload.Note {
	all := slices.Clone(r.said)
	for _, d := range r.dropped {
		all.Add(d.count, "%s, dropped (the first: %s)", d.reason, d.first)
	}
	return all
}

// Assumptions says what was assumed where the tables do not say.
func (r *Reader) Assumptions() []string {
	var all []string
	assume := func(n int64, format string, args ...any) {
		if n > 0 {
			all = append(all, "table: "+fmt.Sprintf(format, args...))
		}
	}
	assume(r.zoneless, "times without a zone are in UTC")
	assume(r.fromStart, "jobs without a submit time were submitted when they started")
	assume(r.noMem, "a task without a size of its memory asks for %v", unit.Bytes(r.opt.Ask.Mem)*unit.MiB)
	assume(r.noCores, "a task without a number of cores asks for %d", r.opt.Ask.Cores)
	assume(r.gangs, "the tasks of a Slurm job start together")
	assume(1, "the tasks of a row have equal lengths, and no input to be near to")
	return all
}

// step is the id of a step of a Slurm job: 123.batch, 123_4.0.
var step = regexp.MustCompile(`^\d+(_\d+|\+\d+)?\.\S+$`)
