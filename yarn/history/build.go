package history

import (
	"cmp"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/jhist"
)

// Jobs are built with times since 1970; when the workload is assembled they are counted from its first submission.

const (
	// listTasks is the number of tasks above which a stage's lengths are a table of tableSteps+1 quantiles.
	listTasks  = 20_000
	tableSteps = 1000
	// Hadoop's defaults: mapreduce.map.memory.mb, yarn.app.mapreduce.am.resource.mb, mapreduce.job.reduce.slowstart.completedmaps.
	defaultTaskMem   = 1024
	defaultAMMem     = 1536
	defaultSlowStart = 0.05
)

// builder makes jobs of what was read. It is read-only, so several goroutines may use it.
type builder struct {
	names *names
	am    unit.Resources // of jobs where it is unknown; zero: Hadoop's default
	site  conf.Site
	fair  bool // the FairScheduler, which has its own rounding setting
}

// observed is how an application actually ended, relative to its submission.
func observed(submit, finish unit.Time, status string) *workload.Observed {
	if status == "SUCCEEDED" {
		status = "SUCCESS"
	}
	return &workload.Observed{Launch: submit, Finish: finish, Outcome: status}
}

func instant(ms jhist.Millis) unit.Time { return unit.Time(ms) * unit.Millisecond }

// mapReduce makes a job of a history file, its configuration and what the ResourceManager knows (both may be nil). It returns nil for a
// job that cannot be simulated.
func (b *builder) mapReduce(h *jhist.Job, conf jobConf, app *app, t *tally) *workload.Job {
	if h.Submit == 0 {
		t.NoTasks++
		return nil
	}
	j := &workload.Job{
		ID: h.ID, Name: b.names.job(h.Name), User: b.names.user(h.User), Queue: b.names.queue(h.Queue), Submit: instant(h.Submit),
		Priority: priority(conf["mapreduce.job.priority"]), AM: conf.am(),
	}
	if h.Priority != "" {
		j.Priority = priority(h.Priority)
	}
	if app != nil {
		j.Queue, j.Priority = b.names.queue(app.Queue), int(app.Priority)
		if start := int64(h.Launch) - app.Launch; h.Launch > 0 && app.Launch > 0 && start > 0 && len(h.AMs) == 1 {
			j.AMStart = unit.Time(start) * unit.Millisecond
		}
	}
	j.AM.Mem = cmp.Or(j.AM.Mem, b.am.Mem, defaultAMMem)
	j.AM.Cores = cmp.Or(j.AM.Cores, b.am.Cores, 1)
	// An application's life is counted from its submission: a simulated YARN, too, first has to allocate and start its
	// AM.
	j.Observed = observed(j.Submit, instant(h.Finish), h.Status)
	if h.Uber {
		if !b.uber(j, h) {
			t.NoTasks++
			return nil
		}
	} else {
		b.stages(j, h, conf, t)
	}
	if len(j.Stages) == 0 || j.Validate() != nil {
		t.NoTasks++
		return nil
	}
	b.count(h, conf, t)
	learn(h, app, j, t)
	return j
}

// uber makes the one task of a job that ran inside its AM.
func (b *builder) uber(j *workload.Job, h *jhist.Job) bool {
	begin := h.Launch
	if n := len(h.AMs); n > 0 && h.AMs[n-1].Start > 0 {
		begin = h.AMs[n-1].Start
	}
	if begin == 0 || h.Finish < begin {
		return false
	}
	j.Stages = []workload.Stage{{Name: "uber", Kind: workload.Other, Tasks: 1, Ask: j.AM, Length: workload.Fixed(span(begin, h.Finish))}}
	j.AM = unit.Resources{}
	return true
}

func (b *builder) stages(j *workload.Job, h *jhist.Job, conf jobConf, t *tally) {
	var lastMap jhist.Millis
	for i := range h.Maps {
		if a := h.Maps[i].Successful(); a != nil {
			lastMap = max(lastMap, a.Finish)
		}
	}
	c := &h.Totals
	ask := func(kind string, mem, cores, millis int64) unit.Resources {
		r := conf.task(kind)
		if millis > 0 && mem > 0 { // from the job's own counters
			r.Mem = (mem + millis/2) / millis
			if cores > 0 {
				r.Cores = max((cores+millis/2)/millis, 1)
			}
		}
		r.Cores = max(r.Cores, 1)
		return r
	}
	maps := workload.Stage{Name: "map", Kind: workload.Map, Ask: ask("map", c.MemoryMillisMaps, c.CoreMillisMaps, c.SlotMillisMaps)}
	b.fill(&maps, h, h.Maps, t, func(a *jhist.Attempt, end jhist.Millis) unit.Time { return span(a.Start, end) })
	reduces := workload.Stage{
		Name: "reduce", Kind: workload.Reduce, Ask: ask("reduce", c.MemoryMillisReduces, c.CoreMillisReduces, c.SlotMillisReduces),
	}
	b.fill(&reduces, h, h.Reduces, t, func(a *jhist.Attempt, end jhist.Millis) unit.Time {
		if a.Start < lastMap {
			t.Early++
		}
		return reduceLength(a, end, lastMap)
	})
	moved := sum(h)
	maps.Input = unit.Bytes(moved.read)
	if reduces.Tasks == 0 {
		maps.Output = unit.Bytes(moved.written)
	} else {
		reduces.Output = unit.Bytes(moved.written)
	}
	if maps.Tasks > 0 {
		j.Stages = append(j.Stages, maps)
	}
	if reduces.Tasks > 0 {
		if maps.Tasks > 0 {
			reduces.After = []workload.Edge{{Shuffle: unit.Bytes(moved.shuffled), SlowStart: conf.slowStart()}}
		}
		j.Stages = append(j.Stages, reduces)
	}
	assumed := int64(0)
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Ask.Mem == 0 {
			s.Ask.Mem, assumed = defaultTaskMem, 1
		}
	}
	t.SizeAssumed += assumed
	t.Maps += maps.Tasks
	t.Reduces += reduces.Tasks
}

type bytesMoved struct{ read, written, shuffled int64 }

// sum is the data that the job moved, by its totals or, if it did not succeed, by its attempts.
func sum(h *jhist.Job) bytesMoved {
	m := bytesMoved{h.Totals.HDFSRead, h.Totals.HDFSWritten, h.Totals.Shuffled}
	if h.Status == "SUCCEEDED" {
		return m
	}
	for _, list := range [][]jhist.Task{h.Maps, h.Reduces} {
		for i := range list {
			if a := list[i].Successful(); a != nil {
				m.read, m.written, m.shuffled = m.read+a.Moved.HDFSRead, m.written+a.Moved.HDFSWritten, m.shuffled+a.Moved.Shuffled
			}
		}
	}
	return m
}

// count records how the job and its attempts ended.
func (b *builder) count(h *jhist.Job, conf jobConf, t *tally) {
	t.MapReduce++
	t.ended(h.Status)
	if conf == nil {
		t.NoConf++
	}
	if h.Uber {
		t.Uber++
	}
	if len(h.AMs) > 1 {
		t.Restarted++
	}
	for _, list := range [][]jhist.Task{h.Maps, h.Reduces} {
		for i := range list {
			for k := range list[i].Attempts {
				switch list[i].Attempts[k].Outcome {
				case jhist.Failed:
					t.FailedTries++
				case jhist.Killed:
					t.KilledTries++
				case jhist.Succeeded, jhist.Unended:
				}
			}
		}
	}
	for i := range h.Maps {
		if len(h.Maps[i].Hosts) == 0 {
			continue
		}
		if a := h.Maps[i].Successful(); a != nil {
			switch a.Locality {
			case "NODE_LOCAL":
				t.Near++
			case "RACK_LOCAL":
				t.InRack++
			case "OFF_SWITCH":
				t.Far++
			}
		}
	}
}
