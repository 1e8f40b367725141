package spark

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

// Options say how a job is made.
type Options struct {
	Base    int64 // ms since 1970: the workload's start, from which submissions count
	Running bool  // take applications that have not ended, as of their last event
}

// Errors of applications that make no job.
var (
	ErrRunning = errors.New("the log does not hold the application's end")
	ErrNoTasks = errors.New("no task ended well")
	ErrStages  = fmt.Errorf("more than %d stages", workload.MaxStages)
)

// Assumptions are what every job of this package assumes.
func Assumptions() []string {
	return []string{
		"spark: a job is an application; tasks run in the executors that it keeps, as long as their successful attempts took from launch to finish on the driver",
		"spark: a Spark job waits for all that had ended of its own SQL execution; between executions, for those whose end was the last thing that happened before",
		"spark: executors ask for heap, overhead (as set, or 10 % and at least 384 MiB), off-heap and Python memory; what is not set has Spark's default",
		"spark: submitted when spark-submit began (cluster mode, where the log says) or the driver began; the log does not know the ResourceManager's time, and how long the driver took to start is not kept",
		"spark: the first task of each slot takes longer by the median over executors, told from other tasks of the same stages",
		"spark: an executor starts as long as the shortest time from a request to a registration, where the log says, else as long as the first took from when the driver was ready",
	}
}

// Early is how far the submission of an application and the start of its driver may be apart, in ms. Users can set what a log says of the former.
const Early = 3_600_000

// Submitted is when the application was submitted, in ms since 1970, as far as its own log knows.
func (a *App) Submitted() int64 {
	if at, early := a.submission(); !early {
		return at
	}
	return a.Start
}

// submission is what the application says of that, and whether it is too early to be true.
func (a *App) submission() (at int64, early bool) {
	if at = number([]byte(a.settings["spark.app.submitTime"])); a.settings.cluster() && at > 0 && at < a.Start {
		return at, at < a.Start-Early
	}
	return a.Start, false
}

// Job makes the job of an application. The notes count what was left out.
func (a *App) Job(o Options) (*workload.Job, workload.Notes, error) {
	notes := a.notes()
	if a.End == 0 {
		if !o.Running {
			return nil, notes, ErrRunning
		}
		notes.Add(1, "applications whose log does not hold their end: taken as ended at their last event")
	}
	stages := a.ran()
	switch {
	case len(stages) == 0 || a.Start == 0:
		return nil, notes, ErrNoTasks
	case len(stages) > workload.MaxStages:
		return nil, notes, ErrStages
	}
	var again, unfinished int64
	for _, s := range stages {
		again += s.merge()
	}
	warm := a.warm(stages)
	for _, s := range stages {
		s.retry()
		if int64(len(s.lengths))+s.extra < int64(s.tasks) {
			unfinished++
		}
	}
	notes.Add(again, "tasks that succeeded more than once (output lost, or copies), counted once")
	notes.Add(unfinished, "stages that did not finish: only their tasks that succeeded count")
	at := func(ms int64) unit.Time { return unit.Time(ms) * unit.Millisecond }
	submit := a.Submitted()
	j := &workload.Job{
		ID: a.ID, Name: a.Name, User: a.User, Queue: a.settings["spark.yarn.queue"], Submit: at(submit - o.Base), AM: a.settings.am(),
		Observed: &workload.Observed{Launch: at(a.Start - o.Base), Finish: at(a.Ended() - o.Base)},
	}
	if a.Failed {
		j.Observed.Outcome = "FAILED"
	}
	j.Keep = a.keep(stages)
	j.Keep.Warm = warm
	a.layout(j, stages)
	last := int64(0)
	for _, s := range stages {
		last = max(last, s.finished)
	}
	j.Keep.Tail = at(max(a.Ended()-last, 0))
	return j, notes, jobfile.Check(j)
}

// keep is how the application requests and fills its executors.
func (a *App) keep(stages []*stage) *workload.Keep {
	p := a.settings
	kind := p.manager()
	cores := int64(1)
	if kind != "yarn" && kind != "k8s" { // elsewhere an executor has what the worker gives it
		for _, x := range a.Executors {
			cores = max(cores, x.Cores)
		}
	}
	k := &workload.Keep{
		Ask: p.executor(cores), Fair: p["spark.scheduler.mode"] == "FAIR", External: p.yes("spark.shuffle.service.enabled"),
		LocalityWait: p.time(p.first("spark.locality.wait.process", "spark.locality.wait"), "ms", 3*unit.Second),
		Dynamic:      p.dynamic(),
	}
	k.Slots = p.slots(p.cores(cores))
	if kind == "local" {
		k.Ask = unit.Resources{Mem: p.mib("spark.driver.memory", "m", 1024), Cores: cores}
		k.Slots = p.slots(cores)
	}
	p.batches(k, a.Version)
	for _, x := range a.Executors {
		if wait := unit.Time(x.Added-x.Asked) * unit.Millisecond; x.Asked > 0 && wait > 0 && (k.Start == 0 || wait < k.Start) {
			k.Start = wait
		}
	}
	k.Start = cmp.Or(k.Start, a.StartUp())
	ratio := 0.0
	if kind == "yarn" || kind == "k8s" {
		ratio = 0.8
	}
	k.Ready = min(p.share("spark.scheduler.minRegisteredResourcesRatio", ratio), 1)
	// Spark counts this from the driver's start, a simulated driver from its first request.
	k.ReadyWait = p.time("spark.scheduler.maxRegisteredResourcesWaitingTime", "ms", 30*unit.Second) - unit.Time(max(a.ready-a.Start, 0))*unit.Millisecond
	k.ReadyWait = max(k.ReadyWait, unit.Millisecond)
	switch d := k.Dynamic; {
	case d != nil:
		var tasks int64
		for _, s := range stages {
			tasks += int64(len(s.lengths)) + s.extra
		}
		all := (tasks + k.Slots - 1) / k.Slots // more than that it never asks for
		k.Max = max(p.count("spark.dynamicAllocation.maxExecutors", max(all, d.Initial, a.peak())), 1)
		d.Initial = min(max(d.Initial, d.Min), k.Max)
		d.Min = min(d.Min, k.Max)
	case kind == "yarn" || kind == "k8s":
		k.Max = max(p.count("spark.executor.instances", 2), 1)
	default:
		k.Max = max(a.peak(), 1)
	}
	return k
}

// peak is the largest number of executors at a time.
func (a *App) peak() (most int64) {
	type change struct{ at, by int64 }
	var all []change
	for _, x := range a.Executors {
		all = append(all, change{x.Added, 1})
		if x.Removed > 0 {
			all = append(all, change{x.Removed, -1})
		}
	}
	slices.SortFunc(all, func(x, y change) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.by, y.by)) })
	n := int64(0)
	for _, c := range all {
		n += c.by
		most = max(most, n)
	}
	return most
}

// readyAt is when the driver took its first Spark job: with enough executors, or tired of waiting for them.
func (a *App) readyAt(k *workload.Keep) int64 {
	ready := a.Requested()
	first := k.Max
	if k.Dynamic != nil {
		first = k.Dynamic.Initial
	}
	need := int(math.Ceil(k.Ready * float64(first)))
	if need == 0 {
		return ready
	}
	up := ready + int64(k.ReadyWait/unit.Millisecond)
	if len(a.Executors) >= need {
		up = min(up, a.Executors[need-1].Added)
	}
	return max(ready, up)
}

// layout fills in the stages: their tasks, what they wait for and for how long.
func (a *App) layout(j *workload.Job, stages []*stage) {
	index := make(map[*stage]int, len(stages))
	for i, s := range stages {
		index[s] = i
	}
	waits := a.waits(stages, index)
	ready := a.readyAt(j.Keep)
	j.Stages = make([]workload.Stage, len(stages))
	for i, s := range stages {
		w := workload.Stage{
			Name: fmt.Sprint(s.id), Kind: workload.Other, Tasks: int64(len(s.lengths)) + s.extra, Input: unit.Bytes(s.input), Output: unit.Bytes(s.output),
			After: a.after(s, i, stages, index, waits),
		}
		if s.op != "" {
			w.Name += " " + s.op
		}
		if x := a.jobs[s.job]; x != nil && j.Keep.Fair {
			w.Pool = x.pool
		}
		if s.cachedBy != nil {
			if by, ran := index[s.cachedBy]; ran && by < i && j.Stages[by].Tasks == w.Tasks && w.Tasks <= workload.MaxCached {
				w.Cached, w.Input = 1+by, 0 // read from memory
			}
		}
		from := ready
		for n, e := range w.After {
			if n == 0 {
				from = 0
			}
			from = max(from, stages[e.From].finished)
		}
		w.Delay = unit.Time(max(cmp.Or(s.submitted, from)-from, 0)) * unit.Millisecond
		j.Stages[i] = w
	}
	fillLengths(j.Stages, stages)
}

// after are the edges of stage i: to those whose shuffles it reads, and, if none of them is of its own Spark job, to what the driver
// had waited for.
func (a *App) after(s *stage, i int, stages []*stage, index map[*stage]int, waits map[int][]int) (edges []workload.Edge) {
	var total, read int64 = 0, s.read
	var from []int
	own := false
	for _, id := range s.parents {
		p := a.stages[id]
		if p == nil {
			continue
		}
		k, ran := index[p]
		if !ran { // skipped: another stage has written the same shuffle
			k, ran = index[a.byRDD[p.rdd]]
		}
		if ran && k < i && !slices.Contains(from, k) {
			from = append(from, k)
		}
	}
	slices.Sort(from)
	for _, k := range from {
		total = add(total, stages[k].write)
		own = own || stages[k].job == s.job
	}
	for _, k := range from {
		share := 1 / float64(len(from))
		if total > 0 {
			share = float64(stages[k].write) / float64(total)
		}
		edges = append(edges, workload.Edge{From: k, Shuffle: unit.Bytes(share * float64(read)), SlowStart: 1})
	}
	if !own {
		for _, k := range waits[s.job] {
			if k < i && !slices.Contains(from, k) {
				edges = append(edges, workload.Edge{From: k, SlowStart: 1})
			}
		}
	}
	slices.SortFunc(edges, func(x, y workload.Edge) int { return cmp.Compare(x.From, y.From) })
	return edges
}

// Ready is when the driver was ready to ask for executors, in ms since 1970; 0: the log does not say.
func (a *App) Ready() int64 { return a.ready }

// Requested is when the driver could request executors, in ms since 1970: where the log does not say, from its start.
func (a *App) Requested() int64 { return max(a.ready, a.Start) }

// StartUp is the time from there to the first executor's registration; 0: there was none.
func (a *App) StartUp() unit.Time {
	if len(a.Executors) == 0 {
		return 0
	}
	return min(unit.Time(max(a.Executors[0].Added-a.Requested(), 0))*unit.Millisecond, workload.MaxLength)
}
