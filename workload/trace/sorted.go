package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/workload"
)

// DefaultWindow is the default size of the sort window in jobs: several days of a busy cluster, some tens of megabytes.
const DefaultWindow = 100_000

// Sorted yields the jobs of src by submit time, stably. It buffers up to
// window jobs (0: DefaultWindow, negative: all of them), so a job more than that many positions late is an
// error. A job that lists the lengths or hosts of many tasks, or has a very long name, counts as several, so that the
// window bounds memory in any case. name is the workload's name in the error.
func Sorted(src workload.Source, window int, name string) workload.Source {
	window = cmp.Or(window, DefaultWindow)
	return &sorter{src: src, window: window, name: name, held: heap.Heap[workload.Held]{Before: workload.Held.Before}}
}

type sorter struct {
	src    workload.Source
	window int
	name   string
	held   heap.Heap[workload.Held]
	room   int // taken, in jobs
	n      int64
	err    error // of src: io.EOF at its end
	last   *workload.Job
}

func (s *sorter) Next() (*workload.Job, error) {
	for s.err == nil && (s.window < 0 || s.room < s.window) {
		j, err := s.src.Next()
		if err != nil {
			s.err = err
			break
		}
		if s.last != nil && j.Submit < s.last.Submit {
			s.err = fmt.Errorf("%s: job %s is submitted at %v, before job %s, and stands more than %d jobs after it: too late to sort; run yardmaster import first",
				s.name, j.ID, j.Submit, s.last.ID, s.window)
			break
		}
		s.held.Push(workload.Held{Job: j, N: s.n})
		s.room += room(j)
		s.n++
	}
	// Errors are reported at once: the jobs before one must not be mistaken for the whole.
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return nil, s.err
	}
	if len(s.held.Items) == 0 {
		return nil, s.err
	}
	s.last = s.held.Pop().Job
	s.room -= room(s.last)
	return s.last, nil
}

// room is the memory of j in units of plain jobs.
func room(j *workload.Job) int {
	listed := (len(j.ID) + len(j.Name) + len(j.User) + len(j.Queue)) / 8
	for i := range j.Stages {
		s := &j.Stages[i]
		listed += len(s.Length.Values)
		if s.Hosts != nil {
			listed += 4 * len(s.Hosts.Of)
		}
	}
	return 1 + listed/64
}

// Merged merges several sorted sources; at equal times the earlier source goes first.
func Merged(sources ...workload.Source) workload.Source {
	if len(sources) == 1 {
		return sources[0]
	}
	return &merger{sources: sources, held: heap.Heap[workload.Held]{Before: workload.Held.Before}}
}

type merger struct {
	sources []workload.Source
	held    heap.Heap[workload.Held] // one job of each source that has more; N is the source's number
	started bool
	err     error
}

func (m *merger) Next() (*workload.Job, error) {
	if !m.started {
		m.started = true
		for i := range m.sources {
			m.pull(int64(i))
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	if len(m.held.Items) == 0 {
		return nil, io.EOF
	}
	h := m.held.Pop()
	m.pull(h.N)
	return h.Job, nil
}

func (m *merger) pull(i int64) {
	j, err := m.sources[i].Next()
	switch {
	case err == nil:
		m.held.Push(workload.Held{Job: j, N: i})
	case !errors.Is(err, io.EOF):
		m.err = err
	}
}
