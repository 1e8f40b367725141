package driver

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// allocation is how many containers the driver wants, and which it releases, as Spark's ExecutorAllocationManager decides.
type allocation struct {
	dyn    *workload.Dynamic // nil: a fixed number
	first  int64             // wanted at the start
	target int64             // wanted in all
	step   int64             // by how much the target rises next
	raise  unit.Time         // when it may; Never: no task waits
	active bool              // a stage was submitted, or a container was idle too long: the target follows the load

	asked int64     // containers that it has or has requested, if in batches
	round unit.Time // when the next batch may be

	idle    heap.Heap[due] // containers, each for when it will have been idle too long, or no earlier
	surplus []int32        // containers that were idle too long, but the target included them
	pinned  []int32        // likewise, but a stage read from them
}

func (a *allocation) init(k *workload.Keep) {
	a.dyn, a.first, a.step, a.raise, a.idle.Before = k.Dynamic, k.Max, 1, unit.Never, sooner
	if a.dyn != nil {
		a.first = a.dyn.Initial
	}
	a.target = a.first
}

// Target is the number of containers that the driver wants, those that it has included.
func (d *Driver) Target() int64 {
	switch {
	case !d.began || d.left == 0:
		return min(d.target, d.up)
	case d.keep.Batch > 0:
		return min(d.target, d.asked)
	}
	return d.target
}

// request requests the next batch of containers when it is due, as Spark's ExecutorPodsAllocator does.
func (d *Driver) request(now unit.Time) {
	d.asked = max(min(d.asked, d.target), d.up)
	if n := d.batch(); n > 0 && now >= d.round {
		d.asked += n
		d.round = now + max(d.keep.Every, unit.Millisecond)
	}
}

// batch is how many containers the next batch has.
func (d *Driver) batch() int64 {
	k := d.keep
	if k.Batch == 0 || d.left == 0 {
		return 0
	}
	n := min(d.target-d.asked, k.Batch)
	if k.Pending > 0 {
		n = min(n, k.Pending-(d.asked-d.up))
	}
	return n
}

// backlogged notes that tasks begin to wait.
func (d *Driver) backlogged(now unit.Time) {
	if d.dyn == nil {
		return
	}
	d.allocate(now) // for the load until now
	if d.active = true; d.raise == unit.Never {
		d.raise = now + d.dyn.Backlog
	}
}

// need is the number of containers that the tasks could fill, or the given share of them.
func (d *Driver) need() int64 {
	return int64(math.Ceil(float64(d.running+d.pending) * cmp.Or(d.dyn.Ratio, 1) / float64(d.keep.Slots)))
}

// allocate adapts the target to the load.
func (d *Driver) allocate(now unit.Time) {
	if d.dyn == nil || !d.active {
		return
	}
	switch need, before := d.need(), d.target; {
	case need < before:
		d.target, d.step = max(need, d.dyn.Min), 1
		d.recount()
	case now >= d.raise:
		d.target = max(d.dyn.Min, min(d.keep.Max, need, max(before, d.up)+d.step))
		if d.target-before == d.step {
			d.step *= 2
		} else {
			d.step = 1
		}
		d.raise = now + max(d.dyn.Sustained, unit.Millisecond)
	}
}

// nextAllocation is when the target rises, the next batch is requested or a container has been idle too long.
func (d *Driver) nextAllocation() unit.Time {
	at := unit.Never
	if d.dyn != nil && d.active && d.target < min(d.need(), d.keep.Max) {
		at = d.raise
	}
	if d.began && d.batch() > 0 {
		at = min(at, d.round)
	}
	if len(d.idle.Items) > 0 {
		at = min(at, d.idle.Items[0].at)
	}
	return at
}

// idles begins an idle period of a container.
func (d *Driver) idles(now unit.Time, x int32) {
	if d.dyn == nil {
		return
	}
	c := &d.conts[x]
	if c.since = now; !c.watched {
		c.watched = true
		d.watch(x)
	}
}

// watch queues a container for the moment when it will have been idle too long.
func (d *Driver) watch(x int32) { d.idle.Push(due{d.expiry(&d.conts[x]), x}) }

// expiry is when a container will have been idle too long. It never falls: of the times that apply, the longest counts, as in Spark since 3.5.
func (d *Driver) expiry(c *container) unit.Time {
	wait := d.dyn.Idle
	if c.caches {
		wait = max(wait, cmp.Or(d.dyn.CachedIdle, unit.Never))
	}
	if len(c.serves) > 0 {
		wait = max(wait, cmp.Or(d.dyn.ShuffleIdle, unit.Never))
	}
	return c.since + min(wait, unit.Never-c.since)
}

// recount watches the surplus again after a change of the target, or of what is up.
func (d *Driver) recount() {
	if d.up > d.target {
		d.reconsider(&d.surplus)
	}
}

// reconsider watches containers again that could not be released.
func (d *Driver) reconsider(list *[]int32) {
	for _, x := range *list {
		d.watch(x)
	}
	*list = (*list)[:0]
}

// Release returns a container that has been idle too long, and forgets it: the engine releases it.
func (d *Driver) Release(now unit.Time) (x int32, ok bool) {
	for len(d.idle.Items) > 0 && d.idle.Items[0].at <= now {
		x := d.idle.Pop().of
		c := &d.conts[x]
		switch {
		case c.gone:
			continue
		case c.running > 0:
			c.watched = false
			continue
		case d.expiry(c) > now:
			d.watch(x)
			continue
		case slices.ContainsFunc(c.serves, func(i int) bool { return d.stages[i].readers > 0 }):
			d.pinned = append(d.pinned, x)
			continue
		}
		if !d.active { // the first that is released ends the wait for a stage
			d.active = true
			d.allocate(now)
		}
		if d.up <= d.target {
			d.surplus = append(d.surplus, x)
			continue
		}
		d.drop(x)
		return x, true
	}
	return 0, false
}
