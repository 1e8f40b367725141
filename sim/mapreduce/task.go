package mapreduce

import (
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/workload"
)

// phase is what a task does, or will do after what it waits for.
type phase uint8

const (
	pStart phase = iota

	pRead // a map's, for each piece
	pMap
	pSort
	pSpill
	pMergeRead
	pMergeWrite

	pOpen // a reduce's
	pFetch
	pLastMerge
	pLastSpill
	pReduceSort
	pRunsRead
	pRunsWrite
	pReduceRead
	pReduceInput
	pReduce
	pPass

	pWrite // of either
	pDone
)

// task is a task that holds a container.
type task struct {
	job     *job // nil: unused
	key     uint64
	number  int64
	stage   int
	node    int32
	index   int32 // among the running of its stage
	acts    int32 // list of its activities; -1: none
	store   int32 // the disk it writes to
	input   int32 // the disk of its input
	phase   phase
	merging bool
	slow    float64 // slowdown of its steps

	memory float64 // bytes reserved
	share  float64 // of its input that fills the buffer once
	left   float64 // of its input, as a share
	piece  float64 // the share being processed
	runs   int64   // spills on disk
	pass   int64   // of the merge
	pieces int64   // of a reduce's input, begun
	parts  int32   // parallel activities that its step waits for

	queue    float64 // bytes fetched and in memory
	segments int64
	copying  int64   // active transfers
	taken    int64   // outputs whose transfer has started
	fetched  float64 // bytes
	merges   uint64
	sources  []source // by edge and store
	turn     ring     // of sources with outputs and no copier
	pos      []int32  // by edge: outputs of the log whose transfer has started

	held  float64 // bytes on disk freed when it ends, unless left to others
	wrote []hold  // output

	done, total float64 // seconds of nominal work on an idle node, for progress
}

// open initialises the record of a starting task.
func (w *Worker) open(st *sim.Task) {
	j := w.jobs[st.Job]
	s := &j.stages[st.Stage]
	tk := &w.tasks[st.ID]
	key := workload.Seed(workload.Seed(j.key, uint64(st.Stage)), uint64(st.Number))
	m := &w.machines[st.Node]
	*tk = task{
		job: j, key: key, number: st.Number, stage: st.Stage, node: st.Node, index: -1, acts: -1,
		store: m.store + int32(node.DiskFor(workload.Seed(key, 1<<32), int(m.disks))),
		slow:  st.Slow, left: 1, share: 1,
		sources: tk.sources, turn: tk.turn, pos: tk.pos, wrote: tk.wrote[:0],
	}
	if attempt := uint64(st.Attempt) << 1; st.Copy {
		tk.key = workload.Seed(key, 1<<40|attempt|1)
	} else if attempt > 0 {
		tk.key = workload.Seed(key, 1<<40|attempt)
	}
	if len(s.edges) > 0 {
		want := float64(w.model.MemorySpace)
		tk.memory = m.Memory.Take(want, want/8)
		tk.index = int32(len(s.running))
		s.running = append(s.running, st.ID)
		w.openSources(tk, s)
	} else {
		want := float64(w.model.Buffer)
		tk.memory = m.Memory.Take(want, want/8)
		if s.passes > tk.memory {
			tk.share = tk.memory / s.passes
		}
		tk.total = w.mapSeconds(tk, s)
	}
	if s.reads > 0 {
		tk.input = w.holder(st.ID, key)
	}
}

// reach is the share of a task's reads and writes that reaches a disk.
func (tk *task) reach() float64 { return tk.job.stages[tk.stage].reach }

// close releases what a task holds. Its activities are over.
func (w *Worker) close(t int32) {
	tk := &w.tasks[t]
	w.holds(tk, -tk.held)
	w.machines[tk.node].Memory.Give(tk.memory)
	if tk.index >= 0 {
		s := &tk.job.stages[tk.stage]
		last := len(s.running) - 1
		moved := s.running[last]
		s.running[tk.index] = moved
		w.tasks[moved].index = tk.index
		s.running = s.running[:last]
	}
	tk.job = nil
}

// holder chooses the disk to read a task's input from: on its own node, else in its rack, else any that holds it.
func (w *Worker) holder(t int32, key uint64) int32 {
	tk := &w.tasks[t]
	block := workload.Seed(key, 1<<33) // all replicas of a block are on the disk of the same number
	w.nodes = w.host.Replicas(t, w.nodes[:0])
	best := tk.node
	if len(w.nodes) > 0 {
		first := int(workload.Seed(key, 1<<34) % uint64(len(w.nodes)))
		rank := 3
		for i := range w.nodes {
			n := w.nodes[(first+i)%len(w.nodes)]
			r := 2
			if n == tk.node {
				r = 0
			} else if w.rack[n] == w.rack[tk.node] {
				r = 1
			}
			if r < rank {
				best, rank = n, r
			}
		}
	}
	return w.machines[best].store + int32(node.DiskFor(block, int(w.machines[best].disks)))
}

// cpu makes the task's next step wait for the processor. It reports whether there is anything to wait for.
func (w *Worker) cpu(t int32, cycles, sigma float64, phase uint64) bool {
	if cycles <= 0 {
		return false
	}
	a := w.begin(t, aStep)
	m := &w.machines[w.tasks[t].node]
	w.acts[a].weight = cycles / m.rate
	w.work(a, m.cpu, noisy(cycles, sigma, workload.Seed(w.tasks[t].key, phase)))
	return true
}

// disk makes the task's next step wait for its node's disk.
func (w *Worker) disk(t, st int32, units float64, phase uint64) bool {
	if units <= 0 {
		return false
	}
	a := w.begin(t, aStep)
	k := &w.stores[st]
	w.acts[a].weight = units / k.rate
	w.work(a, k.device, noisy(units, w.model.Noise, workload.Seed(w.tasks[t].key, phase)))
	return true
}

// read makes the task's next step wait for its input, local or remote.
func (w *Worker) read(t int32, bytes float64, phase uint64) bool {
	if bytes <= 0 {
		return false
	}
	tk := &w.tasks[t]
	k := &w.stores[tk.input]
	if k.node == tk.node {
		w.stats.ReadLocal += bytes
		return w.disk(t, tk.input, k.ReadUnits(bytes*tk.reach()), phase)
	}
	w.stats.ReadRemote += bytes
	a := w.begin(t, aRead)
	ac := &w.acts[a]
	ac.store, ac.bytes = w.tasks[t].input, bytes
	units := k.ReadUnits(bytes * tk.reach())
	ac.weight = units / k.rate
	ac.units = noisy(units, w.model.Noise, workload.Seed(w.tasks[t].key, phase))
	w.request(a)
	return true
}
