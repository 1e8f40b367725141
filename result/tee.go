package result

import "github.com/yardmaster/yardmaster/sim"

// Tee passes every record to all sinks, in order. Nil sinks are skipped.
func Tee(sinks ...sim.Sink) sim.Sink {
	var t tee
	for _, s := range sinks {
		if s != nil {
			t = append(t, s)
		}
	}
	return t
}

type tee []sim.Sink

func (t tee) Job(r *sim.JobRecord) {
	for _, s := range t {
		s.Job(r)
	}
}

func (t tee) Sample(s *sim.Sample) {
	for _, sink := range t {
		sink.Sample(s)
	}
}
