package spark

import (
	"cmp"
	"slices"
)

// ended adds an attempt of a task.
func (a *App) ended(e *ended, each func(*Task)) {
	launch, finish := a.seen(e.launch), a.seen(e.finish)
	exec, known := a.execs[string(e.executor)]
	if !known {
		exec = -1
	}
	timed := launch > 0 && finish >= launch
	good := e.success && !e.failed && !e.killed && timed
	if e.partition < 0 { // before Spark 3.3
		if e.partition = e.index; e.attempt > 0 {
			e.partition = spare // the index counts what is missing, not partitions
		}
	}
	if each != nil && timed && !e.lost { // its end was reported before
		each(&Task{e.stage, exec, launch, finish, !good})
	}
	s := a.stage(e.stage)
	length := taskLength{int32(e.partition), uint32(min(finish-launch, maxMS))}
	switch {
	case s == nil:
		return
	case e.lost: // with its success, before
		return
	case !good && e.spec:
		a.tally.speculative++
		return
	case !good && e.fault && e.partition >= 0 && e.partition < 1<<31 && timed && a.tasks < maxTasks:
		a.tally.failed++
		s.wasted = append(s.wasted, length)
		s.finished = max(s.finished, finish)
		a.tasks++
		a.Busy = add(a.Busy, finish-launch)
		return
	case !good:
		a.tally.killed++
		return
	case e.partition < spare || e.partition >= 1<<31:
		a.tally.unsized++
		return
	}
	a.Busy = add(a.Busy, finish-launch)
	s.finished = max(s.finished, finish)
	s.read, s.write, s.input, s.output = add(s.read, e.read), add(s.write, e.write), add(s.input, e.input), add(s.output, e.output)
	if a.tasks >= maxTasks && len(s.lengths) > 0 {
		s.extra++
		return
	}
	if e.mapper && s.lengths == nil && s.rdd >= 0 {
		a.byRDD[s.rdd] = s
	}
	a.tasks++
	s.lengths = append(s.lengths, length)
	if exec >= 0 {
		a.began(&a.Executors[exec], firstTask{e.id, s, length.partition, length.ms})
	}
}

// add is a sum that stays within range.
func add(sum, n int64) int64 { return min(sum+n, 1<<62-1) }

// began keeps the first tasks of an executor: those with the lowest numbers, which Spark gives in the order of launches.
func (a *App) began(x *Executor, t firstTask) {
	switch n := len(x.first); {
	case int64(n) < min(a.settings.slots(x.Cores), maxSlots):
		if !a.fits(a.listed+1, maxListed) {
			return
		}
		a.listed++
	case t.id > x.first[n-1].id:
		return
	default:
		x.first = x.first[:n-1]
	}
	i, _ := slices.BinarySearchFunc(x.first, t.id, func(f firstTask, id int64) int { return cmp.Compare(f.id, id) })
	x.first = slices.Insert(x.first, i, t)
}

// spare is the partition of a task that ran one of its stage's missing partitions, nobody says which.
const spare = -1

// merge keeps the first success of each partition, by partition: attempts of the stage and copies of tasks come together. It
// counts the others.
func (s *stage) merge() (again int64) {
	slices.SortStableFunc(s.lengths, func(x, y taskLength) int { return cmp.Compare(x.partition, y.partition) })
	n := len(s.lengths)
	first, _ := slices.BinarySearchFunc(s.lengths, 0, func(t taskLength, p int32) int { return cmp.Compare(t.partition, p) })
	spares := s.lengths[:first]
	s.lengths = slices.CompactFunc(s.lengths[first:], func(x, y taskLength) bool { return x.partition == y.partition })
	if len(spares) > 0 {
		s.fill(spares)
	}
	return int64(n - len(s.lengths))
}

// retry adds the attempts that failed to their partitions, of those that succeeded in the end. Spark runs a task again after others that wait; a job runs it for
// longer.
func (s *stage) retry() {
	for _, t := range s.wasted {
		if i, found := slices.BinarySearchFunc(s.lengths, t.partition, func(x taskLength, p int32) int { return cmp.Compare(x.partition, p) }); found {
			s.lengths[i].ms += min(t.ms, maxMS-s.lengths[i].ms)
		}
	}
	s.wasted = nil
}

// fill gives spare tasks to the partitions that have none.
func (s *stage) fill(spares []taskLength) {
	var all []taskLength
	next := int32(0)
	gaps := func(to int32) {
		for ; next < to && len(spares) > 0; next++ {
			all = append(all, taskLength{next, spares[0].ms})
			spares = spares[1:]
		}
	}
	for _, t := range s.lengths {
		gaps(t.partition)
		all, next = append(all, t), t.partition+1
	}
	gaps(int32(s.tasks))
	s.lengths = all
}
