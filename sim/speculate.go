package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// Rules by which a slow task gets a copy on another node. Both look at a stage whose tasks have all been started, at tasks that
// have run for a minute, and give a task one copy at most. What the copies need is asked of the policy like any other container.
const (
	// SpeculateHadoop is the rule of Hadoop 1 (TaskInProgress.hasSpeculativeTask): a task whose progress is at least 20 points
	// below the average of its stage, tasks that are done counting as 100.
	SpeculateHadoop = "hadoop"
	// SpeculateLATE is the rule of M. Zaharia et al., "Improving MapReduce performance in heterogeneous environments", OSDI 2008:
	// of the tasks whose progress a second is below that of three quarters of their stage's tasks, those that will end last,
	// estimated by that progress; on no node that has done less than three quarters of the nodes; and no more copies at a time
	// than a tenth of the containers there are.
	SpeculateLATE = "late"
)

const (
	scanInterval = 3 * unit.Second // as often as a node of a small Hadoop 1 cluster asks for work
	copyAfter    = unit.Minute     // TaskInProgress.SPECULATIVE_LAG, and LATE's
	copyGap      = 0.2             // TaskInProgress.SPECULATIVE_GAP
	slowQuantile = 0.25            // LATE's SlowTaskThreshold and SlowNodeThreshold
	copyShare    = 0.1             // LATE's SpeculativeCap
)

// Speculations lists the rules there are; "" is none.
func Speculations() []string { return []string{SpeculateHadoop, SpeculateLATE} }

// speculation looks, at intervals while tasks work, for tasks that are slow.
type speculation struct {
	e     *engine
	late  bool
	armed bool  // a look is on the queue
	scans int64 // so far
	buf   []int32

	groups []slowGroup
	list   []progress
	rates  []float64
	work   []float64 // tasks done by each node, with the parts done of those that run (LATE)
	done   []float64 // tasks done by each node
	isLow  []bool    // nodes that have done little (LATE)
}

// slowGroup is a stage in which a task has run long enough for a copy.
type slowGroup struct {
	job   *job
	stage int
	sum   float64 // of the progress of its running tasks
}

// progress is how far a running task is.
type progress struct {
	group int32
	task  int32 // its record
	of    bool  // it may get a copy
	done  float64
	rate  float64 // progress a second
}

func (e *engine) setSpeculation() error {
	m := &e.model
	if m.Speculate == "" {
		return nil
	}
	if !slices.Contains(Speculations(), m.Speculate) {
		return fmt.Errorf("%q is no rule of speculation: want one of %v, or none", m.Speculate, Speculations())
	}
	if m.Attempts >= 1<<15 {
		return fmt.Errorf("%d attempts of a task with speculation: at most %d", m.Attempts, 1<<15-1)
	}
	e.careful = true
	n := len(e.cfg.Cluster.Nodes)
	e.spec = &speculation{e: e, late: m.Speculate == SpeculateLATE}
	if e.spec.late {
		e.spec.work, e.spec.done, e.spec.isLow = make([]float64, n), make([]float64, n), make([]bool, n)
	}
	return nil
}

// arm makes sure that there will be a look. It is called when a task starts; looks go on while any works.
func (sp *speculation) arm() {
	if !sp.armed {
		sp.armed = true
		sp.e.pollAt(sp.e.now+scanInterval, evSpeculate)
	}
}

// works says whether a record is that of a task which works: not one that waits for other stages, nor one that is done and only
// word of it is under way.
func (tk *task) works() bool {
	return tk.stage >= 0 && tk.flags&(taskDead|taskUnset|taskInner|taskWaits|taskEnding) == 0
}

// since is when a task began to run, as far as its progress goes.
func (sp *speculation) since(tk *task, s *stage) unit.Time {
	if sp.e.cfg.Worker != nil {
		return tk.start
	}
	return max(tk.start, s.copies.since)
}

// of is the progress of a task that works, from 0 to 1.
func (sp *speculation) of(j *job, t int32) float64 {
	e, tk := sp.e, &sp.e.tasks[t]
	if e.cfg.Worker != nil {
		return min(max(e.cfg.Worker.Progress(t), 0), 1)
	}
	length := e.lengthOf(j, int(tk.stage), tk.number, tk.key())
	done := e.now - max(tk.start+e.model.StartUp, j.stages[tk.stage].copies.since)
	if done >= length {
		return 1
	}
	return max(done.Seconds()/length.Seconds(), 0)
}

// look finds the tasks that should have a copy and asks for it.
func (sp *speculation) scan() {
	e := sp.e
	sp.armed = false
	e.polls--
	sp.scans++
	var used [2]int64 // copies there are, by pool
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
			if tk.flags&taskCopy == 0 && tk.in != copyGone {
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

// measure finds how far the tasks are of the stages that were found.
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
		done := sp.of(j, int32(t))
		if sp.late {
			sp.work[tk.node] += done
		}
		if !mine || tk.flags&taskCopy != 0 && tk.in >= 0 {
			continue // a copy counts with the task that it races
		}
		ran := e.now - sp.since(tk, s)
		p := progress{group: s.copies.group, task: int32(t), of: ran >= copyAfter && tk.flags&taskCopied == 0, done: done}
		if ran > 0 {
			p.rate = done / ran.Seconds()
		}
		if tk.flags&taskCopied != 0 && tk.in >= 0 && e.tasks[tk.in].works() {
			done = max(done, sp.of(j, tk.in))
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

// choose asks for copies, one stage after the other.
func (sp *speculation) choose(used *[2]int64) {
	for from := 0; from < len(sp.list); {
		to := from
		for to < len(sp.list) && sp.list[to].group == sp.list[from].group {
			to++
		}
		g := &sp.groups[sp.list[from].group]
		if sp.late {
			sp.chooseLate(g, sp.list[from:to], &used[g.job.stages[g.stage].Slot])
		} else {
			sp.chooseHadoop(g, sp.list[from:to])
		}
		from = to
	}
}

func (sp *speculation) chooseHadoop(g *slowGroup, list []progress) {
	s := &g.job.stages[g.stage]
	average := (float64(s.Done) + g.sum) / float64(s.Tasks)
	for _, p := range list {
		if p.of && average-p.done >= copyGap {
			sp.ask(g.job, p.task)
		}
	}
}
