package yarn

import (
	"errors"

	"github.com/yardmaster/yardmaster/workload"
)

// newMaster gives an application the master that its stages and the timing call for.
func (e *engine) newMaster(a *app) error {
	if a.src.Keep != nil {
		return errors.New("it keeps containers for many tasks (executors), which is modelled in ideal time only")
	}
	maps, reduces, ok := mapReduce(a.src)
	switch {
	case a.rm.Master.IsZero() || !ok:
		a.m = newPlainMaster(e, a)
	case e.timing.Masters == SLSMasters:
		a.m = newSLSMaster(e, a, maps, reduces)
	default:
		a.m = newMRMaster(e, a, maps, reduces)
	}
	return nil
}

// mapReduce sorts a job's stages into maps and reduces; ok is false where it is another kind of job. Maps need nothing, reduces
// need maps only.
func mapReduce(j *workload.Job) (maps, reduces []int32, ok bool) {
	for i := range j.Stages {
		s := &j.Stages[i]
		switch {
		case s.Kind == workload.Map && len(s.After) == 0:
			maps = append(maps, int32(i))
		case s.Kind == workload.Reduce:
			reduces = append(reduces, int32(i))
			for _, e := range s.After {
				if j.Stages[e.From].Kind != workload.Map {
					return nil, nil, false
				}
			}
		default:
			return nil, nil, false
		}
	}
	return maps, reduces, true
}

func (s *stage) isReduce() bool { return s.src.Kind == workload.Reduce }
