package marp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Controller steers one queue's share of masters.
type Controller interface {
	steer.Steerer
	// Last is what the last step saw and decided.
	Last() Decision
	// Restore is what puts the value back that was found at the start; nothing when nothing was changed.
	Restore() []steer.Action
}

// Kind says what a decision was.
type Kind uint8

// Kinds of decisions.
const (
	Wait    Kind = iota // nothing to do
	Refuse              // the snapshot cannot be acted on
	Raise               // lets jobs in
	Lower               // gives back the share of jobs that are almost done, or holds the number that run
	Set                 // writes a given value, at the start
	Restore             // puts back what was found
)

func (k Kind) String() string {
	return [...]string{"wait", "refuse", "raise", "lower", "set", "restore"}[k]
}

// Decision is one look: its readings, its outcome, its reason. Readings that do not apply are NaN (Theta: 0).
type Decision struct {
	Now              unit.Time
	Kind             Kind
	Why              string
	Idle             float64 // percent
	Pending, Running int
	Mean, Raw, D     float64 // progress: mean, difference to the sample before, smoothed
	Theta            int
	Forecast         float64   // ahead: share of idle processors expected once a job let in now gets to work
	Lead             unit.Time // ahead: how long that takes
	Old, New         float64   // the share
	Sampled          bool      // cbtws, cbtwat: this look was a sample
}

func blank(now unit.Time) Decision {
	nan := math.NaN()
	return Decision{Now: now, Idle: nan, Mean: nan, Raw: nan, D: nan, Forecast: nan, Old: nan, New: nan}
}

// String is the decision as one line of key=value pairs.
func (d Decision) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "t=%s decision=%s", strconv.FormatFloat(d.Now.Seconds(), 'f', -1, 64), d.Kind)
	num := func(key string, x float64) {
		if !math.IsNaN(x) {
			fmt.Fprintf(&b, " %s=%s", key, strconv.FormatFloat(roundTo(x, 6), 'f', -1, 64))
		}
	}
	num("idle", d.Idle)
	if d.Kind != Refuse {
		fmt.Fprintf(&b, " pending=%d running=%d", d.Pending, d.Running)
	}
	num("progress", d.Mean)
	num("raw", d.Raw)
	num("smoothed", d.D)
	if d.Theta > 0 {
		fmt.Fprintf(&b, " theta=%d", d.Theta)
	}
	num("forecast", d.Forecast)
	if d.Lead > 0 {
		num("lead", d.Lead.Seconds())
	}
	num("old", d.Old)
	num("new", d.New)
	fmt.Fprintf(&b, " why=%q", d.Why)
	return b.String()
}
