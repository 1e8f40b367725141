package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/whatif/watch"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// perturbed is the number of replays of a prediction: the history itself, and replays whose submissions are jittered.
const perturbed = 41

// queueTimes collects the elapsed times of queues, in seconds.
type queueTimes struct {
	byQueue map[string][]float64
	err     error
}

func (q *queueTimes) add(id, queue string, submit, end int64) {
	if q.byQueue == nil {
		q.byQueue = map[string][]float64{}
	}
	if end < submit {
		q.err = fmt.Errorf("%s has not ended", id)
	}
	q.byQueue[short(queue)] = append(q.byQueue[short(queue)], float64(end-submit)/1000)
}

func (q *queueTimes) means() (experiment.Metrics, error) {
	out := experiment.Metrics{}
	for queue, t := range q.byQueue {
		out[queue] = result.Mean(t).Mean
	}
	return out, q.err
}

// history imports the cluster as an operator would, and stores that with the jobs of one run. Of MapReduce jobs it has what the import found. Of
// an unmanaged application a ResourceManager knows only totals, so it has what the application itself knows: how long it held each container.
func (r *SizedRecord) history(ctx context.Context, now *harness.Run) (file string, err error) {
	dir, clean, err := host.Folder("", "history")
	if err != nil {
		return "", err
	}
	defer clean()
	if err := importInto(ctx, now, now.Cluster, len(r.Jobs) > 0, settled, dir); err != nil {
		return "", err
	}
	list, err := r.observed(filepath.Join(dir, jobsFile))
	if err == nil {
		err = writeJobs(filepath.Join(dir, jobsFile), list, "a run of the study of settings")
	}
	if err != nil {
		return "", err
	}
	run, err := evidence.Begin(now.Program).KeepTree(now.Dir, historySeries, dir)
	return run.File, err
}

const (
	jobsFile = "jobs.parquet"
	// settled is how long it takes until an import can read the last jobs: histories are moved to their final folder some seconds after the end, and the
	// ResourceManager's totals are complete when the last AM's container is gone; an import accepts them fifteen seconds after the end.
	settled = 18 * time.Second
)

// observed are the record's jobs as they were observed.
func (r *SizedRecord) observed(imported string) (workload.Slice, error) {
	all, err := jobs(r.Workload)
	if err != nil {
		return nil, err
	}
	for i, j := range all {
		j.Name, j.Observed = j.ID, &workload.Observed{Launch: j.Submit, Finish: millis(r.End[i])}
	}
	found, err := readJobs(imported)
	if err != nil {
		return nil, err
	}
	for _, x := range r.Jobs {
		i := slices.IndexFunc(found, func(j *workload.Job) bool { return j.ID == x.Job })
		if i < 0 {
			return nil, fmt.Errorf("the import has no job %s", x.Job)
		}
		j := *found[i]
		j.ID, j.Name, j.Queue, j.Submit = x.ID, x.ID, "root."+short(x.Queue), millis(x.Submit)
		j.Observed = &workload.Observed{Launch: j.Submit, Finish: millis(x.End)}
		all = append(all, &j)
	}
	slices.SortStableFunc(all, func(a, b *workload.Job) int { return int(a.Submit - b.Submit) })
	return all, nil
}

func readJobs(file string) (workload.Slice, error) {
	in, err := jobfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // read only
	return workload.ReadAll(in)
}

func writeJobs(file string, list workload.Slice, source string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := jobfile.NewWriter(f, jobfile.NewMeta("yardmaster lab", source, nil))
	for _, j := range list {
		err = errors.Join(err, w.Write(j))
	}
	return errors.Join(err, w.Close(), f.Close())
}

// replays simulates a history under changed settings, as it was and perturbed.
func replays(ctx context.Context, dir string, changes []edit.Change) (list []experiment.Metrics, err error) {
	sc, err := scenario.Load(dir)
	if err != nil {
		return nil, err
	}
	sc.Edits = changes
	setup, err := sc.Resolve()
	if err != nil {
		return nil, err
	}
	all, err := setup.Workload.Read(0)
	if err != nil {
		return nil, err
	}
	within := synth.Jitter(all[len(all)-1].Submit - all[0].Submit)
	for seed := range uint64(perturbed) {
		spec := setup.Runs()[0]
		spec.Seed, spec.Log = seed, &run.Log{}
		spec.Workload = &run.Workload{Open: func(uint64) (workload.Source, error) { return synth.Jittered(all.Source(), within, seed), nil }}
		out, err := conform.Replay(ctx, &spec, false)
		if err != nil {
			return nil, err
		}
		var times queueTimes
		for _, j := range all {
			times.add(j.ID, j.Queue, out.Submit[j.ID], out.End[j.ID])
		}
		m, err := times.means()
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// liveChange is what was said of a queue before a change, and what happened.
type liveChange struct {
	Repetition     int
	Arm, Queue     string
	Subject        bool    // the change is about this queue
	Before, After  float64 // mean elapsed time, s
	Said           float64 // relative change: the mean of the replays
	Low, High      float64 // 95 % of the replays
	Replayed       float64 // mean elapsed time in the replay of the history as it was, s
	Run, Predicted evidence.Run
	Zero           time.Time // when the run's arrivals began
	Watched        watch.Figure
}

// Is is the measured change.
func (c *liveChange) Is() float64 { return c.After/c.Before - 1 }

// Off is the predicted change less the measured one.
func (c *liveChange) Off() float64 { return c.Said - c.Is() }

// Turned reports whether the prediction has the wrong direction. A change that is not clear has none.
func (c *liveChange) Turned() bool {
	return c.Is()*c.Said < 0 && max(math.Abs(c.Is()), math.Abs(c.Said)) > clearChange
}

// Inside reports whether the interval that was stated has the measured change.
func (c *liveChange) Inside() bool { return c.Low <= c.Is() && c.Is() <= c.High }

// Sized reports whether the size is right: within the tolerance, or within that interval.
func (c *liveChange) Sized() bool { return math.Abs(c.Off()) <= tolerance || c.Inside() }

// Verdict says whether a prediction holds.
func (c *liveChange) Verdict() judged {
	if c.Turned() || !c.Sized() {
		return missed
	}
	return met
}

// liveChanges are all changes of the study, with what was recorded of each before it was made.
func liveChanges(dir string, runs []evidence.Run, records []*SizedRecord) (list []*liveChange, err error) {
	kept, said, err := evidence.ReadSeries[Prediction](dir, predictionSeries)
	if err != nil {
		return nil, err
	}
	before := map[int]experiment.Metrics{} // by repetition
	asItWas := map[int]*SizedRecord{}
	for _, r := range records {
		if r.Arm == asItIs {
			asItWas[r.Repetition] = r
			if before[r.Repetition], err = r.Elapsed(); err != nil {
				return nil, err
			}
		}
	}
	for i, r := range records {
		if r.Arm == asItIs {
			continue
		}
		k := slices.IndexFunc(kept, func(p evidence.Run) bool { return p.File == r.Prediction })
		if k < 0 || !kept[k].At.Before(r.Zero.Time()) || len(said[k].AsItIs) != len(said[k].Replays) {
			return nil, fmt.Errorf("%s has no prediction that was recorded before it", runs[i].File)
		}
		after, err := r.Elapsed()
		if err != nil {
			return nil, err
		}
		for _, q := range settingsQueues {
			c := &liveChange{
				Repetition: r.Repetition, Arm: r.Arm, Queue: q, Before: before[r.Repetition][q], After: after[q],
				Run: runs[i], Predicted: kept[k], Zero: r.Zero.Time(),
			}
			c.Subject = slices.ContainsFunc(settingsArms, func(a settingsArm) bool { return a.Name == r.Arm && a.Queue == q })
			changes := make([]float64, len(said[k].Replays))
			for n := range changes {
				changes[n] = said[k].Replays[n][q]/said[k].AsItIs[n][q] - 1
			}
			c.Said, c.Low, c.High = result.Mean(changes).Mean, result.Quantile(changes, 0.025), result.Quantile(changes, 0.975)
			c.Replayed = said[k].AsItIs[0][q]
			if c.Watched, err = watched(asItWas[r.Repetition], r, q); err != nil {
				return nil, err
			}
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *liveChange) int {
		return cmp.Or(cmp.Compare(armIndex(a.Arm), armIndex(b.Arm)), cmp.Compare(a.Repetition, b.Repetition))
	})
	return list, nil
}

// watched is what the watch of apply makes of the applications of two runs, one before a change and one since.
func watched(before, since *SizedRecord, queue string) (watch.Figure, error) {
	list, _ := before.watched("before")
	now, lasted := since.watched("since")
	w := watch.New(lasted, list)
	w.Add(now, lasted)
	return w.Measure(goal.Goal{Statistic: goal.Mean, Figure: goal.Elapsed, Queue: "root." + queue})
}

// watched are a run's applications as a watch sees them, and how long they took together.
func (r *SizedRecord) watched(run string) (list []watch.App, lasted time.Duration) {
	add := func(id, user, queue string, submit, end hadoop.Millis, held float64) {
		list = append(list, watch.App{ID: run + id, Name: id, User: user, Queue: "root." + short(queue), Held: held, Succeeded: true,
			Submitted: (r.Zero + submit).Time(), Finished: (r.Zero + end).Time(), SoFar: time.Duration(end-submit) * time.Millisecond})
		lasted = max(lasted, time.Duration(end)*time.Millisecond)
	}
	for i, a := range r.Workload {
		held := 0.0
		for _, g := range a.Containers {
			for k := range g.Count {
				held += float64(g.MB) * float64(g.Hold[k%len(g.Hold)]) / 1000
			}
		}
		add(a.ID, a.User, a.Queue, a.Submit, r.End[i], held)
	}
	for _, j := range r.Jobs {
		add(j.ID, j.User, j.Queue, j.Submit, j.End, 0)
	}
	return list, lasted
}

// settingsQueues are the study's queues.
var settingsQueues = []string{"prod", "batch", "adhoc"}
