package planned

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// Why counts the jobs that come first: of a planned job those before it in the rack of its plan where they are fewest, of any other those whose entries can run,
// and those of its own kind.
func (o *Order) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	s := &o.jobs[j.Index]
	var r policy.Reason
	if j.Front < 0 {
		o.precede(&r, &o.ams, j)
		return r.Append(to)
	}
	found := false
	for stage := range s.open {
		if s.work < 0 || !s.open[stage] {
			continue
		}
		for _, at := range o.works[s.work].spots[stage] {
			rack := &o.racks[at.rack]
			if !rack.ready.Has(at.at) {
				continue
			}
			var here policy.Reason
			rack.ready.Walk(func(id int32) bool {
				if id != at.at {
					here.Precede(o.present(rack.entries[id].work).job.ID)
				}
				return id != at.at
			})
			if !found || here.Ahead < r.Ahead {
				found, r = true, here
			}
		}
	}
	if found {
		return r.Append(to)
	}
	seen := map[int32]bool{}
	for i := range o.racks {
		o.racks[i].ready.Walk(func(id int32) bool {
			if w := o.racks[i].entries[id].work; !seen[w] {
				seen[w] = true
				r.Precede(o.present(w).job.ID)
			}
			return true
		})
	}
	kind := small
	if s.heavy {
		kind = large
	}
	o.precede(&r, &o.waiting[kind], j)
	return r.Append(to)
}

// precede counts the jobs that come before one in a heap.
func (o *Order) precede(r *policy.Reason, h *rank.Heap, j *policy.Job) {
	h.Walk(func(id int32) bool {
		if id != j.Index {
			r.Precede(o.jobs[id].job.ID)
		}
		return id != j.Index
	})
}

// Refusal says that a rack is not in the plan of a job, or not for it, or has no room for another AM.
func (o *Order) Refusal(_ unit.Time, j *policy.Job, stage int, n *policy.Node, _ policy.Near) (r policy.Reason) {
	s, rack := &o.jobs[j.Index], &o.racks[n.Rack]
	switch {
	case stage == policy.AMStage && !rack.runsAM(j.AM, 0):
		r = policy.Reason{Limit: "AMs of a rack", Held: unit.Resources{Mem: rack.ams}, Max: unit.Resources{Mem: rack.room / 2}}
	case stage < 0 || stage >= len(s.open):
	case s.work >= 0:
		in := func(at spot) bool { return at.rack == n.Rack && rack.ready.Has(at.at) }
		if !o.spare(s, stage) && !slices.ContainsFunc(o.works[s.work].spots[stage], in) {
			r.Limit = "plan"
		}
	case !s.limits[stage].allows(n.Rack):
		r = policy.Reason{Limit: "racks of a job", Count: int64(len(s.limits[stage].in)), MaxCount: int64(s.limits[stage].most)}
	}
	return r
}
