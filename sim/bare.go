package sim

import (
	"github.com/yardmaster/yardmaster/sim/internal/radix"
	"github.com/yardmaster/yardmaster/unit"
)

// BareLoop is the baseline for the simulator's speed: an empty event loop. It keeps the queue at the given length and pops
// and pushes that many events, each later than the one popped by the next of delays, in turn. It returns the instant of the
// last event, so that the compiler cannot drop the loop.
func BareLoop(events int64, length int, delays []unit.Time) unit.Time {
	var q radix.Queue
	k := 0
	delay := func() unit.Time {
		if k++; k == len(delays) {
			k = 0
		}
		return delays[k]
	}
	for i := range length {
		q.Push(delay(), uint64(i), 0)
	}
	var last unit.Time
	for range events {
		e, _ := q.Pop()
		last = e.At
		q.Push(last+delay(), e.What, last)
	}
	return last
}
