package table

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/internal/parq"
)

// rows are those of a file.
type rows interface {
	header() []string
	// choose selects the columns that next must read.
	choose(columns []int) error
	// next returns the next row, which is the caller's until the following call; nil: one of another length than the header.
	next() ([]string, error)
	// where is the position of the row: FILE:LINE.
	where() string
}

// text is lines with a header.
type text struct {
	name   string
	csv    *csv.Reader
	bound  *input.Bounded
	lines  *input.Lines // in place of csv: sacct -P does not quote
	line   int64        // of the last row
	titles []string
}

func openText(r io.Reader, name string, prefix []byte) (*text, error) {
	t := &text{name: name}
	first := string(input.FirstLine(bytes.TrimPrefix(prefix, bom)))
	if first == "" {
		return nil, fmt.Errorf("%s is empty", name)
	}
	mark, most := ',', 0
	for _, d := range "|\t;," {
		if n := strings.Count(first, string(d)); n > most {
			mark, most = d, n
		}
	}
	if most == 0 {
		return nil, fmt.Errorf("%s: its first line %q has no commas, semicolons, tabs or bars: a table has a header with the names of its columns (sacct writes one with -P)", name,
			input.Clip([]byte(first)))
	}
	if bytes.HasPrefix(prefix, bom) {
		if _, err := io.CopyN(io.Discard, r, int64(len(bom))); err != nil {
			return nil, err
		}
	}
	if mark == '|' {
		t.lines = input.NewLines(r, name)
	} else {
		t.bound = &input.Bounded{R: r, Left: input.MaxLine, Err: errLong}
		t.csv = csv.NewReader(t.bound)
		t.csv.Comma, t.csv.ReuseRecord, t.csv.FieldsPerRecord, t.csv.LazyQuotes = mark, true, -1, true
	}
	fields, err := t.record()
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		t.titles = append(t.titles, strings.Clone(strings.TrimSpace(f)))
	}
	return t, nil
}

var (
	bom     = []byte("\xef\xbb\xbf")
	errLong = errors.New("a row is longer than 1 MiB; a quote that is never closed?")
)

// record returns the fields of the next row that is not blank.
func (t *text) record() ([]string, error) {
	if t.lines != nil {
		for t.lines.Next() {
			if line := t.lines.Bytes(); len(bytes.TrimSpace(line)) > 0 {
				t.line = t.lines.Line()
				return strings.Split(string(line), "|"), nil
			}
		}
		return nil, cmp.Or(t.lines.Err(), io.EOF)
	}
	t.bound.Left = input.MaxLine
	fields, err := t.csv.Read() // with lazy quotes, nothing is an error of its own
	if errors.Is(err, errLong) {
		return nil, fmt.Errorf("%s: after line %d: %w", t.name, t.line, err)
	}
	if err == nil {
		line, _ := t.csv.FieldPos(0)
		t.line = int64(line)
	}
	return fields, err
}

func (t *text) header() []string   { return t.titles }
func (t *text) choose([]int) error { return nil }
func (t *text) where() string      { return fmt.Sprintf("%s:%d", t.name, t.line) }

func (t *text) next() ([]string, error) {
	fields, err := t.record()
	if n := len(t.titles); len(fields) != n && (len(fields) != n+1 || fields[n] != "") { // sacct -p ends every line with a bar
		return nil, err
	}
	return fields, err
}

// columnar is a Parquet file.
type columnar struct {
	*parq.Table
	name string
	row  int64
}

func (c *columnar) header() []string           { return c.Columns() }
func (c *columnar) choose(columns []int) error { return c.Choose(columns) }
func (c *columnar) where() string              { return fmt.Sprintf("%s: row %d", c.name, c.row) }

func (c *columnar) next() ([]string, error) {
	row, err := c.Next()
	c.row++
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: row %d: %w", c.name, c.row, err)
	}
	return row, err
}

// Sniff reports whether a file that starts with prefix is a table of jobs whose columns have known names, or a Parquet file.
func Sniff(prefix []byte) bool {
	if bytes.HasPrefix(prefix, []byte("PAR1")) {
		return true
	}
	t, err := openText(bytes.NewReader(prefix), "", prefix)
	if err != nil {
		return false
	}
	columns, err := choose(t.titles, nil)
	return err == nil && slices.ContainsFunc(columns, func(c column) bool { return c.role == id || c.role == user || c.role == queue })
}
