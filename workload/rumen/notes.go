package rumen

import (
	"fmt"

	"github.com/yardmaster/yardmaster/workload"
)

type counts struct {
	jobs, kept, maps, reduces                  int64
	noSubmit, noTasks, failed, failedDropped   int64
	early, unsorted, noQueue, unlisted, noSize int64
	meant, observed, dropped                   int64 // tasks without a successful attempt
	others, extraHosts                         int64
}

// Notes says what was read so far and how it was taken.
func (r *Reader) Notes() []workload.Note {
	c := &r.counts
	notes := []workload.Note{
		{Text: fmt.Sprintf("Rumen: read %d jobs, kept %d with %d maps and %d reduces", c.jobs, c.kept, c.maps, c.reduces)},
	}
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			notes = append(notes, workload.Note{Text: "Rumen: " + fmt.Sprintf(format, args...), Count: n})
		}
	}
	say := func(format string, args ...any) {
		notes = append(notes, workload.Note{Text: "Rumen: " + fmt.Sprintf(format, args...)})
	}
	add(c.noSubmit, "jobs without a submit time dropped")
	add(c.noTasks, "jobs without a task whose length is known dropped")
	add(c.failedDropped, "jobs that failed or were killed dropped")
	add(c.failed, "jobs that failed or were killed are kept, as if they had run to their end")
	add(c.early, "jobs submitted before the instant that counts as 0 are submitted at 0")
	add(c.unsorted, "jobs stand out of the order of their submit times")
	add(c.noQueue, "jobs without a queue go to queue default")
	add(c.unlisted, "jobs list fewer maps than they say they have: the listed ones are taken")
	add(c.meant, "tasks without a successful attempt take the mean length of their stage")
	add(c.observed, "tasks without a successful attempt take the length of their longest attempt")
	add(c.dropped, "tasks without a successful attempt dropped")
	add(c.others, "set-up and clean-up tasks left out")
	add(c.extraHosts, "hosts of input left out: %d are kept for a task", maxNear)
	if c.reduces > 0 {
		say("reduces may start when %.3g of the maps are done", r.opt.SlowStart)
		switch r.opt.ReduceLength {
		case OwnWork:
			say("a reduce's length is what it did after its job's last map")
		case AfterShuffle:
			say("a reduce's length is what it did after its shuffle")
		case Full:
			say("a reduce's length is all of it, waiting for maps included")
		}
	}
	if r.opt.Retried {
		say("a task's length includes the attempts that ended before the successful one began")
	}
	if r.opt.TrackerClock {
		say("task lengths are on the job tracker's clock, failed attempts and delays of reporting included")
	}
	add(c.noSize, "jobs without container sizes ask for %v", r.opt.Ask)
	return notes
}
