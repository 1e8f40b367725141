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
	if o.Root.wants == 0 {
		return false
	}
	return o.visit(o.Root, o.Cluster, try) == took
}

func (o *Order) visit(q *queue, lim unit.Resources, try func(*policy.Job) policy.Verdict) outcome {
	if q.Leaf != nil {
		return o.visitLeaf(q, lim, try)
	}
	lim = o.Calc.Min(o.Cluster, lim, q.EffMax)
	if o.Calc.Compare(o.Cluster, q.Used, lim) >= 0 {
		return nothing
	}
	result := nothing
	var blocked unit.Resources
	q.next.Walk(func(i int32) bool {
		k := q.Children[i]
		less := o.Calc.Max(o.Cluster, blocked, unit.Resources{})
		switch o.visit(k, o.Calc.Down(lim.Sub(less).Sub(q.Used).Add(k.Used), o.MinA), try) {
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
// too large for the leaf's room: then the whole leaf waits, so that the large one is not starved. Nobody waits for a gang that is larger than a maximum.
func (o *Order) visitLeaf(q *queue, lim unit.Resources, try func(*policy.Job) policy.Verdict) outcome {
	if q.ActiveApps == 0 {
		return nothing
	}
	limit := o.Calc.Min(o.Cluster, q.EffMax, lim)
	if o.Calc.Compare(o.Cluster, q.Used, limit) >= 0 {
		return nothing
	}
	q.room = limit.Sub(q.Used)
	q.CurLimit = o.Reach(&q.Queue, lim)
	userLimit := o.UserLimit(&q.Queue)
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
			if o.Calc.Fits(a.job.Ask, q.room) && o.fitsAbove(q, a.job.Ask) {
				switch try(a.job) {
				case policy.Took:
					return took
				case policy.Enough:
					return enough
				}
			} else if !o.beyond(q, a.job) {
				return limited
			}
		}
		o.advance(x, &bound, userLimit)
	}
	return nothing
}

// fitsAbove says whether ask keeps q and everything above it within their maxima.
func (o *Order) fitsAbove(q *queue, ask unit.Resources) bool {
	for ; q != nil; q = q.Parent {
		if !o.Calc.Fits(q.Used.Add(ask), q.EffMax) {
			return false
		}
	}
	return true
}

// beyond reports whether a job's gang, beside its AM, is larger than the maximum of its leaf or of a queue above.
func (o *Order) beyond(q *queue, j *policy.Job) bool {
	if j.Front < 0 || j.Front >= len(j.Stages) || j.Stages[j.Front].Gang <= 1 {
		return false
	}
	for ask := j.Ask.Add(j.AM); q != nil; q = q.Parent {
		if !o.Calc.Fits(ask, q.EffMax) {
			return true
		}
	}
	return false
}

// nextUser is the first user from id on that is within its limit.
func (o *Order) nextUser(id int32, bound *values, limit unit.Resources) int32 {
	for id != none && o.Calc.Compare(o.Cluster, o.users[id].Used, limit) > 0 {
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
