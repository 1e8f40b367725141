package parq

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Limits bounds what one row may hold, so that a few bytes cannot ask for gigabytes.
type Limits struct {
	First  int64 // elements of a list in a row
	Deeper int64 // elements of all lists inside those, together
}

// Reader reads rows of T in their order.
type Reader[T any] struct {
	file  *os.File // nil when it reads from memory
	meta  *format.FileMetaData
	r     *parquet.GenericReader[T]
	batch []T
	ready []T
	read  int64
	err   error
}

// Open checks the file and prepares to read its rows. The file has no columns for the fields of T in without: they stay zero.
func Open[T any](path string, lim Limits, without ...string) (*Reader[T], error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader[T](f, size, lim, without...)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	r.file = f
	return r, nil
}

// openFile opens a file that can be read from its end.
func openFile(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file; a Parquet file is read from its end and cannot come through a pipe", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// NewReader is Open for any io.ReaderAt.
func NewReader[T any](src io.ReaderAt, size int64, lim Limits, without ...string) (*Reader[T], error) {
	r := &Reader[T]{}
	err := guarded(func() error {
		meta, err := readFooter(src, size)
		if err != nil {
			return err
		}
		// The columns are compared before the pages are validated: "wrong file" is the more useful error.
		want := parquet.SchemaOf(new(T), absent(without)...)
		if err := checkRowGroups(meta); err != nil {
			return err
		}
		f, err := parquet.OpenFile(src, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
			parquet.ReadBufferSize(16<<10))
		if err != nil {
			return fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		if err := checkSchema(f.Schema(), want); err != nil {
			return err
		}
		perRow, err := checkPages(src, size, meta, want, lim)
		if err != nil {
			return err
		}
		r.meta = meta
		r.r = parquet.NewGenericReader[T](f, want)
		r.batch = make([]T, max(1, min(64, 65536/max(1, perRow))))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Rows is the number of rows in the file.
func (r *Reader[T]) Rows() int64 { return r.meta.NumRows }

// Keys returns the footer's key-value metadata.
func (r *Reader[T]) Keys() map[string]string { return keysOf(r.meta) }

func keysOf(meta *format.FileMetaData) map[string]string {
	keys := make(map[string]string, len(meta.KeyValueMetadata))
	for _, kv := range meta.KeyValueMetadata {
		keys[kv.Key] = kv.Value
	}
	return keys
}

// Next returns the next row, io.EOF after the last. The row is the caller's until the following call.
func (r *Reader[T]) Next() (*T, error) {
	if len(r.ready) == 0 {
		if r.err == nil {
			r.err = guarded(r.fill)
		}
		if len(r.ready) == 0 {
			return nil, r.err
		}
	}
	row := &r.ready[0]
	r.ready = r.ready[1:]
	r.read++
	return row, nil
}

func (r *Reader[T]) fill() error {
	clear(r.batch) // the library reuses the lists it finds in a row; returned rows must not change
	n, err := r.r.Read(r.batch)
	r.ready = r.batch[:n]
	switch {
	case errors.Is(err, io.EOF):
		if got := r.read + int64(n); got != r.meta.NumRows {
			return fmt.Errorf("%w: it ends after %d of %d rows", ErrDamaged, got, r.meta.NumRows)
		}
		return io.EOF
	case err != nil:
		r.ready = nil
		return fmt.Errorf("%w: row %d: %v", ErrDamaged, r.read+1, err)
	case n == 0:
		return fmt.Errorf("%w: row %d: no progress", ErrDamaged, r.read+1)
	}
	return nil
}

// Close releases the file.
func (r *Reader[T]) Close() error {
	err := guarded(r.r.Close)
	if r.file != nil {
		if cerr := r.file.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

// Columns returns the paths of the columns that rows of T have.
func Columns[T any]() [][]string { return parquet.SchemaOf(new(T)).Columns() }

// checkSchema compares the columns of a file with those of the wanted rows: same paths, same types, same order.
func checkSchema(got, want *parquet.Schema) error {
	var missing, unknown, differ []string
	has := got.Columns()
	for _, path := range want.Columns() {
		w, _ := want.Lookup(path...)
		g, ok := got.Lookup(path...)
		name := strings.Join(path, ".")
		switch {
		case !ok:
			missing = append(missing, name)
		case g.Node.Type().Kind() != w.Node.Type().Kind() ||
			g.MaxRepetitionLevel != w.MaxRepetitionLevel || g.MaxDefinitionLevel != w.MaxDefinitionLevel:
			differ = append(differ, name)
		}
	}
	for _, path := range has {
		if _, ok := want.Lookup(path...); !ok {
			unknown = append(unknown, strings.Join(path, "."))
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("%w: columns are missing: %s", ErrOther, some(missing))
	case len(differ) > 0:
		return fmt.Errorf("%w: columns have another type or nesting: %s", ErrOther, some(differ))
	case len(unknown) > 0:
		return fmt.Errorf("%w: it has columns that this version does not know: %s", ErrOther, some(unknown))
	case !slices.EqualFunc(has, want.Columns(), slices.Equal[[]string]):
		return fmt.Errorf("%w: its columns are in another order", ErrOther)
	}
	return nil
}

// some lists at most eight names.
func some(names []string) string {
	if len(names) > 8 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
	}
	return strings.Join(names, ", ")
}
