package run

import (
	"context"
	"slices"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Record is the outcome of a run.
type Record struct {
	*result.Run
	Notes  []string // of the workload's reader; also among the assumptions
	Curves result.Curves
}

// Result runs s and computes the figures to show. If ctx ended the run, it covers what was done so far: its Partial is set.
func Result(ctx context.Context, s Spec) (*Record, error) {
	src, err := s.Workload.Open(s.Seed)
	if err != nil {
		return nil, err
	}
	defer closeSource(src)
	assumptions := slices.Concat(Describe(src).Assumed, s.Assumptions)
	collector := result.NewCollector(result.Options{Version: build.Version(), TotalMem: s.Cluster.Total().Mem, Named: s.Cluster.Total().Uses(), Containers: s.Cluster.Counted()})
	seen := newWitness(&s)
	s.Sink = result.Tee(collector, seen.estimates, s.Sink)
	recorder := newRecorder(&s)
	sum, err := s.play(ctx, src)
	if err != nil && !sum.Partial {
		return nil, err
	}
	out := &Record{Notes: []string{}}
	for _, note := range Describe(src).Noted {
		text := "workload: " + note.Text
		if note.Count > 0 {
			text += " (" + unit.Number(note.Count) + ")"
		}
		out.Notes = append(out.Notes, text)
	}
	var about result.Scenario
	if s.About != nil {
		about = s.About(s.Seed)
	}
	out.Run = collector.Finish(sum, about, append(assumptions, out.Notes...))
	out.Assumptions = append(out.Assumptions, s.Deadlines.absent(out.Run)...)
	out.Assumptions = append(out.Assumptions, lateLosses(s.Model.Losses, &sum)...)
	out.Curves = collector.Curves()
	out.Estimates, out.Partitions = seen.estimates.Figures(), seen.partitions(&sum)
	if out.Steering, err = recorder.finish(&sum); err != nil {
		return nil, err
	}
	return out, nil
}

// witness reads what a run's policy knows beyond its decisions.
type witness struct {
	order     policy.Order // nil: the scheduler is not a policy
	estimates *result.EstimateSink
}

// newWitness makes a run remember its policy.
func newWitness(s *Spec) *witness {
	w := &witness{}
	w.estimates = result.NewEstimates(func(now unit.Time, each func(*policy.Job, unit.Time)) {
		if e, ok := w.order.(policy.Estimator); ok {
			e.Estimates(now, each)
		}
	})
	if fresh := s.Scheduler.New; fresh != nil {
		s.Scheduler.New = func() (policy.Policy, error) {
			p, err := fresh()
			w.order = p.Order
			return p, err
		}
	}
	return w
}

func (w *witness) partitions(sum *sim.Summary) []result.Partition {
	if p, ok := w.order.(policy.Partitioned); ok {
		return result.Partitions(p.Partitions(nil), sum)
	}
	return nil
}
