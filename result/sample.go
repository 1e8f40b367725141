package result

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
)

// JobSample is a sim.Sink that keeps a sample of jobs for a Gantt chart: the longest tenth of the sample is the longest
// jobs of the run, which a reader would miss, and the rest is drawn uniformly from all others (Vitter's reservoir). Only
// jobs that held a container take part. The same records and seed give the same sample.
type JobSample struct {
	n, longest int
	rnd        *rand.Rand
	long       longest
	pool       []sampled
	offered    uint64
	seen       int64
}

type sampled struct {
	seq int64
	row JobRow
}

var _ sim.Sink = (*JobSample)(nil)

// NewJobSample returns a sink that keeps at most n jobs.
func NewJobSample(n int, seed uint64) *JobSample {
	n = max(1, n)
	return &JobSample{n: n, longest: n / 10, rnd: rand.New(rand.NewPCG(seed, 0x6a6f62))}
}

// Sample does nothing: this sink is about jobs.
func (s *JobSample) Sample(*sim.Sample) {}

// Job offers a job. One that drops out of the longest is offered to the reservoir then, so that every other job is
// offered exactly once; the order of offers does not matter to a reservoir.
func (s *JobSample) Job(r *sim.JobRecord) {
	if r.Start < 0 {
		return
	}
	s.seen++
	if s.longest == 0 || len(s.long) == s.longest && !s.long[0].shorter(elapsedOf(r), r.Seq) {
		if k, ok := s.draw(); ok { // most jobs end here, and cost no row
			s.put(k, sampled{r.Seq, RowOf(r)})
		}
		return
	}
	heap.Push(&s.long, sampled{r.Seq, RowOf(r)})
	if len(s.long) > s.longest {
		out := heap.Pop(&s.long).(sampled)
		if k, ok := s.draw(); ok {
			s.put(k, out)
		}
	}
}

// draw decides whether the next job that is offered enters the reservoir, and where.
func (s *JobSample) draw() (int, bool) {
	s.offered++
	if len(s.pool) < s.n-s.longest {
		return len(s.pool), true
	}
	k := s.rnd.Uint64N(s.offered)
	return int(k), k < uint64(len(s.pool))
}

func (s *JobSample) put(k int, job sampled) {
	if k == len(s.pool) {
		s.pool = append(s.pool, job)
	} else {
		s.pool[k] = job
	}
}

// elapsedOf is a row's Elapsed without the row.
func elapsedOf(r *sim.JobRecord) float64 {
	if r.Outcome != sim.Finished {
		return -1
	}
	return (r.Finish - r.Job.Submit).Seconds()
}

// shorter says whether j gives way to a job with that elapsed time; of equal ones the earlier stays.
func (j *sampled) shorter(elapsed float64, seq int64) bool {
	if j.row.Elapsed != elapsed {
		return j.row.Elapsed < elapsed
	}
	return j.seq > seq
}

// Seen is the number of jobs from which the sample was taken.
func (s *JobSample) Seen() int64 { return s.seen }

// Rows returns the sample, sorted by submit time.
func (s *JobSample) Rows() []JobRow {
	all := slices.Concat([]sampled(s.long), s.pool)
	slices.SortFunc(all, func(a, b sampled) int {
		return cmp.Or(cmp.Compare(a.row.Submit, b.row.Submit), cmp.Compare(a.seq, b.seq))
	})
	rows := make([]JobRow, len(all))
	for i := range all {
		rows[i] = all[i].row
	}
	return rows
}

// longest is a heap with the shortest job on top; of equal ones the later.
type longest []sampled

func (h longest) Len() int { return len(h) }
func (h longest) Less(i, j int) bool {
	return h[i].shorter(h[j].row.Elapsed, h[j].seq)
}
func (h longest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *longest) Push(x any)   { *h = append(*h, x.(sampled)) }
func (h *longest) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
