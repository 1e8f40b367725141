package swim

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Reader streams the jobs of one SWIM file, in the order of the file. It holds one line at a time.
type Reader struct {
	m     Model
	lines *input.Lines
	users []string
	queue []string // by user

	jobs, blank, noInput, mapOnly, maps, reduces int64
}

var _ workload.Source = (*Reader)(nil)

// maxBytes bounds a job's sizes: an exbibyte is more than any cluster reads in a job, and two still fit an int64.
const maxBytes = 1 << 60

// maxID bounds a name, so that buffered jobs have a bounded size.
const maxID = 255

// Keys of the random choices, so that they do not share a stream.
const (
	userStream  = 0x7377696d75 // "swimu"
	queueStream = 0x7377696d71 // "swimq"
)

// NewReader reads SWIM lines from r; name is what errors call it.
func NewReader(r io.Reader, name string, m Model) (*Reader, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	rd := &Reader{m: m, lines: input.NewLines(r, name), users: make([]string, m.Users), queue: make([]string, m.Users)}
	for i := range rd.users {
		rd.users[i] = fmt.Sprintf("u%03d", i+1)
		rd.queue[i] = "default"
		if n := len(m.Queues); n > 0 {
			// By the user's number alone: a user's queue does not change with the seed.
			rd.queue[i] = m.Queues[workload.Seed(queueStream, uint64(i))%uint64(n)]
		}
	}
	return rd, nil
}

// Next returns the next job; io.EOF after the last.
func (r *Reader) Next() (*workload.Job, error) {
	for r.lines.Next() {
		line := bytes.TrimRight(r.lines.Bytes(), " \t")
		if len(line) == 0 {
			r.blank++
			continue
		}
		return r.job(line)
	}
	if err := r.lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func (r *Reader) job(line []byte) (*workload.Job, error) {
	var field [7][]byte
	n := split(line, field[:])
	if n < 6 {
		return nil, r.lines.Errorf("%d tab-separated fields; a SWIM line has at least 6 "+
			"(job, submit, gap, input bytes, shuffle bytes, output bytes)", n)
	}
	if len(field[0]) == 0 {
		return nil, r.lines.Errorf("job id: empty")
	}
	if len(field[0]) > maxID {
		return nil, r.lines.Errorf("job id: longer than %d bytes", maxID)
	}
	submit, err := seconds(field[1])
	if err != nil {
		return nil, r.lines.Errorf("submit time: %w", err)
	}
	var size [3]unit.Bytes
	for i, what := range []string{"input bytes", "shuffle bytes", "output bytes"} {
		if size[i], err = amount(field[3+i]); err != nil {
			return nil, r.lines.Errorf("%s: %w", what, err)
		}
	}
	size = r.m.Replay.sizes(size)
	user := int(workload.Uniform01(workload.Seed(r.m.Seed, userStream), uint64(r.jobs)) * float64(len(r.users)))
	j := &workload.Job{
		ID:     string(field[0]),
		User:   r.users[user],
		Queue:  r.queue[user],
		Class:  class(size[1]),
		Submit: submit,
		AM:     r.m.AM,
		Stages: r.m.Stages(size[0], size[1], size[2]),
	}
	if err := j.Validate(); err != nil {
		return nil, r.lines.Errorf("%w", err)
	}
	r.count(j, size)
	return j, nil
}

func (r *Reader) count(j *workload.Job, size [3]unit.Bytes) {
	r.jobs++
	if size[0] == 0 {
		r.noInput++
	}
	r.maps += j.Stages[0].Tasks
	if len(j.Stages) == 1 {
		r.mapOnly++
	} else {
		r.reduces += j.Stages[1].Tasks
	}
}

// Notes lists what was read so far and how it was interpreted.
func (r *Reader) Notes() []workload.Note {
	notes := workload.Notes{
		{Text: "jobs read and kept", Count: r.jobs},
		{Text: "map tasks by the model", Count: r.maps},
		{Text: "reduce tasks by the model", Count: r.reduces},
	}
	notes.Add(r.noInput, "jobs without input bytes: kept, with one map of start-up time")
	notes.Add(r.mapOnly, "jobs without shuffle bytes: taken as map-only")
	notes.Add(r.blank, "empty lines skipped")
	return notes
}

// Assumptions lists the model's assumptions.
func (r *Reader) Assumptions() []string { return r.m.Assumptions() }

// Sniff says whether a file that starts with prefix looks like SWIM: a first line of at least six tab-separated
// fields of which the second to the sixth are numbers.
func Sniff(prefix []byte) bool {
	var field [7][]byte
	if n := split(input.FirstLine(prefix), field[:]); n < 6 {
		return false
	}
	for _, f := range field[1:6] {
		if _, err := strconv.ParseFloat(string(f), 64); err != nil {
			return false
		}
	}
	return true
}

// split cuts a line at tabs into at most len(into) fields, the last taking the rest, and returns how many there are.
func split(line []byte, into [][]byte) int {
	for n := range into {
		if n == len(into)-1 {
			into[n] = line
			return n + 1
		}
		f, rest, more := bytes.Cut(line, []byte{'\t'})
		into[n], line = bytes.TrimSpace(f), rest
		if !more {
			return n + 1
		}
	}
	return len(into)
}

func seconds(field []byte) (unit.Time, error) {
	s, err := strconv.ParseFloat(string(field), 64)
	switch {
	case err != nil || math.IsNaN(s):
		return 0, fmt.Errorf("%q is not a number of seconds", input.Clip(field))
	case s < 0:
		return 0, fmt.Errorf("%q is negative", input.Clip(field))
	case s > unit.Never.Seconds()/2:
		return 0, fmt.Errorf("%q is too large", input.Clip(field))
	}
	return unit.FromSeconds(s), nil
}

func amount(field []byte) (unit.Bytes, error) {
	n, err := strconv.ParseInt(string(field), 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number of bytes", input.Clip(field))
	case n < 0:
		return 0, fmt.Errorf("%d is negative", n)
	case n > maxBytes:
		return 0, fmt.Errorf("%d is more than an exbibyte", n)
	}
	return unit.Bytes(n), nil
}
