package mapreduce

import (
	"slices"

	"github.com/yardmaster/yardmaster/workload"
)

// job is the worker's state of a job.
type job struct {
	seq    int64
	key    uint64 // of its random numbers
	stages []stage
	held   []hold // what its tasks left for others
}

// stage is the work of one task of a stage, and what its tasks have left on disks.
type stage struct {
	reads   float64 // bytes of input of a task
	passes  float64 // bytes that a task produces for other stages
	writes  float64 // bytes of output of a task
	fetches float64 // bytes that a task fetches
	cycles  float64 // of a task's own function
	reach   float64 // share of its tasks' reads and writes that reaches a disk

	edges    []edge
	readers  []reader
	released bool
	running  []int32 // tasks that fetch, for stages that need others
	doneOnce []uint64

	ready    []int32 // outputs by store, if other stages fetch them
	order    []int32 // stores in the order of their first output
	log      []int32 // store of every output, in the order of their ends
	produced int64   // outputs
}

// edge is a stage to fetch from.
type edge struct {
	source int
	part   float64 // bytes of one output for one task
}

// reader is a stage that fetches.
type reader struct{ stage, edge int }

// output is the output of a finished task.
type output struct {
	job   *job
	seq   int64
	stage int
	store int32
}

func (w *Worker) newJob(wj *workload.Job, seq int64) *job {
	var j *job
	if k := len(w.spare); k > 0 {
		j, w.spare = w.spare[k-1], w.spare[:k-1]
	} else {
		j = &job{}
	}
	j.seq, j.key = seq, workload.Seed(workload.Seed(w.host.Seed(), 0x6d72), uint64(seq))
	j.held = j.held[:0]
	j.stages = slices.Grow(j.stages[:0], len(wj.Stages))[:len(wj.Stages)]
	for i := range j.stages {
		s, ws := &j.stages[i], &wj.Stages[i]
		n := float64(max(ws.Tasks, 1))
		*s = stage{
			reads: float64(max(ws.Input, 0)) / n, writes: float64(max(ws.Output, 0)) / n,
			edges: s.edges[:0], readers: s.readers[:0], running: s.running[:0], doneOnce: s.doneOnce[:0],
			ready: s.ready[:0], order: s.order[:0], log: s.log[:0],
		}
		s.reach = 1 - w.model.Cached.Map
		if len(ws.After) > 0 {
			s.reach = 1 - w.model.Cached.Reduce
		}
		perByte := ws.CyclesPerByte
		for e, we := range ws.After {
			source := &wj.Stages[we.From]
			bytes := float64(max(we.Shuffle, 0))
			if source.Tasks > 0 {
				j.stages[we.From].passes += bytes / float64(source.Tasks)
				s.fetches += bytes / n
				s.edges = append(s.edges, edge{source: we.From, part: bytes / n / float64(source.Tasks)})
			} else {
				s.edges = append(s.edges, edge{source: we.From})
			}
			if bytes > 0 {
				j.stages[we.From].readers = append(j.stages[we.From].readers, reader{i, e})
			}
		}
		if perByte == 0 && len(ws.After) > 0 {
			perByte = w.model.ReduceCycles
		} else if perByte == 0 {
			perByte = w.model.MapCycles
		}
		if s.cycles = perByte * s.reads; ws.Input <= 0 {
			s.cycles = perByte * s.fetches
		}
	}
	return j
}

// first reports whether this is the first end of a task: a task whose node is lost between its end and the engine's handling of
// it runs again, but its output exists.
func (s *stage) first(number int64) bool {
	i, bit := int(number>>6), uint64(1)<<(number&63)
	for i >= len(s.doneOnce) {
		s.doneOnce = append(s.doneOnce, 0)
	}
	if s.doneOnce[i]&bit != 0 {
		return false
	}
	s.doneOnce[i] |= bit
	return true
}

// announce notifies readers of a new output.
func (w *Worker) announce(o output) {
	j := o.job
	if j.seq != o.seq {
		return
	}
	s := &j.stages[o.stage]
	if len(s.ready) == 0 {
		s.ready = slices.Grow(s.ready[:0], len(w.stores))[:len(w.stores)]
		clear(s.ready)
	}
	if s.ready[o.store] == 0 {
		s.order = append(s.order, o.store)
	}
	s.ready[o.store]++
	if w.model.Fetch == ByMap {
		s.log = append(s.log, o.store)
	}
	s.produced++
	for _, r := range s.readers {
		for _, t := range j.stages[r.stage].running {
			if w.tasks[t].phase == pFetch {
				w.offer(t, r.edge, o.store)
				w.pump(t)
			}
		}
	}
}
