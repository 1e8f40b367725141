package history

import (
	"bytes"
	"context"
	"fmt"
	"slices"
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
	Running                             bool  // Finished is the time of the query
	seen                                int64 // time of the query
	late                                bool  // the next import takes it
}

// site is the ResourceManager's description of the cluster; see output.go.
type site struct {
	nodes     []rest.Node
	away      int // lost or decommissioned nodes
	conf      *conf.Properties
	scheduler *rest.Scheduler
	queues    *conf.Properties // the CapacityScheduler's own settings, if readable
	queuesWhy error            // why not
}

// Longer lists are not those of a cluster, and would not fit into memory.
const (
	maxNodes = 100_000   // what fits into a cluster file
	maxApps  = 2_000_000 // also of the history server
)

// Cluster is a ResourceManager's description of its nodes and settings.
type Cluster struct {
	Nodes     []rest.Node
	Scheduler *rest.Scheduler
	Site      conf.Site
	Name      string // CapacityFile or FairFile; "": another scheduler
	File      []byte // as in force, or reconstructed from what the ResourceManager shows
	Notes     []workload.Note
}

// Describe reads the description: four or five requests.
func Describe(ctx context.Context, c *rest.Client) (*Cluster, error) {
	im := &importer{Options: Options{Client: c}, names: &names{}}
	if err := im.askSite(ctx); err != nil {
		return nil, err
	}
	name, text, err := im.schedulerFile()
	var b bytes.Buffer
	if err == nil && name != "" {
		err = text(&b)
	}
	return &Cluster{Nodes: im.site.nodes, Scheduler: im.site.scheduler, Site: im.build.site, Name: name, File: b.Bytes(), Notes: im.said}, err
}

// askSite reads the cluster.
func (im *importer) askSite(ctx context.Context) error {
	c, s := im.Client, &im.site
	var err error
	if _, err = c.Info(ctx); err != nil { // is it a ResourceManager, and does it respond?
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
		if s.nodes = append(s.nodes, n); len(s.nodes) > maxNodes {
			return fmt.Errorf("the ResourceManager lists more than %d nodes: is this its web address?", maxNodes)
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
	im.build.site, im.build.fair = siteOf(s.conf), s.scheduler.Type == "fairScheduler"
	return nil
}

// askManager reads the cluster and the list of ended applications: six requests in all.
func (im *importer) askManager(ctx context.Context) error {
	im.progress(-1, "asking the ResourceManager")
	err := im.askSite(ctx)
	if err != nil {
		return err
	}
	if im.Running { // before those that have ended: one that ends in between is then in both lists, not in neither
		im.running = map[key]*app{}
		hold := func(k key, a *app) error { im.running[k] = a; return nil }
		if _, err = im.list(ctx, rest.AppFilter{States: []string{"RUNNING"}}, hold); err != nil {
			return err
		}
	}
	im.apps = map[key]*app{}
	hidden, err := im.list(ctx, rest.AppFilter{States: []string{"FINISHED", "FAILED", "KILLED"}, FinishedFrom: im.Since, FinishedUntil: im.Until}, im.ended)
	if err != nil {
		return err
	}
	im.note(hidden, "applications are listed without their times, because this user may not see them: give --user an administrator")
	return nil
}

// ended takes an application without a history as it comes, so that memory does not hold the list, and a call that breaks off has what it was sent.
func (im *importer) ended(k key, a *app) error {
	if im.store.has(k) {
		return nil
	}
	if !(a.Type == "MAPREDUCE" && (im.Files != nil || im.History)) && !im.waits(k, a) {
		if taken, err := im.takeOther(a); taken || err != nil {
			return err
		}
	}
	im.apps[k] = a // what is not taken stays known, for whoever forges a history of it
	return nil
}

// list reads a list of applications, and returns how many hide their times.
func (im *importer) list(ctx context.Context, f rest.AppFilter, use func(key, *app) error) (hidden int, err error) {
	listed := 0
	for a, err := range im.Client.Apps(ctx, f) {
		if err != nil {
			return 0, err
		}
		if listed++; listed > maxApps {
			return 0, fmt.Errorf("the ResourceManager lists more than %d applications: ask for less with --since", maxApps)
		}
		if listed%1000 == 0 {
			im.progress(-1, fmt.Sprintf("%d applications listed", listed))
		}
		k, ok := parseKey(a.ID)
		if !ok || !slices.Contains(f.States, a.State) {
			continue
		}
		running := a.State == "RUNNING"
		if running {
			a.FinishedTime = a.StartedTime + a.ElapsedTime // by the ResourceManager's clock
		}
		if a.StartedTime == 0 || a.FinishedTime == 0 {
			hidden++
			continue
		}
		if !running && !im.within(a.FinishedTime) {
			continue
		}
		status := a.FinalStatus
		if a.State != "FINISHED" {
			status = a.State
		}
		if err := use(k, &app{
			ID: a.ID, User: a.User, Name: a.Name, Queue: a.Queue, Type: a.Type, Status: status, Priority: a.Priority,
			Started: a.StartedTime, Launch: a.LaunchTime, Finished: a.FinishedTime, Running: running,
			MemorySeconds: a.MemorySeconds, CoreSeconds: a.VCoreSeconds, Unmanaged: a.Unmanaged, seen: im.Now.UnixMilli(),
		}); err != nil {
			return hidden, err
		}
	}
	return hidden, nil
}

// lateHistory is how long after its end a MapReduce job's history may still appear.
const lateHistory = 10 * time.Minute

// takeOther makes a job of an application without a history, unless it held nothing.
func (im *importer) takeOther(a *app) (taken bool, err error) {
	j := im.build.other(a)
	if j == nil {
		return false, nil
	}
	t := tally{FromRM: 1}
	if !a.launched() {
		t.NoLaunch = 1
	}
	t.ended(a.Status)
	return true, im.take(j, &t)
}

// takeOthers makes jobs of the applications that were held back for a history and have none.
func (im *importer) takeOthers(context.Context) error {
	late, idle := 0, 0
	for k, a := range im.apps {
		if im.store.has(k) {
			continue
		}
		if a.late || a.Type == "MAPREDUCE" && (im.Files != nil || im.History) && im.Now.Sub(time.UnixMilli(a.Finished)) < lateHistory && a.MemorySeconds > 0 {
			late++
			continue
		}
		taken, err := im.takeOther(a)
		if err != nil {
			return err
		}
		if !taken {
			idle++
		}
	}
	im.note(late, "jobs ended less than %v ago and their history or log is not complete yet: the next import takes them", unit.FormatSeconds(lateHistory.Seconds()))
	for k, a := range im.running {
		if im.store.has(k) {
			continue
		}
		if j := im.build.other(a); j != nil {
			im.unfinished = append(im.unfinished, j)
		}
	}
	slices.SortFunc(im.unfinished, bySubmit)
	im.note(idle, "applications never held a container (refused, failed or killed before): left out")
	return nil
}
