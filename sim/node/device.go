// Package node models what tasks share inside a machine: processors, disks and memory.
//
// A Device shares its speed equally among the tasks on it (processor sharing, as in MRPERF): with rate R, k servers and n tasks
// each task progresses at
//
//	R * min(1, k/n) * efficiency(n)    units per second
//
// so that eight tasks on eight cores do not slow each other down and two on one disk take twice as long. A processor's unit is a
// cycle and it has one server per core; a disk's unit is a byte read and it has one server (see Disk).
//
// A device keeps a virtual clock: the work that each present task has received since the device was last idle. A task that joins
// at virtual time v with u units of work finishes at v+u, whatever tasks come and go meanwhile; only the speed of the virtual
// clock changes. So a change costs O(log n), and nothing is allocated once the device has seen its maximum number of tasks.
//
// Invariants: no task progresses faster than R; the units that tasks received add up to what the device did; tasks that finish
// together are reported in order of start.
//
// Instants are float64 seconds. A device is driven by one goroutine.
package node

import (
	"math"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/sim/internal/due"
)

// ID identifies a task on a device. It is reused after the task has finished or was stopped.
type ID int32

// Efficiency is the share of its speed that a device keeps with n tasks on it, in (0, 1]; n is at least 1.
type Efficiency func(n int) float64

// Spec describes a device.
type Spec struct {
	Rate       float64    // units per second of one server
	Servers    int        // 0: 1
	Efficiency Efficiency // nil: 1 whatever the number of tasks
}

type task struct {
	units float64
	data  uint64
}

// Device is a resource that tasks share equally.
type Device struct {
	spec    Spec
	servers float64

	now     float64
	virtual float64 // virtual clock at now
	speed   float64 // of the virtual clock: units per second for each task
	serial  int64

	tasks   []task
	pos     []int32 // by task: its index in heap; -1: unused
	numbers dense.Numbers
	heap    due.Heap // by finish on the virtual clock, then by start

	worked float64
	busy   float64
}

// NewDevice makes an idle device at instant 0. Its rate must be positive.
func NewDevice(s Spec) *Device {
	if !(s.Rate > 0) || math.IsInf(s.Rate, 0) || s.Servers < 0 {
		panic("node: a device needs a positive rate and servers")
	}
	return &Device{spec: s, servers: float64(max(s.Servers, 1))}
}

// Now is the device's current time.
func (d *Device) Now() float64 { return d.now }

// Len counts the tasks present.
func (d *Device) Len() int { return len(d.heap) }

// Start adds a task with the given units of work, now. data is passed to done when it finishes.
func (d *Device) Start(units float64, data uint64) ID {
	if !(units > 0) {
		units = 0
	}
	id := d.numbers.Take()
	*dense.At(&d.tasks, id) = task{units, data}
	dense.At(&d.pos, id)
	d.serial++
	d.heap.Push(d.pos, due.Item{At: d.virtual + units, Tie: d.serial, ID: id})
	d.crowd()
	return ID(id)
}

// Stop removes a task, now, and returns the units it had left.
func (d *Device) Stop(id ID) (left float64) {
	left = d.Left(id)
	d.remove(id)
	return left
}

// Left is the number of units a task has left.
func (d *Device) Left(id ID) float64 { return max(0, d.finish(id)-d.virtual) }

// finish is a task's finish on the virtual clock.
func (d *Device) finish(id ID) float64 {
	if d.pos[id] < 0 {
		panic("node: a task that is not on the device")
	}
	return d.heap[d.pos[id]].At
}

// Share is a task's progress at an instant, if nothing changes before; from 0 to 1. It does not go beyond the next finish, which
// changes the speed, and reads the virtual clock as pass will set it: so it never falls, though the clock may be coarse relative to a
// small task.
func (d *Device) Share(id ID, instant float64) float64 {
	tk := &d.tasks[id]
	if !(tk.units > 0) {
		return 1
	}
	virtual := d.virtual
	if instant = min(instant, d.due()); instant > d.now {
		virtual += d.speed * (instant - d.now)
	}
	return min(1, max(0, 1-(d.finish(id)-virtual)/tk.units))
}

// Worked is the total work done, in units.
func (d *Device) Worked() float64 { return d.worked }

// Busy is the busy time in seconds, averaged over the servers: one of four servers for a second counts a quarter.
func (d *Device) Busy() float64 { return d.busy }

// Next is the instant at which the next task finishes at the current speed.
func (d *Device) Next() (at float64, ok bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.due(), true
}

func (d *Device) due() float64 {
	return d.now + max(0, d.heap[0].At-d.virtual)/d.speed
}

// Advance moves the device's time forward to an instant, calling done for every task that finishes on the way, at the instant of
// its finish. done may start and stop tasks; its task's ID is already free.
func (d *Device) Advance(end float64, done func(id ID, data uint64)) {
	for len(d.heap) > 0 {
		instant := d.due()
		if instant > end {
			break
		}
		first := d.heap[0]
		id := ID(first.ID)
		data := d.tasks[id].data
		d.pass(instant)
		d.virtual = max(d.virtual, first.At) // exactly, so that simultaneous finishes stay simultaneous
		d.remove(id)
		if done != nil {
			done(id, data)
		}
	}
	if end > d.now {
		d.pass(end)
	}
}

// remove removes a task from any position.
func (d *Device) remove(id ID) {
	d.heap.Remove(d.pos, d.pos[id])
	d.numbers.Give(int32(id))
	d.crowd()
}

// pass advances time with a constant number of tasks.
func (d *Device) pass(to float64) {
	dt := to - d.now
	d.now = to
	if n := float64(len(d.heap)); n > 0 {
		given := d.speed * dt
		d.virtual += given
		d.worked += given * n
		d.busy += dt * min(1, n/d.servers)
	}
}

// crowd sets the speed for the number of tasks.
func (d *Device) crowd() {
	n := len(d.heap)
	if n == 0 {
		d.virtual, d.speed = 0, 0 // the clock restarts, so that it stays precise
		return
	}
	d.speed = d.spec.Rate * min(1, d.servers/float64(n))
	if d.spec.Efficiency != nil {
		d.speed *= d.spec.Efficiency(n)
	}
}
