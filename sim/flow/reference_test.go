package flow_test

import (
	"math"

	"github.com/yardmaster/yardmaster/sim/flow"
)

// plain is a flow as the reference sees it.
type plain struct {
	path        []flow.Link
	weight, cap float64
}

// waterFill is progressive filling as the books have it, from nothing and without any cleverness: all unfrozen flows rise
// together until a link is full or a flow is at its cap. It gives each flow's rate.
func waterFill(capacity []float64, flows []plain) []float64 {
	rate := make([]float64, len(flows))
	frozen := make([]bool, len(flows))
	for {
		level := math.Inf(1)
		full, capped := -1, -1
		for l := range capacity {
			room, weight := capacity[l], 0.0
			for i, f := range flows {
				for _, m := range f.path {
					if int(m) != l {
						continue
					}
					if frozen[i] {
						room -= rate[i]
					} else {
						weight += f.weight
					}
				}
			}
			if weight > 0 && max(0, room)/weight < level {
				level, full, capped = max(0, room)/weight, l, -1
			}
		}
		for i, f := range flows {
			if x := f.cap / f.weight; !frozen[i] && x < level {
				level, full, capped = x, -1, i
			}
		}
		switch {
		case capped >= 0:
			frozen[capped], rate[capped] = true, flows[capped].cap
		case full >= 0:
			for i, f := range flows {
				for _, m := range f.path {
					if int(m) == full && !frozen[i] {
						frozen[i], rate[i] = true, level*f.weight
					}
				}
			}
		default:
			return rate
		}
	}
}
