package sim

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Speeds is for engines: the speeds of a cluster's machines; nil: all are 1.
type Speeds struct {
	kinds []*cluster.Speed
	node  []int32 // index into kinds, by node; -1: 1
}

// NewSpeeds returns the speeds of a cluster's machines.
func NewSpeeds(c *cluster.Cluster) *Speeds {
	if of, node := c.Speeds(); of != nil {
		return &Speeds{of, node}
	}
	return nil
}

// Rates appends the speeds of all kinds of machines for the tasks of a job.
func (s *Speeds) Rates(j *workload.Job, buf []float64) []float64 {
	if s == nil {
		return buf
	}
	var input, shuffle unit.Bytes
	for i := range j.Stages {
		input += j.Stages[i].Input
		for _, e := range j.Stages[i].After {
			shuffle += e.Shuffle
		}
	}
	for _, of := range s.kinds {
		buf = append(buf, of.Of(input, shuffle))
	}
	return buf
}

// Of is how fast a node runs the tasks of a job with the given rates.
func (s *Speeds) Of(rates []float64, node int32) float64 {
	if s == nil || s.node[node] < 0 {
		return 1
	}
	return rates[s.node[node]]
}

// Length is how long a task of a job with the given rates works on a node, given its length at speed 1.
func (s *Speeds) Length(rates []float64, node int32, length unit.Time) unit.Time {
	if s := s.Of(rates, node); s != 1 {
		return unit.Time(min(float64(length)/s, float64(workload.MaxLength)))
	}
	return length
}
