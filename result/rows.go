package result

import (
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/internal/parq"
)

// groupRows is the number of rows after which a group is flushed.
const groupRows = 50_000

// rowWriter streams the rows of a table in groups. close completes the table and leaves the file open.
type rowWriter[T any] struct {
	w    *parq.Writer[T]
	what string
	row  [1]T
}

func newRowWriter[T any](w io.Writer, what string) *rowWriter[T] {
	return &rowWriter[T]{w: parq.NewWriter[T](w, map[string]string{"yardmaster.table": what}), what: what}
}

func (w *rowWriter[T]) write(row T) error {
	w.row[0] = row
	err := w.w.Write(w.row[:])
	if err == nil && w.w.Pending() >= groupRows {
		err = w.w.Flush()
	}
	return w.wrap(err)
}

func (w *rowWriter[T]) close() error { return w.wrap(w.w.Close()) }

func (w *rowWriter[T]) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("writing the table of %s: %w", w.what, err)
	}
	return nil
}

// OpenJobs opens a jobs.parquet.
func OpenJobs(path string) (*parq.Reader[JobRow], error) {
	return parq.Open[JobRow](path, parq.Limits{})
}
