package mapreduce

import (
	"slices"

	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/workload"
)

// write makes the task's next step wait for its output to be written: to its own disk and, with more than one replica, down a
// pipeline of nodes. The links and disks of a pipeline work concurrently, each at its own speed, and the output is written when the
// slowest is done; the block-by-block forwarding is not modelled.
func (w *Worker) write(t int32, bytes float64, name uint64) bool {
	if bytes <= 0 {
		return false
	}
	tk := &w.tasks[t]
	w.stats.Written += bytes
	copies := int(min(w.model.Replication, int64(len(w.machines))))
	if copies == 1 {
		w.stored(tk, tk.node, bytes)
		return w.disk(t, tk.store, w.stores[tk.store].WriteUnits(bytes*tk.reach()), name)
	}
	key := workload.Seed(tk.key, name)
	w.nodes = w.pipeline(w.nodes[:0], tk.node, copies, key)
	tk.parts = int32(len(w.nodes)) // none finishes before all have begun: finishes are handled at the end of the call
	for i, n := range w.nodes {
		st := tk.store
		if i > 0 {
			st = w.machines[n].store + int32(node.DiskFor(key, int(w.machines[n].disks)))
			if w.net != nil {
				a := w.begin(t, aPart)
				w.tasks[t].parts++
				w.net.start(w, a, w.nodes[i-1], n, bytes)
			}
		}
		w.stored(tk, n, bytes)
		a := w.begin(t, aPart)
		units := w.stores[st].WriteUnits(bytes * tk.reach())
		if i == 0 {
			w.acts[a].weight = units / w.stores[st].rate
		}
		w.work(a, w.stores[st].device, noisy(units, w.model.Noise, workload.Seed(key, uint64(i))))
	}
	return true
}

// stored adds a replica of a task's output to the disks of a node. It stays there.
func (w *Worker) stored(tk *task, n int32, bytes float64) {
	b := w.machines[n].box
	w.keep(b, bytes)
	tk.wrote = append(tk.wrote, hold{b, bytes})
}

// pipeline lists the nodes that hold the replicas of a task's output, the writer's first, as HDFS chooses them: the second in
// another rack, the third in the second's rack, the others anywhere; if that is impossible, anywhere.
func (w *Worker) pipeline(buf []int32, writer int32, copies int, key uint64) []int32 {
	buf = append(buf, writer)
	for i := 1; i < copies; i++ {
		wanted := func(n int32) bool {
			switch i {
			case 1:
				return w.rack[n] != w.rack[writer]
			case 2:
				return w.rack[n] == w.rack[buf[1]]
			}
			return true
		}
		k := uint64(len(w.machines))
		candidate := workload.Seed(key, 1<<36+uint64(i)) % k
		found := int32(-1)
		for range k {
			n := int32(candidate)
			if candidate++; candidate == k {
				candidate = 0
			}
			if slices.Contains(buf, n) {
				continue
			}
			if wanted(n) {
				found = n
				break
			}
			if found < 0 {
				found = n
			}
		}
		buf = append(buf, found)
	}
	return buf
}
