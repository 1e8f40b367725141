// Package amlimit is the arithmetic of the limits that schedulers put on AMs: what a queue's share for them allows. Schedulers publish theirs;
// steering policies compute with it.
package amlimit

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// Limit describes how a scheduler limits the AMs of a queue to a share of it: the knob's name, and the arithmetic from a share to a
// number of AMs. An engine publishes its own; a policy uses it and never asks which scheduler it runs on.
type Limit struct {
	Scheduler string // for people
	Property  string // the knob: a property of a queue
	Cores     bool   // vcores must fit as well as memory
	Down      bool   // the limit is rounded down, not up
	Whole     bool   // the limit is rounded up to whole minimum allocations, and one AM may always start
	AtOnce    bool   // a change takes effect immediately: no file is polled
}

// The limits of YARN's schedulers.
var (
	Fair     = Limit{Scheduler: "Fair Scheduler", Property: "maxAMShare", Cores: true}
	FairV2   = Limit{Scheduler: "Fair Scheduler of Hadoop 2", Property: "maxAMShare", Down: true}
	Capacity = Limit{Scheduler: "Capacity Scheduler", Property: "maximum-am-resource-percent", Whole: true, AtOnce: true}
)

// IsShare reports whether a property of a queue is the AM share of any scheduler.
func IsShare(property string) bool {
	return property == Fair.Property || property == Capacity.Property
}

// Limited is implemented by schedulers that have such a limit.
type Limited interface{ AMLimit() Limit }

// Slots is the number of AMs of one size that may run at once in a queue that may use q, at the given share.
// minimum is the scheduler's minimum allocation. Invalid input gives 0.
func (l Limit) Slots(q, am, minimum unit.Resources, share float64) int64 {
	if am.Mem <= 0 || q.Mem <= 0 || math.IsNaN(share) {
		return 0
	}
	share = min(max(share, 0), 1)
	limit := func(of int64) int64 {
		x := float64(of) * share
		if l.Down {
			return int64(math.Floor(x))
		}
		return int64(math.Ceil(x - 1e-9*float64(of))) // a share such as 0.1 is not exact
	}
	mem := limit(q.Mem)
	switch {
	case l.Whole:
		return max(1, RoundUp(mem, minimum.Mem)/am.Mem)
	case l.Cores:
		return unit.Resources{Mem: mem, Cores: limit(q.Cores)}.Count(am)
	}
	return mem / am.Mem
}

// Of is the share of a queue that one AM takes: the smallest value that lets one start where nothing is rounded.
func (l Limit) Of(q, am unit.Resources) float64 {
	if q.Mem <= 0 || am.Mem <= 0 {
		return 0
	}
	share := float64(am.Mem) / float64(q.Mem)
	if l.Cores && q.Cores > 0 {
		share = max(share, float64(am.Cores)/float64(q.Cores))
	}
	return share
}

// RoundUp rounds up to a multiple of step.
func RoundUp(x, step int64) int64 {
	if step <= 1 {
		return x
	}
	return (x + step - 1) / step * step
}
