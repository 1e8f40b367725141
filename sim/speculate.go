package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// Speculation rules: when a slow task gets a copy on another node. Both consider stages whose tasks have all been started and tasks
// that have run for a minute, and give a task at most one copy. Containers for copies are requested from the policy like any other.
const (
	// SpeculateHadoop is the rule of Hadoop 1 (TaskInProgress.hasSpeculativeTask): a task whose progress is at least 20 points
	// below the average of its stage, where finished tasks count as 100.
	SpeculateHadoop = "hadoop"
	// SpeculateLATE is the rule of M. Zaharia et al., "Improving MapReduce performance in heterogeneous environments", OSDI 2008:
	// of the quarter of a stage's tasks with the lowest rate of progress, those that will end last, estimated by that rate; not
	// on the quarter of the nodes that have done the least work; and at most a tenth of all containers run copies at a time.
	SpeculateLATE = "late"
)

const (
	scanInterval = 3 * unit.Second // as often as a node of a small Hadoop 1 cluster asks for work
	copyAfter    = unit.Minute     // TaskInProgress.SPECULATIVE_LAG, and LATE's
	copyGap      = 0.2             // TaskInProgress.SPECULATIVE_GAP
	slowQuantile = 0.25            // LATE's SlowTaskThreshold and SlowNodeThreshold
	copyShare    = 0.1             // LATE's SpeculativeCap
)

// Speculations lists the rules; "" is none.
func Speculations() []string { return []string{SpeculateHadoop, SpeculateLATE} }

// speculation scans for slow tasks at intervals while tasks work.
type speculation struct {
	e     *engine
	late  bool
	armed bool  // a scan is queued
	scans int64 // so far
	buf   []int32

	groups []slowGroup
	list   []progress
	rates  []float64
	work   []float64 // tasks done by each node, plus the progress of running ones (LATE)
	done   []float64 // tasks done by each node
	isLow  []bool    // nodes that have done little (LATE)
}

// slowGroup is a stage in which a task has run long enough for a copy.
type slowGroup struct {
	job   *job
	stage int
	sum   float64 // of the progress of its running tasks
}

// progress is the progress of a running task.
type progress struct {
	group    int32
	task     int32 // its record
	eligible bool  // it may get a copy
	done     float64
	rate     float64 // progress per second
}

func (e *engine) setSpeculation() error {
	m := &e.model
	if m.Speculate == "" {
		return nil
	}
	if !slices.Contains(Speculations(), m.Speculate) {
		return fmt.Errorf("unknown speculation rule %q: want one of %v, or none", m.Speculate, Speculations())
	}
	if m.Attempts >= 1<<15 {
		return fmt.Errorf("%d attempts of a task with speculation: at most %d", m.Attempts, 1<<15-1)
	}
	n := len(e.cfg.Cluster.Nodes)
	e.spec = &speculation{e: e, late: m.Speculate == SpeculateLATE}
	if e.spec.late {
		e.spec.work, e.spec.done, e.spec.isLow = make([]float64, n), make([]float64, n), make([]bool, n)
	}
	return nil
}

// arm queues a scan unless one is queued. It is called when a task starts; scans continue while any task works.
func (sp *speculation) arm() {
	if !sp.armed {
		sp.armed = true
		sp.e.pollAt(sp.e.now+scanInterval, evSpeculate)
	}
}

// works reports whether a record is of a working task: not one that waits for other stages, nor one that is done with only the
// notification pending.
func (tk *task) works() bool {
	return tk.stage >= 0 && tk.flags&(taskDead|taskUnset|taskInner|taskWaits|taskEnding) == 0
}

// since is when a task began to run, for its progress.
func (sp *speculation) since(tk *task, s *stage) unit.Time {
	if sp.e.cfg.Worker != nil {
		return tk.start
	}
	return max(tk.start, s.copies.since)
}

// progressOf is the progress of a working task, from 0 to 1.
func (sp *speculation) progressOf(j *job, t int32) float64 {
	e, tk := sp.e, &sp.e.tasks[t]
	if e.cfg.Worker != nil {
		return min(max(e.cfg.Worker.Progress(t), 0), 1)
	}
	length := e.lengthOf(j, int(tk.stage), tk.node, tk.number, tk.key())
	done := e.now - max(tk.start+e.model.StartUp, j.stages[tk.stage].copies.since)
	if done >= length {
		return 1
	}
	return max(done.Seconds()/length.Seconds(), 0)
}

// scan finds the tasks that should have a copy and requests it.
func (sp *speculation) scan() {
	e := sp.e
	sp.armed = false
	e.polls--
	sp.scans++
	var used [2]int64 // copies by pool
	working := false
	sp.groups = sp.groups[:0]
	for t := range e.tasks {
		tk := &e.tasks[t]
		if !tk.works() {
			continue
		}
		working = true
		j := e.jobs[tk.job]
		s := &j.stages[tk.stage]
		if tk.flags&taskCopied != 0 {
			if tk.flags&taskCopy == 0 && tk.partner != copyGone {
				used[s.Slot]++
			}
			continue
		}
		if c := s.copies; c != nil && c.scan != sp.scans && s.Pending == 0 && e.now-sp.since(tk, s) >= copyAfter {
			c.scan = sp.scans
			sp.groups = append(sp.groups, slowGroup{job: j, stage: int(tk.stage)})
		}
	}
	if working && e.ahead() {
		sp.arm()
	}
	if len(sp.groups) > 0 {
		sp.measure()
		sp.choose(&used)
	}
}

// measure reads the progress of the tasks of the stages found.
func (sp *speculation) measure() {
	e := sp.e
	slices.SortFunc(sp.groups, func(a, b slowGroup) int {
		return cmp.Or(cmp.Compare(a.job.rec.Seq, b.job.rec.Seq), cmp.Compare(a.stage, b.stage))
	})
	for g := range sp.groups {
		sp.groups[g].job.stages[sp.groups[g].stage].copies.group = int32(g)
	}
	sp.list = sp.list[:0]
	copy(sp.work, sp.done)
	for t := range e.tasks {
		tk := &e.tasks[t]
		if !tk.works() {
			continue
		}
		j := e.jobs[tk.job]
		s := &j.stages[tk.stage]
		if s.copies == nil {
			continue
		}
		mine := s.copies.scan == sp.scans
		if !mine && !sp.late {
			continue
		}
		done := sp.progressOf(j, int32(t))
		if sp.late {
			sp.work[tk.node] += done
		}
		if !mine || tk.flags&taskCopy != 0 && tk.partner >= 0 {
			continue // a copy counts with the task that it races
		}
		ran := e.now - sp.since(tk, s)
		p := progress{group: s.copies.group, task: int32(t), eligible: ran >= copyAfter && tk.flags&taskCopied == 0, done: done}
		if ran > 0 {
			p.rate = done / ran.Seconds()
		}
		if tk.flags&taskCopied != 0 && tk.partner >= 0 && e.tasks[tk.partner].works() {
			done = max(done, sp.progressOf(j, tk.partner))
		}
		sp.groups[p.group].sum += done
		sp.list = append(sp.list, p)
	}
	if len(sp.groups) > 1 {
		slices.SortStableFunc(sp.list, func(a, b progress) int { return cmp.Compare(a.group, b.group) })
	}
	if sp.late {
		sp.rankNodes()
	}
}

// choose requests copies, stage by stage.
func (sp *speculation) choose(used *[2]int64) {
	for first := 0; first < len(sp.list); {
		end := first
		for end < len(sp.list) && sp.list[end].group == sp.list[first].group {
			end++
		}
		g := &sp.groups[sp.list[first].group]
		if sp.late {
			sp.chooseLate(g, sp.list[first:end], &used[g.job.stages[g.stage].Slot])
		} else {
			sp.chooseHadoop(g, sp.list[first:end])
		}
		first = end
	}
}

func (sp *speculation) chooseHadoop(g *slowGroup, list []progress) {
	s := &g.job.stages[g.stage]
	average := (float64(s.Done) + g.sum) / float64(s.Tasks)
	for _, p := range list {
		if p.eligible && average-p.done >= copyGap {
			sp.ask(g.job, p.task)
		}
	}
}
