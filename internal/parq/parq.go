// Package parq is the only package that uses the Parquet library. It writes deterministic files, byte for byte the same
// for the same rows, and it reads files that may be damaged or hostile.
//
// Parquet has many ways to store the same rows. This package writes, and reads back, one plain profile of it: data pages
// of version 2 with plain values, compressed with Snappy, no dictionaries. In that profile the memory that a page needs
// is known before it is decoded: sizes are in page headers, repetition and definition levels are outside the
// compressed part, and a Snappy block starts with its decoded length. Open validates all of them (see guard.go) before the
// library sees a page; remaining panics of the library become errors, because every call recovers.
// A file in another profile is refused with an error that says how to write it.
package parq

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// ErrDamaged is wrapped by every error about the contents of a file rather than about I/O.
var ErrDamaged = errors.New("damaged Parquet file")

// ErrOther is wrapped when a valid Parquet file is not of the expected kind.
var ErrOther = errors.New("not the expected kind of Parquet file")

// createdBy is pinned: the library would write its own version, and an update would change every file.
const createdBy = "yardmaster"

// pageBytes is the size at which a column's page is closed. A single row may exceed it.
const pageBytes = 128 << 10

// Writer writes rows of T. A row group is buffered in memory, encoded, until Flush.
type Writer[T any] struct {
	w       *parquet.GenericWriter[T]
	err     error // the first failure, sticky
	pending int64
}

// NewWriter returns a Writer to w. The keys are stored in the file's footer, sorted. The fields of T in without get no columns.
func NewWriter[T any](w io.Writer, keys map[string]string, without ...string) *Writer[T] {
	opts := []parquet.WriterOption{
		parquet.Compression(&parquet.Snappy),
		parquet.CreatedBy(createdBy, "1", "0"),
		parquet.DefaultEncoding(&parquet.Plain),
		parquet.DataPageVersion(2),
		parquet.DataPageStatistics(false),
		parquet.PageBufferSize(pageBytes),
	}
	for _, o := range absent(without) {
		opts = append(opts, o)
	}
	for k, v := range keys {
		opts = append(opts, parquet.KeyValueMetadata(k, v))
	}
	return &Writer[T]{w: parquet.NewGenericWriter[T](w, opts...)}
}

// absent leaves fields without columns.
func absent(fields []string) (opts []parquet.SchemaOption) {
	for _, f := range fields {
		opts = append(opts, parquet.StructTag(`parquet:"-"`, f))
	}
	return opts
}

// Write adds rows to the current group.
func (w *Writer[T]) Write(rows []T) error {
	return w.do(func() error {
		n, err := w.w.Write(rows)
		w.pending += int64(n)
		return err
	})
}

// Flush writes out the current row group.
func (w *Writer[T]) Flush() error {
	return w.do(func() error {
		w.pending = 0
		return w.w.Flush()
	})
}

// SetKey replaces a key of the file's footer, or adds one after those of NewWriter. It may be called until Close.
func (w *Writer[T]) SetKey(key, value string) { w.w.SetKeyValueMetadata(key, value) }

// Pending is the number of rows in the current group.
func (w *Writer[T]) Pending() int64 { return w.pending }

// Close writes the last group and the footer. It does not close the io.Writer.
func (w *Writer[T]) Close() error { return w.do(w.w.Close) }

func (w *Writer[T]) do(f func() error) error {
	if w.err == nil {
		w.err = guarded(f)
	}
	return w.err
}

// guarded turns a panic of the library into an error. Run-time faults such as an index out of range are panics that can
// be recovered from; running out of memory is not, which is why sizes are checked beforehand.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	return f()
}
