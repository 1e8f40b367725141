package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// admin is the lab's administrator.
const admin = "yardmaster"

// client asks a lab's ResourceManager.
func client(c *hadoop.Cluster) (*rest.Client, error) {
	return rest.New(rest.Options{RM: c.RMs(), Auth: rest.User(admin), RMRate: -1})
}

// lab is one with nodes of so many GB, whose containers are as many vcores as one wants.
func lab(conf string, nodes, nodeGB int) hadoop.Options {
	return hadoop.Options{SchedulerXML: conf, Nodes: nodes, NodeMB: nodeGB << 10, NodeVcores: 1024, Site: site(nodeGB<<10, 1024), RMHeapMB: 768}
}

// fastLab is one whose heartbeats come four times a second.
func fastLab(conf string, nodes, nodeGB int) hadoop.Options {
	return hadoop.Options{SchedulerXML: conf, Nodes: nodes, NodeMB: nodeGB << 10, NodeVcores: 64, Heartbeat: 250 * time.Millisecond, Site: site(nodeGB<<10, 1024)}
}

// warmUp runs a few applications that are not recorded, in a queue, or else in those that they name.
func warmUp(queue string) func(ctx context.Context, bench *harness.Bench) error {
	return func(ctx context.Context, bench *harness.Bench) error {
		fmt.Fprintln(bench.Log, "a few applications to warm the daemons up")
		apps := warm()
		for i := range apps {
			apps[i].Queue = cmp.Or(queue, apps[i].Queue)
		}
		_, err := bench.Cluster.AMs(ctx, apps, hadoop.AMsOptions{})
		return err
	}
}

// predictionSeries is the series of predictions.
const predictionSeries = "prediction"

// Prediction is what was said of a run before it began. The ledger has the time and the program that said it.
type Prediction struct {
	Arm        string
	Repetition int
	History    string               `json:",omitempty"` // the record of the run it was made from; "": it was made from the workload alone
	Changes    []string             `json:",omitempty"` // of settings
	AsItIs     []experiment.Metrics `json:",omitempty"` // replays of that history
	Replays    []experiment.Metrics // of it, perturbed in the same ways, under the arm; or rehearsals
}

// keep stores the prediction of a run and returns the name of its record.
func (p Prediction) keep(now *harness.Run) (string, error) {
	p.Arm, p.Repetition = now.Way, now.Repetition
	kept, err := evidence.Begin(now.Program).KeepJSON(now.Dir, predictionSeries, p)
	return kept.File, err
}

// newRecord describes a run before it starts.
func newRecord(now *harness.Run, apps []hadoop.Application, nodeGB int) (*SizedRecord, error) {
	rec := &SizedRecord{Arm: now.Way, Repetition: now.Repetition, Hadoop: now.Cluster.Version, Workload: apps}
	site, err := os.ReadFile(filepath.Join(now.Cluster.Conf(), "yarn-site.xml"))
	if err != nil {
		return nil, err
	}
	rec.Site = string(site)
	rec.Nodes, err = nodesOf(now.Cluster, nodeGB<<10)
	return rec, err
}

// JobRecord is a run of a MapReduce job, on the ResourceManager's clock; instants are those since the workload's zero.
type JobRecord struct {
	ID, Job, User, Queue string
	Submit, End          hadoop.Millis
}

// play runs the record's workload, and MapReduce jobs beside it.
func (r *SizedRecord) play(ctx context.Context, c *hadoop.Cluster, jobs []hadoop.Job) error {
	var others []hadoop.JobResult
	beside := make(chan error, 1)
	go func() {
		var err error
		if len(jobs) > 0 {
			others, err = c.Jobs(ctx, jobs, true)
		}
		beside <- err
	}()
	res, err := c.AMs(ctx, r.Workload, hadoop.AMsOptions{LateIDs: len(jobs) > 0})
	if err := errors.Join(err, <-beside); err != nil {
		return err
	}
	ended, err := succeeded(r.Workload, res.Apps)
	if err != nil {
		return err
	}
	r.Zero = res.Zero
	for i := range r.Workload {
		r.End = append(r.End, ended[r.Workload[i].ID].Unregister-res.Zero)
	}
	for _, j := range others {
		r.Jobs = append(r.Jobs, JobRecord{j.ID, j.Job, j.User, j.Queue, j.Started - res.Zero, j.End - res.Zero})
	}
	return allSucceeded(jobs, others)
}

// allSucceeded is an error unless all MapReduce jobs have succeeded.
func allSucceeded(jobs []hadoop.Job, res []hadoop.JobResult) error {
	for _, j := range res {
		if j.State != "SUCCEEDED" {
			return fmt.Errorf("job %s has not succeeded: %s %s", j.ID, j.State, j.Why)
		}
	}
	if len(res) != len(jobs) {
		return fmt.Errorf("%d of %d MapReduce jobs ended", len(res), len(jobs))
	}
	return nil
}

// unchanged joins an error if the scheduler's configuration is not what it was.
func unchanged(ctx context.Context, c *hadoop.Cluster, before string, err *error) {
	if after, e := inForce(ctx, c); *err == nil && (e != nil || after != before) {
		*err = errors.Join(e, fmt.Errorf("the scheduler's configuration is not as it was:\n%s", after))
	}
}

// succeeded are the results of the applications by ID. All must have succeeded.
func succeeded(apps []hadoop.Application, res []hadoop.AppResult) (map[string]*hadoop.AppResult, error) {
	by := map[string]*hadoop.AppResult{}
	for i := range res {
		by[res[i].ID] = &res[i]
	}
	for i := range apps {
		if r := by[apps[i].ID]; r == nil || r.State != "SUCCEEDED" {
			return nil, fmt.Errorf("application %s has not succeeded: %+v", apps[i].ID, r)
		}
	}
	return by, nil
}

// inForce is the scheduler's configuration as the ResourceManager has it.
func inForce(ctx context.Context, c *hadoop.Cluster) (string, error) {
	rm, err := client(c)
	if err != nil {
		return "", err
	}
	defer rm.CloseIdle()
	all, err := rm.SchedulerConf(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var own []conf.Property
	for _, p := range all.List {
		if strings.HasPrefix(p.Name, "yarn.scheduler.capacity.") {
			own = append(own, *p)
		}
	}
	err = conf.WriteProperties(&b, own)
	return b.String(), err
}
