package transfer

import (
	"math"

	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// job is a job that is present.
type job struct {
	src    *workload.Job
	seq    int64
	stages []stage
}

// stage is the data of one stage.
type stage struct {
	reads    float64 // bytes of input per task
	needs    []need  // what its tasks fetch
	running  []int32 // its tasks that fetch or wait
	released bool
	begun    bool // one of its tasks has started

	made    made    // where its own output lies
	feeds   []int32 // stages that fetch it
	ended   int64   // of its tasks
	nextAt  int64   // value of ended at which readers fetch again
	stepLen int64
	gather  gather // of what it needs
}

// need is one edge over which a stage receives data.
type need struct {
	source int32
	each   float64 // bytes from one task of that stage to one of this
}

// made counts a stage's finished tasks by place: by node as they come, or by rack.
type made struct {
	byRack bool
	place  []int32 // node, or rack
	tasks  []int64
}

// task is a running task.
type task struct {
	job       *job
	stage     int32
	node      int32
	serial    uint32    // of its wake-up
	left      int32     // active flows
	ready     int32     // nodes with output for it and none of its connections
	nextFetch int       // its next fetch; -1: not begun
	upAt      unit.Time // when its container has started up
	length    unit.Time
	number    int64
	began     unit.Time // when its work began; -1: not yet
	fetches   []fetch
}

const serialBits = 23

// fetch is a flow to a task: its block (edge -1), or what it gets from one place over one edge.
type fetch struct {
	flow    flow.ID // -1: none active
	edge    int16
	optical bool // the flow goes over a circuit
	place   int32
	node    int32   // node of the place
	ready   float64 // bytes ready to be fetched
	tasks   int64   // of that place (in the first fetch from racks: of all) whose output is fetched or in transit
}

func (w *Worker) newJob(src *workload.Job, seq int64) *job {
	var j *job
	if n := len(w.spare); n > 0 {
		j, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		j = &job{}
	}
	j.src, j.seq = src, seq
	for len(j.stages) < len(src.Stages) {
		j.stages = append(j.stages, stage{})
	}
	j.stages = j.stages[:len(src.Stages)]
	for i := range j.stages {
		st, s := &j.stages[i], &src.Stages[i]
		*st = stage{needs: st.needs[:0], running: st.running[:0], feeds: st.feeds[:0], nextAt: math.MaxInt64,
			made: made{place: st.made.place[:0], tasks: st.made.tasks[:0], byRack: w.opt.Racks || s.Tasks > w.opt.Pairs}}
		if s.Tasks > 0 {
			st.reads = float64(s.Input) / float64(s.Tasks)
		}
		if st.made.byRack {
			for r := range w.rep {
				st.made.place = append(st.made.place, int32(r))
				st.made.tasks = append(st.made.tasks, 0)
			}
		}
		for _, e := range s.After {
			source := &src.Stages[e.From]
			if e.Shuffle > 0 && source.Tasks > 0 && s.Tasks > 0 {
				st.needs = append(st.needs, need{int32(e.From), float64(e.Shuffle) / float64(source.Tasks) / float64(s.Tasks)})
				j.stages[e.From].feed(int32(i), source.Tasks, w.steps(source.Tasks, s.Tasks))
			}
		}
	}
	return j
}

// steps is the number of steps in which a shuffle is fetched while its maps run.
func (w *Worker) steps(maps, reduces int64) int64 {
	places := min(maps, int64(len(w.rack)))
	switch {
	case w.opt.Racks:
		places = min(maps, int64(len(w.rep)))
	case maps > w.opt.Pairs:
		places = int64(w.opt.Copiers)
	}
	return min(w.opt.Steps, maxFlowsPerShuffle/max(1, places*reduces))
}

func (st *stage) feed(to int32, tasks, steps int64) {
	st.feeds = append(st.feeds, to)
	if steps > 1 {
		st.stepLen = max(1, (tasks+steps-1)/steps)
		st.nextAt = st.stepLen
	}
}
