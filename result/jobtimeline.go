package result

import (
	"iter"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// JobTimelineSink is a sim.Sink that keeps, of a run with few jobs, how many containers each job held over time. It keeps what a job has received
// by the end of an interval, so that every second interval can be dropped when there are too many.
type JobTimelineSink struct {
	maxJobs, maxPoints int
	ends               []unit.Time
	jobs               []*heldJob
	bySeq              map[int64]*heldJob
}

type heldJob struct {
	id       string
	before   int         // intervals before its first
	received []unit.Time // by interval
	now      unit.Time
}

var _ sim.JobSampler = (*JobTimelineSink)(nil)

// NewJobTimeline returns a sink for at most maxJobs jobs; with more it stays empty.
func NewJobTimeline(maxJobs, maxPoints int) *JobTimelineSink {
	return &JobTimelineSink{maxJobs: maxJobs, maxPoints: max(1, maxPoints), bySeq: map[int64]*heldJob{}}
}

func (t *JobTimelineSink) set(r *sim.JobRecord, received unit.Time) {
	if t.bySeq == nil {
		return
	}
	j := t.bySeq[r.Seq]
	if j == nil {
		if len(t.jobs) == t.maxJobs {
			t.ends, t.jobs, t.bySeq = nil, nil, nil
			return
		}
		j = &heldJob{id: r.Job.ID, before: len(t.ends)}
		t.bySeq[r.Seq], t.jobs = j, append(t.jobs, j)
	}
	j.now = received
}

// Job notes what a job has received in the end. A refused one is no line.
func (t *JobTimelineSink) Job(r *sim.JobRecord) {
	if r.Outcome != sim.Refused {
		t.set(r, r.Service)
	}
}

// SampleJobs notes what jobs have received.
func (t *JobTimelineSink) SampleJobs(_ unit.Time, jobs iter.Seq2[*sim.JobRecord, unit.Time]) {
	if t.bySeq == nil {
		return
	}
	for r, received := range jobs {
		t.set(r, received)
	}
}

// Sample ends an interval.
func (t *JobTimelineSink) Sample(s *sim.Sample) {
	if t.bySeq == nil || s.To <= s.From {
		return
	}
	if len(t.ends) == 0 {
		t.ends = append(t.ends, s.From)
		for _, j := range t.jobs {
			j.before = 1
		}
	}
	t.ends = append(t.ends, s.To)
	for _, j := range t.jobs {
		j.received = append(j.received, j.now)
	}
	if len(t.ends) > 2*t.maxPoints {
		t.thin()
	}
}

// thin drops every second interval's end but the last.
func (t *JobTimelineSink) thin() {
	last := len(t.ends) - 1
	var keep []int
	for i := range t.ends {
		if i%2 == 0 || i == last {
			keep = append(keep, i)
		}
	}
	for _, j := range t.jobs {
		var received []unit.Time
		before := 0
		for _, i := range keep {
			if i < j.before {
				before++
			} else {
				received = append(received, j.received[i-j.before])
			}
		}
		j.before, j.received = before, received
	}
	for k, i := range keep {
		t.ends[k] = t.ends[i]
	}
	t.ends = t.ends[:len(keep)]
}

// Timeline has a job in place of each queue; nil: there were too many jobs, or none.
func (t *JobTimelineSink) Timeline() *Timeline {
	if len(t.jobs) == 0 || len(t.ends) < 2 {
		return nil
	}
	for len(t.ends) > t.maxPoints+1 && len(t.ends) > 3 {
		t.thin()
	}
	out := &Timeline{}
	for _, e := range t.ends {
		out.Edges = append(out.Edges, e.Seconds())
	}
	for _, j := range t.jobs {
		out.Queues = append(out.Queues, j.id)
		row := make([]float64, len(t.ends)-1)
		var before unit.Time
		for i, received := range j.received {
			at := j.before + i
			row[at-1] = round(float64(received-before) / float64(t.ends[at]-t.ends[at-1]))
			before = received
		}
		out.Containers = append(out.Containers, row)
	}
	return out
}
