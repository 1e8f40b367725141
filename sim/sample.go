package sim

import (
	"iter"

	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/unit"
)

// sampled emits the interval that ends at an instant.
func (e *engine) sampled(end unit.Time) {
	e.sample.Close(&e.line, end, &e.sum, e.cfg.Sink, func(yield func(*JobRecord, unit.Time) bool) {
		for _, j := range e.byArrival() {
			if !yield(&j.rec, j.view.Attained(end)) {
				return
			}
		}
	})
}

// Close is for engines: it makes s the interval of a timeline that ends at an instant, passes it to sink and adds what was held in it
// to sum. jobs yields what JobSampler wants.
func (s *Sample) Close(line *timeline.Timeline, end unit.Time, sum *Summary, sink Sink, jobs iter.Seq2[*JobRecord, unit.Time]) {
	if w, ok := sink.(JobSampler); ok {
		w.SampleJobs(end, jobs)
	}
	width := end - line.From
	s.From, s.To = line.From, end
	s.Queues = s.Queues[:0]
	for i := range line.Queues {
		q := &line.Queues[i]
		area, mem := q.Close(width)
		s.Queues = append(s.Queues, QueueSample{
			Name: q.Name, Containers: float64(area) / float64(width), Mem: mem / float64(width),
			Running: q.Running, Waiting: q.Waiting, Pending: q.Pending,
		})
		sum.Busy += unit.Time(area)
		sum.BusyMem += mem / float64(unit.Second)
	}
	sink.Sample(s)
}
