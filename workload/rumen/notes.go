package rumen

import "github.com/yardmaster/yardmaster/workload"

type counts struct {
	jobs, kept, maps, reduces                  int64
	noSubmit, noTasks, failed, failedDropped   int64
	early, unsorted, noQueue, unlisted, noSize int64
	meant, observed, dropped                   int64 // tasks without a successful attempt
	others, extraHosts                         int64
}

// Notes lists what was read so far and how it was interpreted.
func (r *Reader) Notes() []workload.Note {
	c := &r.counts
	var n workload.Notes
	n.Say("Rumen: read %d jobs, kept %d with %d maps and %d reduces", c.jobs, c.kept, c.maps, c.reduces)
	n.Add(c.noSubmit, "Rumen: jobs without a submit time dropped")
	n.Add(c.noTasks, "Rumen: jobs without a task whose length is known dropped")
	n.Add(c.failedDropped, "Rumen: jobs that failed or were killed dropped")
	n.Add(c.failed, "Rumen: jobs that failed or were killed are kept, as if they had run to their end")
	n.Add(c.early, "Rumen: jobs submitted before the instant that counts as 0 are submitted at 0")
	n.Add(c.unsorted, "Rumen: jobs stand out of the order of their submit times")
	n.Add(c.noQueue, "Rumen: jobs without a queue go to queue default")
	n.Add(c.unlisted, "Rumen: jobs list fewer maps than they say they have: the listed ones are taken")
	n.Add(c.meant, "Rumen: tasks without a successful attempt take the mean length of their stage")
	n.Add(c.observed, "Rumen: tasks without a successful attempt take the length of their longest attempt")
	n.Add(c.dropped, "Rumen: tasks without a successful attempt dropped")
	n.Add(c.others, "Rumen: set-up and clean-up tasks left out")
	n.Add(c.extraHosts, "Rumen: hosts of input left out: %d are kept for a task", maxNear)
	if c.reduces > 0 {
		n.Say("Rumen: reduces may start when %.3g of the maps are done", r.opt.SlowStart)
		n.Say("Rumen: a reduce's length is what it did after its job's last map")
	}
	if r.opt.Retried {
		n.Say("Rumen: a task's length includes the attempts that ended before the successful one began")
	}
	if r.opt.TrackerClock {
		n.Say("Rumen: task lengths are on the job tracker's clock, failed attempts and delays of reporting included")
	}
	n.Add(c.noSize, "Rumen: jobs without container sizes ask for %v", r.opt.Ask)
	return n
}
