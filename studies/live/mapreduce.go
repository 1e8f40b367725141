package live

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// MapReduce is a study of MapReduce jobs.
type MapReduce struct {
	Small bool
}

// Study declares it. A run of it runs the jobs three times: under one set of settings, under another and under the first again. Each starts with
// new daemons and ends with an import. The record is a folder.
func (m *MapReduce) Study() *harness.Study[mapreduceRecord] {
	h := &harness.Study[mapreduceRecord]{Folder: "mapreduce", File: "report.md", Nice: -18, Command: true, Run: m.run, Template: mapreducePage}
	h.Keep = func(began *evidence.Run, rec *mapreduceRecord) (evidence.Run, error) {
		defer rec.remove()
		return began.KeepTree(h.Dir, mapreduceSeries, rec.dir)
	}
	h.Stored = func() (runs []evidence.Run, records []*mapreduceRecord, err error) {
		runs, err = evidence.Series(h.Dir, mapreduceSeries, "")
		for _, run := range runs {
			rec := &mapreduceRecord{dir: filepath.Join(h.Dir, run.File)}
			err = errors.Join(err, evidence.Read(filepath.Join(rec.dir, measuredFile), &rec.phases))
			records = append(records, rec)
		}
		return runs, records, err
	}
	h.Facts = func(ctx context.Context, runs []evidence.Run, records []*mapreduceRecord) (map[string]any, template.FuncMap, error) {
		all, err := mapreduceFactsOf(ctx, runs, records)
		if err != nil {
			return nil, nil, err
		}
		return mapreduceData(h.Dir, all)
	}
	return h
}

// mapreduceRecord is the folder of one run of the study.
type mapreduceRecord struct {
	dir    string
	phases []Phase
	remove func() // before it is stored
}

// Phase is one run of the jobs.
type Phase struct {
	Name   string // "a", "b", "again"
	At     time.Time
	Load   [2]float64
	Busy   float64           // total CPU utilisation
	Hadoop string            // version
	Names  map[string]string // of jobs, by MapReduce's own id
	Kinds  map[string]string // by name
}

// Names of the records: one folder per run of the study, and its files.
const (
	mapreduceSeries = "run"
	measuredFile    = "measured.json.gz"
	queuesFile      = "queues-b.xml"
)

func (m *MapReduce) run(ctx context.Context, now *harness.Run) (*mapreduceRecord, string, error) {
	rec := &mapreduceRecord{phases: []Phase{{Name: "a"}, {Name: "b"}, {Name: "again"}}}
	if m.Small {
		rec.phases = rec.phases[:1]
	}
	var err error
	if rec.dir, rec.remove, err = host.Folder("", "mapreduce"); err != nil {
		return nil, "", err
	}
	for i := range rec.phases {
		if err = m.phase(ctx, now, rec.dir, &rec.phases[i]); err != nil {
			err = fmt.Errorf("%s: %w", rec.phases[i].Name, err)
			break
		}
	}
	if err == nil {
		var measured []byte
		measured, err = evidence.Packed(rec.phases)
		err = errors.Join(err, os.WriteFile(filepath.Join(rec.dir, measuredFile), measured, 0o644), os.WriteFile(filepath.Join(rec.dir, queuesFile), []byte(mapreduceQueues(true)), 0o644))
	}
	if err != nil {
		rec.remove()
	}
	return rec, fmt.Sprintf("%d phases", len(rec.phases)), err
}

// phase runs the jobs once and stores the import in a folder of dir.
func (m *MapReduce) phase(ctx context.Context, now *harness.Run, dir string, p *Phase) error {
	work := now.Work
	if work != "" {
		work = filepath.Join(work, p.Name)
	}
	c, down, err := hadoop.UpIn(ctx, work, hadoop.Options{
		SchedulerXML: mapreduceQueues(p.Name == "b"), Nodes: mapreduceNodes, NodeMB: mapreduceMB, NodeVcores: 16, HDFS: true, History: true,
		Site: map[string]string{"yarn.scheduler.minimum-allocation-mb": "256", "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "600000"},
		Log:  now.Log,
	})
	if err != nil {
		return err
	}
	defer down()
	jobs := mapreduceJobs(m.Small)
	p.At, p.Hadoop, p.Names, p.Kinds = time.Now().UTC().Truncate(time.Second), c.Version, map[string]string{}, map[string]string{}
	p.Load[0] = host.LoadAverage(host.OneMinute)
	used := processors()
	res, err := c.Jobs(ctx, jobs, true)
	if err != nil {
		return err
	}
	p.Busy, p.Load[1] = used(), host.LoadAverage(host.OneMinute)
	if err := allSucceeded(jobs, res); err != nil {
		return err
	}
	for _, j := range res {
		p.Names[j.Job], p.Kinds[j.ID] = j.ID, j.Kind
	}
	wait := settled
	if m.Small {
		wait = 6 * time.Second
	}
	return importInto(ctx, now, c, true, wait, imported(dir, p.Name))
}

// imported is the folder of a run with the import of a phase.
func imported(run, phase string) string { return filepath.Join(run, "import-"+phase) }

// importInto imports a cluster as an operator would, with the history of its MapReduce jobs, for which it waits, or without, and moves the files that a
// simulation needs to a folder.
func importInto(ctx context.Context, now *harness.Run, c *hadoop.Cluster, mapreduce bool, wait time.Duration, dir string, more ...string) error {
	from, clean, err := host.Folder("", "import")
	if err != nil {
		return err
	}
	defer clean()
	args := append([]string{"import", "yarn", "--rm", c.RM(), "--user", admin, "--since", "1d", "-o", from}, more...)
	if mapreduce {
		args = append(args, "--history", c.History(), "--webhdfs", c.NameNode())
		if err := host.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	out, err := steerer.Run(ctx, now.Bin, "", args...)
	if err != nil {
		return fmt.Errorf("importing: %w", err)
	}
	fmt.Fprintf(now.Log, "%s", out)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{jobsFile, "cluster.yaml", "yarn-site.xml", "capacity-scheduler.xml", "scenario.yaml"} {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("the import lacks a file: %w", err)
		}
	}
	return nil
}

// seeds of the simulations: each draws new heartbeat phases, and means are reported.
const seeds = 5

// predicted simulates an import under its own settings, or under a scheduler file, and returns the mean time of each job and the mean makespan.
func predicted(ctx context.Context, folder string, p *Phase, queues string) (*times, error) {
	sc, err := scenario.Load(imported(folder, p.Name))
	if err != nil {
		return nil, err
	}
	if queues != "" {
		sc.Schedulers = []string{queues}
	}
	setup, err := sc.Resolve()
	if err != nil {
		return nil, err
	}
	var runs [seeds][]ended
	for i := range runs {
		spec, rows := setup.Runs()[0], result.NewJobRows(len(p.Names))
		spec.Seed, spec.Sink = uint64(i+1), rows
		if _, err := run.Play(ctx, &spec); err != nil {
			return nil, err
		}
		for _, r := range rows.Rows() {
			runs[i] = append(runs[i], ended{r.ID, r.Queue, r.Submit, r.Finish})
		}
		if len(runs[i]) != len(p.Names) {
			return nil, fmt.Errorf("%d of %d jobs ended in the simulation", len(runs[i]), len(p.Names))
		}
	}
	return newTimes(p, runs[:]...)
}

// ended is a completed job; instants in s.
type ended struct {
	id, queue      string
	submit, finish float64 // finish is below 0 if it did not end
}

// measured is the cluster's result, according to the import.
func measured(run string, p *Phase) (*times, error) {
	all, err := readJobs(filepath.Join(imported(run, p.Name), jobsFile))
	if err != nil {
		return nil, err
	}
	var list []ended
	for _, j := range all {
		if j.Observed == nil {
			return nil, fmt.Errorf("the import has no times of job %s", j.ID)
		}
		list = append(list, ended{j.ID, j.Queue, j.Submit.Seconds(), j.Observed.Finish.Seconds()})
	}
	return newTimes(p, list)
}

// times are job times by name, and the makespan, in s; means over several runs.
type times struct {
	job     map[string]float64
	queueOf map[string]string
	span    float64
}

func newTimes(p *Phase, runs ...[]ended) (*times, error) {
	t, n := &times{job: map[string]float64{}, queueOf: map[string]string{}}, float64(len(runs))
	for _, run := range runs {
		from, to := math.Inf(1), 0.0
		for _, j := range run {
			name, ok := p.Names[j.id]
			if !ok || j.finish < 0 {
				return nil, fmt.Errorf("job %s did not end in the simulation, or did not run on the cluster", j.id)
			}
			t.queueOf[name] = short(j.queue)
			t.job[name] += (j.finish - j.submit) / n
			from, to = min(from, j.submit), max(to, j.finish)
		}
		t.span += (to - from) / n
	}
	return t, nil
}

// mean is the mean over a queue's jobs; "": over all.
func (t *times) mean(queue string) float64 {
	var list []float64
	for _, name := range slices.Sorted(maps.Keys(t.job)) {
		if queue == "" || t.queueOf[name] == queue {
			list = append(list, t.job[name])
		}
	}
	return result.Mean(list).Mean
}

// QueueOf is a job's queue.
func (t *times) QueueOf(name string) string { return t.queueOf[name] }

func short(queue string) string { return queue[strings.LastIndexByte(queue, '.')+1:] }

// mapreduceQueues are the settings before (b is false) and after the change.
func mapreduceQueues(b bool) string {
	if b {
		return queues("a", "b")
	}
	return queues("a")
}

// The nodes of the study of MapReduce: nine containers in all, including AMs. A computer with two processors cannot
// start more at a time without slowing all of them down.
const (
	mapreduceNodes = 3
	mapreduceMB    = 1536
	taskMB         = 512
)

//go:embed jobs.yaml
var jobsText []byte

// mapreduceJobs is the list of jobs.
func mapreduceJobs(small bool) []hadoop.Job {
	type job struct {
		At, Map, Reduce   float64 // s
		Kind, Queue, User string
		Maps, Reduces     int
	}
	all := yamlfile.Decode[struct{ Full, Small []job }](jobsText)
	list := all.Full
	if small {
		list = all.Small
	}
	jobs := make([]hadoop.Job, len(list))
	for i, j := range list {
		jobs[i] = hadoop.Job{
			ID: fmt.Sprintf("%s-%02d", j.Kind, i+1), Kind: j.Kind, User: j.User, Queue: j.Queue, Submit: hadoop.Millis(j.At * 1000), Maps: j.Maps, Reduces: j.Reduces,
			MapTime: hadoop.Millis(j.Map * 1000), ReduceTime: hadoop.Millis(j.Reduce * 1000), Bytes: 1 << 18, Points: 200_000, MapMB: taskMB, ReduceMB: taskMB, AMMB: taskMB,
		}
	}
	return jobs
}
