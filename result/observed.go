package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
)

// Observed compares a run with what really happened, for the jobs whose trace says so: elapsed time from the submission
// in the simulator against the time from launch to finish on the cluster. (In a trace, the time between submission and launch
// is job preparation by client and scheduler, which the simulator does not model.)
type Observed struct {
	// OtherSettings says why the run's settings differ from those that the jobs were observed under; "": they do not. If they differ, the
	// errors include the predicted effect of the other settings.
	OtherSettings string `json:"other_settings,omitempty"`

	Jobs        int64         `json:"jobs"`         // that succeeded on the cluster and finished in the run
	MedianError float64       `json:"median_error"` // of the absolute relative errors
	P95Error    float64       `json:"p95_error"`
	MeanSigned  float64       `json:"mean_signed_error"`
	Worst       []ObservedJob `json:"worst"` // largest error first
}

// ObservedJob is one job's comparison.
type ObservedJob struct {
	ID        string  `json:"id"`
	Observed  float64 `json:"observed"`  // s
	Simulated float64 `json:"simulated"` // s
	Error     float64 `json:"error"`     // simulated over observed, minus 1
}

// keepWorst bounds the list of jobs in a result.
const keepWorst = 50

// observations accumulates the comparison during a run.
type observations struct {
	abs    series
	signed float64
	worst  []ObservedJob
}

func (o *observations) add(r *sim.JobRecord, exact bool) {
	was := r.Job.Observed
	if was == nil || r.Outcome != sim.Finished || was.Finish <= was.Launch ||
		was.Outcome != "" && was.Outcome != "SUCCESS" && was.Outcome != "SUCCEEDED" {
		return
	}
	j := ObservedJob{ID: r.Job.ID, Observed: round((was.Finish - was.Launch).Seconds()), Simulated: round((r.Finish - r.Job.Submit).Seconds())}
	j.Error = round(j.Simulated/j.Observed - 1)
	if !exact {
		o.abs.toSketch()
	}
	o.abs.add(math.Abs(j.Error))
	o.signed += j.Error
	o.worst = append(o.worst, j)
	if len(o.worst) >= 2*keepWorst {
		o.keep()
	}
}

func (o *observations) keep() {
	slices.SortStableFunc(o.worst, func(a, b ObservedJob) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Error), math.Abs(a.Error)), cmp.Compare(a.ID, b.ID))
	})
	o.worst = o.worst[:min(len(o.worst), keepWorst)]
}

// figures is the comparison; nil when the workload has no observations.
func (o *observations) figures() *Observed {
	if o.abs.n == 0 {
		return nil
	}
	o.keep()
	return &Observed{
		Jobs: o.abs.n, MedianError: round(o.abs.quantile(0.5)), P95Error: round(o.abs.quantile(0.95)),
		MeanSigned: round(o.signed / float64(o.abs.n)), Worst: slices.Clone(o.worst),
	}
}
