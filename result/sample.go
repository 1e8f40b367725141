package result

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/workload"
)

// JobSample is a sim.Sink that keeps a sample of jobs for charts: a tenth of it is the jobs with most tasks, which a reader
// would miss, and the rest is a uniform sample of all others.
//
// Which jobs are kept depends on the workload and the seed only, not on what a scheduler does with them or in which order they
// end, so that the samples of several runs show the same jobs: a job's arrival number is hashed with the seed, and the smallest
// hashes stay (bottom-k sampling).
type JobSample struct {
	most, rest kept
	seed       uint64
	seen       int64
}

// sampled is a job of the sample. Jobs with fewer tasks are evicted first, then larger hashes; among the rest only the hash counts.
type sampled struct {
	tasks, seq int64
	hash       uint64
	row        JobRow
}

var _ sim.Sink = (*JobSample)(nil)

// NewJobSample returns a sink that keeps at most n jobs.
func NewJobSample(n int, seed uint64) *JobSample {
	n = max(1, n)
	return &JobSample{most: newKept(n / 10), rest: newKept(n - n/10), seed: workload.Seed(seed, 0x6a6f62)}
}

// Sample is a no-op: this sink is about jobs.
func (s *JobSample) Sample(*sim.Sample) {}

// Job offers a job. One evicted from those with most tasks is then offered to the rest, so that every other job is offered
// exactly once, and the order of offers does not matter.
func (s *JobSample) Job(r *sim.JobRecord) {
	s.seen++
	j := sampled{tasks: r.Job.Tasks(), seq: r.Seq, hash: workload.Seed(s.seed, uint64(r.Seq))}
	known := s.most.takes(&j)
	if known {
		j.row = RowOf(r)
		out, over := s.most.put(j)
		if !over {
			return
		}
		j = out
	}
	if j.tasks = 0; s.rest.takes(&j) { // most jobs of a large run end here, and cost no row
		if !known {
			j.row = RowOf(r)
		}
		s.rest.put(j)
	}
}

// Seen is the number of jobs from which the sample was taken.
func (s *JobSample) Seen() int64 { return s.seen }

// Rows returns the sample, sorted by submit time. Refused jobs are left out: nothing of them can be drawn.
func (s *JobSample) Rows() []JobRow {
	all := slices.Concat(s.most.Items, s.rest.Items)
	slices.SortFunc(all, func(a, b sampled) int {
		return cmp.Or(cmp.Compare(a.row.Submit, b.row.Submit), cmp.Compare(a.seq, b.seq))
	})
	rows := make([]JobRow, 0, len(all))
	for i := range all {
		if all[i].row.Outcome != sim.Refused.String() {
			rows = append(rows, all[i].row)
		}
	}
	return rows
}

// kept is a heap of at most limit jobs, next to evict on top.
type kept struct {
	limit int
	heap.Heap[sampled]
}

func newKept(limit int) kept { return kept{limit, heap.Heap[sampled]{Before: leaves}} }

// takes says whether a job would be kept.
func (k *kept) takes(j *sampled) bool {
	return len(k.Items) < k.limit || k.limit > 0 && leaves(k.Items[0], *j)
}

// put adds a job and returns the evicted one, if any.
func (k *kept) put(j sampled) (sampled, bool) {
	if k.Push(j); len(k.Items) > k.limit {
		return k.Pop(), true
	}
	return sampled{}, false
}

// leaves says whether a is evicted before b.
func leaves(a, b sampled) bool {
	return cmp.Or(cmp.Compare(a.tasks, b.tasks), cmp.Compare(b.hash, a.hash), cmp.Compare(b.seq, a.seq)) < 0
}
