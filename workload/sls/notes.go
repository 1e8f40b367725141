package sls

import "github.com/yardmaster/yardmaster/workload"

type counts struct {
	jobs, kept, tasks                  int64
	noTasks, noQueue, early, unsorted  int64
	rebased, stray, delayed, opportune int64
	labelled, streams, renamed         int64
}

// see counts features of a job that are not modelled.
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

// Notes lists what was read so far and how it was interpreted.
func (r *Reader) Notes() []workload.Note {
	c := &r.counts
	var n workload.Notes
	n.Say("SLS: read %d jobs, made %d with %d tasks", c.jobs, c.kept, c.tasks)
	if r.nodes > 0 {
		n.Say("SLS: the trace speaks of %d nodes in %d racks", r.nodes, r.racks)
	}
	n.Add(c.noTasks, "SLS: jobs without tasks dropped")
	n.Add(c.early, "SLS: jobs submitted before the first one in the file are submitted at 0")
	n.Add(c.unsorted, "SLS: jobs stand out of the order of their submit times")
	n.Add(c.noQueue, "SLS: jobs without a queue go to queue default")
	n.Add(c.stray, "SLS: tasks of a mapreduce job that are neither map nor reduce run beside its maps; SLS would leave them out")
	n.Add(c.delayed, "SLS: tasks with a request delay are asked for at once")
	n.Add(c.opportune, "SLS: tasks of opportunistic containers run in guaranteed ones")
	n.Add(c.labelled, "SLS: jobs with a node label run on any node")
	n.Add(c.streams, "SLS: stream jobs run each of their containers once")
	n.Add(c.renamed, "SLS: jobs name their kind in am.type, which SLS itself does not look at")
	if c.rebased > 0 {
		n.Say("SLS: submit times count from 1970; the first job's is taken as 0")
	}
	if c.kept > 0 {
		n.Say("SLS: reduces start when all maps are done; containers without a size are of %v", r.opt.Ask)
		if !r.opt.NoAM {
			n.Say("SLS: AMs without a size are of %v", r.opt.AM)
		}
	}
	return n
}
