package marp

import (
	"log/slog"
	"math"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Controller steers a queue's AM share.
type Controller interface {
	steer.Steerer
	steer.Explainer
	steer.Corrector
	steer.Refuser
	steer.Describer
	// Last is what the last step saw and decided.
	Last() Decision
}

// Kind is the kind of a decision.
type Kind uint8

// Kinds of decisions.
const (
	Wait    Kind = iota // nothing to do
	Refuse              // the snapshot cannot be acted on
	Raise               // admits jobs
	Lower               // gives back the share of jobs that are almost done, or holds the number of running jobs
	Set                 // writes a given value, at the start
	Restore             // restores the original value
)

func (k Kind) String() string {
	return steer.Decisions[k]
}

// Decision is one sample: its readings, outcome and reason. Readings that do not apply are NaN (Theta: 0).
type Decision struct {
	Now              unit.Time
	Kind             Kind
	Why              string
	Idle             float64 // percent
	Pending, Running int
	Mean, Raw, D     float64 // progress: mean, difference to the sample before, smoothed
	Theta            int
	Forecast         float64   // ahead: share of idle processors expected once a job admitted now gets to work
	Lead             unit.Time // ahead: how long that takes
	Old, New         float64   // the share
	Sampled          bool      // cbtws, cbtwat: progress was sampled
}

func blank(now unit.Time) Decision {
	nan := math.NaN()
	return Decision{Now: now, Idle: nan, Mean: nan, Raw: nan, D: nan, Forecast: nan, Old: nan, New: nan}
}

// Attrs are the decision as pairs for a log line, "decision" and "why" last. Readings that do not apply are left out.
func (d Decision) Attrs() []slog.Attr {
	out := make([]slog.Attr, 0, 13)
	num := func(key string, x float64) {
		if !math.IsNaN(x) {
			out = append(out, slog.Float64(key, roundTo(x, 6)))
		}
	}
	num("idle", d.Idle)
	if d.Kind != Refuse {
		out = append(out, slog.Int("pending", d.Pending), slog.Int("running", d.Running))
	}
	num("progress", d.Mean)
	num("raw", d.Raw)
	num("smoothed", d.D)
	if d.Theta > 0 {
		out = append(out, slog.Int("theta", d.Theta))
	}
	num("forecast", d.Forecast)
	if d.Lead > 0 {
		num("lead", d.Lead.Seconds())
	}
	num("old", d.Old)
	num("new", d.New)
	return append(out, slog.String("decision", d.Kind.String()), slog.String("why", d.Why))
}

// String is the decision as one line of key=value pairs, after the time.
func (d Decision) String() string { return steer.Line(d.Now, d.Attrs()) }

// Explain implements steer.Explainer with the last decision.
func (c *loop) Explain() []slog.Attr { return c.said.Attrs() }

// Refused reports whether the last snapshot could not be acted on.
func (c *loop) Refused() bool { return c.said.Kind == Refuse }
