package result

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Partition is one of several parts of the cluster that a scheduler keeps apart.
type Partition struct {
	Nodes       int     `json:"nodes"`
	Utilisation float64 `json:"utilisation"` // as that of the run
	Work        float64 `json:"work"`        // share of all container-time
}

// Partitions are the figures of a scheduler's partitions.
func Partitions(of []policy.Partition, sum *sim.Summary) []Partition {
	var busy unit.Time
	for i := range of {
		busy += of[i].Busy
	}
	span := (sum.LastFinish - sum.FirstSubmit).Seconds()
	var out []Partition
	for i := range of {
		p := &of[i]
		one := Partition{Nodes: p.Nodes}
		if room := float64(p.Room.Mem) * span; room > 0 {
			one.Utilisation = round(p.BusyMem / room)
		}
		if busy > 0 {
			one.Work = round(float64(p.Busy) / float64(busy))
		}
		out = append(out, one)
	}
	return out
}
