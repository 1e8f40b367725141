package result

import (
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/internal/parq"
	"github.com/yardmaster/yardmaster/sim"
)

// groupRows is the number of rows after which a group leaves memory.
const groupRows = 50_000

// rowWriter streams rows of one kind in groups.
type rowWriter[T any] struct {
	w    *parq.Writer[T]
	what string
	row  [1]T
}

func newRowWriter[T any](w io.Writer, what string) rowWriter[T] {
	return rowWriter[T]{w: parq.NewWriter[T](w, map[string]string{"yardmaster.table": what}), what: what}
}

func (w *rowWriter[T]) write(row *T) error {
	w.row[0] = *row
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

// JobsWriter writes jobs.parquet.
type JobsWriter struct{ rows rowWriter[JobRow] }

// NewJobsWriter returns a JobsWriter to w. Close completes the table and leaves w open.
func NewJobsWriter(w io.Writer) *JobsWriter { return &JobsWriter{newRowWriter[JobRow](w, "jobs")} }

// Write adds a row.
func (w *JobsWriter) Write(row *JobRow) error { return w.rows.write(row) }

// Close completes the table.
func (w *JobsWriter) Close() error { return w.rows.close() }

// TimelineWriter writes timeline.parquet.
type TimelineWriter struct{ rows rowWriter[TimeRow] }

// NewTimelineWriter returns a TimelineWriter to w. Close completes the table and leaves w open.
func NewTimelineWriter(w io.Writer) *TimelineWriter {
	return &TimelineWriter{newRowWriter[TimeRow](w, "timeline")}
}

// Write adds a row.
func (w *TimelineWriter) Write(row *TimeRow) error { return w.rows.write(row) }

// WriteSample adds a row for every queue of a sample.
func (w *TimelineWriter) WriteSample(s *sim.Sample) error {
	for i := range s.Queues {
		q := &s.Queues[i]
		row := TimeRow{
			From: s.From.Seconds(), To: s.To.Seconds(), Queue: q.Name,
			Containers: round(q.Containers), Mem: round(q.Mem), Running: q.Running, Waiting: q.Waiting, Pending: q.Pending,
		}
		if err := w.Write(&row); err != nil {
			return err
		}
	}
	return nil
}

// Close completes the table.
func (w *TimelineWriter) Close() error { return w.rows.close() }

// Rows reads a table back, row by row.
type Rows[T any] struct{ r *parq.Reader[T] }

// OpenJobs opens a jobs.parquet.
func OpenJobs(path string) (*Rows[JobRow], error) { return openRows[JobRow](path) }

// OpenTimeline opens a timeline.parquet.
func OpenTimeline(path string) (*Rows[TimeRow], error) { return openRows[TimeRow](path) }

func openRows[T any](path string) (*Rows[T], error) {
	r, err := parq.Open[T](path, parq.Limits{})
	if err != nil {
		return nil, err
	}
	return &Rows[T]{r}, nil
}

// Next returns the next row, io.EOF after the last.
func (r *Rows[T]) Next() (T, error) {
	row, err := r.r.Next()
	if err != nil {
		var none T
		return none, err
	}
	return *row, nil
}

// Len is the number of rows.
func (r *Rows[T]) Len() int64 { return r.r.Rows() }

// Close releases the file.
func (r *Rows[T]) Close() error { return r.r.Close() }
