package fair

import (
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

type user struct{ running, most int }

// A lane holds the parked jobs of one user in one leaf, by arrival. All of them wait for the same limits, so only the
// first matters.
type lane struct {
	queue *queue
	user  *user
	seqs  []int64
	jobs  []int32 // indices, beside seqs
}

type laneKey struct {
	queue *queue
	user  *user
}

type lanes struct {
	byKey map[laneKey]*lane
	busy  []*lane // those with jobs
}

func (s *lanes) park(a *app) {
	key := laneKey{a.queue, a.user}
	l := s.byKey[key]
	if l == nil {
		l = &lane{queue: a.queue, user: a.user}
		s.byKey[key] = l
	}
	if len(l.seqs) == 0 {
		s.busy = append(s.busy, l)
	}
	at, _ := slices.BinarySearch(l.seqs, a.job.Seq)
	l.seqs, l.jobs = slices.Insert(l.seqs, at, a.job.Seq), slices.Insert(l.jobs, at, a.job.Index)
}

func (s *lanes) unpark(a *app) {
	l := s.byKey[laneKey{a.queue, a.user}]
	at, found := slices.BinarySearch(l.seqs, a.job.Seq)
	switch {
	case !found:
		return
	case at == 0: // the usual case: nothing is moved
		l.seqs, l.jobs = l.seqs[1:], l.jobs[1:]
	default:
		l.seqs, l.jobs = slices.Delete(l.seqs, at, at+1), slices.Delete(l.jobs, at, at+1)
	}
	if len(l.seqs) == 0 {
		i := slices.Index(s.busy, l)
		s.busy[i] = s.busy[len(s.busy)-1]
		s.busy = s.busy[:len(s.busy)-1]
	}
}

// Arrived finds the job's queue, and parks the job if its queue, one above it or its user has as many as they may.
func (t *Tree) Arrived(_ unit.Time, j *policy.Job) error {
	q, err := t.Place(j.ID, j.User, j.Queue)
	if err != nil {
		return err
	}
	a := dense.At(&t.apps, j.Index)
	*a = app{job: j, user: t.users.Get(j.User)}
	t.enter(a, q)
	return nil
}

// enter adds a job to a leaf, parked or not.
func (t *Tree) enter(a *app, q *queue) {
	l := &q.lane
	a.queue = q
	a.slot = l.slots.Take()
	*dense.At(&l.jobs, a.slot) = a.job
	if a.parked = !t.mayRun(q, a.user); a.parked {
		t.lanes.park(a)
		t.refresh(a)
		return
	}
	t.run(a)
}

func (t *Tree) mayRun(q *queue, u *user) bool {
	if u.running >= u.most {
		return false
	}
	for ; q != nil; q = q.Parent {
		if q.Runnable >= q.MaxApps {
			return false
		}
	}
	return true
}

// run makes a job runnable.
func (t *Tree) run(a *app) {
	a.parked = false
	t.count(a, +1)
	t.refresh(a)
	t.climb(a.queue)
}

func (t *Tree) count(a *app, by int) {
	a.user.running += by
	for q := a.queue; q != nil; q = q.Parent {
		was := q.Runnable > 0
		q.Runnable += by
		if is := q.Runnable > 0; is != was && q.Parent != nil {
			q.Parent.shares.classes[q.class].Active += int64(by)
			t.changed()
		}
	}
}

// Left drops a job and lets parked ones run instead.
func (t *Tree) Left(_ unit.Time, j *policy.Job) {
	a := &t.apps[j.Index]
	t.leave(a)
	*a = app{}
	t.release()
}

// leave removes a job from its leaf. What it holds is not touched.
func (t *Tree) leave(a *app) {
	l := &a.queue.lane
	if t.hasMin {
		for q := a.queue; q != nil; q = q.Parent {
			q.asked = q.asked.Sub(a.asked)
		}
		a.asked.Mem, a.asked.Cores = 0, 0
	}
	l.am.heap.Remove(a.slot)
	l.task.heap.Remove(a.slot)
	l.jobs[a.slot] = nil
	l.slots.Give(a.slot)
	if a.parked {
		t.lanes.unpark(a)
	} else {
		t.count(a, -1)
	}
	t.climb(a.queue)
}

// release lets parked jobs run, first arrivals first, as far as the limits go.
func (t *Tree) release() {
	for {
		var first *lane
		for _, l := range t.lanes.busy {
			if (first == nil || l.seqs[0] < first.seqs[0]) && t.mayRun(l.queue, l.user) {
				first = l
			}
		}
		if first == nil {
			return
		}
		a := &t.apps[first.jobs[0]]
		t.lanes.unpark(a)
		t.run(a)
	}
}
