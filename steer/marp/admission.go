package marp

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// Rule is the arithmetic by which a scheduler lets masters start, and the name of its knob.
type Rule uint8

// The rules there are.
const (
	Fair     Rule = iota // Fair Scheduler of Hadoop 3: memory and vcores must fit, the limit is rounded up
	FairV2               // Fair Scheduler of Hadoop 2: memory only, the limit is rounded down
	Capacity             // Capacity Scheduler: the limit is rounded up to the minimum allocation; one may always start
)

// Property is the knob's name.
func (r Rule) Property() string {
	if r == Capacity {
		return "maximum-am-resource-percent"
	}
	return "maxAMShare"
}

// Slots is the number of masters of one size that may run at once in a queue that may use q, at the given share.
// least is the scheduler's minimum allocation (used by Capacity only). What makes no sense gives none.
func (r Rule) Slots(q, master, least unit.Resources, share float64) int64 {
	if master.Mem <= 0 || q.Mem <= 0 || math.IsNaN(share) {
		return 0
	}
	share = min(max(share, 0), 1)
	limit := func(of int64) int64 {
		x := float64(of) * share
		if r == FairV2 {
			return int64(math.Floor(x))
		}
		return int64(math.Ceil(x - 1e-9*float64(of))) // a share such as 0.1 is not exact
	}
	switch r {
	case FairV2:
		return limit(q.Mem) / master.Mem
	case Capacity:
		return max(1, roundUp(limit(q.Mem), least.Mem)/master.Mem)
	}
	return unit.Resources{Mem: limit(q.Mem), Cores: limit(q.Cores)}.Count(master)
}

// of is the share of a queue that one master takes: the least value that lets one start where nothing is rounded.
func (r Rule) of(q, master unit.Resources) float64 {
	if q.Mem <= 0 || master.Mem <= 0 {
		return 0
	}
	share := float64(master.Mem) / float64(q.Mem)
	if r == Fair && q.Cores > 0 {
		share = max(share, float64(master.Cores)/float64(q.Cores))
	}
	return share
}

func roundUp(x, step int64) int64 {
	if step <= 1 {
		return x
	}
	return (x + step - 1) / step * step
}
