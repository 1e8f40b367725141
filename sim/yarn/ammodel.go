package yarn

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/workload"
)

// newAM creates an application's AM according to its stages and the timing.
func (e *engine) newAM(a *app) error {
	if err := sim.CheckGangs(e.cfg.Cluster, a.src); err != nil {
		return err
	}
	gangs := slices.ContainsFunc(a.src.Stages, func(s workload.Stage) bool { return s.Gang > 1 })
	maps, reduces, ok := mapReduce(a.src)
	unmanaged, like := a.rm.AM.IsZero(), e.timing.AMs
	mapSide, reduceSide := func(int) int32 { return mapPriority }, func(int) int32 { return reducePriority }
	switch {
	case a.src.Keep != nil:
		a.m, mapSide, reduceSide = newKeptAM(e, a), plainPriority, plainPriority
	case gangs || !ok || like == PlainAMs || unmanaged && (len(reduces) == 0 || like == SLSAMs):
		a.m, mapSide, reduceSide = newPlainAM(e, a), plainPriority, plainPriority
	case like == SLSAMs:
		a.m = newSLSAM(e, a, maps, reduces)
	default: // an unmanaged AM: it has no container
		a.m = newMapReduceAM(e, a, maps, reduces)
	}
	a.rm.Stages = a.rm.Stages[:0]
	priority := a.m.priority
	if a.rm.Keeps = 0; a.src.Keep != nil {
		a.rm.Keeps, priority = keptPriority, func(_ *app, stage int) int32 { return plainPriority(stage) }
	}
	for i := range a.stages {
		p := priority(a, i)
		k := slices.IndexFunc(a.rm.Stages, func(s rm.Stage) bool { return s.Priority == p })
		if k < 0 {
			k, a.rm.Stages = len(a.rm.Stages), append(a.rm.Stages, rm.Stage{Priority: p})
		}
		a.rm.Stages[k].Tasks += a.stages[i].src.Tasks
		a.rm.Stages[k].Gang = max(a.rm.Stages[k].Gang, a.stages[i].src.Gang)
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
