package fair

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/unit"
)

var (
	_ policy.Gauges    = (*Tree)(nil)
	_ policy.Explainer = (*Tree)(nil)
	_ policy.Explainer = (*byGroup)(nil)
)

// QueueOf is the leaf that the placement rules, or a move, assigned to a job.
func (t *Tree) QueueOf(j *policy.Job) string { return t.apps[j.Index].queue.Name }

// Gauges reports the leaves' current fair shares and what their AMs hold. A leaf without runnable jobs has no share.
func (t *Tree) Gauges(list []policy.Gauge) []policy.Gauge { return t.Tree.Gauges(list, t.usable) }

// usable is a leaf's fair share. Policy fair shares out no vcores: the leaf may use all that its maximum allows.
func (t *Tree) usable(q *queue) unit.Resources {
	s := t.share(q)
	if s.Cores == 0 && s.Mem > 0 {
		s.Cores = min(t.Total.Cores, q.Max.Cores)
	}
	return s
}

// Why says which limits hold a job back: those on running jobs while it is parked, then its leaf's on AMs, and the maximum of its
// leaf and of those above; then how many jobs of its leaf come first.
func (t *Tree) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	a := &t.apps[j.Index]
	if a.parked && a.user.running >= a.user.most {
		to = append(to, policy.Reason{Limit: "maxRunningApps", User: j.User, Count: int64(a.user.running), MaxCount: int64(a.user.most)})
	}
	l := &a.queue.lane
	heap := &l.task.heap
	if j.Front == policy.AMStage {
		heap = &l.am.heap
		if limit := t.amLimit(a.queue); !a.queue.AMs.Add(j.Ask).Fits(limit) {
			to = append(to, policy.Reason{Limit: "maxAMShare", Queue: a.queue.Name, Held: a.queue.AMs, Max: limit})
		}
	}
	for q := a.queue; q != nil; q = q.Parent {
		if a.parked && q.Runnable >= q.MaxApps {
			to = append(to, policy.Reason{Limit: "maxRunningApps", Queue: q.Name, Count: int64(q.Runnable), MaxCount: int64(q.MaxApps)})
		}
		if !q.Used.Add(j.Ask).Fits(q.Max) {
			to = append(to, policy.Reason{Limit: "maxResources", Queue: q.Name, Held: q.Used, Max: q.Max})
		}
	}
	if a.parked {
		return to
	}
	var first policy.Reason
	keyed.Ahead(&first, heap, a.slot, l.jobs)
	return first.Append(to)
}

// Why counts the jobs of groups that come first, and those of its own that do.
func (f *byGroup) Why(_ unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	var r policy.Reason
	m, more := f.jobs[j.Index], true
	before := func(id int32) bool {
		g, slot := f.groups[id], int32(-1)
		if more = id != m.group; !more {
			slot = m.slot
		}
		keyed.Ahead(&r, &g.heap, slot, g.jobs)
		return more
	}
	if f.needy.Walk(before); more {
		f.sated.Walk(before)
	}
	return r.Append(to)
}
