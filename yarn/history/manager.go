package history

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// app is what is kept of an application that the ResourceManager lists. Times are ms since 1970.
type app struct {
	ID, User, Name, Queue, Type, Status string
	Priority                            int64
	Started, Launch, Finished           int64
	MemorySeconds, CoreSeconds          int64
	Unmanaged                           bool
	seen                                int64 // when it was asked for
}

// site is what the ResourceManager says of the cluster; see output.go.
type site struct {
	info      rest.Info
	nodes     []rest.Node
	away      int // nodes that are lost or taken out
	conf      *conf.Properties
	scheduler *rest.Scheduler
	queues    *conf.Properties // the CapacityScheduler's own settings, when they could be read
	queuesWhy error            // why not
}

// Lists that are longer are not those of a cluster, and would not fit into memory.
const (
	mostNodes = 100_000   // what fits into a cluster file
	mostApps  = 2_000_000 // also of the history server
)

// askManager reads the cluster and the list of applications that have ended: six requests in all.
func (im *importer) askManager(ctx context.Context) error {
	im.progress(-1, "asking the ResourceManager")
	c, s := im.Client, &im.site
	var err error
	if s.info, err = c.Info(ctx); err != nil {
		return err
	}
	if s.scheduler, err = c.Scheduler(ctx); err != nil {
		return err
	}
	for n, err := range c.Nodes(ctx) {
		if err != nil {
			return err
		}
		if n.State != "RUNNING" && n.State != "UNHEALTHY" && n.State != "DECOMMISSIONING" {
			s.away++
			continue
		}
		if s.nodes = append(s.nodes, n); len(s.nodes) > mostNodes {
			return fmt.Errorf("the ResourceManager lists more than %d nodes: is this its web address?", mostNodes)
		}
	}
	if s.conf, err = c.Conf(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		im.tell("the ResourceManager's settings cannot be read%s: Hadoop's defaults are taken", im.because(err))
	}
	if s.scheduler.Type == "capacityScheduler" {
		if s.queues, s.queuesWhy = c.SchedulerConf(ctx); s.queuesWhy != nil && ctx.Err() != nil {
			return s.queuesWhy
		}
	}
	im.apps = map[key]*app{}
	now := im.Now.UnixMilli()
	hidden, listed := 0, 0
	for a, err := range c.Apps(ctx, rest.AppFilter{States: []string{"FINISHED", "FAILED", "KILLED"}, FinishedFrom: im.Since}) {
		if err != nil {
			return err
		}
		if listed++; listed > mostApps {
			return fmt.Errorf("the ResourceManager lists more than %d applications: ask for less with --since", mostApps)
		}
		k, ok := parseKey(a.ID)
		if !ok || !a.Ended() {
			continue
		}
		if a.FinishedTime == 0 {
			hidden++
			continue
		}
		status := a.FinalStatus
		if a.State != "FINISHED" {
			status = a.State
		}
		im.apps[k] = &app{
			ID: a.ID, User: a.User, Name: a.Name, Queue: a.Queue, Type: a.Type, Status: status, Priority: a.Priority,
			Started: a.StartedTime, Launch: a.LaunchTime, Finished: a.FinishedTime,
			MemorySeconds: a.MemorySeconds, CoreSeconds: a.VCoreSeconds, Unmanaged: a.Unmanaged, seen: now,
		}
	}
	im.note(hidden, "applications are listed without their times, because this user may not see them: give --user an administrator")
	return nil
}

// lateHistory is how long after its end a MapReduce job's history may still come.
const lateHistory = 10 * time.Minute

// takeOthers makes jobs of the applications of which no history was found.
func (im *importer) takeOthers() error {
	late, idle := 0, 0
	for k, a := range im.apps {
		if im.store.has(k) {
			continue
		}
		if a.Type == "MAPREDUCE" && (im.Files != nil || im.History) && im.Now.Sub(time.UnixMilli(a.Finished)) < lateHistory && a.MemorySeconds > 0 {
			late++
			continue
		}
		j := im.build.other(a)
		if j == nil {
			idle++
			continue
		}
		t := tally{FromRM: 1}
		switch a.Status {
		case "SUCCEEDED":
		case "KILLED":
			t.KilledJobs = 1
		default:
			t.FailedJobs = 1
		}
		if err := im.take(j, &t); err != nil {
			return err
		}
	}
	im.note(late, "MapReduce jobs ended less than %v ago and their history is not there yet: the next import takes them", unit.FormatSeconds(lateHistory.Seconds()))
	im.note(idle, "applications never held a container (refused, failed or killed before): left out")
	return nil
}

// other makes a job of what the ResourceManager knows of an application of any kind: how long it ran and how much memory and how many
// cores it held, in sum. It becomes one stage of equal containers: as many as it held on average, of the size that memory over cores gives
// for one core, all held from its launch to its end, and one of them its master. It returns nil for one that held nothing.
func (b *builder) other(a *app) *workload.Job {
	begin := a.Launch
	if begin <= 0 || begin > a.Finished {
		begin = a.Started
	}
	ran := float64(a.Finished-begin) / 1000
	if a.Started <= 0 || ran <= 0 || a.MemorySeconds <= 0 || a.CoreSeconds <= 0 {
		return nil
	}
	ask := unit.Resources{Mem: max(int64(math.Round(float64(a.MemorySeconds)/float64(a.CoreSeconds))), 1), Cores: 1}
	length := unit.Time(a.Finished-begin) * unit.Millisecond
	j := &workload.Job{
		ID: a.ID, Name: b.names.job(a.Name), User: b.names.user(a.User), Queue: b.names.queue(a.Queue), Class: "other",
		Submit: unit.Time(a.Started) * unit.Millisecond, Priority: int(a.Priority),
		Observed: &workload.Observed{
			Launch: unit.Time(a.Started) * unit.Millisecond, Finish: unit.Time(a.Finished) * unit.Millisecond, Outcome: a.Status,
		},
	}
	if a.Status == "SUCCEEDED" {
		j.Observed.Outcome = "SUCCESS"
	}
	rest := float64(a.CoreSeconds)
	if !a.Unmanaged {
		j.Master = ask
		rest -= ran
	}
	tasks := int64(math.Round(rest / ran))
	if tasks < 1 { // hardly more than its master, or not all the time: one container is all of it
		tasks, j.Master, rest = 1, unit.Resources{}, min(float64(a.CoreSeconds), ran)
	}
	held := unit.FromSeconds(max(rest, 0) / float64(tasks))
	if held == 0 || held > length {
		held = length
	}
	j.Stages = []workload.Stage{{Name: fmt.Sprintf("%s containers", a.Type), Kind: workload.Other, Tasks: tasks, Ask: ask, Length: workload.Fixed(min(held, workload.MaxLength))}}
	if j.Validate() != nil {
		return nil
	}
	return j
}
