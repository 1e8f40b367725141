package plan

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// wide is a job with the number of racks it has at the moment.
type wide struct {
	*profile
	racks   int
	lengths []float64 // latency by number of racks, from 1
}

func (w *wide) length() float64 { return w.lengths[w.racks-1] }

// widerFirst sorts jobs by racks, then by length, both descending, then by ID.
func widerFirst(a, b *wide) int {
	return cmp.Or(cmp.Compare(b.racks, a.racks), cmp.Compare(b.length(), a.length()), cmp.Compare(a.ID, b.ID))
}

// corral gives each job one rack, then repeatedly widens the job that is longest at the moment by a rack, and keeps the widths for which the
// list schedule was best: the least makespan of a batch, the least mean completion time online. Maps and reduces share their racks, which
// the job has for itself in the plan. The latency function is Corral's: waves, plus what a rack sends through the core; and, so that input
// spreads over racks, plus the time that a rack's part of the input would take through the core.
func corral(ctx context.Context, c *Cluster, jobs []Job, s *Settings, out *Plan) error {
	rate := cmp.Or(c.Contended, c.Uplink)
	list := make([]*wide, 0, len(jobs))
	for _, p := range c.profiles(jobs, Disjoint) {
		w := &wide{profile: p, racks: 1}
		for r := 1; r <= len(c.Racks); r++ {
			f := float64(r)
			w.lengths = append(w.lengths, float64(c.waves(p.Maps, r))*p.MapTime+float64(c.waves(p.Reduces, r))*p.RedTime+
				p.Shuffle/f*(f-1)/f/rate+p.Input/f/rate)
		}
		list = append(list, w)
	}
	order := widerFirst
	if s.Online {
		order = func(a, b *wide) int { return earliestFirst(a.profile, b.profile) }
		slices.SortFunc(list, order)
	}
	byLength := slices.Clone(list)
	slices.SortFunc(list, order)
	widths := make([]int, len(list))
	free := make([]float64, len(c.Racks))
	least := math.Inf(1)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if cost := corralCost(list, free, s.Online); cost < least {
			least = cost
			for i, w := range byLength {
				widths[i] = w.racks
			}
		}
		var longest *wide
		for _, w := range byLength {
			if w.racks < len(c.Racks) && (longest == nil || w.length() > longest.length()) {
				longest = w
			}
		}
		if longest == nil {
			break
		}
		at, _ := slices.BinarySearchFunc(list, longest, order)
		list = slices.Delete(list, at, at+1)
		longest.racks++
		at, _ = slices.BinarySearchFunc(list, longest, order)
		list = slices.Insert(list, at, longest)
	}
	for i, w := range byLength {
		w.racks = widths[i]
	}
	slices.SortFunc(list, order)
	corralPlace(c, list, s.Online, out)
	return nil
}

// corralCost is the makespan, or the total completion time, of a list of jobs that take the racks free first. free is scratch: the times at which racks
// become free, ascending.
func corralCost(list []*wide, free []float64, online bool) (cost float64) {
	clear(free)
	for _, w := range list {
		start := free[w.racks-1]
		if online {
			start = max(start, w.Submit)
		}
		end := start + w.length()
		if online {
			cost += end - w.Submit
		} else {
			cost = max(cost, end)
		}
		at, _ := slices.BinarySearch(free[w.racks:], end)
		copy(free, free[w.racks:w.racks+at])
		for i := at; i < at+w.racks; i++ {
			free[i] = end
		}
	}
	return cost
}

// corralPlace assigns racks.
func corralPlace(c *Cluster, list []*wide, online bool, out *Plan) {
	free, order := make([]float64, len(c.Racks)), make([]int, len(c.Racks))
	for i := range order {
		order[i] = i
	}
	maps, reduces := make([]int64, len(c.Racks)), make([]int64, len(c.Racks))
	for _, w := range list {
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(free[a], free[b]), cmp.Compare(a, b)) })
		start := free[order[w.racks-1]]
		if online {
			start = max(start, w.Submit)
		}
		clear(maps)
		clear(reduces)
		for i, r := range order[:w.racks] {
			maps[r], reduces[r] = share(w.Maps, w.racks, i), share(w.Reduces, w.racks, i)
			free[r] = start + w.length()
		}
		out.add(w.profile, maps, reduces, start, start+w.length())
	}
}
