package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// rounds runs arms in turn on one set of daemons.
type rounds struct {
	Nodes, PerNode int
	MapReduce      bool   // the daemons can run MapReduce jobs
	Conf           string // capacity-scheduler.xml
	Queue          string // where the daemons are warmed up; "": they are not
	Repetitions    []int
	Arms, Only     []string
	First          string // an arm that goes first in every repetition; "": none
	Dir, Series    string
	Work, Binary   string
	Log            io.Writer
}

// round is one run of an arm.
type round struct {
	plan       *rounds
	lab        *hadoop.Cluster
	bin        string // the program
	version    string // its version
	arm        string
	repetition int
}

// upTo lists the numbers 1 to n.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// order lists the arms of a repetition: each one is rotated by one against the last.
func (r *rounds) order(repetition int) (list []string) {
	turning := slices.DeleteFunc(slices.Clone(r.Arms), func(arm string) bool { return arm == r.First })
	if r.First != "" {
		list = append(list, r.First)
	}
	for i := range turning {
		list = append(list, turning[(i+repetition-1)%len(turning)])
	}
	return slices.DeleteFunc(list, func(arm string) bool { return len(r.Only) > 0 && !slices.Contains(r.Only, arm) })
}

// run keeps a record of each run of an arm.
func (r *rounds) run(ctx context.Context, one func(*round) (*SizedRecord, string, error)) error {
	bin, remove, err := host.Program(ctx, r.Binary)
	if err != nil {
		return err
	}
	defer remove()
	program, err := evidence.Program(r.Dir, r.Binary)
	if err != nil {
		return err
	}
	end, _ := host.First(-10) // where not permitted, priorities stay unchanged
	defer end()
	nodeMB := r.PerNode << 10
	c, down, err := hadoop.UpIn(ctx, r.Work, hadoop.Options{
		SchedulerXML: r.Conf, Nodes: r.Nodes, NodeMB: nodeMB, NodeVcores: 1024, Site: site(nodeMB, 1024), RMHeapMB: 768, History: r.MapReduce, Log: r.Log,
	})
	if err != nil {
		return err
	}
	defer down()
	if r.Queue != "" {
		fmt.Fprintln(r.Log, "a few applications to warm the daemons up")
		hot := warm()
		for i := range hot {
			hot[i].Queue = r.Queue
		}
		if _, err := c.AMs(ctx, hot, hadoop.AMsOptions{}); err != nil {
			return err
		}
	}
	for _, rep := range r.Repetitions {
		for _, arm := range r.order(rep) {
			began := evidence.Begin(program)
			rec, said, err := one(&round{r, c, bin, program, arm, rep})
			if err != nil {
				return fmt.Errorf("%s, repetition %d: %w", arm, rep, err)
			}
			rec.Repetition = rep
			series := r.Series
			if len(rec.Kills) > 0 {
				series = killSeries
			}
			kept, err := began.KeepJSON(r.Dir, series, rec)
			if err != nil {
				return err
			}
			fmt.Fprintf(r.Log, "%s  repetition %d, %s: %s; load %s\n", time.Now().Format("15:04:05"), rep, arm, said, kept.LoadText())
		}
	}
	return nil
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

// keep stores a prediction and returns the name of its record.
func (r *round) keep(p Prediction) (string, error) {
	p.Arm, p.Repetition = r.arm, r.repetition
	kept, err := evidence.Begin(r.version).KeepJSON(r.plan.Dir, predictionSeries, p)
	return kept.File, err
}

// newRecord describes a run before it starts.
func (r *round) newRecord(apps []hadoop.Application) (*SizedRecord, error) {
	rec := &SizedRecord{Arm: r.arm, Hadoop: r.lab.Version, Workload: apps}
	site, err := os.ReadFile(filepath.Join(r.lab.Conf(), "yarn-site.xml"))
	if err != nil {
		return nil, err
	}
	rec.Site = string(site)
	rec.Nodes, err = nodesOf(r.lab, r.plan.PerNode<<10)
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
		if j.State != "SUCCEEDED" {
			return fmt.Errorf("job %s has not succeeded: %s %s", j.ID, j.State, j.Why)
		}
		r.Jobs = append(r.Jobs, JobRecord{j.ID, j.Job, j.User, j.Queue, j.Started - res.Zero, j.End - res.Zero})
	}
	if len(r.Jobs) != len(jobs) {
		return fmt.Errorf("%d of %d MapReduce jobs ended", len(r.Jobs), len(jobs))
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
	rm, err := rest.New(rest.Options{RM: c.RMs(), Auth: rest.User(admin), RMRate: -1})
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
