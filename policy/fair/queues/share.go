package queues

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// Claim is what decides a queue's, or a job's, share of what is above it.
type Claim struct {
	Weight   float64
	Min, Max unit.Resources
}

// Class is a number of queues, or jobs, with the same claim.
type Class struct {
	Claim
	Active int64          // those that have runnable jobs
	Share  unit.Resources // of each of them
}

func memory(r *unit.Resources) *int64 { return &r.Mem }
func vcores(r *unit.Resources) *int64 { return &r.Cores }

// ComputeShares computes the shares of memory, and of vcores if cores is set.
func ComputeShares(classes []Class, total unit.Resources, cores bool) {
	computeShare(classes, total.Mem, memory)
	if cores {
		computeShare(classes, total.Cores, vcores)
	}
}

// computeShare computes one component of the classes' shares.
func computeShare(classes []Class, total int64, of func(*unit.Resources) *int64) {
	left, most := float64(total), 0.0
	for i := range classes {
		c := &classes[i]
		*of(&c.Share) = 0
		switch {
		case c.Active == 0 || *of(&c.Max) <= 0:
		case c.Weight <= 0:
			*of(&c.Share) = *of(&c.Min)
			left -= float64(c.Active) * float64(*of(&c.Min))
		default:
			most += float64(c.Active) * float64(*of(&c.Max))
		}
	}
	left = max(min(left, most), 0)
	at := func(c *Class, r float64) float64 {
		return math.Trunc(min(max(c.Weight*r, float64(*of(&c.Min))), float64(*of(&c.Max))))
	}
	sum := func(r float64) float64 {
		s := 0.0
		for i := range classes {
			if c := &classes[i]; c.Active > 0 && c.Weight > 0 && *of(&c.Max) > 0 {
				s += float64(c.Active) * at(c, r)
			}
		}
		return s
	}
	high := 1.0
	for sum(high) < left && !math.IsInf(high, 1) {
		high *= 2
	}
	low := 0.0
	for range 25 {
		mid := (low + high) / 2
		s := sum(mid)
		if s >= left {
			high = mid
		} else {
			low = mid
		}
		if s == left {
			break
		}
	}
	for i := range classes {
		if c := &classes[i]; c.Active > 0 && c.Weight > 0 && *of(&c.Max) > 0 {
			*of(&c.Share) = int64(at(c, high))
		}
	}
}
