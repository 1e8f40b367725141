// Package lightest serves the job that has the least memory left to ask for: small jobs overtake large ones. A large job can starve while small ones keep
// coming.
package lightest

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is what cli.WithPolicy takes.
var Entry = policy.Entry{
	Name:  "lightest",
	Title: "the job whose remaining tasks need the least memory comes first",
	New: func(policy.Params) (policy.Policy, error) {
		return policy.Policy{Order: keyed.New(left)}, nil
	},
}

func left(j *policy.Job, _ unit.Time) float64 { return float64((j.Tasks - j.Done) * j.Ask.Mem) }
