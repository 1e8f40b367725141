package parq

import (
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go/format"
)

// Table reads columns of a Parquet file of any writer as text, row by row. It decodes pages itself: what writers commonly use (plain and
// dictionary values, Snappy, gzip and Zstandard, pages of both versions) is little, and so every size is known before memory is taken, which the
// library does not do outside this package's own profile. Columns that are nested or lists are left out.
type Table struct {
	src    io.ReaderAt
	file   *os.File // nil when it reads from memory
	meta   *format.FileMetaData
	all    []leaf
	chosen []*column
	group  int   // the next row group
	left   int64 // rows of the current one
	row    []string
}

// leaf is a column of the file's schema.
type leaf struct {
	format.SchemaElement
	index int // of its chunk in a row group
}

const (
	mostRowsPerByte = 64 // of the file: a column that says anything needs more
	freeRows        = 1 << 20
	maxChosen       = 64 << 20 // the pages and dictionaries of the chosen columns, together
)

// OpenTable opens a file.
func OpenTable(path string) (*Table, error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	t, err := NewTable(f, size)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	t.file = f
	return t, nil
}

// NewTable is OpenTable for any io.ReaderAt.
func NewTable(src io.ReaderAt, size int64) (t *Table, err error) {
	err = guarded(func() error {
		meta, err := readFooter(src, size)
		if err != nil {
			return err
		}
		if meta.NumRows > freeRows && meta.NumRows/mostRowsPerByte > size {
			return damaged("it claims %d rows in %d bytes", meta.NumRows, size)
		}
		t = &Table{src: io.NewSectionReader(src, 0, size), meta: meta}
		return t.schema()
	})
	return t, err
}

// schema finds the columns that are neither nested nor lists.
func (t *Table) schema() error {
	top, leaves, inside := 0, 0, 0 // inside: elements that a nested column still has
	for _, e := range t.meta.Schema[1:] {
		nested := inside > 0
		if inside += int(e.NumChildren.V); nested {
			inside--
		} else {
			top++
		}
		if e.NumChildren.V > 0 {
			continue
		}
		if !nested && e.Type.Valid && e.RepetitionType.V != format.Repeated {
			t.all = append(t.all, leaf{e, leaves})
		}
		leaves++
	}
	if inside != 0 || top != int(t.meta.Schema[0].NumChildren.V) {
		return damaged("its schema does not add up")
	}
	return nil
}

// Columns are the names of the columns that can be read, in the file's order.
func (t *Table) Columns() []string {
	names := make([]string, len(t.all))
	for i := range t.all {
		names[i] = t.all[i].Name
	}
	return names
}

// Keys returns the footer's key-value metadata.
func (t *Table) Keys() map[string]string { return keysOf(t.meta) }

// Choose selects the columns that Next reads, by their positions in Columns.
func (t *Table) Choose(columns []int) error {
	t.chosen, t.row = nil, make([]string, len(t.all))
	for _, c := range columns {
		write, err := writerFor(&t.all[c].SchemaElement)
		if err != nil {
			return fmt.Errorf("column %s: %w", t.all[c].Name, err)
		}
		t.chosen = append(t.chosen, &column{leaf: &t.all[c], place: c, text: write})
	}
	return nil
}

// Next returns the next row, io.EOF after the last. A null is "", and so is a column that was not chosen. The row is the caller's until the
// following call.
func (t *Table) Next() ([]string, error) {
	err := guarded(t.fill)
	return t.row, err
}

func (t *Table) fill() error {
	first := t.left == 0
	for ; t.left == 0; t.group++ { // some writers have groups without rows
		if t.group == len(t.meta.RowGroups) {
			return io.EOF
		}
		t.left = t.meta.RowGroups[t.group].NumRows
	}
	for _, c := range t.chosen {
		var err error
		if first {
			err = c.begin(&t.meta.RowGroups[t.group-1].Columns[c.leaf.index].MetaData, t.left)
		}
		if err == nil && c.left == 0 {
			err = c.page(t.src, t.room(c))
		}
		if err == nil {
			t.row[c.place], err = c.next()
		}
		if err != nil {
			return fmt.Errorf("%w (row group %d, column %s)", err, t.group-1, c.leaf.Name)
		}
	}
	t.left--
	return nil
}

// room is what a column's next page may take.
func (t *Table) room(but *column) int64 {
	room := int64(maxChosen)
	for _, c := range t.chosen {
		if c != but {
			room -= c.size()
		}
	}
	return room
}

// Close releases the file that OpenTable opened.
func (t *Table) Close() error { return t.file.Close() }
