package rumen

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// build makes a job from the parser's fields; nil when the job is dropped.
func (r *Reader) build() (*workload.Job, error) {
	p, c := &r.p, &r.counts
	c.jobs++
	failed := p.outcome != "" && p.outcome != "SUCCESS" && p.outcome != "SUCCEEDED"
	switch {
	case p.submit == none:
		c.noSubmit++
		return nil, nil
	case failed && r.opt.DropFailed:
		c.failedDropped++
		return nil, nil
	}
	if !r.based {
		r.base, r.based = p.submit, true
	}
	j := &workload.Job{
		ID: p.id, Name: p.name, User: p.user, Queue: p.queue, Priority: p.priority,
		AM: r.opt.AM, Submit: r.since(p.submit), Observed: r.observed(),
	}
	if j.ID == "" {
		return nil, r.js.Errorf("the job has no jobID")
	}
	j.Queue = cmp.Or(j.Queue, "default")
	early := j.Submit < 0
	if early {
		j.Submit = 0
	}
	r.stages(j)
	if len(j.Stages) == 0 {
		c.noTasks++
		return nil, nil
	}
	if err := j.Validate(); err != nil {
		return nil, r.js.Errorf("%w", err)
	}
	if j.Submit < r.last {
		c.unsorted++
	}
	r.last = max(r.last, j.Submit)
	if early {
		c.early++
	}
	if failed {
		c.failed++
	}
	if p.queue == "" {
		c.noQueue++
	}
	if p.totalMaps > int64(len(p.maps)) {
		c.unlisted++
	}
	c.extraHosts += p.extraHosts
	c.kept++
	return j, nil
}

// since converts a time to the workload's clock.
func (r *Reader) since(ms int64) unit.Time { return unit.Time(ms-r.base) * unit.Millisecond }

func (r *Reader) observed() *workload.Observed {
	p := &r.p
	if p.finish == none {
		return &workload.Observed{Launch: r.since(p.submit), Outcome: p.outcome}
	}
	launch := p.launch
	if launch == none {
		launch = p.submit
	}
	return &workload.Observed{Launch: r.since(launch), Finish: r.since(p.finish), Outcome: p.outcome}
}

// stages sets the job's stages: set-up, map, reduce, clean-up, those without tasks omitted.
func (r *Reader) stages(j *workload.Job) {
	p, c := &r.p, &r.counts
	lastMap := int64(none)
	for i := range p.maps {
		if t := &p.maps[i]; t.full != none {
			lastMap = max(lastMap, t.finish)
		}
	}
	maps := workload.Stage{Name: "map", Kind: workload.Map, Ask: r.ask(p.mapMB), Input: unit.Bytes(p.read)}
	r.fill(&maps, p.maps, r.mapLength)
	reduces := workload.Stage{Name: "reduce", Kind: workload.Reduce, Ask: r.ask(p.reduceMB), Output: unit.Bytes(p.written)}
	r.fill(&reduces, p.reduces, func(t *task) int32 { return r.reduceLength(t, lastMap) })
	if maps.Tasks+reduces.Tasks == 0 {
		return
	}
	if reduces.Tasks == 0 {
		maps.Output = unit.Bytes(p.mapWritten)
	}
	if maps.Tasks > 0 && p.mapMB <= 0 || reduces.Tasks > 0 && p.reduceMB <= 0 {
		c.noSize++
	}
	c.maps += maps.Tasks
	c.reduces += reduces.Tasks

	add := func(s workload.Stage, e workload.Edge) {
		if s.Tasks == 0 {
			return
		}
		if n := len(j.Stages); n > 0 {
			e.From = n - 1
			s.After = []workload.Edge{e}
		}
		j.Stages = append(j.Stages, s)
	}
	all := workload.Edge{SlowStart: 1}
	add(r.otherStage("setup", false), all)
	add(maps, all)
	toReduce := all
	if maps.Tasks > 0 {
		toReduce = workload.Edge{SlowStart: r.opt.SlowStart, Shuffle: unit.Bytes(p.shuffled)}
		if p.shuffled == 0 {
			toReduce.Shuffle = unit.Bytes(p.passed)
		}
	}
	add(reduces, toReduce)
	add(r.otherStage("cleanup", true), all)
}

// ask is a container of mb MiB, if the trace gives it.
func (r *Reader) ask(mb int64) unit.Resources {
	if mb <= 0 {
		return r.opt.Ask
	}
	return unit.Resources{Mem: mb, Cores: r.opt.Ask.Cores}
}

// otherStage is the set-up or clean-up of the job. Hadoop may have tried it several times; a successful attempt counts.
func (r *Reader) otherStage(name string, cleanup bool) workload.Stage {
	s := workload.Stage{Name: name, Kind: workload.Other, Ask: r.ask(r.p.mapMB)}
	for i := range r.p.others {
		o := &r.p.others[i]
		if o.cleanup != cleanup || o.full == none {
			continue
		}
		if !r.opt.Others {
			r.counts.others++
			continue
		}
		switch o.slot {
		case 'm':
			s.Kind = workload.Map
		case 'r':
			s.Kind = workload.Reduce
		}
		s.Tasks = 1
		s.Length = workload.Fixed(unit.Time(r.mapLength(&o.task)) * unit.Millisecond)
		break
	}
	return s
}

// mapLength is how long a task ran; none without a successful attempt.
func (r *Reader) mapLength(t *task) int32 {
	if r.opt.TrackerClock && t.full != none && t.span != none {
		return t.span
	}
	if r.opt.Retried && t.full != none {
		return int32(min(int64(t.full)+int64(t.before), maxLength))
	}
	return t.full
}

// reduceLength is a reduce's length: see the package comment.
func (r *Reader) reduceLength(t *task, lastMap int64) int32 {
	full := r.mapLength(t)
	switch {
	case full == none:
		return none
	case lastMap != none && t.finish != none:
		return int32(min(max(t.finish-lastMap, int64(max(t.shuffled, 0))), int64(full)))
	case t.shuffled != none:
		return t.shuffled
	}
	return full
}

// fill sets a stage's task lengths and hosts, by task number.
func (r *Reader) fill(s *workload.Stage, tasks []task, lengthOf func(*task) int32) {
	c := &r.counts
	slices.SortStableFunc(tasks, func(a, b task) int { return cmp.Compare(a.num, b.num) })
	var sum, known, longest, tried int64
	for i := range tasks {
		t := &tasks[i]
		if n := lengthOf(t); n != none {
			sum, known = sum+int64(n), known+1
		} else if t.longest != none {
			longest, tried = longest+int64(t.longest), tried+1
		}
	}
	if known == 0 { // no task of the stage succeeded: failed attempts are the best estimate
		sum, known = longest, tried
	}
	values := make([]unit.Time, 0, len(tasks))
	kept := tasks[:0]
	hosts := false
	for i := range tasks {
		t := tasks[i]
		n := int64(lengthOf(&t))
		if n == none {
			switch {
			case r.opt.Missing == Mean && known > 0:
				n = sum / known
				c.meant++
			case r.opt.Missing == Observed && t.longest != none:
				n = int64(t.longest)
				c.observed++
			default:
				c.dropped++
				continue
			}
		}
		values = append(values, unit.Time(n)*unit.Millisecond)
		kept = append(kept, t)
		hosts = hosts || t.near != none
	}
	s.Tasks = int64(len(values))
	s.Length = workload.Lengths{Kind: workload.List, Values: values}
	if hosts {
		s.Hosts = r.hosts(kept)
	}
}

// hosts lists the locations of the tasks' input.
func (r *Reader) hosts(tasks []task) *workload.Hosts {
	h := &workload.Hosts{Names: r.p.hosts.List, Of: make([][]int32, len(tasks))}
	for i := range tasks {
		at := tasks[i].near
		if at == none {
			continue
		}
		n := r.p.near[at]
		h.Of[i] = r.p.near[at+1 : at+1+n : at+1+n]
	}
	return h
}
