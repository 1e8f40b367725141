package history

import (
	"errors"
	"io"
	"os"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

// maxOpen is how many parts are merged at a time: each is an open file with a page of every column in memory.
const maxOpen = 32

// compact merges parts until few enough are left for one merge. The order in which parts are replaced by larger ones survives a kill
// without duplicates: a job that is in two parts is taken once, see merged.
func (s *store) compact() error {
	for len(s.parts) > maxOpen {
		old := slices.Clone(s.parts[:maxOpen])
		m, err := s.merge(old)
		if err != nil {
			return err
		}
		err = s.writePart(m.each, &m.tally)
		m.close()
		if err != nil {
			return err
		}
		for _, p := range old {
			if err := os.Remove(s.path(p)); err != nil {
				return err
			}
		}
		s.parts = s.parts[maxOpen:]
	}
	return nil
}

// merged merges parts in the order of submission.
type merged struct {
	readers []workload.Source
	heads   []*workload.Job
	tally   tally
}

func (s *store) merge(parts []string) (*merged, error) {
	m := &merged{}
	for _, p := range parts {
		r, err := jobfile.Open(s.path(p))
		if err != nil {
			m.close()
			return nil, err
		}
		if t, ok := readTally(r); ok {
			m.tally.add(&t)
		}
		if err := m.read(r); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// read adds jobs in the order of submission to the merge.
func (m *merged) read(s workload.Source) error {
	m.readers = append(m.readers, s)
	m.heads = append(m.heads, nil)
	return m.advance(len(m.readers) - 1)
}

func (m *merged) advance(i int) error {
	j, err := m.readers[i].Next()
	if errors.Is(err, io.EOF) {
		j, err = nil, nil
	}
	m.heads[i] = j
	return err
}

func (m *merged) first() unit.Time {
	first := unit.Never
	for _, h := range m.heads {
		if h != nil {
			first = min(first, h.Submit)
		}
	}
	return first
}

// each hands out every job once. Duplicates in two parts (a kill during compaction) come one after the other.
func (m *merged) each(use func(*workload.Job) error) error {
	last := ""
	for {
		best := -1
		for i, h := range m.heads {
			if h != nil && (best < 0 || bySubmit(h, m.heads[best]) < 0) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		j := m.heads[best]
		if j.ID != last {
			if err := use(j); err != nil {
				return err
			}
		}
		last = j.ID
		if err := m.advance(best); err != nil {
			return err
		}
	}
}

func (m *merged) close() {
	for _, r := range m.readers {
		if c, ok := r.(io.Closer); ok {
			_ = c.Close() // read-only
		}
	}
}
