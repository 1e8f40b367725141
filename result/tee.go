package result

import (
	"iter"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Tee passes every record to all sinks, in order. Nil sinks are skipped.
func Tee(sinks ...sim.Sink) sim.Sink {
	var t tee
	for _, s := range sinks {
		if s != nil {
			t = append(t, s)
		}
	}
	for _, s := range t {
		if _, ok := s.(sim.JobSampler); ok {
			return jobTee{t}
		}
	}
	return t
}

// jobTee is a tee with sinks that sample jobs.
type jobTee struct{ tee }

// SampleJobs implements sim.JobSampler.
func (t jobTee) SampleJobs(to unit.Time, jobs iter.Seq2[*sim.JobRecord, unit.Time]) {
	for _, s := range t.tee {
		if s, ok := s.(sim.JobSampler); ok {
			s.SampleJobs(to, jobs)
		}
	}
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
