package synth

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Resampled is the Respread that recombines the days or hours of a history: a block bootstrap.
const Resampled = "resampled"

// blocks is how a history is cut for a block bootstrap.
type blocks struct {
	first, length unit.Time
	whole         int // blocks to draw from
	slots         int // blocks to fill; the last may be shorter
	every         int // a slot takes a block a multiple of this away: 24 hours, or any
}

// blocksOf cuts a history into days. With less than five of them to draw from, it takes hours, each from the same hour of a day; with less
// than two, any hours.
func blocksOf(base workload.Slice) blocks {
	if len(base) == 0 {
		return blocks{}
	}
	b := blocks{first: base[0].Submit, length: unit.Day, every: 1}
	span := base[len(base)-1].Submit - b.first
	cut := func() {
		b.whole = int((span + b.length/20) / b.length) // a day that lacks its last hour is whole
		b.slots = max(b.whole, int((span+b.length)/b.length))
	}
	if cut(); b.whole >= 5 {
		return b
	} else if b.whole >= 2 {
		b.every = 24
	}
	b.length = unit.Hour
	cut()
	return b
}

// Covers says what resampled arrivals of a history vary.
func Covers(base workload.Slice) string {
	switch b := blocksOf(base); {
	case b.length == unit.Day:
		return fmt.Sprintf("days drawn from %d days of history: intervals cover other weeks like these", b.whole)
	case b.every > 1:
		return fmt.Sprintf("each hour drawn from the same hour of %d days of history: intervals cover other days like these, not other weeks", b.whole/b.every)
	default:
		return fmt.Sprintf("hours drawn from %d hours of history: intervals cover chance within that time, not other days", b.whole)
	}
}

// resample fills the time of a history with blocks of it. Jobs drawn more than once get new names.
func resample(base workload.Slice, random *rand.Rand) (workload.Slice, error) {
	b := blocksOf(base)
	if b.whole < 2 {
		return nil, fmt.Errorf("arrivals %s: the history must span two hours or more", Resampled)
	}
	at := func(t unit.Time) int { // the first job at or after
		i, _ := slices.BinarySearchFunc(base, t, func(j *workload.Job, t unit.Time) int {
			if j.Submit < t {
				return -1
			}
			return 1
		})
		return i
	}
	var out workload.Slice
	used := make([]int, len(base))
	end := base[len(base)-1].Submit
	for slot := range b.slots {
		from := slot % b.every
		from += b.every * random.IntN((b.whole-from+b.every-1)/b.every)
		start := b.first + unit.Time(from)*b.length
		by := unit.Time(slot-from) * b.length
		for i := at(start); i < len(base) && base[i].Submit < start+b.length && base[i].Submit+by <= end; i++ {
			j := *base[i] // jobs are shared
			if used[i]++; used[i] > 1 {
				j.ID = fmt.Sprintf("%s.%d", j.ID, used[i])
			}
			j.Submit, j.Observed = j.Submit+by, nil
			if j.Deadline > 0 {
				j.Deadline += by
			}
			out = append(out, &j)
		}
	}
	return out, nil
}
