package mapreduce

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
)

// Where an activity is: on a device (its number), on the network, or waiting for an instant.
const (
	onNetwork int32 = -1 - iota
	onTimer
	nowhere
)

// What an activity does for its task.
type purpose uint8

const (
	aStep  purpose = iota // the next step of the task waits for it
	aRead                 // a block read from another node; the next step waits for it
	aFetch                // map outputs in transit to a reduce
	aMerge                // an in-memory merge of a reduce, which continues fetching
	aPart                 // one of several things that a step waits for together
)

// activity is work in progress for a task, at one device or on the network at a time. A task's activities are on its own list, so
// that a stopped task leaves nothing behind.
type activity struct {
	task       int32
	prev, next int32 // on the task's list; -1: none
	where      int32
	id         int32  // on the device or the network
	serial     uint32 // changes when the record is freed: earlier wake-ups are stale
	purpose    purpose
	stage      uint8 // of a transfer or a merge: what comes next
	edge       int16
	parts      int32
	store      int32 // the source disk of a transfer
	bytes      float64
	units      float64 // with noise, of the disk at the other end
	weight     float64 // seconds of nominal work, for progress
	began      float64 // instant
	rests      bool    // it is over, but its task, a straggler, still waits
	rested     float64 // instant at which that began
}

func (w *Worker) begin(t int32, p purpose) int32 {
	a := w.actNumbers.Take()
	ac, tk := dense.At(&w.acts, a), &w.tasks[t]
	*ac = activity{task: t, prev: -1, next: tk.acts, where: nowhere, serial: ac.serial, purpose: p, began: w.now}
	if tk.acts >= 0 {
		w.acts[tk.acts].prev = a
	}
	tk.acts = a
	return a
}

// end removes an activity from its task's list; it must be on no device.
func (w *Worker) end(a int32) {
	ac := &w.acts[a]
	if ac.prev >= 0 {
		w.acts[ac.prev].next = ac.next
	} else {
		w.tasks[ac.task].acts = ac.next
	}
	if ac.next >= 0 {
		w.acts[ac.next].prev = ac.prev
	}
	ac.serial++
	ac.task = -1
	w.actNumbers.Give(a)
}

// cancel removes an activity from its device or the network.
func (w *Worker) cancel(a int32) {
	ac := &w.acts[a]
	switch {
	case ac.where >= 0:
		d := w.advanced(ac.where)
		if w.acts[a].where >= 0 { // it did not finish just now
			d.Stop(node.ID(ac.id))
		}
	case ac.where == onNetwork:
		w.net.stop(w, a)
	}
	w.end(a)
}

func (w *Worker) data(a int32) uint64 { return uint64(w.acts[a].serial)<<32 | uint64(uint32(a)) }

// advanced returns a device advanced to now, to be changed. What finishes on the way is handled at the end of this call.
func (w *Worker) advanced(d int32) *node.Device {
	v := &w.devices[d]
	w.pass()
	v.Advance(w.now, w.collect)
	if !v.touched {
		v.touched = true
		w.touched = append(w.touched, d)
	}
	return v.Device
}

// work puts an activity on a device.
func (w *Worker) work(a, device int32, units float64) {
	d := w.advanced(device)
	ac := &w.acts[a]
	ac.where, ac.id = device, int32(d.Start(units*w.devices[device].pace, w.data(a)))
}

// delay lets an activity wait.
func (w *Worker) delay(a int32, seconds float64) {
	w.acts[a].where = onTimer
	if wait := unit.FromSeconds(seconds); wait < latest-w.host.Now() {
		w.host.At(w.host.Now()+wait, wakeTimer|w.data(a)&(1<<54-1))
	}
}

// finished notes that an activity has finished on its device. It is called by devices and the network.
func (w *Worker) finished(data uint64) {
	a := int32(uint32(data))
	if w.acts[a].serial != uint32(data>>32) {
		return
	}
	w.acts[a].where = nowhere
	w.over = append(w.over, data)
}

// went handles an activity that has finished on its device.
func (w *Worker) went(a int32) {
	ac := &w.acts[a]
	t := ac.task
	switch ac.purpose {
	case aStep:
		w.stepDone(a)
	case aRead, aFetch:
		w.transfer(a)
	case aMerge:
		w.merge(a)
	case aPart:
		tk := &w.tasks[t]
		if tk.parts--; tk.parts == 0 {
			w.stepDone(a)
			return
		}
		tk.done += ac.weight
		w.end(a)
	}
}

// stepDone ends what a task's next step waits for. A straggler idles for a while before it continues: it is slower by its factor
// for no observable reason, and so without using shared resources.
func (w *Worker) stepDone(a int32) {
	ac := &w.acts[a]
	tk := &w.tasks[ac.task]
	if tk.slow > 1 && !ac.rests {
		ac.purpose, ac.rests, ac.rested = aStep, true, w.now
		w.delay(a, (tk.slow-1)*(w.now-ac.began))
		return
	}
	t := ac.task
	tk.done += ac.weight
	w.end(a)
	w.step(t)
}

// A transfer goes through these stages: the request travels, the disk that holds the data reads it, the network carries it.
const (
	requested uint8 = iota
	reading
	carrying
)

// transfer begins the next stage of a transfer.
func (w *Worker) transfer(a int32) {
	for {
		ac := &w.acts[a]
		src, dst := w.stores[ac.store].node, w.tasks[ac.task].node
		ac.stage++
		switch ac.stage {
		case reading:
			w.work(a, w.stores[ac.store].device, ac.units)
			return
		case carrying:
			if src != dst && w.net != nil {
				w.net.start(w, a, src, dst, ac.bytes)
				return
			}
		default:
			w.arrived(a)
			return
		}
	}
}

// request starts a transfer.
func (w *Worker) request(a int32) {
	ac := &w.acts[a]
	ac.stage = requested
	from, to := w.stores[ac.store].node, w.tasks[ac.task].node
	if from != to && w.net != nil {
		if s := w.net.roundTrip(from, to); s > 0 {
			w.delay(a, s)
			return
		}
	}
	w.transfer(a)
}

// arrived handles the end of a transfer.
func (w *Worker) arrived(a int32) {
	ac := &w.acts[a]
	if ac.purpose == aFetch {
		w.fetched(a)
		return
	}
	w.stepDone(a)
}
