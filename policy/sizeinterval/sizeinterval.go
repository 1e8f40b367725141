// Package sizeinterval serves jobs by their predicted sizes: a job enters a queue when it arrives and stays there until it ends, even if the
// prediction was wrong.
//
//	sita    size-interval task assignment: queue k is for sizes above limit k-1 and up to limit k, and has its own partition of the nodes
//	        (see policy/levels)
//	comp    comparison with the last departures: the number of smaller jobs among the K-1 that finished last is the queue; all nodes serve
//	        the first queue that has a task to start
//
// A size is predicted from the job's input by a regression on finished jobs (policy/sizes), or known: predictor=oracle takes the true size
// from the simulator, and noise=SIGMA multiplies it by exp(SIGMA z). Comparison and regression use the true sizes of finished jobs.
//
// Source: "Reducing Job Slowdown Variability for Data-Intensive Workloads", MASCOTS 2015: SITA and COMP. It does not give the
// predictor's coefficients.
package sizeinterval

import (
	"errors"
	"fmt"
	"maps"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/levels"
	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/unit"
)

// SITA registers size intervals.
var SITA = policy.Entry{
	Name:  "sita",
	Title: "queues by predicted size, each with its own share of the nodes",
	Params: params(map[string]string{
		"limits": "max sizes of all queues except the last, in container-seconds (default 18000)",
		"shares": "shares of the nodes, for all queues except the last (default 0.3)",
		"borrow": "no (default), or yes: a queue uses nodes whose own queue has nothing to start",
	}),
	New: func(p policy.Params) (policy.Policy, error) {
		limits, err := levels.ReadLimits(p, "18000")
		if err != nil {
			return policy.Policy{}, err
		}
		shares, err := levels.ReadShares(p, "0.3", len(limits)+1)
		if err != nil {
			return policy.Policy{}, err
		}
		r := policy.Reader{Params: p}
		choose := func(size unit.Time) int { return sizes.Interval(size, limits) }
		o := &Order{Queues: levels.New(shares, r.Second("borrow", "no", "yes")), choose: choose}
		made, err := read(&r, o)
		made.ByNode, made.Shifted = true, o.Shifted
		return made, err
	},
}

// COMP registers comparison with departures.
var COMP = policy.Entry{
	Name:   "comp",
	Title:  "queues by predicted size, compared with the jobs that finished last",
	Params: params(map[string]string{"queues": "number of queues (default 2)"}),
	New: func(p policy.Params) (policy.Policy, error) {
		r := policy.Reader{Params: p}
		k := r.Int("queues", 2)
		if r.Err == nil && (k < 2 || k > 1000) {
			r.Keep(fmt.Errorf("queues=%d: want 2 to 1000", k))
		}
		if r.Err != nil {
			return policy.Policy{}, r.Err
		}
		d := sizes.NewDepartures(k)
		return read(&r, &Order{Queues: levels.New(nil, false), choose: d.Queue, departed: d})
	},
}

func params(own map[string]string) map[string]string {
	maps.Copy(own, map[string]string{
		"predictor": "of sizes: input (default), a regression on the input of finished jobs; or oracle, the true size, in simulation only",
		"a":         "coefficient of ln seconds = a + b ln(input bytes + 1), used until 30 jobs have finished (default -16: 15 s for each 128 MiB)",
		"b":         "see a (default 1)",
		"noise":     "sigma: multiply the oracle's sizes by exp(sigma z), with z standard normal (default 0)",
		"seed":      "of the noise (default 1)",
	})
	return own
}

func read(r *policy.Reader, o *Order) (made policy.Policy, err error) {
	oracle := r.Second("predictor", "input", "oracle")
	o.learned.A, o.learned.B = r.Float("a", -16), r.Float("b", 1)
	sigma, err := r.Params.Float("noise", 0)
	if err != nil || !(sigma >= 0 && sigma <= 10) || sigma > 0 && !oracle {
		r.Keep(fmt.Errorf("noise=%s: want a number from 0 to 10, with predictor=oracle", r.Params["noise"]))
	}
	seed := r.Int("seed", 1)
	if r.Err != nil {
		return made, r.Err
	}
	made.Order = o
	o.predict = func(j *policy.Job) (unit.Time, error) { return o.learned.Predict(j.Class, j.Input), nil }
	if oracle {
		o.predict = func(*policy.Job) (unit.Time, error) {
			return 0, errors.New("predictor=oracle: only a simulator knows the sizes of jobs; use predictor=input")
		}
		made.Foresee = func(size func(*policy.Job) unit.Time) {
			o.predict = func(j *policy.Job) (unit.Time, error) { return sizes.Noisy(size(j), sigma, uint64(seed), j.Seq), nil }
		}
	}
	return made, nil
}

// Order is the order of both policies. It serves one run.
type Order struct {
	*levels.Queues
	learned  sizes.Regression
	predict  func(*policy.Job) (unit.Time, error)
	choose   func(size unit.Time) int
	departed *sizes.Departures // nil: not needed
}

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
	_ policy.Keeper    = (*Order)(nil)
)

// learned is what the order knows of jobs that have left.
type learned struct {
	Sizes      *sizes.Regression `json:"sizes"`
	Departures *sizes.Departures `json:"departures,omitempty"`
}

// Save saves what was learned, and the queues of jobs.
func (o *Order) Save(unit.Time) ([]byte, error) {
	return o.Queues.Save(func(*policy.Job) unit.Time { return 0 }, learned{&o.learned, o.departed})
}

// Load restores it. The parameters are those of this run.
func (o *Order) Load(saved []byte) error {
	return o.Queues.Load(saved, &learned{&o.learned, o.departed})
}

// Arrived puts a job into the queue of its predicted size.
func (o *Order) Arrived(_ unit.Time, j *policy.Job) error {
	if _, was, err := o.Resume(j); was {
		return err
	}
	size, err := o.predict(j)
	if err != nil {
		return err
	}
	return o.Enter(j, o.choose(size))
}

// Left learns from a job that has finished.
func (o *Order) Left(now unit.Time, j *policy.Job) {
	if j.Done >= j.Tasks {
		var size unit.Time
		for i := range j.Stages {
			size += j.Stages[i].Worked
		}
		o.learned.Learn(j.Class, j.Input, size)
		if o.departed != nil {
			o.departed.Add(size)
		}
	}
	o.Queues.Left(now, j)
}
