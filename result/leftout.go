package result

import "github.com/yardmaster/yardmaster/sim"

// maxLeftOut bounds the list of jobs that did not finish; beyond it only their number is kept.
const maxLeftOut = 100_000

// leaveOut records a job that did not finish.
func (c *Collector) leaveOut(r *sim.JobRecord) {
	if r.Outcome != sim.Finished && len(c.leftOut) < maxLeftOut {
		c.leftOut = append(c.leftOut, r.Seq)
	}
}

// LeftOut is the number of jobs that are not in the run's figures, because they did not finish.
func (j JobCounts) LeftOut() int64 { return j.Refused + j.Failed + j.Unfinished }

// Apart is the number of jobs that finished in only one of two runs of the same workload. The figures of the two describe the same
// jobs only when it is 0. Where it is not known which jobs a run left out, all of them count.
func (r *Run) Apart(other *Run) int64 {
	a, b := r.LeftOut, other.LeftOut
	if int64(len(a)) != r.Jobs.LeftOut() || int64(len(b)) != other.Jobs.LeftOut() {
		return r.Jobs.LeftOut() + other.Jobs.LeftOut()
	}
	both, i, k := 0, 0, 0
	for i < len(a) && k < len(b) {
		switch {
		case a[i] < b[k]:
			i++
		case a[i] > b[k]:
			k++
		default:
			both, i, k = both+1, i+1, k+1
		}
	}
	return int64(len(a) + len(b) - 2*both)
}
