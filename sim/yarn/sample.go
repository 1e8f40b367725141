package yarn

import (
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// sampled hands out the interval that ends at an instant.
func (e *engine) sampled(to unit.Time) {
	s, width := &e.sample, to-e.line.From
	s.From, s.To = e.line.From, to
	s.Queues = s.Queues[:0]
	for i := range e.line.Queues {
		q := &e.line.Queues[i]
		area, mem := q.Close(width)
		s.Queues = append(s.Queues, sim.QueueSample{
			Name: q.Name, Containers: float64(area) / float64(width), Mem: mem / float64(width),
			Running: q.Running, Waiting: q.Waiting, Pending: q.Pending,
		})
		e.sum.Busy += unit.Time(area)
		e.sum.BusyMem += mem / float64(unit.Second)
	}
	e.cfg.Sink.Sample(s)
}
