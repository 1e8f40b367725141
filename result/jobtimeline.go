package result

import (
	"iter"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// JobTimelineSink keeps the timeline of a run with few jobs, with a job in place of each queue.
type JobTimelineSink struct {
	maxJobs  int
	line     *TimelineSink
	received map[int64]unit.Time // by arrival number, until the end of the last interval
	sample   sim.Sample
}

var _ sim.JobSampler = (*JobTimelineSink)(nil)

// NewJobTimeline returns a sink for at most maxJobs jobs; with more it keeps nothing.
func NewJobTimeline(maxJobs, maxPoints int) *JobTimelineSink {
	return &JobTimelineSink{maxJobs: maxJobs, line: NewTimeline(maxPoints), received: map[int64]unit.Time{}}
}

// add notes what a job has received in all. Containers are container-time until the end of the interval.
func (t *JobTimelineSink) add(r *sim.JobRecord, received unit.Time) {
	if t.received == nil {
		return
	}
	before, known := t.received[r.Seq]
	if !known && len(t.received) == t.maxJobs {
		t.line, t.received = nil, nil
		return
	}
	t.received[r.Seq] = received
	t.sample.Queues = append(t.sample.Queues, sim.QueueSample{Name: r.Job.ID, Containers: float64(received - before)})
}

// Job adds a job that has ended.
func (t *JobTimelineSink) Job(r *sim.JobRecord) {
	if r.Outcome != sim.Refused {
		t.add(r, r.Service)
	}
}

// SampleJobs adds the jobs present.
func (t *JobTimelineSink) SampleJobs(_ unit.Time, jobs iter.Seq2[*sim.JobRecord, unit.Time]) {
	if t.received == nil {
		return
	}
	for r, received := range jobs {
		t.add(r, received)
	}
}

// Sample ends an interval.
func (t *JobTimelineSink) Sample(s *sim.Sample) {
	if t.received == nil {
		return
	}
	t.sample.From, t.sample.To = s.From, s.To
	for i := range t.sample.Queues {
		t.sample.Queues[i].Containers /= float64(max(1, s.To-s.From))
	}
	t.line.Sample(&t.sample)
	t.sample.Queues = t.sample.Queues[:0]
}

// Timeline is nil if there were too many jobs, or none.
func (t *JobTimelineSink) Timeline() *Timeline {
	if len(t.received) == 0 {
		return nil
	}
	return t.line.Timeline()
}
