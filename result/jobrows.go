package result

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
)

// JobRows is a sim.Sink that keeps the jobs of a small run for a chart. With more than its limit it keeps nothing.
type JobRows struct {
	limit int
	kept  []seqRow
}

type seqRow struct {
	seq int64
	row JobRow
}

var _ sim.Sink = (*JobRows)(nil)

// NewJobRows returns a sink that keeps at most limit jobs.
func NewJobRows(limit int) *JobRows { return &JobRows{limit: limit} }

// Sample is a no-op: this sink is about jobs.
func (s *JobRows) Sample(*sim.Sample) {}

// Job keeps a job. Refused ones are left out: nothing of them can be drawn.
func (s *JobRows) Job(r *sim.JobRecord) {
	if len(s.kept) <= s.limit && r.Outcome != sim.Refused {
		s.kept = append(s.kept, seqRow{r.Seq, RowOf(r)})
	}
}

// Rows returns the jobs by submit time; nil: there were too many.
func (s *JobRows) Rows() []JobRow {
	if len(s.kept) > s.limit {
		return nil
	}
	slices.SortFunc(s.kept, func(a, b seqRow) int {
		return cmp.Or(cmp.Compare(a.row.Submit, b.row.Submit), cmp.Compare(a.seq, b.seq))
	})
	rows := make([]JobRow, len(s.kept))
	for i := range s.kept {
		rows[i] = s.kept[i].row
	}
	return rows
}
