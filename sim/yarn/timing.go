package yarn

import (
	"fmt"

	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
)

// Masters says how applications with a master of their own ask for containers.
type Masters uint8

// Kinds of masters.
const (
	// SLSMasters behave as the MRAMSimulator of Hadoop's scheduler load simulator: all maps are asked for at once, reduces when
	// the last map is counted, and an answer is acted on one call later.
	SLSMasters Masters = iota
	// MapReduceMasters behave as Hadoop's MRAppMaster: slow start, ramp-up of reduces, launch on the same call.
	MapReduceMasters
	// PlainMasters ask for all tasks of a stage once those that it depends on have containers and slow-start allows it.
	PlainMasters
)

// Timing holds every delay of a cluster's life. It is plain data: an importer may put measured values in. All are lengths
// of time unless said otherwise.
type Timing struct {
	Masters Masters

	// NodeHeartbeat is the interval of the nodes' reports: yarn.resourcemanager.nodemanagers.heartbeat-interval-ms (1000), under SLS
	// yarn.sls.nm.heartbeat.interval.ms (1000).
	NodeHeartbeat unit.Time
	// OutOfBand says that a node reports at once when a container ends, and counts its interval from there, as a NodeManager
	// does. SLS's nodes never do.
	OutOfBand bool
	// Master's calls: yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms (1000), yarn.sls.am.heartbeat.interval.ms (1000). It is
	// also the time from registration to the first call, except under SLS, where calls lie on a grid that starts at submission.
	MasterHeartbeat unit.Time

	// SubmitToAdded is the time from the client's submission to the scheduler's ATTEMPT_ADDED. A few milliseconds of state store and events.
	SubmitToAdded unit.Time
	// MasterStart is the time from the allocation of a master's container to its registration: launch by the
	// ResourceManager, localisation, start of the JVM, initialisation of the job. A workload that knows it of a
	// job (workload.Job.MasterStart) comes first. SLS: none.
	MasterStart unit.Time
	// UnmanagedStart is the same for a master that runs outside the cluster: from ATTEMPT_ADDED to registration.
	UnmanagedStart unit.Time
	// ContainerStart is the time from the master's hearing of a container to the first instant of its task's length: the start call to the
	// node, localisation, start of the JVM where the length does not hold it. SLS: none.
	ContainerStart unit.Time
	// ContainerExit is the time from a task's last instant (which its master knows at once) to the exit of its process. SLS: none.
	ContainerExit unit.Time
	// Commit is the time from the last task's end to the end of the job as its history tells it: job commit in the master. SLS: none.
	Commit unit.Time
	// Linger is the time that a master's process stays after the end of its job: MRAppMaster sleeps for 5 s. SLS: none.
	Linger unit.Time
	// KillDelay is the time from a node's learning that it has to kill a container to that container's end:
	// yarn.nodemanager.sleep-delay-before-sigkill.ms (250). Under SLS the node reports it at its next heartbeat.
	KillDelay unit.Time

	am.Settings // of MapReduceMasters
}

// SLS is the timing of Hadoop's scheduler load simulator with its default intervals.
func SLS() Timing {
	t := Hadoop()
	t.Masters, t.OutOfBand = SLSMasters, false
	t.SubmitToAdded = 8 * unit.Millisecond
	t.MasterStart, t.UnmanagedStart, t.ContainerStart, t.ContainerExit, t.Commit, t.Linger, t.KillDelay = 0, 0, 0, 0, 0, 0, 0
	return t
}

// Hadoop is the timing of a cluster of real daemons with Hadoop's default settings. The times that depend on the machines
// (MasterStart, ContainerStart, ContainerExit, Commit) are those of a small idle cluster: put your own in.
func Hadoop() Timing {
	return Timing{
		Masters: MapReduceMasters, NodeHeartbeat: unit.Second, OutOfBand: true, MasterHeartbeat: unit.Second,
		SubmitToAdded: 20 * unit.Millisecond, MasterStart: 4 * unit.Second, UnmanagedStart: 100 * unit.Millisecond,
		ContainerStart: 2 * unit.Second, ContainerExit: 500 * unit.Millisecond, Commit: 200 * unit.Millisecond, Linger: 5 * unit.Second,
		KillDelay: 250 * unit.Millisecond, Settings: am.Defaults(),
	}
}

// Validate reports what cannot be meant.
func (t *Timing) Validate() error {
	if t.NodeHeartbeat < unit.Millisecond || t.MasterHeartbeat < unit.Millisecond {
		return fmt.Errorf("heartbeats every %v (nodes) and %v (masters): both must be at least 1 ms", t.NodeHeartbeat, t.MasterHeartbeat)
	}
	for _, d := range []struct {
		name string
		t    unit.Time
	}{
		{"node heartbeat", t.NodeHeartbeat}, {"master heartbeat", t.MasterHeartbeat}, {"submission", t.SubmitToAdded}, {"master start", t.MasterStart},
		{"start of unmanaged masters", t.UnmanagedStart}, {"container start", t.ContainerStart}, {"container exit", t.ContainerExit},
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
