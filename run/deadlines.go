package run

import (
	"fmt"
	"maps"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Deadlines gives deadlines to jobs. A deadline of the workload itself wins, then that of the job's class, then the factor.
type Deadlines struct {
	Factor   float64              // of the job's time on the empty cluster, after its submission; 0: none
	Classes  map[string]unit.Time // after the submission of jobs of a class
	Override bool                 // replace the deadlines of the workload, where there is another one
}

// dueSource is a source with deadlines.
type dueSource struct {
	workload.Source
	Deadlines
	alone *sim.Alone // for the factor
	seq   int64
}

// Next implements workload.Source. Runs share the jobs of a source, so one with another deadline is a copy.
func (s *dueSource) Next() (*workload.Job, error) {
	j, err := s.Source.Next()
	if err != nil {
		return nil, err
	}
	seq := s.seq
	s.seq++
	if j.Deadline > 0 && !s.Override {
		return j, nil
	}
	after, ok := s.Classes[j.Class]
	if !ok && s.Factor > 0 {
		after = unit.FromSeconds(s.Factor * s.alone.Of(j, seq).Seconds())
		ok = after > 0 // else it takes no time, or never finishes alone
	}
	if !ok {
		return j, nil
	}
	due := *j
	due.Deadline = j.Submit + min(after, unit.Never/4)
	return &due, nil
}

// absent are sentences about classes that no job has: most likely they are misspelt.
func (d Deadlines) absent(r *result.Run) (out []string) {
	for _, class := range slices.Sorted(maps.Keys(d.Classes)) {
		if r.Jobs.Submitted > 0 && !slices.ContainsFunc(r.ByClass, func(g result.Group) bool { return g.Name == class || g.Name == result.Others }) {
			out = append(out, fmt.Sprintf("workload: no job is of class %q, so its deadline is unused", class))
		}
	}
	return out
}
