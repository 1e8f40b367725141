package sim

import (
	"math/bits"

	"github.com/yardmaster/yardmaster/unit"
)

// event is one entry of the event queue: an instant and what happens then. Only the loop knows how to read what.
type event struct {
	at    unit.Time
	what  uint64    // kind in the top byte, argument below
	start unit.Time // of a plain task
}

// queue is a radix heap: a priority queue for integer keys that never fall below the last one taken.
//
// Bucket b > 0 holds the events whose instant differs from last first at bit b-1, counted from the lowest; bucket 0 holds
// those at exactly last. An event only ever moves to a lower bucket, so a push and a pop together cost at most one move
// a bit, amortised, over memory that is read in order. Events at the same instant always share a bucket and keep their
// order through every move: they leave first in, first out. That order, (time, sequence), makes a run deterministic.
//
// There is no peek: looking at the next event would have to move last beyond instants that may still be pushed.
type queue struct {
	last    unit.Time
	n       int
	head    int    // next of bucket 0
	used    uint64 // bit b: bucket b > 0 is not empty
	buckets [64][]event
}

// push adds an event; at must not lie before the event taken last.
func (q *queue) push(at unit.Time, what uint64, start unit.Time) {
	if at < q.last {
		panic("sim: an event in the past")
	}
	b := bits.Len64(uint64(at ^ q.last))
	q.buckets[b&63] = append(q.buckets[b&63], event{at, what, start})
	q.used |= 1 << uint(b)
	q.n++
}

// pop takes the earliest event; ok is false when there is none.
func (q *queue) pop() (e event, ok bool) {
	if q.head == len(q.buckets[0]) {
		if q.n == 0 {
			return event{}, false
		}
		q.refill()
	}
	e = q.buckets[0][q.head]
	q.head++
	q.n--
	return e, true
}

// refill moves the lowest non-empty bucket down, so that bucket 0 has the earliest events.
func (q *queue) refill() {
	q.buckets[0] = q.buckets[0][:0]
	q.head = 0
	b := bits.TrailingZeros64(q.used &^ 1)
	from := q.buckets[b]
	q.used &^= 1<<uint(b) | 1
	q.buckets[b] = from[:0]
	if len(from) == 1 {
		q.last = from[0].at
		q.buckets[0] = append(q.buckets[0], from[0])
		return
	}
	earliest := from[0].at
	for i := range from {
		earliest = min(earliest, from[i].at)
	}
	q.last = earliest
	for i := range from {
		to := bits.Len64(uint64(from[i].at^earliest)) & 63
		q.buckets[to] = append(q.buckets[to], from[i])
		q.used |= 1 << uint(to)
	}
}
