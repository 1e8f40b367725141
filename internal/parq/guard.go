package parq

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Limits on a whole file. The sums that they imply stay below 200 MB.
const (
	maxFooter    = 32 << 20
	maxColumns   = 256
	maxRowGroups = 4096
	maxPage      = 32 << 20 // a page's bytes, encoded or decoded
	maxPages     = 64 << 20 // the largest pages of all columns of a group, together: those are in memory at once
	maxHeader    = 64 << 10 // a page header's bytes
)

func damaged(text string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(text, args...))
}

// readFooter reads the file's metadata, after validating its sizes, and validates its counts.
func readFooter(src io.ReaderAt, size int64) (*format.FileMetaData, error) {
	if size == 0 {
		return nil, damaged("it is empty")
	}
	if size < 12 {
		return nil, damaged("%d bytes are too few for a Parquet file", size)
	}
	var head [4]byte
	var tail [8]byte
	if err := readAt(src, head[:], 0); err != nil {
		return nil, err
	}
	if string(head[:]) != "PAR1" {
		return nil, fmt.Errorf("%w: it does not start with PAR1, so it is not a Parquet file", ErrOther)
	}
	if err := readAt(src, tail[:], size-8); err != nil {
		return nil, err
	}
	if string(tail[4:]) != "PAR1" {
		return nil, damaged("it does not end with PAR1; it was probably cut off")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-12 || n > maxFooter {
		return nil, damaged("its footer claims %d bytes in a file of %d", n, size)
	}
	b := make([]byte, n)
	if err := readAt(src, b, size-8-n); err != nil {
		return nil, err
	}
	if _, err := checkThrift(b); err != nil {
		return nil, fmt.Errorf("%w in the footer", err)
	}
	meta := new(format.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b, meta); err != nil {
		return nil, damaged("footer: %v", err)
	}
	return meta, checkCounts(meta)
}

// checkCounts validates that the schema, the row groups and the file agree.
func checkCounts(meta *format.FileMetaData) error {
	if len(meta.Schema) < 2 {
		return damaged("its schema has %d elements", len(meta.Schema))
	}
	leaves := 0
	for _, e := range meta.Schema {
		if n := e.NumChildren; n.Valid && (n.V < 0 || int(n.V) >= len(meta.Schema)) {
			return damaged("its schema has an element with %d children", n.V)
		} else if !n.Valid || n.V == 0 {
			leaves++
		}
	}
	var rows int64
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if len(g.Columns) != leaves {
			return damaged("row group %d has %d of %d columns", i, len(g.Columns), leaves)
		}
		if g.NumRows < 0 || g.NumRows > meta.NumRows-rows {
			return damaged("row group %d claims %d rows", i, g.NumRows)
		}
		rows += g.NumRows
	}
	if rows != meta.NumRows {
		return damaged("its groups hold %d of %d rows", rows, meta.NumRows)
	}
	return nil
}

// checkRowGroups validates what the library assumes about row groups.
func checkRowGroups(meta *format.FileMetaData) error {
	if len(meta.Schema) > maxColumns {
		return damaged("its schema has %d elements", len(meta.Schema))
	}
	if len(meta.RowGroups) > maxRowGroups {
		return damaged("it claims %d groups of rows", len(meta.RowGroups))
	}
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if int(g.Ordinal) != i && g.Ordinal != 0 {
			return damaged("row group %d calls itself %d", i, g.Ordinal)
		}
		if g.NumRows == 0 || len(g.SortingColumns) > 0 {
			return damaged("row group %d claims no rows or sorting columns", i)
		}
	}
	return nil
}

// checkPages walks the headers and levels of all pages. It returns the largest number of values in a row.
func checkPages(src io.ReaderAt, size int64, meta *format.FileMetaData, schema *parquet.Schema, lim Limits) (int64, error) {
	columns := schema.Columns()
	var widest, end int64
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		var perRow, deep, memory int64
		for c := range g.Columns {
			leaf, _ := schema.Lookup(columns[c]...)
			w := chunkWalk{src: src, chunk: &g.Columns[c].MetaData, leaf: leaf, limit: 1}
			switch {
			case leaf.MaxRepetitionLevel == 1:
				w.limit = lim.First
			case leaf.MaxRepetitionLevel > 1:
				w.limit = lim.Deeper
			}
			if err := w.walk(end, size, g.NumRows); err != nil {
				return 0, fmt.Errorf("%w (row group %d, column %s)", err, i, strings.Join(columns[c], "."))
			}
			end = w.end
			memory += w.largest
			perRow += w.perRow
			if leaf.MaxRepetitionLevel > 1 {
				deep += w.perRow
			}
		}
		if deep > 2*lim.Deeper {
			return 0, damaged("row group %d has a row with %d values in its inner lists", i, deep)
		}
		if memory > maxPages {
			return 0, damaged("row group %d has pages of %d bytes together", i, memory)
		}
		widest = max(widest, perRow)
	}
	return widest, nil
}

// readAt fills b or fails.
func readAt(src io.ReaderAt, b []byte, off int64) error {
	n, err := src.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return damaged("it ends at byte %d", off+int64(n))
	}
	return err
}
