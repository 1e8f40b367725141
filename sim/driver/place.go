package driver

import (
	"cmp"
	"math/bits"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/unit"
)

// free has the containers with free slots, by their number: lists of containers that have as many. Those with a great many share the last list.
type free struct {
	heads, tails [lists]int32
	in           uint64 // lists that are not empty
	changes      int64
}

const lists = 64

// links is a container's place in free.
type links struct {
	list       int8  // plus one; 0: none
	since      int64 // number of the change that put it there, which is the order in the list
	prev, next int32
}

func (f *free) init() {
	for i := range f.heads {
		f.heads[i], f.tails[i] = -1, -1
	}
}

func (f *free) any() bool { return f.in != 0 }

// best is the container with the most free slots; of several, the one that has had as many the longest.
func (f *free) best() int32 { return f.heads[bits.Len64(f.in)-1] }

// set sets the number of a container's free slots, and reports whether its place changed.
func (f *free) set(conts []container, x int32, slots int64) bool {
	l := &conts[x].slot
	list := int8(min(slots, lists))
	if conts[x].gone {
		list = 0
	}
	if list == l.list {
		return false
	}
	f.changes++
	l.since = f.changes
	if k := l.list - 1; k >= 0 {
		if l.prev >= 0 {
			conts[l.prev].slot.next = l.next
		} else {
			f.heads[k] = l.next
		}
		if l.next >= 0 {
			conts[l.next].slot.prev = l.prev
		} else {
			f.tails[k] = l.prev
		}
		if f.heads[k] < 0 {
			f.in &^= 1 << k
		}
	}
	if l.list = list; list == 0 {
		return true
	}
	k := list - 1
	l.prev, l.next = f.tails[k], -1
	if l.prev >= 0 {
		conts[l.prev].slot.next = x
	} else {
		f.heads[k] = x
	}
	f.tails[k] = x
	f.in |= 1 << k
	return true
}

// local has the waiting tasks of a stage whose input is cached, by container.
type local struct {
	from  *stage            // that cached it
	at    map[int32][]int64 // waiting tasks, by the container that caches their input
	order []int32           // its containers, in order of their first task
	none  []int64           // waiting tasks whose input no container caches any more
	since unit.Time         // when a task last started where its input is
	homes heap.Heap[home]   // containers that had both free slots and waiting tasks, best first
}

// home is a container with its place in free when it was queued; it is outdated if that has changed.
type home struct {
	links
	x int32
}

func newLocal(d *Driver, s *stage, now unit.Time) *local {
	l := &local{from: &d.stages[s.src.Cached-1], at: map[int32][]int64{}, since: now}
	l.homes.Before = func(a, b home) bool { return cmp.Or(cmp.Compare(b.list, a.list), cmp.Compare(a.since, b.since)) < 0 }
	for number := s.next; number < s.src.Tasks; number++ {
		l.put(d, number)
	}
	s.next = s.src.Tasks
	return l
}

func (l *local) put(d *Driver, number int64) {
	x := l.from.cache[number] - 1
	if x < 0 || d.conts[x].gone {
		l.none = append(l.none, number)
		return
	}
	if _, known := l.at[x]; !known {
		l.order = append(l.order, x)
	}
	if l.at[x] = append(l.at[x], number); len(l.at[x]) == 1 {
		l.offer(d, x)
	}
}

// offer queues a container if it has both free slots and waiting tasks.
func (l *local) offer(d *Driver, x int32) {
	if place := d.conts[x].slot; place.list > 0 && len(l.at[x]) > 0 {
		l.homes.Push(home{place, x})
	}
}

// takeAt removes a task whose input a container caches.
func (l *local) takeAt(x int32) (number int64, ok bool) {
	list := l.at[x]
	if len(list) == 0 {
		return 0, false
	}
	l.at[x] = list[1:]
	return list[0], true
}

// pick chooses a task and its container.
func (l *local) pick(d *Driver, now unit.Time) (x int32, number int64, ok bool) {
	for len(l.homes.Items) > 0 {
		h := l.homes.Items[0]
		if h.since == d.conts[h.x].slot.since {
			if number, ok := l.takeAt(h.x); ok {
				l.since = now
				return h.x, number, true
			}
		}
		l.homes.Pop()
	}
	if len(l.none) > 0 {
		number, l.none = l.none[0], l.none[1:]
		return d.free.best(), number, true
	}
	for len(l.order) > 0 {
		home := l.order[0]
		if len(l.at[home]) == 0 {
			l.order = l.order[1:]
			delete(l.at, home)
			continue
		}
		if now < l.since+d.keep.LocalityWait {
			return 0, 0, false
		}
		number, _ = l.takeAt(home)
		return d.free.best(), number, true
	}
	return 0, 0, false
}
