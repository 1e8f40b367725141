package mapreduce

// step advances a task until it has something to wait for.
func (w *Worker) step(t int32) {
	for !w.phase(t) {
	}
}

// name is the noise key of a phase.
func (tk *task) name(p phase) uint64 { return uint64(p) | uint64(tk.pass)<<8 | uint64(tk.runs)<<16 }

// phase begins one phase of a task and reports whether the task waits for it; if not, the next may begin.
func (w *Worker) phase(t int32) bool {
	tk := &w.tasks[t]
	p, name := tk.phase, tk.name(tk.phase)
	s, m := &tk.job.stages[tk.stage], &w.model
	switch {
	case p == pStart:
		if tk.phase = pRead; len(s.edges) > 0 {
			tk.phase = pOpen
		}
		return w.cpu(t, m.JVMCycles, m.Noise, name)
	case p < pOpen:
		return w.mapPhase(t, tk, s, p, name)
	case p < pWrite:
		return w.reducePhase(t, tk, s, p, name)
	case p == pWrite && len(s.edges) > 0:
		if tk.phase = pDone; tk.left > crumb {
			tk.phase = pReduceRead
		}
		return w.write(t, s.writes*tk.piece, name|uint64(tk.pieces-1)<<40)
	case p == pWrite:
		tk.phase = pDone
		return w.write(t, s.writes, name)
	}
	if len(s.readers) > 0 && s.first(tk.number) {
		w.leaves(tk)
		w.outputs = append(w.outputs, output{tk.job, tk.job.seq, tk.stage, tk.store})
	}
	w.close(t)
	w.host.Done(t)
	return true
}

// crumb is the share of a task's input that rounding may leave over.
const crumb = 1e-9

// mapPhase: piece by piece, the input is read, mapped, sorted and spilled; then the spills are merged.
func (w *Worker) mapPhase(t int32, tk *task, s *stage, p phase, name uint64) bool {
	m, own := &w.model, &w.stores[tk.store]
	switch p {
	case pRead:
		if tk.left <= crumb {
			tk.phase = pMergeRead
			return false
		}
		tk.piece = min(tk.share, tk.left)
		tk.left -= tk.piece
		tk.phase = pMap
		return w.read(t, s.reads*tk.piece, name)
	case pMap:
		tk.phase = pSort
		return w.cpu(t, s.cycles*tk.piece, m.Noise, name)
	case pSort:
		tk.phase = pSpill
		return w.cpu(t, s.passes*tk.piece*m.SortCycles, m.Noise, name)
	case pSpill:
		tk.phase = pRead
		tk.runs++
		w.stats.Spilled += s.passes * tk.piece
		w.holds(tk, s.passes*tk.piece)
		return w.disk(t, tk.store, own.WriteUnits(s.passes*tk.piece*s.reach), name)
	case pMergeRead:
		if tk.pass > 0 {
			w.holds(tk, -s.passes) // what was merged
		}
		if s.passes == 0 || tk.pass >= m.passes(tk.runs) {
			tk.phase = pWrite
			return false
		}
		tk.phase = pMergeWrite
		return w.disk(t, tk.store, own.ReadUnits(s.passes*s.reach), name)
	default: // pMergeWrite
		tk.phase = pMergeRead
		tk.pass++
		w.stats.Merged += s.passes
		w.holds(tk, s.passes)
		return w.disk(t, tk.store, own.WriteUnits(s.passes*s.reach), name)
	}
}

// reducePhase: all is fetched, the rest in memory is merged to disk, and the whole is sorted, read and reduced.
func (w *Worker) reducePhase(t int32, tk *task, s *stage, p phase, name uint64) bool {
	m, own := &w.model, &w.stores[tk.store]
	switch p {
	case pOpen:
		tk.phase = pFetch
		w.startFetching(t)
		return false
	case pFetch:
		if !s.released || tk.copying > 0 || tk.merging || tk.taken < s.expected(tk.job) {
			return true
		}
		tk.phase = pLastMerge
		tk.done, tk.total = 0, w.sortSeconds(tk)
		return false
	case pLastMerge:
		if tk.queue == 0 {
			tk.phase = pReduceSort
			return false
		}
		tk.phase = pLastSpill
		return w.cpu(t, m.MergeCycles, m.Noise, name)
	case pLastSpill:
		bytes := tk.queue
		tk.queue, tk.segments = 0, 0
		tk.runs++
		tk.phase = pReduceSort
		w.stats.Spilled += bytes
		w.holds(tk, bytes)
		return w.disk(t, tk.store, own.WriteUnits(bytes*s.reach), name)
	case pReduceSort:
		tk.phase = pRunsRead
		tk.pass = 1 // the last pass is the one that the reduce function reads
		return w.cpu(t, m.ReduceSortCycles, m.Noise, name)
	case pRunsRead:
		if tk.pass > 1 {
			w.holds(tk, -tk.fetched) // what was merged
		}
		if tk.pass >= m.passes(tk.runs) {
			tk.phase = pReduceRead
			if size := float64(m.ReducePiece); size > 0 && tk.fetched > size {
				tk.share = size / tk.fetched
			}
			tk.done, tk.total = 0, w.reduceSeconds(tk, s)
			return false
		}
		tk.phase = pRunsWrite
		return w.disk(t, tk.store, own.ReadUnits(tk.fetched*s.reach), name)
	case pRunsWrite:
		tk.phase = pRunsRead
		tk.pass++
		w.stats.Merged += tk.fetched
		w.holds(tk, tk.fetched)
		return w.disk(t, tk.store, own.WriteUnits(tk.fetched*s.reach), name)
	case pReduceRead: // from here on piece by piece
		tk.pieces++
		tk.piece = min(tk.share, tk.left)
		tk.left -= tk.piece
		tk.phase = pReduceInput
		return w.disk(t, tk.store, own.ReadUnits(tk.fetched*tk.piece*s.reach), name|uint64(tk.pieces-1)<<40)
	case pReduceInput:
		tk.phase = pReduce
		return w.read(t, s.reads*tk.piece, name|uint64(tk.pieces-1)<<40)
	case pReduce:
		tk.phase = pPass
		return w.cpu(t, s.cycles*tk.piece, m.ReduceNoise, name|uint64(tk.pieces-1)<<40)
	default: // pPass
		tk.phase = pWrite
		w.holds(tk, s.passes*tk.piece)
		return w.disk(t, tk.store, own.WriteUnits(s.passes*tk.piece*s.reach), name|uint64(tk.pieces-1)<<40)
	}
}
