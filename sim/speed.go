package sim

import (
	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// speeds are the speeds of a cluster's machines; nil: all are 1.
type speeds struct {
	kinds []*cluster.Speed
	node  []int32 // index into kinds, by node; -1: 1
}

func newSpeeds(c *cluster.Cluster) *speeds {
	if of, node := c.Speeds(); of != nil {
		return &speeds{of, node}
	}
	return nil
}

// rates are the speeds of all kinds of machines for the tasks of a job.
func (s *speeds) rates(j *workload.Job, buf []float64) []float64 {
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

// speed is how fast a node runs the tasks of a job.
func (e *engine) speed(j *job, node int32) float64 {
	if e.speeds == nil || e.speeds.node[node] < 0 {
		return 1
	}
	return j.rates[e.speeds.node[node]]
}

// onNode is how long a task of the job works on a node, given its length at speed 1.
func (e *engine) onNode(j *job, node int32, length unit.Time) unit.Time {
	if s := e.speed(j, node); s != 1 {
		return unit.Time(min(float64(length)/s, float64(workload.MaxLength)))
	}
	return length
}
