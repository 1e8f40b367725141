package plan

import (
	"math"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Errors make a forecast wrong, for experiments. The zero value predicts everything exactly.
type Errors struct {
	Recurring float64 // share of jobs that recur, drawn at random; 0: all
	Shuffle   float64 // relative error of shuffle sizes, in either direction
	Shifted   float64 // share of jobs whose arrival is wrong
	Shift     float64 // max error of an arrival, s
	Seed      uint64
}

// Streams of random numbers.
const (
	seedRecurring = iota + 1
	seedSign
	seedShifted
	seedShift
	seedLengths
)

// Profile predicts what a job will do; not ok: it is not a MapReduce job, and cannot be planned.
func Profile(j *workload.Job, startUp unit.Time) (p Job, ok bool) {
	n := len(j.Stages)
	if n == 0 || n > 2 || j.Keep != nil || len(j.Stages[0].After) > 0 || n == 2 && len(j.Stages[1].After) != 1 || j.Tasks() == 0 {
		return p, false
	}
	for i := range j.Stages {
		if j.Stages[i].Gang > 1 {
			return p, false
		}
	}
	maps := &j.Stages[MapStage]
	p = Job{ID: j.ID, Submit: j.Submit.Seconds(), Maps: maps.Tasks, MapTime: meanLength(maps) + startUp.Seconds(), Input: float64(maps.Input)}
	if n == 2 {
		reduces := &j.Stages[ReduceStage]
		p.Reduces, p.RedTime, p.Shuffle = reduces.Tasks, meanLength(reduces)+startUp.Seconds(), float64(reduces.After[0].Shuffle)
	}
	return p, true
}

// meanLength is the mean length of a stage's tasks; of many, that of a sample.
func meanLength(s *workload.Stage) float64 {
	if l, fixed := s.Length.IsConstant(); fixed {
		return l.Seconds()
	}
	const sample = 256
	n := min(s.Tasks, sample)
	sum := 0.0
	for i := range n {
		sum += s.Length.Draw(i*s.Tasks/n, seedLengths).Seconds()
	}
	return sum / float64(max(n, 1))
}

// Forecast predicts the recurring ones of some jobs. Which recur, and the errors, depend on the seed and a job's place in the list.
func Forecast(jobs []*workload.Job, startUp unit.Time, e Errors) []Job {
	var out []Job
	for i, j := range jobs {
		u := func(stream uint64) float64 { return workload.Uniform01(workload.Seed(e.Seed, stream), uint64(i)) }
		if e.Recurring > 0 && u(seedRecurring) >= e.Recurring {
			continue
		}
		p, ok := Profile(j, startUp)
		if !ok {
			continue
		}
		if e.Shuffle > 0 {
			p.Shuffle = math.Round(p.Shuffle * max(0, 1+math.Copysign(e.Shuffle, u(seedSign)-0.5)))
		}
		if e.Shifted > 0 && u(seedShifted) < e.Shifted {
			p.Submit = max(0, p.Submit+e.Shift*(2*u(seedShift)-1))
		}
		out = append(out, p)
	}
	return out
}

// noUplink is the rate, in bytes a second, of uplinks that are not described.
const noUplink = 1e15

// Of describes a cluster for a plan: the containers of a size that its racks hold, and the rates of its network. Without a network only the tasks'
// own lengths matter.
func Of(c *cluster.Cluster, container unit.Resources) Cluster {
	out := Cluster{Racks: make([]Rack, len(c.Racks)), Uplink: noUplink}
	for i := range out.Racks {
		out.Racks[i].Name = c.Racks[i]
	}
	nics := 0.0
	for i := range c.Nodes {
		n := &c.Nodes[i]
		out.Racks[n.Rack].Containers += n.Room.Count(container)
		if c.Network != nil {
			nics += c.Network.NIC(n)
		}
	}
	if c.Network != nil && c.Network.Topology == cluster.Racks {
		if out.Uplink = c.Network.Uplink; out.Uplink == 0 {
			out.Uplink = nics / float64(len(c.Racks)) / c.Network.Oversubscription
		}
	}
	if n, ok := c.Network.Circuits(); ok {
		out.Circuit, out.Elephant = n.Circuit, float64(n.Elephant)
	}
	return out
}
