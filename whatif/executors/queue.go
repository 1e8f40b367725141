package executors

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif"
	"github.com/yardmaster/yardmaster/workload"
)

// Classes of jobs in a comparison of settings: those whose settings change, and all others.
const (
	changedClass = "executors"
	otherClass   = "other"
)

// Touched is what every setting changes.
var Touched = verdict.Subject{Kind: "class", Name: changedClass}

// Label is a workload whose classes are those of a comparison of settings for some jobs.
func Label(w *run.Workload, changed func(*workload.Job) bool) *run.Workload {
	out := *w
	out.Open = func(seed uint64) (workload.Source, error) {
		src, err := w.Open(seed)
		if err != nil {
			return nil, err
		}
		if c, ok := src.(io.Closer); ok {
			defer c.Close()
		}
		jobs, err := workload.ReadAll(src)
		if err != nil {
			return nil, err
		}
		for i, j := range jobs {
			labelled := *j
			if labelled.Class = otherClass; changed(j) {
				labelled.Class = changedClass
			}
			jobs[i] = &labelled
		}
		d := run.Describe(src)
		d.Source = jobs.Source()
		return d, nil
	}
	return &out
}

// Meter is a sink that measures what executors hold, by queue.
type Meter struct {
	Changed Use // of the jobs whose settings change
	queues  map[string]*Use
	apps    map[app]*Use // of the jobs whose settings change
}

// app is what is submitted again and again.
type app struct{ name, user, queue string }

// app is what the runs of an application hold.
func (m *Meter) app(of app) *Use {
	if m.apps == nil {
		m.apps = map[app]*Use{}
	}
	if m.apps[of] == nil {
		m.apps[of] = &Use{}
	}
	return m.apps[of]
}

// queue is what a queue's executors hold.
func (m *Meter) queue(name string) *Use {
	if m.queues == nil {
		m.queues = map[string]*Use{}
	}
	if m.queues[name] == nil {
		m.queues[name] = &Use{}
	}
	return m.queues[name]
}

// Job counts a job.
func (m *Meter) Job(r *sim.JobRecord) {
	if r.Job.Keep == nil {
		return
	}
	queue := cmp.Or(r.Job.Queue, result.DefaultQueue)
	m.queue(queue).add(r)
	if r.Job.Class == changedClass {
		m.Changed.add(r)
		m.app(app{cmp.Or(r.Job.Name, r.Job.ID), r.Job.User, queue}).add(r)
	}
}

// Sample is a no-op.
func (*Meter) Sample(*sim.Sample) {}

// Meters are the meters of a comparison's runs.
type Meters struct {
	mu sync.Mutex
	of map[[2]int]*Meter
}

// Of is the meter of a run, by the positions of its variant and its seed.
func (m *Meters) Of(variant, seed int) *Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := [2]int{variant, seed}
	if m.of == nil {
		m.of = map[[2]int]*Meter{}
	}
	if m.of[k] == nil {
		m.of[k] = &Meter{}
	}
	return m.of[k]
}

// Mean is what is held on average over the replays of a variant.
func (m *Meters) Mean(variant, seeds int) *Meter {
	mean := &Meter{}
	for seed := range seeds {
		one := m.Of(variant, seed)
		mean.Changed.plus(&one.Changed)
		for name, u := range one.queues {
			mean.queue(name).plus(u)
		}
		for a, u := range one.apps {
			mean.app(a).plus(u)
		}
	}
	mean.Changed.over(float64(seeds))
	for _, u := range mean.queues {
		u.over(float64(seeds))
	}
	for _, u := range mean.apps {
		u.over(float64(seeds))
	}
	return mean
}

// Held is what the executors of a queue hold.
type Held struct {
	Queue string `json:"queue"`
	Use
	Share float64 `json:"busy"`
}

// Held lists the queues, those that hold most first.
func (m *Meter) Held() (list []Held) {
	for name, u := range m.queues {
		list = append(list, Held{name, *u, u.Busy()})
	}
	slices.SortFunc(list, func(a, b Held) int { return cmp.Or(cmp.Compare(b.GiBHours, a.GiBHours), cmp.Compare(a.Queue, b.Queue)) })
	return list
}

// Holder is an application, and what the executors of its runs hold.
type Holder struct {
	Name  string `json:"name"`
	User  string `json:"user,omitempty"`
	Queue string `json:"queue"`
	Use
	Idle float64 `json:"unused_gib_hours"` // memory of slots without a task
}

// maxHolders is how many applications are named.
const maxHolders = 10

// Holders lists the applications that hold most memory without using it.
func (m *Meter) Holders() (list []Holder) {
	for a, u := range m.apps {
		list = append(list, Holder{a.name, a.user, a.queue, *u, u.GiBHours * (1 - u.Busy())})
	}
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Idle, a.Idle), cmp.Compare(a.Name, b.Name), cmp.Compare(a.User, b.User), cmp.Compare(a.Queue, b.Queue))
	})
	return list[:min(len(list), maxHolders)]
}

// Setting is one change of Spark's settings.
type Setting struct {
	Name string   `json:"name"`
	Keys string   `json:"executors"` // as a scenario's setting executors has it
	Conf []string `json:"conf"`      // lines of spark-defaults.conf
}

// change is a part of a setting: as a scenario has it, and as Spark does.
type change struct{ keys, conf []string }

// limited is a limit on the executors of jobs with dynamic allocation. Spark refuses one below what an application is to begin with or to keep.
func limited(limit int64, jobs ...*workload.Job) (c change) {
	var first, least int64
	for _, j := range jobs {
		if d := j.Keep.Dynamic; d == nil {
			first = max(first, j.Keep.Max)
		} else {
			first, least = max(first, d.Initial), max(least, d.Min)
		}
	}
	set := func(key string, properties ...string) {
		c.keys = append(c.keys, fmt.Sprint(key, "=", limit))
		for _, name := range properties {
			c.conf = append(c.conf, fmt.Sprint(name, " ", limit))
		}
	}
	set("max", "spark.dynamicAllocation.maxExecutors")
	if first > limit {
		set("initial", "spark.dynamicAllocation.initialExecutors", "spark.executor.instances")
	}
	if least > limit {
		set("min", "spark.dynamicAllocation.minExecutors")
	}
	return c
}

// Settings are those to compare for some jobs, with a limit on their executors.
func Settings(jobs workload.Slice, limit int64) (list []Setting) {
	static := slices.ContainsFunc(jobs, func(j *workload.Job) bool { return j.Keep.Dynamic == nil })
	tracking := slices.ContainsFunc(jobs, func(j *workload.Job) bool { return !j.Keep.External })
	dynamic := change{[]string{"dynamic=true"}, []string{"spark.dynamicAllocation.enabled true"}}
	if tracking {
		dynamic.conf = append(dynamic.conf, "spark.dynamicAllocation.shuffleTracking.enabled true")
	}
	add := func(name string, changes ...change) {
		var keys, conf []string
		for _, c := range append([]change{dynamic}, changes...) {
			keys, conf = append(keys, c.keys...), append(conf, c.conf...)
		}
		list = append(list, Setting{name, strings.Join(keys, ","), conf})
	}
	most, capped := fmt.Sprint("max ", limit), limited(limit, jobs...)
	idle := change{[]string{"idle=10s"}, []string{"spark.dynamicAllocation.executorIdleTimeout 10s"}}
	if static {
		add("dynamic")
	}
	add("idle 10 s", idle)
	add(most, capped)
	add("idle 10 s, "+most, idle, capped)
	if tracking {
		add("idle 10 s, "+most+", shuffle 60 s", idle, capped, change{[]string{"shuffle-idle=60s"}, []string{"spark.dynamicAllocation.shuffleTracking.timeout 60s"}})
	}
	return list
}

// Limits on the applications that a limit on executors is found from.
const (
	maxSampled      = 30
	maxSampledTasks = 500_000
	limitShare      = 0.9 // of them are near their best time with the limit
)

// Limit is a limit on executors with which most jobs would be near their best time, from a sample of them, and the number of jobs in that. p is the plan of
// each but for its job.
func Limit(ctx context.Context, p Plan, jobs workload.Slice) (limit int64, sampled int, err error) {
	var found []int64
	tasks := int64(0)
	progress := p.Progress
	n := min(len(jobs), maxSampled)
	for i := range n {
		p.Job = jobs[i*len(jobs)/n]
		if tasks += p.Job.Tasks(); len(found) > 0 && tasks > maxSampledTasks {
			break
		}
		if progress != nil {
			p.Progress = func(done float64) { progress((float64(i) + done) / float64(n)) }
		}
		var a Answer
		if err := p.counts(ctx, &a); err != nil {
			return 0, 0, fmt.Errorf("application %s: %w", p.Job.ID, err)
		}
		found = append(found, a.Rows[a.Enough].Executors)
	}
	slices.Sort(found)
	return found[int(math.Ceil(limitShare*float64(len(found))))-1], len(found), nil
}

// Outcome is what a setting does.
type Outcome struct {
	Setting
	Use      Use       `json:"use"`                             // on average over the replays
	Freed    float64   `json:"freed_memory"`                    // share of what executors held
	Interval []float64 `json:"freed_memory_interval,omitempty"` // of 95 %; none: not known
	Cores    float64   `json:"freed_vcores"`
	Harms    bool      `json:"harms"`   // the applications may get more than 10 % slower, or other jobs wait longer
	Sure     bool      `json:"frees"`   // clearly, in all replays
	Elapsed  string    `json:"elapsed"` // of the applications: change in words
	Wait     string    `json:"wait"`    // of all other jobs
	Sentence string    `json:"compared"`
}

// Share is the share of memory-time that is freed in words, with its interval: 47 % (46 to 48).
func (o *Outcome) Share() string {
	whole := func(v float64) string { return fmt.Sprint(int(math.Round(100 * v))) }
	text := whole(o.Freed) + " %"
	if len(o.Interval) == 2 && whole(o.Interval[0]) != whole(o.Interval[1]) {
		text += " (" + whole(o.Interval[0]) + " to " + whole(o.Interval[1]) + ")"
	}
	return text
}

// Freed is the answer for queues.
type Freed struct {
	Queues   []Held    `json:"queues"`
	Holders  []Holder  `json:"applications"` // that hold most unused
	Settings []Outcome `json:"settings"`
	Best     int       `json:"best"` // index into Settings; -1: none frees anything without harm
	Most     int       `json:"most"` // likewise: frees most without harm to others, and may make the applications slower
	Sentence string    `json:"answer"`
	Assumed  []string  `json:"assumptions"`
}

// Judge reads the outcomes of settings from their comparison and its meters: the first variant is as it is, then one for each setting.
func Judge(c *whatif.Comparison, settings []Setting, meters *Meters) *Freed {
	asItIs := meters.Mean(0, len(c.Seeds))
	f := &Freed{Queues: asItIs.Held(), Holders: asItIs.Holders(), Best: -1, Most: -1}
	held := row(c, "memory-time", verdict.Count, func(k, seed int) float64 { return meters.Of(k, seed).Changed.GiBHours })
	elapsed := groupRow(c, "mean elapsed", verdict.Seconds, changedClass, func(g *result.Group) float64 { return g.Elapsed.Mean })
	wait := groupRow(c, "mean wait", verdict.Seconds, otherClass, func(g *result.Group) float64 { return g.Wait.Mean })
	for k := 1; k < len(c.Runs); k++ {
		for seed := range c.Seeds {
			if c.Runs[k][seed].Apart(c.Runs[0][seed]) > 0 { // other jobs finish: nothing can be said
				held.Cells[k].SetApart()
				elapsed.Cells[k].SetApart()
				wait.Cells[k].SetApart()
			}
		}
	}
	before := &asItIs.Changed
	for i, s := range settings {
		k, u := i+1, &meters.Mean(i+1, len(c.Seeds)).Changed
		o := Outcome{Setting: s, Use: *u, Freed: fell(before.GiBHours, u.GiBHours), Cores: fell(before.CoreHours, u.CoreHours)}
		if cell := &held.Cells[k]; cell.ChangeHigh > cell.ChangeLow {
			o.Interval = []float64{-cell.ChangeHigh / 100, -cell.ChangeLow / 100}
		}
		slower := elapsed.Cells[k].ChangeHigh
		if math.IsNaN(slower) {
			slower = elapsed.Cells[k].Change
		}
		others := wait.Differs(k, len(settings)) < 0 || always(&wait, k) && wait.Cells[k].Diff > verdict.Noticeable*wait.Cells[0].Mean
		o.Harms = others || slower > 100*(nearBest-1)
		o.Sure = held.Differs(k, len(settings)) > 0 || always(&held, k) && o.Freed >= verdict.Noticeable
		o.Elapsed, o.Wait = elapsed.Cells[k].Difference(verdict.Seconds), wait.Cells[k].Difference(verdict.Seconds)
		if i < len(c.Answers) {
			o.Sentence = c.Answers[i].Text
		}
		f.Settings = append(f.Settings, o)
		more := func(than int) bool { return o.Sure && (than < 0 || o.Freed > f.Settings[than].Freed) }
		if !o.Harms && more(f.Best) {
			f.Best = i
		}
		if !others && more(f.Most) {
			f.Most = i
		}
	}
	f.phrase(before, &elapsed, &wait)
	return f
}

// always reports whether a figure is the same in every replay, both as it is and with a setting, so that the difference is no chance.
func always(r *verdict.Row, k int) bool {
	return len(r.Cells[k].Values) > 1 && r.Cells[k].Judgement == verdict.Unjudged
}

// fell is the share by which an amount fell.
func fell(from, to float64) float64 {
	if from == 0 {
		return 0
	}
	return 1 - to/from
}

// groupRow is a figure of a class under every setting.
func groupRow(c *whatif.Comparison, metric string, u verdict.Unit, class string, of func(*result.Group) float64) verdict.Row {
	return row(c, metric, u, func(s, seed int) float64 {
		groups := c.Runs[s][seed].ByClass
		if i := slices.IndexFunc(groups, func(g result.Group) bool { return g.Name == class }); i >= 0 {
			return of(&groups[i])
		}
		return math.NaN()
	})
}

// row is a figure under every setting, with every seed.
func row(c *whatif.Comparison, metric string, u verdict.Unit, of func(s, seed int) float64) verdict.Row {
	row := verdict.Row{Metric: metric, Unit: u}
	row.Fill(len(c.Runs), len(c.Seeds), false, of)
	differs := func(cell verdict.Cell) bool {
		return slices.ContainsFunc(cell.Values, func(v float64) bool { return v != cell.Values[0] })
	}
	if !slices.ContainsFunc(row.Cells, differs) {
		row.Unjudge()
	}
	return row
}

// Named is the setting that the answer names: an index into Settings, or -1.
func (f *Freed) Named() int {
	if f.Best >= 0 {
		return f.Best
	}
	return f.Most
}

func (f *Freed) phrase(before *Use, elapsed, wait *verdict.Row) {
	parts := []string{fmt.Sprintf("Executors hold %s GiB-hours and %s vcore-hours, and are busy for %.0f %% of that.",
		verdict.Format(before.GiBHours, verdict.Count), verdict.Format(before.CoreHours, verdict.Count), 100*before.Busy())}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	k := f.Named()
	switch {
	case f.Best >= 0:
		add("With %s they hold", f.Settings[k].Name)
	case k < 0 && len(elapsed.Cells[0].Values) == 1:
		add("One replay cannot tell what settings change from chance: give --seeds 5.")
	default:
		add("None of the settings clearly frees some of it without making the applications more than 10 %% slower or other jobs wait longer.")
		if k >= 0 {
			add("Most is freed with %s, which may make them slower: they hold", f.Settings[k].Name)
		}
	}
	if k >= 0 {
		add("%s less memory-time and %.0f %% less vcore-time. Of the applications: %s.", f.Settings[k].Share(), 100*f.Settings[k].Cores, elapsed.Says(k+1))
		if !math.IsNaN(wait.Cells[0].Mean) {
			add("Of all other jobs: %s.", wait.Says(k+1))
		}
	}
	f.Sentence = strings.Join(parts, " ")
}

// AssumedFor says what a comparison of settings rests on.
func AssumedFor(limit int64, sampled, jobs int) []string {
	of := "the " + unit.Count(int64(jobs), "application")
	if sampled < jobs {
		of = fmt.Sprintf("a sample of %d of %s", sampled, of)
	}
	return []string{
		fmt.Sprintf("the limit of %s: with it, %.0f %% of %s are within 10 %% of their best time, each alone", unit.Count(limit, "executor"), 100*limitShare, of),
		"the settings replace what applications set themselves; spark.executor.instances remains the initial number, unless it is above the limit",
		"an application's tasks stay as they were; memory and vcores held are means over the replays",
	}
}
