package yarn

import (
	"fmt"

	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
)

// AMs is how applications with an AM of their own request containers.
type AMs uint8

// Kinds of AMs.
const (
	// SLSAMs behave as the MRAMSimulator of Hadoop's scheduler load simulator: all maps are requested at once, reduces when
	// the last map is counted, and a response is handled one call later.
	SLSAMs AMs = iota
	// MapReduceAMs behave as Hadoop's MRAppMaster: slow start, ramp-up of reduces, launch on the same call.
	MapReduceAMs
	// PlainAMs request all tasks of a stage once those that it depends on have containers and slow-start allows it.
	PlainAMs
)

// Timing holds all delays of a cluster. It is plain data: an importer may fill in measured values. All are durations unless
// noted.
type Timing struct {
	AMs AMs

	// NodeHeartbeat is the nodes' heartbeat interval: yarn.resourcemanager.nodemanagers.heartbeat-interval-ms (1000), under SLS
	// yarn.sls.nm.heartbeat.interval.ms (1000).
	NodeHeartbeat unit.Time
	// OutOfBand makes a node report at once when a container ends, and restart its interval there, as a NodeManager does. SLS's
	// nodes never do.
	OutOfBand bool
	// Of AMs' calls: yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms (1000), yarn.sls.am.heartbeat.interval.ms (1000). It is
	// also the time from registration to the first call, except under SLS, where calls lie on a grid that starts at submission.
	AMHeartbeat unit.Time

	// SubmitToAdded is the time from the client's submission to the scheduler's ATTEMPT_ADDED. A few milliseconds of state store and events.
	SubmitToAdded unit.Time
	// AMStart is the time from the allocation of an AM's container to its registration: launch by the
	// ResourceManager, localisation, start of the JVM, initialisation of the job. A workload that knows it of a
	// job (workload.Job.AMStart) overrides it. SLS: none.
	AMStart unit.Time
	// UnmanagedStart is the same for an AM that runs outside the cluster: from ATTEMPT_ADDED to registration.
	UnmanagedStart unit.Time
	// ContainerStart is the time from the AM's receipt of a container to the start of its task's length: the start call to the
	// node, localisation, start of the JVM if the length does not include it. SLS: none.
	ContainerStart unit.Time
	// ContainerExit is the time from a task's end (which its AM knows at once) to the exit of its process. SLS: none.
	ContainerExit unit.Time
	// Commit is the time from the last task's end to the end of the job in its history: job commit in the AM. SLS: none.
	Commit unit.Time
	// Linger is the time that an AM's process stays after the end of its job: MRAppMaster sleeps for 5 s. SLS: none.
	Linger unit.Time
	// KillDelay is the time from a node's receipt of an order to kill a container to that container's end:
	// yarn.nodemanager.sleep-delay-before-sigkill.ms (250). Under SLS the node reports it at its next heartbeat.
	KillDelay unit.Time

	am.Settings // of MapReduceAMs
}

// SLS is the timing of Hadoop's scheduler load simulator with its default intervals.
func SLS() Timing {
	t := Hadoop()
	t.AMs, t.OutOfBand = SLSAMs, false
	t.SubmitToAdded = 8 * unit.Millisecond
	t.AMStart, t.UnmanagedStart, t.ContainerStart, t.ContainerExit, t.Commit, t.Linger, t.KillDelay = 0, 0, 0, 0, 0, 0, 0
	return t
}

// Hadoop is the timing of a cluster of real daemons with Hadoop's default settings. The times that depend on the machines
// (AMStart, ContainerStart, ContainerExit, Commit) are those of a small idle cluster: replace them with your own.
func Hadoop() Timing {
	return Timing{
		AMs: MapReduceAMs, NodeHeartbeat: unit.Second, OutOfBand: true, AMHeartbeat: unit.Second,
		SubmitToAdded: 20 * unit.Millisecond, AMStart: 4 * unit.Second, UnmanagedStart: 100 * unit.Millisecond,
		ContainerStart: 2 * unit.Second, ContainerExit: 500 * unit.Millisecond, Commit: 200 * unit.Millisecond, Linger: 5 * unit.Second,
		KillDelay: 250 * unit.Millisecond, Settings: am.Defaults(),
	}
}

// Validate reports the first invalid value.
func (t *Timing) Validate() error {
	if t.NodeHeartbeat < unit.Millisecond || t.AMHeartbeat < unit.Millisecond {
		return fmt.Errorf("heartbeats every %v (nodes) and %v (AMs): both must be at least 1 ms", t.NodeHeartbeat, t.AMHeartbeat)
	}
	for _, d := range []struct {
		name string
		t    unit.Time
	}{
		{"node heartbeat", t.NodeHeartbeat}, {"AM heartbeat", t.AMHeartbeat}, {"submission", t.SubmitToAdded}, {"AM start", t.AMStart},
		{"start of unmanaged AMs", t.UnmanagedStart}, {"container start", t.ContainerStart}, {"container exit", t.ContainerExit},
		{"commit", t.Commit}, {"linger", t.Linger}, {"kill", t.KillDelay},
	} {
		if d.t < 0 || d.t > unit.Day {
			return fmt.Errorf("timing: %s of %v: it must be between 0 and a day", d.name, d.t)
		}
	}
	if err := t.Settings.Validate(); err != nil {
		return fmt.Errorf("timing: %w", err)
	}
	return nil
}
