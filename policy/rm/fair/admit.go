package fair

import "slices"

// user counts a user's applications.
type user struct {
	running, most int
	parked        []*app
}

// enter adds an application to its leaf, parked if over the limit.
func (s *scheduler) enter(a *app) {
	if a.mayRun() {
		s.run(a)
		return
	}
	a.queue.parked = append(a.queue.parked, a)
	a.user.parked = append(a.user.parked, a)
}

func (a *app) mayRun() bool {
	full, user := a.fullOf()
	return full == nil && !user
}

// fullOf is the first queue, from its leaf up, that has as many running applications as it may, unless its user has.
func (a *app) fullOf() (full *queue, user bool) {
	if a.user.running >= a.user.most {
		return nil, true
	}
	for q := a.queue; q != nil; q = q.Parent {
		if q.Runnable >= q.MaxApps {
			return q, false
		}
	}
	return nil, false
}

func (s *scheduler) run(a *app) {
	s.lift(a)
	a.runnable = true
	a.queue.apps = append(a.queue.apps, a)
	s.count(a, 1)
	s.settle(a)
}

func (s *scheduler) count(a *app, by int) {
	a.user.running += by
	for q := a.queue; q != nil; q = q.Parent {
		q.Runnable += by
	}
	s.stale = true
}

// leave removes an application from its leaf. Its demand counts until the next update.
func (s *scheduler) leave(a *app) {
	q := a.queue
	was := a.runnable
	s.lift(a)
	a.runnable = false
	s.settle(a)
	q.goneDemand = q.goneDemand.Add(a.Demand)
	if !q.leaver {
		q.leaver = true
		s.leavers = append(s.leavers, q)
	}
	if !was {
		q.parked, a.user.parked = without(q.parked, a), without(a.user.parked, a)
		return
	}
	q.apps = without(q.apps, a)
	if a.started {
		q.AMs = q.AMs.Sub(a.am)
	}
	s.count(a, -1)
}

func without(list []*app, a *app) []*app {
	i := slices.Index(list, a)
	return slices.Delete(list, i, i+1)
}

// release lets parked applications run after one has left: at most as many as there are affected lists,
// first come first served.
func (s *scheduler) release(leaf *queue, u *user) {
	var top *queue
	for q := leaf; q != nil; q = q.Parent {
		if q.Runnable == q.MaxApps-1 {
			top = q
		}
	}
	var lists [][]*app
	if top != nil {
		lists = top.waiting(lists)
	}
	if u.running == u.most-1 {
		lists = append(lists, u.parked)
	}
	s.releaseFrom(lists, len(lists))
}

// waiting collects the lists of parked applications below q where one more may run.
func (q *queue) waiting(lists [][]*app) [][]*app {
	if q.Runnable >= q.MaxApps {
		return lists
	}
	if q.Leaf {
		return append(lists, q.parked)
	}
	for _, k := range q.Kids {
		lists = k.waiting(lists)
	}
	return lists
}

// releaseFrom merges the lists by start time.
func (s *scheduler) releaseFrom(lists [][]*app, most int) {
	at := make([]int, len(lists))
	var ran []*app
	for len(ran) < most {
		best := -1
		for i, l := range lists {
			if at[i] < len(l) && (best < 0 || l[at[i]].Start < lists[best][at[best]].Start) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		a := lists[best][at[best]]
		at[best]++
		if !a.runnable && a.mayRun() {
			s.run(a)
			ran = append(ran, a)
		}
	}
	for _, a := range ran {
		a.queue.parked, a.user.parked = without(a.queue.parked, a), without(a.user.parked, a)
	}
}
