package google

import (
	"cmp"
	"fmt"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/internal/input"
)

// merge walks the events of all parts by time. A part is peeked at once at the start, for its table and
// first time, and is opened only when the walk reaches it: a thousand parts need few open files.
type merge struct {
	heap    heap.Heap[*cursor]
	current *cursor // whose event was returned last
	tables  [tables]int64
	events  [tables]int64
	empty   int64
}

// cursor is a position in one part.
type cursor struct {
	name  string
	path  string
	file  *input.File // nil: not open
	lines *input.Lines
	order int // in which parts were given; breaks ties
	table table
	e     event // the next one; before the file is opened only its time is set
}

func newMerge(parts []Part) (*merge, error) {
	m := &merge{heap: heap.Heap[*cursor]{Before: (*cursor).before}}
	for i, p := range parts {
		c, err := newCursor(p, i)
		if err != nil {
			m.close()
			closeAll(parts[i+1:])
			return nil, err
		}
		if c == nil {
			m.empty++
			continue
		}
		m.tables[c.table]++
		m.heap.Push(c)
	}
	return m, nil
}

// newCursor peeks at a part's first line; nil: it has none.
func newCursor(p Part, order int) (*cursor, error) {
	f := p.File
	if f == nil {
		var err error
		if f, err = input.Open(p.Path); err != nil {
			return nil, err
		}
	}
	prefix, err := f.Peek(input.PeekSize)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	line := input.FirstLine(prefix)
	if len(line) == 0 {
		return nil, f.Close()
	}
	c := &cursor{name: f.Name, path: p.Path, order: order}
	if err := parse(line, &c.e); err != nil {
		_ = f.Close()
		if len(prefix) == input.PeekSize && len(line) == len(prefix) {
			err = fmt.Errorf("line longer than %d bytes", input.PeekSize)
		}
		return nil, fmt.Errorf("%s:1: %w", f.Name, err)
	}
	c.table = c.e.table
	if p.File != nil || p.Path == "-" {
		c.file, c.lines = f, f.Lines()
		if _, err := c.advance(); err != nil {
			_ = f.Close()
			return nil, err
		}
		return c, nil
	}
	return c, f.Close()
}

// next returns the next event, valid until the call after.
func (m *merge) next() (*event, bool, error) {
	if c := m.current; c != nil {
		m.current = nil
		more, err := c.advance()
		switch {
		case err != nil:
			return nil, false, err
		case more:
			m.heap.Fix()
		default:
			_ = c.file.Close()
			c.file = nil
			m.heap.Pop()
		}
	}
	for len(m.heap.Items) > 0 {
		c := m.heap.Items[0]
		if c.file == nil {
			f, err := input.Open(c.path)
			if err != nil {
				return nil, false, err
			}
			c.file, c.lines = f, f.Lines()
			more, err := c.advance()
			if err != nil {
				return nil, false, err
			}
			if !more {
				return nil, false, fmt.Errorf("%s changed while it was read", c.name)
			}
			m.heap.Fix()
			continue
		}
		m.current = c
		m.events[c.table]++
		return &c.e, true, nil
	}
	return nil, false, nil
}

// where names the line of the event returned last.
func (m *merge) where() string {
	if m.current == nil {
		return "google trace"
	}
	return fmt.Sprintf("%s:%d", m.current.name, m.current.lines.Line())
}

// advance reads the next event of a part that is open.
func (c *cursor) advance() (bool, error) {
	before := c.e.time
	for c.lines.Next() {
		line := c.lines.Bytes()
		if len(line) == 0 {
			continue
		}
		if err := parse(line, &c.e); err != nil {
			return false, c.lines.Errorf("%w", err)
		}
		if c.e.table != c.table {
			return false, c.lines.Errorf("a line of another table: the file starts with the other one")
		}
		if c.e.time < before {
			return false, c.lines.Errorf("%w", errBackwards)
		}
		return true, nil
	}
	return false, c.lines.Err()
}

func (m *merge) close() {
	for _, c := range m.heap.Items {
		if c.file != nil {
			_ = c.file.Close()
			c.file = nil
		}
	}
}

func closeAll(parts []Part) {
	for _, p := range parts {
		if p.File != nil {
			_ = p.File.Close()
		}
	}
}

// before orders cursors by time; at equal times jobs before tasks, then in the order the parts were given.
func (c *cursor) before(other *cursor) bool {
	return cmp.Or(cmp.Compare(c.e.time, other.e.time), cmp.Compare(c.table, other.table), cmp.Compare(c.order, other.order)) < 0
}
