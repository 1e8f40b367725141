package sim

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
)

// callInterval is the interval of calls of an AM whose maps hang while it has to wait: it sees room for one, or nodes report at
// intervals. It is Hadoop's AM heartbeat interval. At all other times the job's own events determine when its requests change.
const callInterval = unit.Second

// ramp changes how many reduces a job requests, as its AM would. It returns whether maps hang and how many reduces the AM would kill for
// them. The headroom is the free room of the cluster, as in FifoScheduler; with heartbeats it is zero, since free room is about to be
// assigned (Hadoop's nodes report out of band, so there is little). A start changes neither the job's limit nor what it wants, so only
// ends need an update.
func (e *engine) ramp(j *job) (hangs bool, kill int64) {
	s := am.State{Cores: true, Started: true}
	if e.phase == nil {
		s.Headroom = e.pools[0].free
	}
	for i := range j.stages {
		switch st := &j.stages[i]; {
		case len(st.After) == 0:
			s.Map, s.Waited = st.Ask, e.now-st.freed
			s.Maps += st.Tasks
			s.MapsDone += st.Done
			s.MapsWaiting += st.Pending
			s.MapsHeld += st.Running
		case st.open:
			s.Reduce = st.Ask
			s.Pending += st.Later
			s.Asked += st.Open()
			s.ReduceHeld += st.Running
		}
	}
	j.watches, j.ramped = s.MapsWaiting > 0 && s.Pending+s.Asked+s.ReduceHeld > 0, s.Pending+s.Asked == 0
	config := am.Defaults()
	d := config.Reduces(&s)
	s.Asked += d.Ask
	for i := 0; i < len(j.stages) && d.Ask != 0; i++ {
		st := &j.stages[i]
		switch open := st.open && len(st.After) > 0; {
		case open && d.Ask > 0:
			n := min(d.Ask, st.Later)
			d.Ask -= n
			if st.Later -= n; n > 0 {
				e.want(j, st.Slot, n)
			}
		case open && d.Ask < 0:
			n := min(-d.Ask, st.Open())
			d.Ask += n
			if st.Later += n; n > 0 {
				e.want(j, st.Slot, -n)
			}
		}
	}
	return s.Hanging(), d.Kill
}

// updateAM lets a job's AM change its requests.
func (e *engine) updateAM(j *job) {
	if hangs, _ := e.ramp(j); hangs {
		e.call(j, true)
	}
}

// mapsWait reports whether tasks that a stage depends on wait for a container.
func (j *job) mapsWait(s *stage) bool {
	for _, edge := range s.After {
		if j.stages[edge.From].Pending > 0 {
			return true
		}
	}
	return false
}

// call queues the next call of a job's AM: at once, after free room has been assigned, or after callInterval.
func (e *engine) call(j *job, atOnce bool) {
	if j.calls {
		return
	}
	j.calls = true
	instant := e.now
	if !atOnce || e.phase != nil {
		instant += callInterval
	}
	e.q.Push(instant, evCall|uint64(j.index), unit.Time(j.rec.Seq))
}

// called lets an AM kill reduces for maps that hang, those started last first: all of them still wait for maps.
func (e *engine) called(j *job, seq int64) {
	if j == nil || j.rec.Seq != seq {
		return
	}
	j.calls = false
	hangs, kill := e.ramp(j)
	if hangs {
		e.call(j, kill > 0)
	}
	for i := len(j.stages) - 1; i >= 0; i-- {
		for s := &j.stages[i]; kill > 0 && s.waits >= 0; kill-- {
			e.kill(j, s.waits, policy.Taken)
			e.pools[s.Slot].due = true
		}
	}
}
