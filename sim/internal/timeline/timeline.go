// Package timeline tracks what queues hold over time, for the engines' samples.
package timeline

import (
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Queue counts what a queue holds. The time containers are held within an interval is the sum of their ends minus the
// sum of their starts, both relative to the interval's beginning: two additions per container.
type Queue struct {
	Name       string
	Containers int64
	Running    int64 // jobs started and not finished
	Waiting    int64 // jobs not started
	Pending    int64 // tasks that could start

	mem     int64
	area    int64   // container-microseconds in the current interval, without those still held
	areaMem float64 // MiB-microseconds, likewise
}

// Hold adds a container of mem MiB, held since that offset from the interval's beginning.
func (q *Queue) Hold(since unit.Time, mem int64) {
	q.Containers++
	q.mem += mem
	q.area -= int64(since)
	q.areaMem -= float64(since) * float64(mem)
}

// Yield removes one.
func (q *Queue) Yield(since unit.Time, mem int64) {
	q.Containers--
	q.mem -= mem
	q.area += int64(since)
	q.areaMem += float64(since) * float64(mem)
}

// Timeline is the queues of a run, in order of first appearance, and virtual time cut into intervals of equal length.
type Timeline struct {
	Queues   []Queue
	From, To unit.Time // the current interval
	period   unit.Time
	indexOf  map[string]int32
	named    map[string]area
}

// area is what containers hold of a named resource, and for how long: seconds of one, less those still held, from 0 to now.
type area struct {
	held int64
	area float64
}

// longest keeps container-microseconds within 63 bits on any cluster.
const longest = unit.Day

// New begins at 0; a period of 0 is 10 s.
func New(period unit.Time) Timeline {
	if period <= 0 {
		period = 10 * unit.Second
	}
	period = min(period, longest)
	return Timeline{To: period, period: period, indexOf: map[string]int32{}}
}

// Index returns the index of a queue; "" is "default".
func (t *Timeline) Index(name string) int32 {
	if name == "" {
		name = "default"
	}
	if i, ok := t.indexOf[name]; ok {
		return i
	}
	i := int32(len(t.Queues))
	t.indexOf[name] = i
	t.Queues = append(t.Queues, Queue{Name: name})
	return i
}

// Named adds (1) or removes (-1) the named resources of a container.
func (t *Timeline) Named(sign int64, x unit.Extra, now unit.Time) {
	if x != (unit.Extra{}) { // this form can be inlined
		t.count(sign, x, now)
	}
}

func (t *Timeline) count(sign int64, x unit.Extra, now unit.Time) {
	if t.named == nil {
		t.named = map[string]area{}
	}
	for name, n := range x.All() {
		a := t.named[name]
		t.named[name] = area{a.held + sign*n, a.area - float64(sign*n)*now.Seconds()}
	}
}

// BusyNamed is how long each named resource was held, in seconds of one.
func (t *Timeline) BusyNamed(now unit.Time) map[string]float64 {
	busy := map[string]float64{}
	for name, a := range t.named {
		busy[name] = a.area + float64(a.held)*now.Seconds()
	}
	return busy
}

// Part is what a job adds to the counters of its queue.
type Part struct {
	Containers, Mem, Pending int64
	Started                  bool
}

// Move moves a job's part from a queue to another one, and returns its index. Jobs may have named that queue with the root or without.
func (t *Timeline) Move(source int32, name string, now unit.Time, p Part) (target int32) {
	short := strings.TrimPrefix(name, "root.")
	if i := slices.IndexFunc(t.Queues, func(q Queue) bool { return strings.TrimPrefix(q.Name, "root.") == short }); i >= 0 {
		name = t.Queues[i].Name
	}
	if target = t.Index(name); target == source {
		return target
	}
	t.Queues[source].add(&p, now-t.From, -1)
	t.Queues[target].add(&p, now-t.From, 1)
	return target
}

// add adds (1) or removes (-1) a job's part.
func (q *Queue) add(p *Part, since unit.Time, sign int64) {
	q.Containers += sign * p.Containers
	q.mem += sign * p.Mem
	q.area -= sign * p.Containers * int64(since)
	q.areaMem -= float64(sign) * float64(since) * float64(p.Mem)
	q.Pending += sign * p.Pending
	if p.Started {
		q.Running += sign
	} else {
		q.Waiting += sign
	}
}

// Pass closes every interval that ends at or before now: end is called for each, and calls Close. A period without events is one long
// interval, or as few as 63 bits allow.
func (t *Timeline) Pass(now unit.Time, end func(to unit.Time)) {
	t.cut(t.To, end)
	for t.period <= now-t.From {
		gap := min(now-t.From, max(longest, t.period))
		t.cut(t.From+gap/t.period*t.period, end)
	}
	t.To = t.From + t.period
}

// Rest closes the last, shorter interval.
func (t *Timeline) Rest(now unit.Time, end func(to unit.Time)) {
	if now > t.From {
		t.cut(now, end)
	}
}

func (t *Timeline) cut(to unit.Time, end func(unit.Time)) {
	end(to)
	t.From = to
}

// Close ends an interval of one queue: it returns the container-microseconds and the MiB-microseconds held in it.
func (q *Queue) Close(width unit.Time) (area int64, mem float64) {
	area, mem = q.area+q.Containers*int64(width), q.areaMem+float64(q.mem)*float64(width)
	q.area, q.areaMem = 0, 0
	return area, mem
}
