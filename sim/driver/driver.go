package driver

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Task is an attempt of a task in a container.
type Task struct {
	Stage   int
	Number  int64
	Attempt uint16 // how often the task failed before
	In      int32  // its container, as numbered by Up
	Cold    bool   // it is the first of its slot
}

// Driver is the driver of one job.
type Driver struct {
	keep    *workload.Keep
	stages  []stage
	pools   []int64 // tasks running, by pool; the pools are sorted by name
	left    int64   // tasks not done
	pending int64   // tasks of submitted stages that wait
	running int64

	began    bool
	ready    unit.Time // Never: not yet
	patience unit.Time // when it stops waiting for containers
	over     unit.Time // end of the job; Never: not known yet

	due       heap.Heap[due] // stages to be submitted
	submitted []int          // since the last call of Submitted
	runnable  []int          // submitted stages that need nothing and have waiting tasks, in order
	order     []int          // scratch of Next

	conts []container
	up    int64
	free  free
	// Of submitted stages that are not complete.
	locals []*local

	allocation
}

type stage struct {
	src      *workload.Stage
	next     int64   // the first task that never ran
	redo     []int64 // tasks to run again
	failed   map[int64]uint16
	pending  int64
	running  int64
	done     int64
	pool     int
	needs    int   // stages that it waits for
	feeds    []int // stages that wait for it
	readers  int   // of these, those that read what it passes on and are not complete
	passes   bool  // some stage reads what it passes on
	complete bool
	sent     bool // submitted

	cache []int32 // by task: the container that caches its result, plus one; nil: none does
	local *local  // where its tasks' input is cached; nil: nowhere
}

// due is an instant at which something happens to a stage or a container.
type due struct {
	at unit.Time
	of int32
}

func sooner(a, b due) bool { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.of, b.of)) < 0 }

// New returns the driver of a job that keeps its containers.
func New(j *workload.Job) *Driver {
	d := &Driver{
		keep: j.Keep, stages: make([]stage, len(j.Stages)), ready: unit.Never, over: unit.Never, due: heap.Heap[due]{Before: sooner},
	}
	d.free.init()
	var pools []string
	for i := range j.Stages {
		src, s := &j.Stages[i], &d.stages[i]
		s.src, s.pending = src, src.Tasks
		d.left += s.pending
		for _, e := range src.After {
			if s.needs++; e.Shuffle > 0 {
				d.stages[e.From].passes = true
				d.stages[e.From].readers++
			}
			d.stages[e.From].feeds = append(d.stages[e.From].feeds, i)
		}
		if src.Cached > 0 {
			if from := &d.stages[src.Cached-1]; from.cache == nil {
				from.cache = make([]int32, from.src.Tasks)
			}
		}
		pools = append(pools, src.Pool)
	}
	slices.Sort(pools)
	pools = slices.Compact(pools)
	d.pools = make([]int64, len(pools))
	for i := range d.stages {
		d.stages[i].pool, _ = slices.BinarySearch(pools, d.stages[i].src.Pool)
	}
	d.allocation.init(j.Keep)
	return d
}

// Begin notifies the driver that its AM is up. Later calls are no-ops: the AM was replaced.
func (d *Driver) Begin(now unit.Time) {
	if d.began {
		return
	}
	d.began, d.patience = true, now+d.keep.ReadyWait
	if d.left == 0 {
		d.over = now + d.keep.Tail
	}
}

// Step advances the driver to an instant. An engine calls it after it has notified the driver of everything, and at the instant of Wake.
func (d *Driver) Step(now unit.Time) {
	if !d.began {
		return
	}
	if d.ready == unit.Never && (now >= d.patience || float64(d.up) >= d.keep.Ready*float64(d.first)) {
		d.ready = now
		for i := range d.stages {
			if s := &d.stages[i]; s.needs == 0 {
				d.due.Push(due{now + s.src.Delay, int32(i)})
			}
		}
	}
	for len(d.due.Items) > 0 && d.due.Items[0].at <= now {
		d.submit(now, int(d.due.Pop().of))
	}
	d.allocate(now)
	d.request(now)
}

// Wake is when the driver acts by itself, if nothing happens before; Never: not at all.
func (d *Driver) Wake() unit.Time {
	at := min(d.over, d.nextAllocation())
	if d.began && d.ready == unit.Never {
		at = min(at, d.patience)
	}
	if len(d.due.Items) > 0 {
		at = min(at, d.due.Items[0].at)
	}
	if d.free.any() {
		for _, i := range d.runnable {
			if l := d.stages[i].local; l != nil {
				at = min(at, l.since+d.keep.LocalityWait)
			}
		}
	}
	return at
}

// Over reports whether the job has ended.
func (d *Driver) Over(now unit.Time) bool { return now >= d.over }

// Submitted lists the stages submitted since its last call. It is valid until the next one.
func (d *Driver) Submitted() []int {
	list := d.submitted
	d.submitted = d.submitted[:0]
	return list
}

func (d *Driver) submit(now unit.Time, i int) {
	s := &d.stages[i]
	if s.sent || s.needs > 0 {
		return
	}
	s.sent = true
	d.submitted = append(d.submitted, i)
	if s.src.Cached > 0 {
		s.local = newLocal(d, s, now)
		d.locals = append(d.locals, s.local)
	}
	if s.pending == 0 {
		d.completed(now, i)
		return
	}
	d.backlogged(now)
	d.pending += s.pending
	d.offer(i)
}

// offer makes a stage's waiting tasks runnable.
func (d *Driver) offer(i int) {
	if s := &d.stages[i]; !s.sent || s.needs > 0 || s.pending == 0 {
		return
	}
	if k, found := slices.BinarySearch(d.runnable, i); !found {
		d.runnable = slices.Insert(d.runnable, k, i)
	}
}

func (d *Driver) withdraw(i int) {
	if k, found := slices.BinarySearch(d.runnable, i); found {
		d.runnable = slices.Delete(d.runnable, k, k+1)
	}
}

// completed handles the end of a stage's last task.
func (d *Driver) completed(now unit.Time, i int) {
	s := &d.stages[i]
	s.complete = true
	for _, e := range s.src.After {
		if from := &d.stages[e.From]; e.Shuffle > 0 {
			from.readers--
		}
	}
	for _, k := range s.feeds {
		to := &d.stages[k]
		if to.needs--; to.needs > 0 {
			continue
		}
		if to.sent {
			d.offer(k)
		} else {
			d.due.Push(due{now + to.src.Delay, int32(k)})
		}
	}
	if k := slices.Index(d.locals, s.local); k >= 0 {
		d.locals = slices.Delete(d.locals, k, k+1)
		s.local = newLocal(d, s, now) // its lists are empty
	}
	d.reconsider(&d.pinned)
}

// reopened handles the loss of what a complete stage passed on.
func (d *Driver) reopened(i int) {
	s := &d.stages[i]
	s.complete = false
	if s.local != nil {
		d.locals = append(d.locals, s.local)
	}
	for _, e := range s.src.After {
		if from := &d.stages[e.From]; e.Shuffle > 0 {
			from.readers++
		}
	}
	for _, k := range s.feeds {
		if d.stages[k].needs++; !d.stages[k].complete {
			d.withdraw(k)
		}
	}
}

// Next starts the next task, if one may start now.
func (d *Driver) Next(now unit.Time) (t Task, ok bool) {
	if !d.free.any() || len(d.runnable) == 0 {
		return t, false
	}
	order := d.runnable
	if d.keep.Fair && len(order) > 1 {
		d.order = append(d.order[:0], order...)
		order = d.order
		slices.SortStableFunc(order, func(a, b int) int {
			p, q := d.stages[a].pool, d.stages[b].pool
			return cmp.Or(cmp.Compare(d.pools[p], d.pools[q]), cmp.Compare(p, q))
		})
	}
	for _, i := range order {
		s := &d.stages[i]
		if s.local == nil {
			return d.start(i, s.take(), d.free.best()), true
		}
		if x, number, ok := s.local.pick(d, now); ok {
			return d.start(i, number, x), true
		}
	}
	return t, false
}

// take removes a waiting task.
func (s *stage) take() int64 {
	if k := len(s.redo); k > 0 {
		number := s.redo[0]
		s.redo = s.redo[1:]
		return number
	}
	s.next++
	return s.next - 1
}

func (d *Driver) start(i int, number int64, x int32) Task {
	s, c := &d.stages[i], &d.conts[x]
	s.pending--
	s.running++
	d.pending--
	d.running++
	d.pools[s.pool]++
	c.running++
	t := Task{Stage: i, Number: number, Attempt: s.failed[number], In: x, Cold: c.cold > 0}
	if t.Cold {
		c.cold--
	}
	d.fill(x)
	if s.pending == 0 {
		d.withdraw(i)
	}
	if d.pending == 0 {
		d.raise, d.step = unit.Never, 1 // no task waits any more
	}
	return t
}

// Ended notifies the driver of the end of a task's attempt.
func (d *Driver) Ended(now unit.Time, t *Task, failed bool) {
	if failed {
		s := &d.stages[t.Stage]
		if s.failed == nil {
			s.failed = map[int64]uint16{}
		}
		s.failed[t.Number]++
		d.Killed(now, t)
		return
	}
	s := d.vacate(now, t)
	s.done++
	d.left--
	c := &d.conts[t.In]
	if s.cache != nil {
		s.cache[t.Number] = t.In + 1
		c.caches = true
	}
	if s.passes && !d.keep.External {
		c.made = append(c.made, made{int32(t.Stage), t.Number})
		if n := len(c.serves); n == 0 || c.serves[n-1] != t.Stage && !slices.Contains(c.serves, t.Stage) {
			c.serves = append(c.serves, t.Stage)
		}
	}
	if s.done == s.src.Tasks {
		d.completed(now, t.Stage)
	}
	if d.left == 0 {
		d.over = now + d.keep.Tail
	}
}

// Killed notifies the driver that a task's attempt ended without its own fault. The task waits again.
func (d *Driver) Killed(now unit.Time, t *Task) {
	d.vacate(now, t)
	d.again(now, t.Stage, t.Number)
}

// vacate frees a task's slot.
func (d *Driver) vacate(now unit.Time, t *Task) *stage {
	s, c := &d.stages[t.Stage], &d.conts[t.In]
	s.running--
	d.running--
	d.pools[s.pool]--
	c.running--
	d.fill(t.In)
	if c.running == 0 {
		d.idles(now, t.In)
	}
	return s
}

// fill updates a container's free slots.
func (d *Driver) fill(x int32) {
	if d.free.set(d.conts, x, d.keep.Slots-d.conts[x].running) {
		for _, l := range d.locals {
			l.offer(d, x)
		}
	}
}

// again makes a task wait again.
func (d *Driver) again(now unit.Time, i int, number int64) {
	s := &d.stages[i]
	if d.pending == 0 {
		d.backlogged(now)
	}
	s.pending++
	d.pending++
	d.over = unit.Never
	if s.local != nil {
		s.local.put(d, number)
	} else {
		s.redo = append(s.redo, number)
	}
	d.offer(i)
}

// container is one that is up, or was.
type container struct {
	gone    bool
	caches  bool // it holds cached results
	running int64
	cold    int64     // slots that had no task yet
	made    []made    // finished tasks whose results other stages read from it
	serves  []int     // their stages
	since   unit.Time // when it began to idle
	watched bool      // it is in one of allocation's lists
	slot    links     // see free
}

type made struct {
	stage  int32
	number int64
}

// Up notifies the driver of a container that takes tasks from now on, and returns its number.
func (d *Driver) Up(now unit.Time) int32 {
	x := int32(len(d.conts))
	d.conts = append(d.conts, container{cold: d.keep.Slots})
	d.up++
	d.fill(x)
	d.idles(now, x)
	d.recount()
	return x
}

// Lost notifies the driver that a container is gone, whose tasks were Killed before. It calls rerun for every finished task that must run again.
func (d *Driver) Lost(now unit.Time, x int32, rerun func(stage int)) {
	lost := d.conts[x].made
	d.drop(x)
	// Later stages first: one that must run again needs what earlier ones passed on.
	slices.SortStableFunc(lost, func(a, b made) int { return cmp.Compare(b.stage, a.stage) })
	for _, m := range lost {
		i := int(m.stage)
		s := &d.stages[i]
		if s.readers == 0 {
			continue
		}
		if s.complete {
			d.reopened(i)
		}
		s.done--
		d.left++
		d.again(now, i, m.number)
		rerun(i)
	}
}

// drop removes a container.
func (d *Driver) drop(x int32) {
	c := &d.conts[x]
	c.gone, c.made, c.serves = true, nil, nil
	d.fill(x)
	d.up--
	d.asked--
	for i := range d.stages { // one that waits for lost output, too
		if l := d.stages[i].local; l != nil {
			l.none = append(l.none, l.at[x]...)
			delete(l.at, x)
		}
	}
}
