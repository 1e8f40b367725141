package result

import (
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Estimates says how well a scheduler predicted when jobs end. The error of an estimate is (predicted end - end) / (end - submission): negative if
// it was optimistic.
type Estimates struct {
	Jobs   int64            `json:"jobs"`             // finished, with an estimate
	ByLife []EstimateError  `json:"by_life"`          // by the share of their time that had passed, in tenths
	Series []EstimateSeries `json:"series,omitempty"` // by job, in the order of their ends; none if they are many
}

// EstimateError is the error over a tenth of the jobs' lives: of each job its mean, then the mean over jobs.
type EstimateError struct {
	From     float64 `json:"from"` // share of the time from submission to end
	Jobs     int64   `json:"jobs"` // with an estimate
	Error    float64 `json:"error"`
	Absolute float64 `json:"absolute_error"`
}

// EstimateSeries is the error of one job's estimates over time.
type EstimateSeries struct {
	ID      string    `json:"id"`
	Elapsed float64   `json:"elapsed"` // s
	At      []float64 `json:"at"`      // s since its submission
	Error   []float64 `json:"error"`
}

const (
	tenths    = 10
	maxSeries = 20 // jobs
)

// EstimateSink is a sim.Sink that samples a scheduler's estimates along with the timeline.
type EstimateSink struct {
	read  func(now unit.Time, each func(j *policy.Job, end unit.Time))
	open  map[int64][]guess // by arrival number
	total Estimates
}

// guess is an estimate, and when it was made.
type guess struct{ at, end unit.Time }

var _ sim.Sink = (*EstimateSink)(nil)

// NewEstimates returns a sink. Read calls each for the jobs present that have an estimate.
func NewEstimates(read func(now unit.Time, each func(j *policy.Job, end unit.Time))) *EstimateSink {
	return &EstimateSink{read: read, open: map[int64][]guess{}, total: Estimates{ByLife: make([]EstimateError, tenths)}}
}

// Sample reads the estimates of the interval's end. Those of a long job are kept every hundredth of its time so far.
func (e *EstimateSink) Sample(s *sim.Sample) {
	e.read(s.To, func(j *policy.Job, end unit.Time) {
		g := e.open[j.Seq]
		if n := len(g); n == 0 || s.To-g[n-1].at >= (s.To-j.Submitted)/100 {
			e.open[j.Seq] = append(g, guess{s.To, end})
		}
	})
}

// Job compares a finished job's estimates with its end.
func (e *EstimateSink) Job(r *sim.JobRecord) {
	guesses := e.open[r.Seq]
	delete(e.open, r.Seq)
	life := float64(r.Finish - r.Job.Submit)
	if len(guesses) == 0 || r.Outcome != sim.Finished || !(life > 0) {
		return
	}
	var sum, abs [tenths]float64
	var n [tenths]int64
	series := EstimateSeries{ID: r.Job.ID, Elapsed: (r.Finish - r.Job.Submit).Seconds()}
	for _, g := range guesses {
		x := float64(g.end-r.Finish) / life
		k := min(tenths-1, int(tenths*float64(g.at-r.Job.Submit)/life))
		sum[k], abs[k], n[k] = sum[k]+x, abs[k]+math.Abs(x), n[k]+1
		series.At, series.Error = append(series.At, round((g.at-r.Job.Submit).Seconds())), append(series.Error, round(x))
	}
	for k := range e.total.ByLife {
		if by := &e.total.ByLife[k]; n[k] > 0 {
			by.Jobs++
			by.Error += sum[k] / float64(n[k])
			by.Absolute += abs[k] / float64(n[k])
		}
	}
	if e.total.Jobs++; e.total.Jobs <= maxSeries {
		e.total.Series = append(e.total.Series, series)
	} else {
		e.total.Series = nil
	}
}

// Figures returns what was found; nil: no finished job had an estimate. Call it once, at the end of the run.
func (e *EstimateSink) Figures() *Estimates {
	if e.total.Jobs == 0 {
		return nil
	}
	for k := range e.total.ByLife {
		by := &e.total.ByLife[k]
		by.From = float64(k) / tenths
		if n := float64(by.Jobs); n > 0 {
			by.Error, by.Absolute = round(by.Error/n), round(by.Absolute/n)
		}
	}
	return &e.total
}
