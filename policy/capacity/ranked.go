package capacity

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// outcome is the result of a visit to a queue.
type outcome uint8

const (
	nothing outcome = iota // nobody in the queue could use the offer
	limited                // somebody could if the queue's room were larger: that room is withheld from later siblings
	took
	enough
)

// Ranked proposes jobs, best first.
func (o *Order) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if o.root.wants == 0 {
		return false
	}
	return o.visit(o.root, o.cluster, try) == took
}

func (o *Order) visit(q *queue, lim unit.Resources, try func(*policy.Job) policy.Verdict) outcome {
	if q.leaf != nil {
		return o.visitLeaf(q, lim, try)
	}
	lim = o.calc.Min(o.cluster, lim, q.EffMax)
	if o.calc.Compare(o.cluster, q.used, lim) >= 0 {
		return nothing
	}
	result := nothing
	var blocked unit.Resources
	q.next.Walk(func(i int32) bool {
		k := q.children[i]
		less := o.calc.Max(o.cluster, blocked, unit.Resources{})
		switch o.visit(k, o.calc.Down(lim.Sub(less).Sub(q.used).Add(k.used), o.minA), try) {
		case took:
			result = took
			return false
		case enough:
			result = enough
			return false
		case limited:
			result = limited
			blocked = blocked.Add(k.room.Max(unit.Resources{}))
		}
		return true
	})
	q.room = blocked
	return result
}

// visitLeaf proposes the leaf's ready applications in order, skipping users above the user limit, until one is
// too large for the leaf's room: then the whole leaf waits, so that the large one is not starved.
func (o *Order) visitLeaf(q *queue, lim unit.Resources, try func(*policy.Job) policy.Verdict) outcome {
	if q.ActiveApps == 0 {
		return nothing
	}
	limit := o.calc.Min(o.cluster, q.EffMax, lim)
	if o.calc.Compare(o.cluster, q.used, limit) >= 0 {
		return nothing
	}
	q.room = limit.Sub(q.used)
	q.CurLimit = o.calc.Min(o.cluster, o.calc.Down(q.EffMax, o.minA), lim)
	userLimit := o.userLimit(q)
	bound := values{o.measure(userLimit)}
	id := o.nextUser(o.readyUsers.first(q.ready, &bound), &bound, userLimit)
	if id == none {
		return nothing
	}
	f := &o.frontier
	f.Items = append(f.Items[:0], o.readyApps.first(o.users[id].ready, &anything))
	for len(f.Items) > 0 {
		x := f.Items[0]
		a := &o.apps[x]
		if a.job.Pending > 0 {
			if !o.calc.Fits(a.job.Ask, q.room) || !o.fitsAbove(q, a.job.Ask) {
				return limited
			}
			switch try(a.job) {
			case policy.Took:
				return took
			case policy.Enough:
				return enough
			}
		}
		o.advance(x, &bound, userLimit)
	}
	return nothing
}

// fitsAbove says whether ask keeps q and everything above it within their maxima.
func (o *Order) fitsAbove(q *queue, ask unit.Resources) bool {
	for ; q != nil; q = q.parent {
		if !o.calc.Fits(q.used.Add(ask), q.EffMax) {
			return false
		}
	}
	return true
}

// nextUser is the first user from id on that is within its limit.
func (o *Order) nextUser(id int32, bound *values, limit unit.Resources) int32 {
	for id != none && o.calc.Compare(o.cluster, o.users[id].Used, limit) > 0 {
		id = o.readyUsers.next(id, bound)
	}
	return id
}

// advance pops application x, the best, off the frontier and pushes its successors: the next application of its user and,
// if x was that user's first, the first application of the next user. So the applications of all users within their
// limit come in order, and only the proposed ones are touched.
func (o *Order) advance(x int32, bound *values, limit unit.Resources) {
	o.frontier.Pop()
	id := o.apps[x].user
	if o.readyApps.first(o.users[id].ready, &anything) == x {
		if id := o.nextUser(o.readyUsers.next(id, bound), bound, limit); id != none {
			o.frontier.Push(o.readyApps.first(o.users[id].ready, &anything))
		}
	}
	if y := o.readyApps.next(x, &anything); y != none {
		o.frontier.Push(y)
	}
}
