// Package radix is the engines' event queue: a monotone priority queue for integer instants.
package radix

import (
	"math/bits"

	"github.com/yardmaster/yardmaster/unit"
)

// Event is one entry of the queue: an instant and what happens then. What and Start are opaque to the queue.
type Event struct {
	At    unit.Time
	What  uint64
	Start unit.Time
}

// Queue is a radix heap: a priority queue for integer keys that never fall below the last one taken.
//
// Bucket b > 0 holds the events whose instant differs from last first at bit b-1, counted from the lowest; bucket 0 holds
// those at exactly last. An event only ever moves to a lower bucket, so a push and a pop together cost at most one move
// a bit, amortised, over memory that is read in order. Events at the same instant always share a bucket and keep their
// order through every move: they leave first in, first out. That order, (time, sequence), makes a run deterministic.
//
// There is no peek: it would have to move last beyond instants that may still be pushed.
type Queue struct {
	last    unit.Time
	n       int
	head    int    // next of bucket 0
	used    uint64 // bit b: bucket b > 0 is not empty
	buckets [64][]Event
}

// Push adds an event; at must not precede the event popped last.
func (q *Queue) Push(at unit.Time, what uint64, start unit.Time) {
	if at < q.last {
		panic("radix: an event in the past")
	}
	b := bits.Len64(uint64(at ^ q.last))
	q.buckets[b&63] = append(q.buckets[b&63], Event{at, what, start})
	q.used |= 1 << uint(b)
	q.n++
}

// Pop removes the earliest event; ok is false if the queue is empty.
func (q *Queue) Pop() (e Event, ok bool) {
	if q.head == len(q.buckets[0]) {
		if q.n == 0 {
			return Event{}, false
		}
		q.refill()
	}
	e = q.buckets[0][q.head]
	q.head++
	q.n--
	return e, true
}

// refill moves the lowest non-empty bucket down, so that bucket 0 has the earliest events.
func (q *Queue) refill() {
	q.buckets[0] = q.buckets[0][:0]
	q.head = 0
	b := bits.TrailingZeros64(q.used &^ 1)
	bucket := q.buckets[b]
	q.used &^= 1<<uint(b) | 1
	q.buckets[b] = bucket[:0]
	if len(bucket) == 1 {
		q.last = bucket[0].At
		q.buckets[0] = append(q.buckets[0], bucket[0])
		return
	}
	earliest := bucket[0].At
	for i := range bucket {
		earliest = min(earliest, bucket[i].At)
	}
	q.last = earliest
	for i := range bucket {
		to := bits.Len64(uint64(bucket[i].At^earliest)) & 63
		q.buckets[to] = append(q.buckets[to], bucket[i])
		q.used |= 1 << uint(to)
	}
}

// Last is the instant of the event popped last.
func (q *Queue) Last() unit.Time { return q.last }

// Len is the number of queued events.
func (q *Queue) Len() int { return q.n }
