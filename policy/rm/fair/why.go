package fair

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// Why implements rm.Scheduler, in the order in which the scheduler checks: the number of running applications, AMs, the queues' maxima, the nodes; then
// who comes first.
func (s *scheduler) Why(ref *rm.App, _ unit.Time, to []policy.Reason) []policy.Reason {
	if int(ref.Index) >= len(s.apps) || s.apps[ref.Index] == nil || s.apps[ref.Index].app != ref {
		return to // it is refused for no limit that could be lifted by waiting
	}
	a := s.apps[ref.Index]
	if !a.runnable {
		return append(to, a.whyParked())
	}
	row := a.table.First()
	if row == nil {
		return to
	}
	held, size := len(to), row.Size()
	if s.amsFull(a) {
		to = append(to, policy.Reason{Limit: "maxAMShare", Queue: a.queue.Name, Held: a.queue.AMs, Max: s.amLimit(a.queue), Size: size})
	}
	if q := a.queue.overMax(size); q != nil && q != s.Root {
		to = append(to, policy.Reason{Limit: "maxResources", Queue: q.Name, Held: q.Used, Max: q.Max, Size: size})
	}
	again := *row // a check of locality may relax it
	level := s.level(&again)
	look := policy.Search{Size: size, Fits: unit.Resources.Fits}
	for _, n := range s.nodes {
		if n == nil {
			continue
		}
		near, allowed := nearAt(row, n, level)
		size, by, own := row.SizeAt(near, n.Node), "", n.kept.app == a
		if n.kept.app != nil {
			by = n.kept.app.app.ID
		}
		if own {
			size, allowed = n.kept.size, true
		}
		look.Offer(&policy.Node{Name: n.Name, Total: n.Total, Free: n.Free}, size, by, own, allowed)
	}
	locality := policy.Reason{Limit: "locality.threshold.node", Count: again.Missed, MaxCount: int64(s.relaxAfter(level))}
	if level == policy.RackLocal {
		locality.Limit = "locality.threshold.rack"
	}
	to = look.Append(to, locality)
	limited := len(to) > held && to[held].Limit != policy.NodeRoom
	r := policy.Reason{Queue: a.queue.Name}
	for _, x := range a.queue.line {
		if x == a {
			break
		}
		if !s.amsFull(x) {
			r.Precede(x.app.ID)
		}
	}
	if r.Ahead > 0 {
		to = append(to, r)
	}
	if limited {
		return to
	}
	return s.whyQueues(a.queue, to)
}

// whyParked names the limit on running applications. Parked applications are released in the order of arrival.
func (a *app) whyParked() policy.Reason {
	r := policy.Reason{Limit: "maxRunningApps"}
	full, user := a.fullOf()
	parked := a.queue.parked
	switch {
	case user:
		r.User, r.Count, r.MaxCount = a.app.User, int64(a.user.running), int64(a.user.most)
		parked = a.user.parked
	case full != nil:
		r.Queue, r.Count, r.MaxCount = full.Name, int64(full.Runnable), int64(full.MaxApps)
	default: // it runs when the next application leaves
		r = policy.Reason{Queue: a.queue.Name}
	}
	for _, x := range parked {
		if x == a {
			break
		}
		r.Precede(x.app.ID)
	}
	return r
}

// whyQueues appends the sibling queue, of q or of a queue above it, that is served first: Held is what it uses, and Max its fair share.
func (s *scheduler) whyQueues(q *queue, to []policy.Reason) []policy.Reason {
	for ; q.Parent != nil; q = q.Parent {
		kids := slices.DeleteFunc(slices.Clone(q.Parent.Kids), func(k *queue) bool { return k.hungry == 0 && k != q })
		slices.SortFunc(kids, func(a, b *queue) int { return compare(q.Parent.Kind, &a.Standing, &b.Standing, s.Total) })
		if first := kids[0]; first != q {
			r := policy.Reason{Queue: first.Name, Held: first.Used, Max: first.share}
			first.precede(&r)
			return append(to, r)
		}
	}
	return to
}

// precede counts the applications below q that want more.
func (q *queue) precede(r *policy.Reason) {
	for _, a := range q.line {
		r.Precede(a.app.ID)
	}
	for _, k := range q.Kids {
		k.precede(r)
	}
}
