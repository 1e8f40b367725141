package yarn

import (
	"errors"
	"slices"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/workload"
)

// newAM creates an application's AM according to its stages and the timing.
func (e *engine) newAM(a *app) error {
	if a.src.Keep != nil {
		return errors.New("it keeps containers for many tasks (executors), which is modelled in ideal time only")
	}
	if slices.ContainsFunc(a.src.Stages, func(s workload.Stage) bool { return s.Gang > 1 }) {
		return errors.New("its tasks start together (a gang), which is modelled in ideal time only")
	}
	maps, reduces, ok := mapReduce(a.src)
	unmanaged, like := a.rm.AM.IsZero(), e.timing.AMs
	mapSide, reduceSide := func(int) int32 { return mapPriority }, func(int) int32 { return reducePriority }
	switch {
	case !ok || like == PlainAMs || unmanaged && (len(reduces) == 0 || like == SLSAMs):
		a.m, mapSide, reduceSide = newPlainAM(e, a), plainPriority, plainPriority
	case like == SLSAMs:
		a.m = newSLSAM(e, a, maps, reduces)
	default: // an unmanaged AM: it has no container
		a.m = newMapReduceAM(e, a, maps, reduces)
	}
	a.rm.Shuffles = shuffles(a.src, mapSide, reduceSide)
	a.rm.Racks = func(priority int32, num int64, buf []int32) []int32 {
		for i := range a.stages {
			if s := &a.stages[i]; len(s.src.After) > 0 || mapSide(i) != priority {
			} else if num < s.src.Tasks {
				return e.racksOf(s, num, buf)
			} else {
				num -= s.src.Tasks
			}
		}
		return buf[:0]
	}
	return nil
}

// shuffles declares what a job's stages pass to one another, by the priorities that its AM requests them at.
func shuffles(j *workload.Job, source, target func(stage int) int32) (list []rm.Shuffle) {
	for i := range j.Stages {
		for _, e := range j.Stages[i].After {
			x := rm.Shuffle{From: source(e.From), To: target(i), Bytes: e.Shuffle}
			if k := slices.IndexFunc(list, func(y rm.Shuffle) bool { return y.From == x.From && y.To == x.To }); k >= 0 {
				list[k].Bytes += x.Bytes
			} else {
				list = append(list, x)
			}
		}
	}
	return list
}

// mapReduce splits a job's stages into maps and reduces; ok is false for any other kind of job.
func mapReduce(j *workload.Job) (maps, reduces []int32, ok bool) {
	for i := range j.Stages {
		if j.Stages[i].Kind == workload.Reduce {
			reduces = append(reduces, int32(i))
		} else {
			maps = append(maps, int32(i))
		}
	}
	return maps, reduces, am.IsMapReduce(j)
}

func (s *stage) isReduce() bool { return s.src.Kind == workload.Reduce }
