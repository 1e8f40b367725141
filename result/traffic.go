package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/flow"
)

// shownLinks is the number of links that are named.
const shownLinks = 20

// OpticalShare is the share of the bytes between racks that went over circuits.
func (t *Traffic) OpticalShare() float64 { return t.OpticalBytes / max(1, t.CrossRackBytes) }

// Throughput is the number of jobs finished per hour of the makespan; NaN if that is 0.
func (r *Run) Throughput() float64 {
	if r.Makespan == 0 {
		return math.NaN()
	}
	return 3600 * float64(r.Jobs.Finished) / r.Makespan
}

func trafficOf(sum *sim.Summary) *Traffic {
	t := sum.Traffic
	if t == nil {
		return nil
	}
	out := &Traffic{
		Flows: t.Flows, Settled: t.Settled,
		ReadBytes: math.Round(t.Read), ShuffledBytes: math.Round(t.Shuffled), CrossRackBytes: math.Round(t.CrossRack), Busiest: []LinkUse{},
		OpticalBytes: math.Round(t.Optical), Reconfigured: t.Reconfigured,
		Congested: t.Congested, MapProgress: round(t.Ready / max(1, t.Readers)), UplinkLoad: round(t.Uplinks),
		ReduceIdle: round(t.Waited.Seconds() / max(1, sum.Busy.Seconds())),
	}
	links := slices.Clone(t.Links)
	slices.SortStableFunc(links, func(a, b flow.Use) int {
		return cmp.Or(-cmp.Compare(a.Utilisation, b.Utilisation), -cmp.Compare(a.Bytes, b.Bytes))
	})
	for _, l := range links[:min(len(links), shownLinks)] {
		out.Busiest = append(out.Busiest, LinkUse{Name: l.Name, Bytes: math.Round(l.Bytes), Utilisation: round(l.Utilisation), Crossings: l.Crossings})
	}
	return out
}
