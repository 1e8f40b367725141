package google

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// finish ends reading and returns all jobs, sorted.
func (n *join) finish() []*workload.Job {
	for _, j := range n.ending {
		n.put(j)
	}
	n.ending = nil
	for _, j := range slices.SortedFunc(maps.Values(n.open), func(a, b *job) int { return cmp.Compare(a.id, b.id) }) {
		if j.hasEvents || len(j.tasks) > 0 || j.runs == 0 {
			n.counts.unfinished++
			continue
		}
		j.ended, j.end = j.lastTask, finish // only its tasks are known, and all of them ended
		n.put(j)
	}
	n.open, n.text, n.gone = nil, nil, nil
	slices.SortFunc(n.done, func(a, b *workload.Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return n.done
}

func (n *join) put(j *job) {
	delete(n.open, j.id)
	n.gone[j.id] = struct{}{}
	open := len(j.tasks)
	n.tasks -= open
	if n.opt.FinishedOnly && j.end != finish {
		n.counts.dropped++
		return
	}
	seen := j.lastTask != unknown || open > 0
	left := slices.Sorted(maps.Keys(j.tasks))
	tasks := j.runs + int64(open) // those that only waited count as tasks too
	for _, number := range left {
		switch t := j.tasks[number]; {
		case t.since != unknown:
			j.add(number, n.between(t.since, j.ended))
			n.counts.taskCut++
		case t.attempt != unknown:
			j.add(number, t.attempt)
		}
	}
	if !seen && j.hasEvents {
		if j.scheduled == unknown && j.end != finish {
			n.counts.neverRan++
			return
		}
		from := j.scheduled
		if from == unknown {
			from = j.submit
		}
		j.add(0, n.between(from, j.ended))
		n.counts.noTasks++
		tasks = 1
	}
	if j.runs == 0 {
		n.counts.neverRan++
		return
	}
	n.keep(j, tasks)
}

func (n *join) keep(j *job, tasks int64) {
	n.counts.kept++
	n.counts.tasks += tasks
	outcome := map[kind]string{finish: "SUCCESS", kill: "KILLED", fail: "FAILED", lost: "LOST", evict: "EVICTED"}[j.end]
	if j.end != finish {
		n.counts.unsuccessful++
	}
	if j.submit <= 0 {
		n.counts.early++
	}
	launch := j.scheduled
	if launch == unknown {
		launch = j.submit
	}
	n.done = append(n.done, &workload.Job{
		ID: strconv.FormatInt(j.id, 10), Name: j.name, User: j.user, Queue: "default",
		Class: "class" + strconv.Itoa(j.class), Submit: n.sinceStart(j.submit), Priority: j.priority,
		Stages: []workload.Stage{{
			Name: "tasks", Kind: workload.Other, Tasks: tasks, Ask: n.ask(j), Length: j.lengths(tasks),
		}},
		Observed: &workload.Observed{Launch: n.sinceStart(launch), Finish: n.sinceStart(j.ended), Outcome: outcome},
	})
}

func (n *join) ask(j *job) unit.Resources {
	scale := func(share float64, whole, minimum int64) int64 {
		return max(minimum, int64(math.Ceil(share*float64(whole))))
	}
	return unit.Resources{
		Mem:   scale(j.mem, n.opt.Machine.Mem, cluster.Unit.Mem),
		Cores: scale(j.cpu, n.opt.Machine.Cores, cluster.Unit.Cores),
	}
}

// lengths is a list for a small job, a quantile table for a large one. A job with tasks of unknown length gets a
// table too, so that those are drawn from the others.
func (j *job) lengths(tasks int64) workload.Lengths {
	if tasks <= listUpTo && int64(len(j.ran)) == tasks {
		slices.SortFunc(j.ran, func(a, b ran) int { return cmp.Compare(a.task, b.task) })
		if tasks == 1 {
			return workload.Fixed(j.ran[0].length)
		}
		values := make([]unit.Time, tasks)
		for i := range values {
			values[i] = j.ran[i].length
		}
		return workload.Lengths{Kind: workload.List, Values: values}
	}
	slices.SortFunc(j.ran, func(a, b ran) int { return cmp.Compare(a.length, b.length) })
	size := min(quantiles, len(j.ran))
	values := make([]unit.Time, size)
	for i := range values {
		at := 0
		if size > 1 {
			at = i * (len(j.ran) - 1) / (size - 1)
		}
		values[i] = j.ran[at].length
	}
	values[0], values[size-1] = j.shortest, j.longest
	return workload.Lengths{Kind: workload.Quantiles, Values: values}
}
