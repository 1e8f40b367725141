package capacity

import (
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// leaf is the part of a queue that only leaves have.
type leaf struct {
	// visited is what the leaf could reach at the last visit. CurLimit, which AM limits use, is that of the last visit that reached an application.
	visited unit.Resources

	users map[string]*user
	list  []*user // the same, in order of first appearance

	active  rank.Heap      // activated applications, in the order of the leaf
	ready   rank.Heap      // those with outstanding requests
	unseen  rank.Heap      // those that no walk has visited
	waiting rank.Heap      // applications that wait for activation
	minAM   unit.Resources // no AM of theirs is smaller
	walk    rank.Cursor
	toMove  []*app // of a fair leaf: see moved
}

// user is one user of one leaf.
type user struct {
	arith.User // usage includes reservations
	q          *queue
	name       string
}

// reset recomputes what depends on the limits of a leaf.
func (s *Scheduler) reset(q *queue) {
	q.visited = q.CurLimit
	q.Ratio = 0
	for _, u := range q.list {
		u.Ratio = s.Calc.Ratio(u.Used, s.Cluster)
		q.Ratio += u.Ratio
	}
	s.activate(q)
	q.Stale = true
	if q.active.Len() > 0 { // all are visited
		s.seenUpTo(q, nil)
		s.UserLimit(&q.Queue)
	}
}

// userOf finds a user of the leaf, or makes one.
func (q *queue) userOf(name string) *user {
	u := q.users[name]
	if u == nil {
		u = &user{q: q, name: name}
		q.users[name] = u
		q.list = append(q.list, u)
	}
	return u
}

// drop forgets a user whose last application is gone.
func (q *queue) drop(u *user) {
	delete(q.users, u.name)
	for i, x := range q.list {
		if x == u {
			q.list = append(q.list[:i], q.list[i+1:]...)
			break
		}
	}
}

// appsOf is how many applications a user has in the leaf.
func (q *queue) appsOf(name string) int {
	if u := q.users[name]; u != nil {
		return u.Active + u.Pending
	}
	return 0
}

// hold adds r (which may be negative) to a user's usage.
func (s *Scheduler) hold(u *user, r unit.Resources) { u.q.Hold(s.Calc, s.Cluster, &u.User, r) }

// asks counts an application as asking. An application whose user has no activated application
// at that moment is not counted, and not added when one is activated.
func (s *Scheduler) asks(a *app) {
	if !a.asking && a.u.Active > 0 {
		a.asking = true
		a.q.Ask(&a.u.User, 1)
	}
}

// stopAsking undoes asks.
func (s *Scheduler) stopAsking(a *app) {
	if a.asking {
		a.asking = false
		a.q.Ask(&a.u.User, -1)
	}
}

// count changes how many activated and waiting applications a user has.
func (u *user) count(active, pending int) { u.q.Count(&u.User, active, pending) }

// amLimits are the limits on the AMs of a leaf during one activation.
type amLimits struct {
	all, user unit.Resources
	known     bool // user is computed
}

func (s *Scheduler) amLimitsOf(q *queue) amLimits { return amLimits{all: s.LeafAMLimit(&q.Queue)} }

// overAM is the limit on AMs that an application would exceed; nil: none. The user limit is computed once, for the first application that gets that far.
func (s *Scheduler) overAM(a *app, m *amLimits) *unit.Resources {
	q := a.q
	first := s.FirstAM(&q.Queue)
	if !first && !s.Calc.Fits(q.AMUsed.Add(a.am), m.all) {
		return &m.all
	}
	if !m.known {
		m.known = true
		m.user = s.UserAMLimit(&q.Queue, m.all)
	}
	if !first && !s.Calc.Fits(a.u.AM.Add(a.am), m.user) {
		return &m.user
	}
	return nil
}

// wait adds an application to those that wait for activation.
func (q *queue) wait(a *app) {
	if q.waiting.Len() == 0 {
		q.minAM = a.am
	}
	q.minAM = q.minAM.Min(a.am)
	q.waiting.Set(a.Index, -float64(a.priority), a.Seq)
}

// activate activates every waiting application, in order, whose AM fits the limits of the leaf and of its user.
// Those that do not fit are skipped. The first application of a leaf always passes.
func (s *Scheduler) activate(q *queue) {
	l := q.leaf
	if l.waiting.Len() == 0 {
		return
	}
	m := s.amLimitsOf(q)
	in := s.entering[:0]
	l.walk.Start(&l.waiting)
	for ; ; l.walk.Next() {
		id, _, _, ok := l.walk.Peek()
		if !ok {
			break
		}
		if !s.FirstAM(&q.Queue) && !s.Calc.Fits(q.AMUsed.Add(l.minAM), m.all) {
			break // none of the others fits
		}
		a := s.apps[id]
		if s.overAM(a, &m) != nil {
			continue
		}
		s.enter(a)
		in = append(in, id)
	}
	for _, id := range in { // the heap must not change during the walk
		l.waiting.Remove(id)
		s.rank(s.apps[id])
	}
	s.entering = in
}

// enter counts an application as active. The caller moves it from waiting to active.
func (s *Scheduler) enter(a *app) {
	a.active = true
	a.q.AMUsed = a.q.AMUsed.Add(a.am)
	a.u.AM = a.u.AM.Add(a.am)
	a.u.count(1, -1)
}

// moved marks an application of a fair leaf for reordering at the leaf's next walk. A container allocated
// from a reservation does not move it: Hadoop's leaf is not notified (LeafQueue.apply), and the application keeps its
// previous position.
func (s *Scheduler) moved(a *app) {
	if a.q.Fair && !a.moved {
		a.moved = true
		a.q.toMove = append(a.q.toMove, a)
	}
}

// reorder moves the applications marked by moved.
func (s *Scheduler) reorder(q *queue) {
	for _, a := range q.toMove {
		if s.apps[a.Index] != a || !a.moved || a.q != q {
			continue // gone in the meantime
		}
		a.moved = false
		a.share = float64(a.used.Mem)
		if q.SizeWeight {
			a.share = sizeWeighted(a.share, a)
		}
		s.rank(a)
	}
	q.toMove = q.toMove[:0]
}

// rank is an application's sort key in its leaf, with a tie-break.
func (a *app) rank() (key float64, tie int64) {
	if a.q.Fair {
		return a.share, a.Seq
	}
	return -float64(a.priority), a.Seq
}

// rank updates an activated application's position in its leaf.
func (s *Scheduler) rank(a *app) {
	if !a.active {
		return
	}
	key, tie := a.rank()
	a.q.active.Set(a.Index, key, tie)
	if a.table.Len() > 0 {
		a.q.ready.Set(a.Index, key, tie)
	} else {
		a.q.ready.Remove(a.Index)
	}
	if !a.seen {
		a.q.unseen.Set(a.Index, key, tie)
	}
}
