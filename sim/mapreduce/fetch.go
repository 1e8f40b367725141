package mapreduce

import (
	"slices"

	"github.com/yardmaster/yardmaster/workload"
)

// source is one disk from which a reduce fetches the outputs of one stage.
type source struct {
	taken  int32 // outputs whose transfer has started
	queued bool  // it waits for its turn, or a copier is fetching from it
}

// ring is a queue of sources; each is in it at most once.
type ring struct {
	items []int32
	head  int
}

func (r *ring) push(x int32) { r.items = append(r.items, x) }

func (r *ring) pop() (int32, bool) {
	if r.head == len(r.items) {
		return 0, false
	}
	x := r.items[r.head]
	if r.head++; r.head == len(r.items) {
		r.items, r.head = r.items[:0], 0
	} else if r.head >= 1024 && 2*r.head >= len(r.items) {
		r.items, r.head = r.items[:copy(r.items, r.items[r.head:])], 0
	}
	return x, true
}

// openSources initialises a reduce's sources, with nothing fetched.
func (w *Worker) openSources(tk *task, s *stage) {
	tk.turn = ring{items: tk.turn.items[:0]}
	n := len(s.edges)
	if w.model.Fetch == ByMap {
		tk.pos = slices.Grow(tk.pos[:0], n)[:n]
		clear(tk.pos)
		return
	}
	n *= len(w.stores)
	tk.sources = slices.Grow(tk.sources[:0], n)[:n]
	clear(tk.sources)
}

// expected is the number of outputs that a task of the stage has to fetch, as far as known.
func (s *stage) expected(j *job) (n int64) {
	for _, e := range s.edges {
		if e.part > 0 {
			n += j.stages[e.source].produced
		}
	}
	return n
}

// startFetching queues the outputs that are ready for a reduce. Each reduce begins at another source, so that they do not all go
// to the same node first.
func (w *Worker) startFetching(t int32) {
	tk := &w.tasks[t]
	if w.model.Fetch == ByHost {
		j := tk.job
		for i, e := range j.stages[tk.stage].edges {
			order := j.stages[e.source].order
			if e.part == 0 || len(order) == 0 {
				continue
			}
			first := int(workload.Seed(tk.key, 1<<35) % uint64(len(order)))
			for k := range order {
				w.offer(t, i, order[(first+k)%len(order)])
			}
		}
	}
	w.pump(t)
}

// offer notifies a reduce of a new output at a source.
func (w *Worker) offer(t int32, edge int, store int32) {
	if w.model.Fetch == ByMap {
		return // it reads the log
	}
	tk := &w.tasks[t]
	slot := int32(edge*len(w.stores)) + store
	if src := &tk.sources[slot]; !src.queued {
		src.queued = true
		tk.turn.push(slot)
	}
}

// pump starts transfers while the reduce has copiers to spare.
func (w *Worker) pump(t int32) {
	for w.tasks[t].copying < w.model.Copiers {
		if w.model.Fetch == ByMap {
			if !w.pumpMap(t) {
				return
			}
		} else if !w.pumpHost(t) {
			return
		}
	}
}

// pumpHost starts a transfer of all outputs ready at the next source, as far as they fit into the reduce's memory.
func (w *Worker) pumpHost(t int32) bool {
	tk := &w.tasks[t]
	slot, ok := tk.turn.pop()
	if !ok {
		return false
	}
	edge, store := int(slot)/len(w.stores), slot%int32(len(w.stores))
	e := tk.job.stages[tk.stage].edges[edge]
	src := &tk.sources[slot]
	n := tk.job.stages[e.source].ready[store] - src.taken
	if most := tk.memory / e.part; float64(n) > most {
		n = max(1, int32(most))
	}
	key := workload.Seed(tk.key, 1<<41|uint64(slot)<<20) + uint64(src.taken)
	src.taken += n
	w.fetch(t, edge, store, n, key)
	return true
}

// pumpMap starts the transfer of the next output in order of the maps' ends.
func (w *Worker) pumpMap(t int32) bool {
	tk := &w.tasks[t]
	for i, e := range tk.job.stages[tk.stage].edges {
		log := tk.job.stages[e.source].log
		if at := tk.pos[i]; e.part > 0 && int(at) < len(log) {
			tk.pos[i]++
			w.fetch(t, i, log[at], 1, workload.Seed(tk.key, 1<<41|uint64(i)<<34)+uint64(at))
			return true
		}
	}
	return false
}

func (w *Worker) fetch(t int32, edge int, store, parts int32, key uint64) {
	a := w.begin(t, aFetch)
	tk, ac := &w.tasks[t], &w.acts[a]
	bytes := tk.job.stages[tk.stage].edges[edge].part * float64(parts)
	ac.edge, ac.store, ac.parts, ac.bytes = int16(edge), store, parts, bytes
	ac.units = noisy(w.stores[store].ReadUnits(bytes*tk.reach()), w.model.Noise, workload.Mix(key))
	tk.copying++
	tk.taken += int64(parts)
	w.stats.Transfers++
	w.stats.Outputs += int64(parts)
	if w.stores[store].node == tk.node {
		w.stats.FetchedLocal += bytes
	} else {
		w.stats.FetchedRemote += bytes
	}
	w.request(a)
}

// fetched adds fetched data to the reduce's memory and frees the copier.
func (w *Worker) fetched(a int32) {
	ac := w.acts[a]
	w.end(a)
	t := ac.task
	tk := &w.tasks[t]
	tk.copying--
	tk.queue += ac.bytes
	tk.fetched += ac.bytes
	tk.segments += int64(ac.parts)
	if w.model.Fetch == ByHost {
		slot := int32(int(ac.edge)*len(w.stores)) + ac.store
		e := tk.job.stages[tk.stage].edges[ac.edge]
		src := &tk.sources[slot]
		if src.queued = tk.job.stages[e.source].ready[ac.store] > src.taken; src.queued {
			tk.turn.push(slot)
		}
	}
	w.pump(t)
	w.mergeIfFull(t)
	w.step(t)
}

// A merge of what a reduce has in memory goes through these stages.
const (
	mergeCPU uint8 = iota + 1
	mergeSpill
)

// mergeIfFull starts a merge if one is due and none is running.
func (w *Worker) mergeIfFull(t int32) {
	tk := &w.tasks[t]
	if tk.merging || tk.queue < tk.memory && tk.segments < w.model.MemorySegments {
		return
	}
	a := w.begin(t, aMerge)
	tk.merging = true
	tk.merges++
	w.acts[a].bytes = tk.queue
	tk.queue, tk.segments = 0, 0
	w.merge(a)
}

// merge begins the next stage of a merge.
func (w *Worker) merge(a int32) {
	ac := &w.acts[a]
	t := ac.task
	tk, m := &w.tasks[t], &w.model
	key := workload.Seed(tk.key, 1<<42|tk.merges<<2|uint64(ac.stage))
	ac.stage++
	if ac.stage == mergeCPU {
		if m.MergeCycles > 0 {
			w.work(a, w.machines[tk.node].cpu, noisy(m.MergeCycles, m.Noise, key))
			return
		}
		ac.stage++
	}
	if ac.stage == mergeSpill {
		w.stats.Spilled += ac.bytes
		w.holds(tk, ac.bytes)
		w.work(a, w.stores[tk.store].device, noisy(w.stores[tk.store].WriteUnits(ac.bytes*tk.reach()), m.Noise, key))
		return
	}
	w.end(a)
	tk.merging = false
	tk.runs++
	w.mergeIfFull(t)
	w.step(t)
}
