package yarn

import (
	"errors"
	"slices"

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
	switch {
	case !ok || like == PlainAMs || unmanaged && (len(reduces) == 0 || like == SLSAMs):
		a.m = newPlainAM(e, a)
	case like == SLSAMs:
		a.m = newSLSAM(e, a, maps, reduces)
	default: // an unmanaged AM: it has no container
		a.m = newMapReduceAM(e, a, maps, reduces)
	}
	return nil
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
