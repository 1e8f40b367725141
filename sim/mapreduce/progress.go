package mapreduce

import "github.com/yardmaster/yardmaster/sim/node"

// mapSeconds is the duration of a map on an idle node, without noise and with local input.
func (w *Worker) mapSeconds(tk *task, s *stage) float64 {
	m, k := &w.model, &w.stores[tk.store]
	cycles := m.JVMCycles + s.cycles + s.passes*m.SortCycles
	disk := k.ReadUnits(s.reads*s.reach) + k.WriteUnits(s.passes*s.reach) + k.WriteUnits(s.writes*s.reach)
	if s.passes > 0 && tk.share < 1 {
		runs := int64((1-crumb)/tk.share) + 1
		disk += float64(m.passes(runs)) * (k.ReadUnits(s.passes*s.reach) + k.WriteUnits(s.passes*s.reach))
	}
	return cycles/w.machines[tk.node].rate + disk/k.rate
}

// sortSeconds is the same for what a reduce does between the last transfer and the reduce function.
func (w *Worker) sortSeconds(tk *task) float64 {
	m, k, reach := &w.model, &w.stores[tk.store], tk.reach()
	cycles, disk, runs := m.ReduceSortCycles, k.WriteUnits(tk.queue*reach), tk.runs
	if tk.queue > 0 {
		cycles += m.MergeCycles
		runs++
	}
	if extra := m.passes(runs) - 1; extra > 0 {
		disk += float64(extra) * (k.ReadUnits(tk.fetched*reach) + k.WriteUnits(tk.fetched*reach))
	}
	return cycles/w.machines[tk.node].rate + disk/k.rate
}

// reduceSeconds is the same for the rest.
func (w *Worker) reduceSeconds(tk *task, s *stage) float64 {
	k := &w.stores[tk.store]
	disk := k.ReadUnits(tk.fetched*s.reach) + k.ReadUnits(s.reads*s.reach) + k.WriteUnits(s.passes*s.reach) + k.WriteUnits(s.writes*s.reach)
	return s.cycles/w.machines[tk.node].rate + disk/k.rate
}

// Progress implements sim.Worker. A map's is the share of the time that its work takes on an idle node; a reduce's counts, as
// Hadoop's does, a third each for the copy (by bytes), the sort and the reduce (by time on an idle node).
func (w *Worker) Progress(id int32) float64 {
	if int(id) >= len(w.tasks) || w.tasks[id].job == nil {
		return 1
	}
	w.enter()
	tk := &w.tasks[id]
	s := &tk.job.stages[tk.stage]
	switch {
	case len(s.edges) == 0:
		return w.doneShare(tk)
	case tk.phase > pFetch && tk.phase < pReduceRead:
		return (1 + w.doneShare(tk)) / 3
	case tk.phase > pFetch:
		return (2 + w.doneShare(tk)) / 3
	case s.fetches > 0:
		return min(1, tk.fetched/s.fetches) / 3
	}
	return 0
}

// doneShare is a task's progress in its current work.
func (w *Worker) doneShare(tk *task) float64 {
	if tk.total <= 0 {
		return 0
	}
	done := tk.done
	for a := tk.acts; a >= 0; a = w.acts[a].next {
		done += w.acts[a].weight * w.shareOf(a)
	}
	return min(1, done/tk.total)
}

// shareOf is the progress of an activity. For a remote block, the disk read counts half.
func (w *Worker) shareOf(a int32) float64 {
	ac := &w.acts[a]
	slow := max(1, w.tasks[ac.task].slow)
	if ac.rests {
		if took := ac.rested - ac.began; took > 0 {
			return min(1, (w.now-ac.began)/(slow*took))
		}
		return 1
	}
	share := 0.0
	switch {
	case ac.where >= 0:
		share = w.devices[ac.where].Share(node.ID(ac.id), w.now)
	case ac.where == onNetwork:
		share = w.net.share(ac, w.now)
	}
	if ac.purpose == aRead {
		share /= 2
		if ac.stage == carrying {
			share += 0.5
		}
	}
	return share / slow
}

// Stats counts what the tasks of a run did, in bytes unless noted.
type Stats struct {
	ReadLocal, ReadRemote       float64 // input
	Spilled                     float64 // by maps, and by reduces from memory
	Merged                      float64 // read and written again
	FetchedLocal, FetchedRemote float64
	Written                     float64 // output, counted once regardless of replicas
	Outputs                     int64   // parts of map outputs that were fetched
	Transfers                   int64   // that fetched them
}

// Stats returns the counts so far.
func (w *Worker) Stats() Stats { return w.stats }
