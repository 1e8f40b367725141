package fair

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// Ranked descends from the root, best child first at every queue.
func (t *Tree) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if t.recheck {
		t.recheckAMs()
	}
	t.fruitless = t.fruitless[:0]
	v, _ := t.descend(t.Root, t.Root.Max.Sub(t.Root.Used), try)
	for _, q := range t.fruitless {
		t.tighten(q)
	}
	return v == policy.Took
}

// descend proposes the jobs below q that fit into room, what q and the queues above leave. It returns whether it found any.
func (t *Tree) descend(q *queue, room unit.Resources, try func(*policy.Job) policy.Verdict) (v policy.Verdict, found bool) {
	if q.Leaf {
		v, found = t.serve(q, room, try)
	} else {
		for _, heap := range [...]*rank.Heap{&q.needy, &q.sated} {
			for q.cur.Start(heap); ; q.cur.Next() {
				slot, _, _, ok := q.cur.Peek()
				if !ok {
					break
				}
				kid := q.Kids[slot]
				left := room.Min(kid.Max.Sub(kid.Used))
				if !kid.minAsk.Fits(left) || kid.lane.stuck && left.Fits(kid.lane.room) {
					continue
				}
				var some bool
				v, some = t.descend(kid, left, try)
				found = found || some
				if v != policy.Pass {
					return v, true // the heaps have changed: the walk is over
				}
			}
		}
	}
	if !found {
		t.fruitless = append(t.fruitless, q)
	}
	return v, found
}

// serve merges the two heaps of a leaf.
func (t *Tree) serve(q *queue, room unit.Resources, try func(*policy.Job) policy.Verdict) (policy.Verdict, bool) {
	const huge = 1 << 62
	l := &q.lane
	found := false
	l.stuck, l.fresh = false, false
	l.am.tight, l.task.tight = unit.Resources{Mem: huge, Cores: huge}, unit.Resources{Mem: huge, Cores: huge}
	amRoom := room
	l.task.cur.Start(&l.task.heap)
	ams := l.am.heap.Len() > 0
	if ams {
		amRoom = room.Min(t.amLimit(q).Sub(q.AMs))
		ams = l.am.minAsk.Fits(amRoom)
		if ams {
			l.am.cur.Start(&l.am.heap)
		} else {
			l.am.tight = l.am.minAsk
		}
	}
	for {
		slot, a, b, task := l.task.cur.Peek()
		mine := room
		from := &l.task
		if ams {
			if s, ma, mb, ok := l.am.cur.Peek(); ok && (!task || ma < a || ma == a && mb < b) {
				slot, from, mine, task = s, &l.am, amRoom, true
			}
		}
		if !task {
			break
		}
		j := l.jobs[slot]
		t.visited++
		from.tight = from.tight.Min(j.Ask)
		if j.Pending > 0 && j.Ask.Fits(mine) {
			found = true
			if v := try(j); v != policy.Pass {
				return v, true
			}
		}
		from.cur.Next()
	}
	if !found && l.am.heap.Len() == 0 {
		l.stuck, l.room = true, room
	}
	return policy.Pass, found
}

// tighten makes the lower bound of a queue without a proposal exact, so that it leaves its parent's heaps if nothing
// in it fits its maximum. Every job of such a leaf was visited.
func (t *Tree) tighten(q *queue) {
	if q.Leaf {
		if q.lane.fresh {
			return // what the walk saw is stale
		}
		q.lane.am.minAsk, q.lane.task.minAsk = q.lane.am.tight, q.lane.task.tight
	} else {
		first := true
		for _, h := range [...]*rank.Heap{&q.needy, &q.sated} {
			for q.cur.Start(h); ; q.cur.Next() {
				slot, _, _, ok := q.cur.Peek()
				if !ok {
					break
				}
				if first {
					q.minAsk, first = q.Kids[slot].minAsk, false
				} else {
					q.minAsk = q.minAsk.Min(q.Kids[slot].minAsk)
				}
			}
		}
	}
	t.place(q)
}
