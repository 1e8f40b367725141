package result

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
)

// Partition is one of several parts of the cluster that a scheduler keeps apart.
type Partition struct {
	Nodes       int     `json:"nodes"`
	Utilisation float64 `json:"utilisation"` // as that of the run
	Work        float64 `json:"work"`        // share of what all partitions held over time
}

// Partitions are the figures of a scheduler's partitions.
func Partitions(of []policy.Partition, sum *sim.Summary) (out []Partition) {
	var busy float64
	for i := range of {
		busy += of[i].Busy
	}
	span := (sum.LastFinish - sum.FirstSubmit).Seconds()
	for _, p := range of { // round makes 0/0 0
		out = append(out, Partition{p.Nodes, round(p.Busy / (float64(p.Room.Mem) * span)), round(p.Busy / busy)})
	}
	return out
}
