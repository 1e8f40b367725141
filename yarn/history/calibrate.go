package history

import (
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/jhist"
)

// Calibration is what the history shows of the cluster's own delays: medians, zero where unknown. The names are those of
// the simulated YARN's Timing.
type Calibration struct {
	AMStart        unit.Time // launch of the AM's container to its registration
	AMSamples      int
	AMFrom         string    // its source, in words
	ContainerStart unit.Time // from the AM's notification of a container to the launch at which its task's length starts
	ContainerExit  unit.Time // from a task's end to the end of its container
	ExitSamples    int
	Commit         unit.Time // end of the last task to the end of the job
	CommitSamples  int
}

const (
	// startCall is the min duration of an AM's call to start a container on a node. Hadoop's history does not have it; this is
	// what a quiet cluster takes.
	startCall = 60 * unit.Millisecond
	// notifyDelay is the mean time from a container's allocation until its AM is notified: half of an AM's heartbeat
	// (yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms, 1000).
	notifyDelay = 500 // ms
	// linger is how long an AM's container stays after its application has ended for the ResourceManager: MRAppMaster sleeps for
	// 5 s, then stops its services and its process.
	linger = 6000 // ms
	// settled is how long after an application's end the ResourceManager's sums are considered complete.
	settled = 15_000 // ms
)

// learn samples the delays of one job.
func learn(h *jhist.Job, a *app, j *workload.Job, t *tally) {
	if h.Status != "SUCCEEDED" || h.Uber || len(h.AMs) > 1 {
		return
	}
	s := &t.Samples
	if h.Launch > 0 {
		sample(&s.QuietStart, int64(h.Launch-h.Submit))
		if a != nil && a.Launch > 0 {
			sample(&s.AMStart, int64(h.Launch)-a.Launch)
		}
	}
	var last jhist.Millis
	var held, containers int64 // MiB-ms of the attempts, and how many there were
	for i, list := range [][]jhist.Task{h.Maps, h.Reduces} {
		if len(list) == 0 {
			continue
		}
		mem := askOf(j, []workload.Kind{workload.Map, workload.Reduce}[i])
		for k := range list {
			for n := range list[k].Attempts {
				attempt := &list[k].Attempts[n]
				last = max(last, attempt.Finish)
				if attempt.Start > 0 && attempt.Finish >= attempt.Start {
					held += mem * int64(attempt.Finish-attempt.Start)
					containers += mem
				}
			}
		}
	}
	if last > 0 && h.Finish >= last {
		sample(&s.Commit, int64(h.Finish-last))
	}
	// What the ResourceManager counted beyond the tasks and the AM is the containers' overhead.
	if a == nil || a.Launch == 0 || a.Finished == 0 || containers == 0 || a.seen-a.Finished < settled {
		return
	}
	am := j.AM.Mem * (a.Finished + linger - a.Launch)
	if extra := (a.MemorySeconds*1000 - am - held) / containers; extra > -2000 && extra < 60_000 {
		sample(&s.Overhead, max(extra, 0))
	}
}

func askOf(j *workload.Job, k workload.Kind) int64 {
	for i := range j.Stages {
		if j.Stages[i].Kind == k {
			return j.Stages[i].Ask.Mem
		}
	}
	return 0
}

func calibrate(s *samples) Calibration {
	ms := func(v int64) unit.Time { return unit.Time(v) * unit.Millisecond }
	c := Calibration{
		ContainerStart: startCall,
		Commit:         ms(quantile(s.Commit, 0.5)), CommitSamples: len(s.Commit),
		ExitSamples: len(s.Overhead),
	}
	switch {
	case len(s.AMStart) > 0:
		c.AMStart, c.AMSamples = ms(quantile(s.AMStart, 0.5)), len(s.AMStart)
		c.AMFrom = "from the launch of the AM's container to its job's being ready, median"
	case len(s.DriverStart) > 0 && len(s.QuietStart) == 0:
		c.AMStart, c.AMSamples = ms(quantile(s.DriverStart, 0.5)), len(s.DriverStart)
		c.AMFrom = "from the launch of the AM's container to its request for executors, median of Spark applications"
	case len(s.QuietStart) > 0:
		c.AMStart, c.AMSamples = ms(quantile(s.QuietStart, 0.1)), len(s.QuietStart)
		c.AMFrom = "from submission to the job's being ready, lower decile: how long it takes when nothing has to be waited for"
	}
	if len(s.Overhead) > 0 {
		half := max(ms(quantile(s.Overhead, 0.5)-notifyDelay), 0) / 2
		c.ContainerStart, c.ContainerExit = max(half, startCall), half
	}
	return c
}

// quantile returns a value of the list; 0 for an empty one.
func quantile(list []int64, q float64) int64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
