package sim

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/sim/internal/sensors"
)

// roster is the jobs that are present. Records and indices of jobs that have ended are used again.
type roster struct {
	jobs    []*job        // by index; nil: free
	indices dense.Numbers // of jobs
	old     []*job        // free records
}

// enter returns a record for a job.
func (r *roster) enter() *job {
	var j *job
	if n := len(r.old); n > 0 {
		j, r.old = r.old[n-1], r.old[:n-1]
		j.gone = false
	} else {
		j = &job{}
	}
	j.index = r.indices.Take()
	*dense.At(&r.jobs, j.index) = j
	return j
}

// drop frees a job's index and keeps its memory for reuse.
func (r *roster) drop(j *job) {
	for i := range j.stages {
		if n := j.stages[i].near; n != nil {
			*n = nearness{} // it may still be in an index
		}
	}
	clear(j.stages) // with what they point to
	*j = job{index: j.index, gone: j.gone, stages: j.stages[:0], shown: j.shown[:0], rates: j.rates[:0]}
	r.jobs[j.index] = nil
	r.indices.Give(j.index)
	r.old = append(r.old, j)
}

// byArrival lists the jobs present in order of arrival.
func (r *roster) byArrival() []*job {
	return sensors.ByArrival(r.jobs, func(j *job) int64 { return j.rec.Seq })
}
