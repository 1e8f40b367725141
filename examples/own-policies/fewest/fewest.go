// Package fewest serves the job that has the fewest tasks left: short jobs overtake long ones. A long job can starve while short ones keep coming.
package fewest

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is what cli.WithPolicy takes.
var Entry = policy.Entry{
	Name:  "fewest",
	Title: "the job with the fewest tasks left comes first",
	New: func(policy.Params) (policy.Policy, error) {
		return policy.Policy{Order: keyed.New(left)}, nil
	},
}

func left(j *policy.Job, _ unit.Time) float64 { return float64(j.Tasks - j.Done) }
