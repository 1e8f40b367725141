// Package am holds application models: how a job requests containers, as a pure function of its state. An engine fills in a
// State after its events, calls Reduces and carries out the Decision.
//
// The model is that of Hadoop's ApplicationMaster for MapReduce (RMContainerAllocator): all maps are requested at once, and reduces
// outrank them at the scheduler, so the AM holds reduces back instead. Other jobs request all tasks of a stage once every task that
// the stage depends on has a container and slow-start allows it.
package am

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Names of application models, for a run's settings.
const (
	Hadoop    = "hadoop"     // MapReduce jobs have Hadoop's AM
	MapsFirst = "maps-first" // MapReduce jobs request containers as others do: reduces only once every map has a container
	// Overlap lets a policy choose: from slow-start on, MapReduce jobs request all their reduces while maps wait. A policy that does not
	// choose (policy.Policy.Choose) starts a job's maps first.
	Overlap = "overlap"
)

// Names lists them, the default first.
func Names() []string { return []string{Hadoop, MapsFirst, Overlap} }

// Settings are the AM's settings. (mapreduce.job.reduce.slowstart.completedmaps belongs to the workload: workload.Edge.SlowStart.)
type Settings struct {
	// RampUpLimit is the max share of its room that a job gives to reduces while maps wait: yarn.app.mapreduce.am.job.reduce.rampup.limit.
	RampUpLimit float64
	// PreemptionLimit is the max share of its room that a job frees of reduces at once for maps that hang:
	// yarn.app.mapreduce.am.job.reduce.preemption.limit.
	PreemptionLimit float64
	// PreemptDelay is how long maps must have waited before reduces are killed for them: mapreduce.job.reducer.preempt.delay.sec.
	PreemptDelay unit.Time
	// UnconditionalPreemptDelay is the wait after which they are killed whatever the headroom: mapreduce.job.reducer.unconditional-preempt.delay.sec.
	UnconditionalPreemptDelay unit.Time
}

// Defaults are Hadoop's.
func Defaults() Settings {
	return Settings{RampUpLimit: 0.5, PreemptionLimit: 0.5, UnconditionalPreemptDelay: 300 * unit.Second}
}

// Validate checks the ranges.
func (s *Settings) Validate() error {
	if min(s.PreemptDelay, s.UnconditionalPreemptDelay) < 0 || max(s.PreemptDelay, s.UnconditionalPreemptDelay) > unit.Day {
		return fmt.Errorf("preemption of reduces after %v, or %v: it must be between 0 and a day", s.PreemptDelay, s.UnconditionalPreemptDelay)
	}
	if !(s.RampUpLimit >= 0 && s.RampUpLimit <= 1) || !(s.PreemptionLimit >= 0 && s.PreemptionLimit <= 1) {
		return fmt.Errorf("limits of %v and %v for reduces: shares are between 0 and 1", s.RampUpLimit, s.PreemptionLimit)
	}
	return nil
}

// State is the input of an AM's decision.
type State struct {
	Map, Reduce unit.Resources // sizes of containers
	Headroom    unit.Resources // what the job could still get, as reported by the scheduler
	Cores       bool           // the scheduler counts cores as well as memory

	Maps, MapsDone        int64
	MapsWaiting, MapsHeld int64     // maps requested; containers of maps
	Waited                unit.Time // since maps were first requested

	Started                    bool  // slow-start has been reached: see Reached
	Pending, Asked, ReduceHeld int64 // reduces not requested; requested; containers of reduces
}

// Decision is how the AM changes its requests.
type Decision struct {
	Ask  int64 // reduces to request; negative: to withdraw
	Kill int64 // containers of reduces to kill, those started last first
}

// Reached reports whether slow-start lets reduces begin when done of a job's maps are done.
func Reached(slowStart float64, done, maps int64) bool {
	return done >= int64(math.Ceil(slowStart*float64(maps)))
}

// Hanging reports whether maps wait while all that the job holds or is about to get is reduces.
func (s *State) Hanging() bool {
	return s.MapsHeld == 0 && s.MapsWaiting > 0 && s.Asked+s.ReduceHeld > 0
}

// Reduces decides how many reduces to request (RMContainerAllocator.preemptReducesIfNeeded and scheduleReduces).
func (c *Settings) Reduces(s *State) Decision {
	switch {
	case c.preempts(s):
		return Decision{Ask: -s.Asked, Kill: c.kills(s)}
	case s.Pending == 0 || !s.Started:
		return Decision{}
	case s.MapsWaiting == 0:
		return Decision{Ask: s.Pending}
	}
	done := float32(1)
	if s.Maps > 0 {
		done = float32(s.MapsDone) / float32(s.Maps)
	}
	limit := s.limit()
	room := times(limit, min(done, float32(c.RampUpLimit)))
	forMaps := limit.Sub(room)
	want := s.Map.Times(s.MapsWaiting + s.MapsHeld)
	if (want.Mem == 0 || want.Mem <= forMaps.Mem) && (!s.Cores || want.Cores == 0 || want.Cores <= forMaps.Cores) {
		room = room.Add(forMaps.Sub(want)) // maps do not need all of their share
	}
	n := s.containers(room.Sub(s.Reduce.Times(s.Asked+s.ReduceHeld)), s.Reduce)
	return Decision{Ask: min(max(n, -s.Asked), s.Pending)}
}

// preempts reports whether maps hang because reduces hold, or are about to get, the room.
func (c *Settings) preempts(s *State) bool {
	if s.MapsHeld > 0 || s.MapsWaiting == 0 {
		return false
	}
	if s.Waited > c.UnconditionalPreemptDelay {
		return true
	}
	forMap := s.Headroom.Sub(s.Reduce.Times(s.Asked))
	return s.containers(forMap, s.Map) <= 0 && (c.PreemptDelay == 0 || s.Waited > c.PreemptDelay)
}

// kills is how many reduces make room for maps: at least one map's worth, at most all maps'.
func (c *Settings) kills(s *State) int64 {
	ceil := func(room unit.Resources) int64 { return (room.Mem + s.Reduce.Mem - 1) / max(1, s.Reduce.Mem) }
	n := min(max(ceil(s.Map), ceil(times(s.limit(), float32(c.PreemptionLimit)))), ceil(s.Map.Times(s.MapsWaiting)))
	return min(max(n, 1), s.ReduceHeld)
}

// limit is all that the job could hold: its headroom and what its tasks hold.
func (s *State) limit() unit.Resources {
	return s.Headroom.Add(s.Map.Times(s.MapsHeld)).Add(s.Reduce.Times(s.ReduceHeld))
}

// times multiplies as Resources.multiply does: each component separately, rounded towards zero.
func times(r unit.Resources, by float32) unit.Resources {
	return unit.Resources{Mem: int64(float64(r.Mem) * float64(by)), Cores: int64(float64(r.Cores) * float64(by))}
}

// containers is how many containers of a size fit into room; negative if it is overcommitted. A component with a zero size does not
// limit (ResourceCalculatorUtils.computeAvailableContainers).
func (s *State) containers(room, size unit.Resources) int64 {
	n := int64(math.MaxInt32)
	if size.Mem > 0 {
		n = div(room.Mem, size.Mem)
	}
	if s.Cores && size.Cores > 0 {
		n = min(n, div(room.Cores, size.Cores))
	}
	return n
}

// div is a / b, without a division in the common case that the result is 0.
func div(a, b int64) int64 {
	if -b < a && a < b {
		return 0
	}
	return a / b
}

// IsMapReduce reports whether a job consists of maps, which depend on nothing, and reduces, which depend only on maps.
func IsMapReduce(j *workload.Job) bool {
	for i := range j.Stages {
		s := &j.Stages[i]
		if s.Kind != workload.Reduce && (s.Kind != workload.Map || len(s.After) > 0) {
			return false
		}
		for _, e := range s.After {
			if j.Stages[e.From].Kind != workload.Map {
				return false
			}
		}
	}
	return true
}
