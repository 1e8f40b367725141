package sls

import (
	"fmt"

	"github.com/yardmaster/yardmaster/workload"
)

type counts struct {
	headers, jobs, kept, tasks         int64
	noTasks, noQueue, early, unsorted  int64
	rebased, stray, delayed, opportune int64
	labelled, streams, renamed         int64
}

// see counts what of a job is not modelled.
func (c *counts) see(p *parser) {
	c.delayed += p.delayed
	c.opportune += p.opportunistic
	if p.labelled {
		c.labelled++
	}
	if p.kind() == "stream" {
		c.streams++
	}
	if p.amType == "" && p.oldType != "" && p.oldType != "mapreduce" {
		c.renamed++
	}
}

// Notes says what was read so far and how it was taken.
func (r *Reader) Notes() []workload.Note {
	c := &r.counts
	n := notes{{Text: fmt.Sprintf("SLS: read %d jobs, made %d with %d tasks", c.jobs, c.kept, c.tasks)}}
	if r.nodes > 0 {
		n.say("SLS: the trace speaks of %d nodes in %d racks", r.nodes, r.racks)
	}
	n.add(c.noTasks, "SLS: jobs without tasks dropped")
	n.add(c.early, "SLS: jobs submitted before the first one in the file are submitted at 0")
	n.add(c.unsorted, "SLS: jobs stand out of the order of their submit times")
	n.add(c.noQueue, "SLS: jobs without a queue go to queue default")
	n.add(c.stray, "SLS: tasks of a mapreduce job that are neither map nor reduce run beside its maps; SLS would leave them out")
	n.add(c.delayed, "SLS: tasks with a request delay are asked for at once")
	n.add(c.opportune, "SLS: tasks of opportunistic containers run in guaranteed ones")
	n.add(c.labelled, "SLS: jobs with a node label run on any node")
	n.add(c.streams, "SLS: stream jobs run each of their containers once")
	n.add(c.renamed, "SLS: jobs name their kind in am.type, which SLS itself does not look at")
	if c.rebased > 0 {
		n.say("SLS: submit times count from 1970; the first job's is taken as 0")
	}
	if c.kept > 0 {
		n.say("SLS: reduces start when all maps are done; containers without a size are of %v", r.opt.Ask)
		if !r.opt.NoMaster {
			n.say("SLS: masters without a size are of %v", r.opt.Master)
		}
	}
	return n
}

// notes is a list that is easy to add to.
type notes []workload.Note

func (n *notes) add(count int64, text string) {
	if count > 0 {
		*n = append(*n, workload.Note{Text: text, Count: count})
	}
}

func (n *notes) say(format string, args ...any) {
	*n = append(*n, workload.Note{Text: fmt.Sprintf(format, args...)})
}
