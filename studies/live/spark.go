package live

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/http"
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
	"github.com/yardmaster/yardmaster/studies/lab/spark"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// Spark is a study of Spark applications. In each repetition a real YARN runs them as they are; from the import of that run, each change is predicted, and
// the predictions are stored with the record. Then the same applications run under each change, and once more as they are.
type Spark struct {
	Small bool
	Idle  bool // the study of idle executors: see sparkidle.go
}

// ways are the study's, and names theirs.
func (s *Spark) ways() []sparkWay {
	if s.Idle {
		return idleWays
	}
	return sparkWays
}

func (s *Spark) names() (names []string) {
	for _, w := range s.ways() {
		names = append(names, w.Name)
	}
	return names
}

// sparkWay is a change: of the queues, or of the executors of each user's applications.
type sparkWay struct {
	Name   string
	About  string
	Queues []string // parts of queues.conf
	Users  map[string]executors
}

// executors are settings of executors, as Spark and as a scenario write them.
type executors struct {
	Scenario string // "": the applications' own
	Conf     map[string]string
}

func static(n int) executors {
	return executors{fmt.Sprintf("instances=%d", n), map[string]string{"executor.instances": fmt.Sprint(n)}}
}

// dynamic is dynamic allocation from one executor to most; those that hold shuffled data are kept for longer than others.
func dynamic(most int) executors {
	return executors{fmt.Sprintf("dynamic=true,min=0,initial=1,max=%d,idle=10s,shuffle-idle=15s", most), map[string]string{
		"dynamicAllocation.enabled": "true", "dynamicAllocation.minExecutors": "0", "dynamicAllocation.initialExecutors": "1", "dynamicAllocation.maxExecutors": fmt.Sprint(most),
		"dynamicAllocation.executorIdleTimeout": "10s", "dynamicAllocation.shuffleTracking.timeout": "15s",
	}}
}

// own are the executors as they are.
var own = map[string]executors{"ana": static(2), "ben": static(3), "eva": dynamic(3)}

// sparkWays are the ways of the study. The first one changes nothing, nor does the last.
var sparkWays = []sparkWay{
	{asItIs, "ana has 2 executors, ben 3, eva from 1 to 3 by dynamic allocation", []string{"spark"}, own},
	{"executors", "ana has 3 executors, ben 2, eva at most 2", []string{"spark"}, map[string]executors{"ana": static(3), "ben": static(2), "eva": dynamic(2)}},
	{"queues", "batch has the larger share, prod the smaller", []string{"spark", "turned"}, own},
	{"allocation", "ana and ben have dynamic allocation, eva has 2 executors", []string{"spark"}, map[string]executors{"ana": dynamic(3), "ben": dynamic(3), "eva": static(2)}},
	{"again", "as it is, once more", []string{"spark"}, own},
}

// The nodes of the study.
const (
	sparkNodes  = 2
	sparkMB     = 2432
	sparkVcores = 10
	// Containers of the applications: see lab/spark.
	executorMB, executorCores = 768, 2
	amMB                      = 384
)

// sparkRecord is the folder of one run: the import, and what was measured.
type sparkRecord struct {
	SparkRun
	apps   []spark.Application
	dir    string
	remove func() // before it is stored
}

// SparkRun is what was measured.
type SparkRun struct {
	Way           string
	Repetition    int
	At            time.Time
	Load          [2]float64
	Busy          float64 // total CPU utilisation
	Hadoop, Spark string
	Apps          []SparkApp // in the order of the list
	// Predicted are, of the run as it is, the means of the simulations of its own import, by way and application.
	Predicted map[string]map[string]SparkApp `json:",omitempty"`
	Advice    *Advice                        `json:",omitempty"` // of the study of idle executors
}

// SparkApp is an application by the ResourceManager, or simulated. Memory is in MiB-seconds.
type SparkApp struct {
	ID                     string `json:",omitempty"` // of a measured one
	Name, Queue            string
	Elapsed, Memory, Cores float64
}

const sparkSeries = "run"

//go:embed spark.yaml
var sparkText []byte

//go:embed spark.md.tmpl
var sparkPage string

//go:embed spark.svg.tmpl
var sparkPicture string

// Study declares it.
func (s *Spark) Study() *harness.Study[sparkRecord] {
	h := &harness.Study[sparkRecord]{
		Options: harness.Options{Repetitions: 1}, Folder: "spark", File: "report.md", First: asItIs, Resume: true, Nice: -18, Command: true, Run: s.run, Template: sparkPage,
		Key:   func(r *sparkRecord) (string, int) { return r.Way, r.Repetition },
		Order: func(int) []string { return s.names() },
		Small: func() { s.Small = true },
	}
	h.Ways = s.names()
	if s.Idle {
		h.Folder, h.Template = "spark-idle", idlePage
	}
	h.Keep = func(began *evidence.Run, rec *sparkRecord) (evidence.Run, error) {
		defer rec.remove()
		return began.KeepTree(h.Dir, sparkSeries, rec.dir)
	}
	h.Stored = func() (runs []evidence.Run, records []*sparkRecord, err error) {
		runs, err = evidence.Series(h.Dir, sparkSeries, "")
		for _, run := range runs {
			rec := &sparkRecord{dir: filepath.Join(h.Dir, run.File)}
			err = errors.Join(err, evidence.Read(filepath.Join(rec.dir, measuredFile), &rec.SparkRun))
			records = append(records, rec)
		}
		return runs, records, err
	}
	h.Facts = func(_ context.Context, runs []evidence.Run, records []*sparkRecord) (map[string]any, template.FuncMap, error) {
		return s.data(h.Dir, runs, records)
	}
	return h
}

// applications are those of the study, with a way's settings.
func (s *Spark) applications(w *sparkWay) (apps []spark.Application) {
	type app struct {
		At, Mean, Pause   float64 // s
		Kind, Queue, User string
		Tasks             int
	}
	all := yamlfile.Decode[struct{ Full, Small, Idle []app }](sparkText)
	list := all.Full
	switch {
	case s.Idle:
		list = all.Idle
	case s.Small:
		list = all.Small
	}
	for i, a := range list {
		conf := maps.Clone(w.Users[a.User].Conf)
		if a.Kind == "threads" {
			conf["scheduler.mode"] = "FAIR"
		}
		apps = append(apps, spark.Application{
			ID: fmt.Sprintf("%s-%02d", a.Kind, i+1), User: a.User, Queue: a.Queue, Submit: hadoop.Millis(a.At * 1000), Kind: a.Kind, Tasks: a.Tasks,
			Mean: hadoop.Millis(a.Mean * 1000), Seed: i + 1, Pause: hadoop.Millis(cmp.Or(a.Pause, 20) * 1000), Conf: conf,
		})
	}
	return apps
}

// run makes one run: the applications, and the import. The run as it is predicts the others.
func (s *Spark) run(ctx context.Context, now *harness.Run) (*sparkRecord, string, error) {
	w := &s.ways()[slices.Index(s.names(), now.Way)]
	rec := &sparkRecord{SparkRun: SparkRun{Way: now.Way, Repetition: now.Repetition, Spark: spark.Version}}
	var err error
	if rec.dir, rec.remove, err = host.Folder("", "spark"); err != nil {
		return nil, "", err
	}
	if now.Way == asAdvised {
		if w, err = advisedWay(now); err != nil {
			return nil, "", err
		}
	}
	if err = s.record(ctx, now, w, rec); err != nil {
		rec.remove()
		return nil, "", err
	}
	var sum []float64
	for _, a := range rec.Apps {
		sum = append(sum, a.Elapsed)
	}
	return rec, fmt.Sprintf("mean elapsed %.1f s, processors %.0f %%", result.Mean(sum).Mean, 100*rec.Busy), nil
}

func (s *Spark) record(ctx context.Context, now *harness.Run, w *sparkWay, rec *sparkRecord) error {
	work := now.Work
	if work != "" {
		work = filepath.Join(work, fmt.Sprintf("%s-%d", strings.ReplaceAll(now.Way, " ", "-"), now.Repetition))
	}
	c, down, err := hadoop.UpIn(ctx, work, hadoop.Options{
		SchedulerXML: queues(w.Queues...), Nodes: sparkNodes, NodeMB: sparkMB, NodeVcores: sparkVcores,
		Site: map[string]string{"yarn.scheduler.minimum-allocation-mb": "128", "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "600000"},
		Log:  now.Log,
	})
	if err != nil {
		return err
	}
	defer down()
	events := filepath.Join(c.Dir, "events")
	rec.apps = s.applications(w)
	rec.At, rec.Hadoop = time.Now().UTC().Truncate(time.Second), c.Version
	rec.Load[0] = host.LoadAverage(host.OneMinute)
	used := processors()
	if err := spark.Run(ctx, c, rec.apps, events); err != nil {
		return err
	}
	rec.Busy, rec.Load[1] = used(), host.LoadAverage(host.OneMinute)
	if rec.Apps, err = ranApps(ctx, c, len(rec.apps)); err != nil {
		return err
	}
	if err := importInto(ctx, now, c, false, 0, rec.dir, "--spark-logs", events); err != nil {
		return err
	}
	if w.Name == asItIs {
		if err := drawTimelines(ctx, now, rec, events); err != nil {
			return err
		}
		ways := s.ways()
		if s.Idle {
			if rec.Advice, err = advise(ctx, now, rec); err != nil {
				return err
			}
			ways = []sparkWay{ways[0], rec.Advice.way()}
		}
		rec.Predicted = map[string]map[string]SparkApp{}
		for i := range ways {
			if rec.Predicted[ways[i].Name], err = predictApps(ctx, rec, &ways[i], &ways[0]); err != nil {
				return err
			}
		}
	}
	packed, err := evidence.Packed(&rec.SparkRun)
	return errors.Join(err, os.WriteFile(filepath.Join(rec.dir, measuredFile), packed, 0o644))
}

// drawn are the applications of which the run as it is leaves a picture: static executors, dynamic ones, cached data.
var drawn = []string{"join-01", "skew-04", "cache-05"}

// drawTimelines draws some applications of a run, observed and simulated from its import, beside the records: the logs themselves are not kept.
func drawTimelines(ctx context.Context, now *harness.Run, rec *sparkRecord, events string) error {
	for _, a := range rec.Apps {
		if !slices.Contains(drawn, a.Name) {
			continue
		}
		file := filepath.Join(now.Dir, fmt.Sprintf("timeline-%d-%s.svg", rec.Repetition, a.Name))
		if _, err := steerer.Run(ctx, now.Bin, "", "spark", "timeline", filepath.Join(events, "eventlog_v2_"+a.ID), "--history", rec.dir, "-o", file); err != nil {
			return err
		}
		svg, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		svg = bytes.ReplaceAll(svg, []byte(rec.dir+"/"), nil)  // a temporary folder
		if err := os.WriteFile(file, svg, 0o644); err != nil { //nolint:gosec // a page's picture
			return err
		}
	}
	return nil
}

// ranApps asks the ResourceManager about all applications, once they have ended for it, too.
func ranApps(ctx context.Context, c *hadoop.Cluster, n int) (list []SparkApp, err error) {
	var all struct {
		Apps struct {
			App []struct {
				ID, Name, Queue, FinalStatus string
				StartedTime, FinishedTime    int64
				MemorySeconds, VcoreSeconds  float64
			}
		}
	}
	err = hadoop.Poll(ctx, time.Minute, "the end of all applications", func() (bool, error) {
		list = nil
		if err := hadoop.Ask(ctx, http.DefaultClient, "GET", c.RM()+"/ws/v1/cluster/apps?states=FINISHED", nil, &all); err != nil {
			return true, err
		}
		for _, a := range all.Apps.App {
			if a.FinalStatus != "SUCCEEDED" {
				return true, fmt.Errorf("%s: %s", a.Name, a.FinalStatus)
			}
			list = append(list, SparkApp{a.ID, a.Name, short(a.Queue), float64(a.FinishedTime-a.StartedTime) / 1000, a.MemorySeconds, a.VcoreSeconds})
		}
		if len(list) < n {
			return false, fmt.Errorf("%d of %d applications have ended", len(list), n)
		}
		return true, nil
	})
	slices.SortFunc(list, func(a, b SparkApp) int { return cmp.Compare(number(a.Name), number(b.Name)) })
	return list, err
}

// number is the end of an application's name, by which they are listed.
func number(name string) string { return name[len(name)-2:] }

// predictApps simulates the import of a run, made under the settings of one way, under those of another: means over some seeds.
func predictApps(ctx context.Context, rec *sparkRecord, w, was *sparkWay) (map[string]SparkApp, error) {
	sc, err := scenario.Load(rec.dir)
	if err != nil {
		return nil, err
	}
	if len(w.Queues) > 1 {
		file := filepath.Join(rec.dir, queuesFile)
		if err := os.WriteFile(file, []byte(queues(w.Queues...)), 0o644); err != nil {
			return nil, err
		}
		sc.Schedulers = []string{file}
	}
	var changes []string
	for _, user := range slices.Sorted(maps.Keys(w.Users)) {
		if now := w.Users[user].Scenario; now != was.Users[user].Scenario && slices.ContainsFunc(rec.apps, func(a spark.Application) bool { return a.User == user }) {
			changes = append(changes, "user:"+user+"="+now)
		}
	}
	if setting, _ := scenario.Find("executors"); len(changes) > 0 {
		if err := sc.Apply(setting, changes); err != nil {
			return nil, err
		}
	}
	setup, err := sc.Resolve()
	if err != nil {
		return nil, err
	}
	out := map[string]SparkApp{}
	for seed := range seeds {
		spec, rows := setup.Runs()[0], result.NewJobRows(len(rec.Apps))
		spec.Seed, spec.Sink = uint64(seed+1), rows
		if _, err := run.Play(ctx, &spec); err != nil {
			return nil, err
		}
		for _, r := range rows.Rows() {
			if r.Finish < 0 {
				return nil, fmt.Errorf("%s did not end in the simulation", r.Name)
			}
			a := out[r.Name]
			a.Name, a.Queue = r.Name, short(r.Queue)
			am, held := r.Finish-r.Start, r.ContainerTime-(r.Finish-r.Start)
			a.Elapsed += r.Elapsed / seeds
			a.Memory += (am*amMB + held*executorMB) / seeds
			a.Cores += (am + held*executorCores) / seeds
			out[r.Name] = a
		}
	}
	if len(out) != len(rec.Apps) {
		return nil, fmt.Errorf("%d of %d applications ended in the simulation", len(out), len(rec.Apps))
	}
	return out, nil
}

// sparkFacts are the runs of one repetition.
type sparkFacts struct {
	Repetition int
	Runs       []sparkFact
}

// sparkFact is one run beside its prediction; that of the run as it is is the simulation of its own import.
type sparkFact struct {
	evidence.Run
	*sparkRecord
	sparkWay
	Simulated map[string]SparkApp
	Before    *sparkRecord // the run as it is
}

// errorsOf are the shares by which values differ from the run's, by application.
func (f *sparkFact) errorsOf(other func(name string) SparkApp, value func(SparkApp) float64) (list []float64) {
	for _, a := range f.Apps {
		list = append(list, math.Abs(off(value(other(a.Name)), value(a))))
	}
	return list
}

func elapsedOf(a SparkApp) float64 { return a.Elapsed }

// Errors are those of the predicted elapsed times.
func (f *sparkFact) Errors() []float64 {
	return f.errorsOf(func(name string) SparkApp { return f.Simulated[name] }, elapsedOf)
}

// Within counts the errors up to a bound.
func (f *sparkFact) Within(bound float64) (n int) {
	for _, e := range f.Errors() {
		if e <= bound {
			n++
		}
	}
	return n
}

// Unchanged is how far each application's elapsed time was from that of the run as it is: what one would have been wrong by who predicts no change; in the run
// that changes nothing, what the cluster itself repeats to.
func (f *sparkFact) Unchanged() []float64 {
	return f.errorsOf(func(name string) SparkApp { return f.Before.App(name) }, elapsedOf)
}

// App is an application of the run.
func (r *sparkRecord) App(name string) SparkApp {
	return r.Apps[slices.IndexFunc(r.Apps, func(a SparkApp) bool { return a.Name == name })]
}

// mean is that of a value over the applications of a queue, or all.
func meanOf(apps iter.Seq[SparkApp], queue string, value func(SparkApp) float64) float64 {
	var list []float64
	for a := range apps {
		if queue == "" || a.Queue == queue {
			list = append(list, value(a))
		}
	}
	return result.Mean(list).Mean
}

// sums are a measured value, the same as predicted, and that of the run as it is.
type sums struct {
	What                        string
	Before, Predicted, Measured float64
}

// Sums are the means of the elapsed times by queue, and what was held in all, in MiB-hours and vcore-hours.
func (f *sparkFact) Sums() (list []sums) {
	add := func(what, queue string, scale float64, value func(SparkApp) float64) {
		list = append(list, sums{what, scale * meanOf(slices.Values(f.Before.Apps), queue, value), scale * meanOf(maps.Values(f.Simulated), queue, value),
			scale * meanOf(slices.Values(f.Apps), queue, value)})
	}
	n := map[string]float64{}
	for _, a := range f.Apps {
		n[a.Queue]++
	}
	memory, cores := func(a SparkApp) float64 { return a.Memory }, func(a SparkApp) float64 { return a.Cores }
	queues := slices.Backward(slices.Sorted(maps.Keys(n)))
	for _, q := range queues {
		add(q+", mean elapsed time, s", q, 1, elapsedOf)
	}
	for _, q := range queues {
		add(q+", memory held, GiB-hours", q, n[q]/1024/3600, memory)
	}
	add("memory held in all, GiB-hours", "", float64(len(f.Apps))/1024/3600, memory)
	add("vcores held in all, vcore-hours", "", float64(len(f.Apps))/3600, cores)
	return list
}

// facts puts records together by repetition. Those whose run as it is is missing are left out.
func (s *Spark) facts(runs []evidence.Run, records []*sparkRecord) (list []*sparkFacts) {
	before := map[int]*sparkRecord{}
	for _, r := range records {
		if r.Predicted != nil {
			before[r.Repetition] = r
		}
	}
	byNumber := map[int]*sparkFacts{}
	for i, r := range records {
		b := before[r.Repetition]
		if b == nil {
			continue
		}
		f := byNumber[r.Repetition]
		if f == nil {
			f = &sparkFacts{Repetition: r.Repetition}
			byNumber[r.Repetition], list = f, append(list, f)
		}
		f.Runs = append(f.Runs, sparkFact{runs[i], r, s.ways()[slices.Index(s.names(), r.Way)], b.Predicted[r.Way], b})
	}
	return list
}

// data are the figures of the page. It draws the pictures, too.
func (s *Spark) data(dir string, runs []evidence.Run, records []*sparkRecord) (map[string]any, template.FuncMap, error) {
	all := s.facts(runs, records)
	if len(all) == 0 {
		return nil, nil, errors.New("there is no run as it is")
	}
	p := newSparkPlot(all, s.ways())
	if _, err := evidence.Page(sparkPicture, filepath.Join(dir, "predicted.svg"), p, template.FuncMap{
		"x": p.x, "y": p.y, "row": func(i int, by float64) float64 { return 40 + 22*float64(i) + by },
	}); err != nil {
		return nil, nil, err
	}
	timelines, err := filepath.Glob(filepath.Join(dir, "timeline-*.svg"))
	if err != nil {
		return nil, nil, err
	}
	for i := range timelines {
		timelines[i] = filepath.Base(timelines[i])
	}
	return map[string]any{"All": all, "Timelines": timelines, "Seeds": seeds, "Ways": s.ways(), "Nodes": sparkNodes, "NodeMB": sparkMB, "Vcores": sparkVcores}, template.FuncMap{
		"off": off, "mean": func(v []float64) float64 { return result.Mean(v).Mean },
		"aim": func(way string, median float64) string {
			bound := 0.15
			if way == asItIs || way == "again" {
				bound = 0.10
			}
			if median <= bound {
				return fmt.Sprintf("%.0f %%: met", 100*bound)
			}
			return fmt.Sprintf("%.0f %%: **missed**", 100*bound)
		}, "of": func(m map[string]SparkApp, name string) SparkApp { return m[name] },
	}, nil
}

// sparkPlot is a plot of measured against predicted elapsed times: on the diagonal they are equal.
type sparkPlot struct {
	plot
	Dots   []sparkDot
	Legend []sparkLegend
}

type sparkDot struct {
	Measured, Predicted float64
	Fill, Title         string
}

type sparkLegend struct{ Name, Fill string }

func newSparkPlot(all []*sparkFacts, ways []sparkWay) *sparkPlot {
	p := &sparkPlot{}
	fills := map[string]string{}
	for i, w := range ways {
		fills[w.Name] = []string{"#888888", "#1f6fb2", "#d1540f", "#2a8a4a", "#7b4fa3"}[i]
		p.Legend = append(p.Legend, sparkLegend{w.Name, fills[w.Name]})
	}
	for _, f := range all {
		for i := range f.Runs {
			r := &f.Runs[i]
			for _, a := range r.Apps {
				d := sparkDot{a.Elapsed, r.Simulated[a.Name].Elapsed, fills[r.Way], a.Name + ", " + r.Way}
				p.Most, p.Dots = max(p.Most, d.Measured, d.Predicted), append(p.Dots, d)
			}
		}
	}
	p.scale()
	return p
}
