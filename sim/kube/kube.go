// Package kube plays a workload on a Kubernetes cluster in virtual time: the core that decides on a real one (policy/live), in front of a scheduler that takes
// time for every pod. It is the rehearsal of package kube of the Kubernetes module.
//
//	a stage opens ── pods are created ── the core holds and releases ── the scheduler places, one pod after another ── bound ── started ── ended ── the core knows
//
// A task is a pod. A job's AM is a pod of its own that the job's tasks wait for. Pods are placed as kube-scheduler's default profile places them: of the first
// nodes with room, from where the last search ended, the one with the largest free share.
//
// Events are handled in the order (instant, sequence), and pods are released after each. Without delays the runs are those of package sim.
package kube

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/internal/timeline"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Timing holds the delays of a cluster.
type Timing struct {
	Window  int       // pods that are released and have no node; 0: live.DefaultWindow
	Service unit.Time // that the scheduler takes for a pod
	Bind    unit.Time // from the choice of a node until the pod is bound
	StartUp unit.Time // from then until its containers work
	Watch   unit.Time // from their end until the scheduler knows
}

// Measured is the timing of a small cluster with an idle API server.
func Measured() Timing {
	return Timing{Service: 4 * unit.Millisecond, Bind: 6 * unit.Millisecond, StartUp: 1500 * unit.Millisecond, Watch: 20 * unit.Millisecond}
}

// Validate reports the first invalid value.
func (t *Timing) Validate() error {
	for _, d := range []struct {
		name string
		t    unit.Time
	}{{"service", t.Service}, {"bind", t.Bind}, {"start-up", t.StartUp}, {"watch", t.Watch}} {
		if d.t < 0 || d.t > unit.Day {
			return fmt.Errorf("timing: %s of %v: it must be between 0 and a day", d.name, d.t)
		}
	}
	if t.Window < 0 {
		return fmt.Errorf("timing: a window of %d pods", t.Window)
	}
	return nil
}

// Config is one run.
type Config struct {
	Cluster   *cluster.Cluster
	Source    workload.Source
	NewPolicy func() (policy.Policy, error)
	Timing    Timing
	// Creation is how long after a stage has opened, or the job has come, one of its pods is there; nil: at once.
	Creation func(j *workload.Job, stage int, task int64) unit.Time
	// Worked is how long its node says that a pod has worked; nil: its length.
	Worked func(j *workload.Job, stage int, task int64) unit.Time
	// Turns are when the policy is asked for pods to release, in order; nil, and after the last one: after every event.
	Turns []unit.Time
	// Left is how long after the end of its last pod a job's owner says that it has ended; nil: at once.
	Left     func(j *workload.Job) unit.Time
	Seed     uint64
	Sink     sim.Sink
	Sample   unit.Time  // period of the timeline; 0: 10 s
	Alone    *sim.Alone // times on an empty cluster, shared between runs of the same seed; nil: made for this run
	NoAlone  bool       // leave JobRecord.Alone 0
	Progress func(sim.Progress)
	Why      *sim.Why

	failBind func(n int64) bool // for tests: the n-th placement cannot be bound
}

type engine struct {
	cfg  Config
	core *live.Core
	now  unit.Time
	q    heap.Heap[event]
	seq  int64
	ask  unit.Time // when to answer Config.Why

	nodes  []node
	cursor int
	idle   unit.Time // when the scheduler has placed what it has
	turns  int       // that are over
	placed int64

	jobs   []*job // present, in order of arrival; nil: ended
	ended  int    // of these
	byID   map[string]*job
	speeds *sim.Speeds

	next     *workload.Job
	nextSeq  int64
	progress unit.Time
	running  int
	unended  int64 // tasks of jobs present

	line     timeline.Timeline
	sample   sim.Sample
	taskSink sim.TaskSink
	alone    *sim.Alone
	sum      sim.Summary
}

type node struct {
	name        string
	total, free unit.Resources
}

type job struct {
	src     *workload.Job
	rec     sim.JobRecord
	stages  []stage
	left    int64
	rates   []float64
	queue   int32
	key     string
	am      *pod
	running int64
	pending int64
	since   unit.Time // sum of the starts of running pods
	service unit.Time // of ended pods
}

// maxPods bounds memory: no cluster keeps as many.
const maxPods = 4_000_000

type stage struct {
	seed uint64
	done int64
	open bool
}

type pod struct {
	job        *job
	stage      int // or policy.AMStage
	num        int64
	node       int
	start, end unit.Time
}

type what uint8

const (
	arrives what = iota
	created
	place // the scheduler has come to a pod
	bound
	works // the AM's containers have started
	ends
	known // the scheduler knows of an end
	left  // it knows that a job has ended
	turn  // see Config.Turns
	look  // the core is due
)

type event struct {
	at   unit.Time
	seq  int64
	what what
	id   string
	pod  *pod
}

// Check says why a policy cannot run on Kubernetes; nil: it can.
func Check(p *policy.Policy) error { return p.Check("Kubernetes", live.Gives) }

// Run simulates one workload. It returns early, with Partial set and no error, when ctx ends.
func Run(ctx context.Context, c Config) (sim.Summary, error) {
	e, err := newEngine(c)
	if err != nil {
		return sim.Summary{}, err
	}
	return e.loop(ctx)
}

func newEngine(c Config) (*engine, error) {
	if err := c.Cluster.Validate(); err != nil {
		return nil, err
	}
	if err := c.Timing.Validate(); err != nil {
		return nil, err
	}
	if c.Cluster.Slots {
		return nil, errors.New("a Kubernetes cluster has no fixed slots: give its nodes memory and cores")
	}
	e := &engine{cfg: c, ask: c.Why.Due(), byID: map[string]*job{}, speeds: sim.NewSpeeds(c.Cluster), line: timeline.New(c.Sample), alone: c.Alone}
	e.q.Before = func(a, b event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }
	if e.alone == nil && !c.NoAlone {
		e.alone = sim.NewAlone(c.Cluster, sim.Model{StartUp: c.Timing.StartUp}, c.Seed)
	}
	e.taskSink, _ = c.Sink.(sim.TaskSink)
	e.sum.FirstSubmit = -1
	var err error
	if e.core, err = live.New(c.NewPolicy, live.Config{Window: c.Timing.Window, Now: func() unit.Time { return e.now }}); err != nil {
		return nil, err
	}
	for i := range c.Cluster.Nodes {
		n := &c.Cluster.Nodes[i]
		total := n.Room
		e.nodes = append(e.nodes, node{n.Name, total, total})
		e.core.SetNode(n.Name, total, n.Kind)
	}
	if err := e.core.Start(nil); err != nil {
		return nil, err
	}
	for _, at := range c.Turns {
		e.q.Push(event{at: at, seq: math.MaxInt64, what: turn}) // after all else of the instant
	}
	return e, e.readAhead()
}

func (e *engine) readAhead() (err error) {
	if e.next, err = workload.Next(e.cfg.Source, e.now); err == nil && e.next != nil {
		e.push(event{at: e.next.Submit, what: arrives})
	}
	return err
}

func (e *engine) push(v event) {
	e.seq++
	v.seq = e.seq
	e.q.Push(v)
}

// stuckAfter is how long a run may continue in which nothing runs, arrives or starts.
const stuckAfter = unit.Hour

func (e *engine) loop(ctx context.Context) (sim.Summary, error) {
	const checkEvery = 1 << 10
	for due := unit.Never; ; {
		if at := e.core.Due(); at != due {
			if due = at; at > e.now && at != unit.Never {
				e.push(event{at: at, what: look})
			}
		}
		if len(e.q.Items) == 0 || e.next == nil && e.running == 0 && e.now > e.progress+stuckAfter {
			break
		}
		v := e.q.Pop()
		if v.what == look && (v.at != due || e.next == nil && e.running == 0 && e.onlyRefused()) {
			continue // outdated, or the run is over
		}
		if e.sum.Events++; e.sum.Events%checkEvery == 0 {
			e.sum.Report(e.cfg.Progress, e.now, e.next)
			if ctx.Err() != nil {
				e.sum.Partial = true
				break
			}
		}
		if v.at >= e.line.To {
			e.line.Pass(v.at, e.sampled)
		}
		if v.at > e.ask {
			e.explain()
		}
		e.now = v.at
		if err := e.take(&v); err != nil {
			return e.sum, err
		}
		if v.what == turn {
			e.turns++
		} else if e.turns < len(e.cfg.Turns) && v.what != look {
			continue
		}
		for _, t := range e.core.Release() {
			e.released(&t)
		}
	}
	if e.ask != unit.Never {
		e.explain()
	}
	e.finish()
	return e.sum, nil
}

func (e *engine) take(v *event) error {
	switch v.what {
	case arrives:
		e.arrive(e.next)
		return e.readAhead()
	case created:
		e.create(v.pod)
	case place:
		e.place(v.id, v.pod)
	case bound:
		e.bound(v.id, v.pod)
	case works:
		e.progress = e.now
		e.open(v.pod.job)
	case ends:
		e.end(v.id, v.pod)
	case known:
		e.known(v.id, v.pod)
	case left:
		e.core.JobEnded(v.pod.job.key)
	}
	return nil
}

func (e *engine) arrive(src *workload.Job) {
	j := &job{src: src, rec: sim.JobRecord{Job: src, Seq: e.nextSeq, Start: -1, Finish: -1, Gang: -1}, left: src.Tasks(), rates: e.speeds.Rates(src, nil), queue: e.line.Index(src.Queue)}
	if e.sum.FirstSubmit < 0 {
		e.sum.FirstSubmit = e.now
	}
	e.sum.Submitted++
	e.nextSeq++
	j.key = src.ID
	if e.byID[j.key] != nil {
		j.key += "#" + strconv.FormatInt(j.rec.Seq, 10)
	}
	if len(e.byID) == 0 {
		e.sum.Present -= e.now
	}
	e.jobs, e.byID[j.key] = append(e.jobs, j), j
	e.line.Queues[j.queue].Waiting++
	for i := range src.Stages {
		j.stages = append(j.stages, stage{seed: sim.StageSeed(e.cfg.Seed, j.rec.Seq, i)})
	}
	e.progress = e.now
	e.unended += j.left
	switch {
	case e.unended > maxPods:
		e.refuse(j, fmt.Sprintf("with it there would be more than %d pods, which this clock keeps one by one", maxPods))
	case src.Keep != nil:
		e.refuse(j, "it keeps its containers and runs tasks in them, which only the other clocks play")
	case !src.AM.IsZero():
		e.make(j, policy.AMStage, 0)
	default:
		e.open(j)
	}
	if j.left == 0 && j.rec.Outcome != sim.Refused {
		e.finished(j)
	}
}

// open creates the pods of stages whose upstream stages are done. A stage without tasks is done when it opens.
func (e *engine) open(j *job) {
	for again := true; again; {
		again = false
		for i := range j.stages {
			s, src := &j.stages[i], &j.src.Stages[i]
			ready := !s.open
			for _, up := range src.After {
				ready = ready && j.stages[up.From].open && j.stages[up.From].done == j.src.Stages[up.From].Tasks
			}
			if !ready {
				continue
			}
			s.open, again = true, true
			for n := range src.Tasks {
				e.make(j, i, n)
			}
		}
	}
}

// make creates a pod, now or later.
func (e *engine) make(j *job, i int, n int64) {
	p, later := &pod{job: j, stage: i, num: n}, unit.Time(0)
	if e.cfg.Creation != nil {
		later = e.cfg.Creation(j.src, i, n)
	}
	if later <= 0 {
		e.create(p)
		return
	}
	e.push(event{at: e.now + later, what: created, pod: p})
}

func (e *engine) create(p *pod) {
	j, i, n := p.job, p.stage, p.num
	if e.byID[j.key] != j { // it is refused
		return
	}
	t := live.Task{ID: podID(j, i, n), Stage: strconv.Itoa(i), Created: e.now, Ref: p}
	if i == policy.AMStage {
		t.Size = j.src.AM
	} else {
		t.Size, t.Gang = j.src.Stages[i].Ask, j.src.Stages[i].Gang
		t.Gang = min(t.Gang, j.src.Stages[i].Tasks)
	}
	t.Name, t.Shape = t.ID, t.Size.String()
	j.pending++
	e.line.Queues[j.queue].Pending++
	tasks := j.src.Tasks()
	if !j.src.AM.IsZero() {
		tasks++
	}
	e.core.See(t, live.Job{
		Key: j.key, User: j.src.User, Queue: e.line.Queues[j.queue].Name, Class: j.src.Class, Priority: j.src.Priority, Submitted: j.src.Submit, Deadline: j.src.Deadline, Tasks: tasks, Owned: true,
	}, live.Held, "", 0)
}

// released queues a pod at the scheduler.
func (e *engine) released(t *live.Task) {
	e.idle = max(e.idle, e.now) + e.cfg.Timing.Service
	e.push(event{at: e.idle, what: place, id: t.ID, pod: t.Ref.(*pod)})
}

// place chooses a node for a pod.
func (e *engine) place(id string, p *pod) {
	ask := p.size()
	e.placed++
	if p.node = e.choose(ask); p.node < 0 {
		e.core.TakeBack(id, live.NoRoom)
		return
	}
	if e.cfg.failBind != nil && e.cfg.failBind(e.placed) {
		e.core.TakeBack(id, live.NotBound)
		return
	}
	n := &e.nodes[p.node]
	n.free = n.free.Sub(ask)
	if e.cfg.Timing.Bind == 0 {
		e.bound(id, p)
		return
	}
	e.push(event{at: e.now + e.cfg.Timing.Bind, what: bound, id: id, pod: p})
}

// choose finds a node as kube-scheduler does: it scores no more nodes than it needs to of those with room; -1: none has any.
func (e *engine) choose(ask unit.Resources) int {
	count := len(e.nodes)
	enough := count
	if count > 100 {
		enough = max(100, count*max(5, 50-count/125)/100)
	}
	best, score := -1, -1.0
	for range e.nodes {
		i := e.cursor
		if e.cursor++; e.cursor == count {
			e.cursor = 0
		}
		n := &e.nodes[i]
		if !ask.Fits(n.free) {
			continue
		}
		if s := share(n.free.Mem-ask.Mem, n.total.Mem) + share(n.free.Cores-ask.Cores, n.total.Cores); s > score {
			best, score = i, s
		}
		if enough--; enough == 0 {
			break
		}
	}
	return best
}

func share(free, total int64) float64 { return float64(free) / float64(max(1, total)) }

func (p *pod) size() unit.Resources {
	if p.stage == policy.AMStage {
		return p.job.src.AM
	}
	return p.job.src.Stages[p.stage].Ask
}

// bound starts a pod.
func (e *engine) bound(id string, p *pod) {
	j, q, ask := p.job, &e.line.Queues[p.job.queue], p.size()
	e.core.Bind(id, e.nodes[p.node].name)
	e.progress = e.now
	if j.rec.Start < 0 {
		j.rec.Start = e.now
		q.Waiting--
		q.Running++
	}
	if p.stage >= 0 && j.src.Stages[p.stage].Gang > 1 {
		j.rec.BeginGang(e.now)
	}
	p.start = e.now
	j.pending--
	j.running++
	j.since += e.now
	j.rec.Containers++
	j.rec.Near[policy.NoPreference]++
	e.running++
	e.sum.Decisions++
	q.Pending--
	q.Hold(e.now-e.line.From, ask.Mem)
	e.line.Named(1, ask.Uses(), e.now)
	at := e.now + e.cfg.Timing.StartUp
	if p.stage == policy.AMStage {
		j.am = p
		e.push(event{at: at, what: works, pod: p})
		return
	}
	s := &j.src.Stages[p.stage]
	e.push(event{at: at + e.speeds.Length(j.rates, int32(p.node), s.Length.Draw(p.num, j.stages[p.stage].seed)), what: ends, id: id, pod: p})
}

// end ends a pod's work.
func (e *engine) end(id string, p *pod) {
	j := p.job
	p.end, e.progress = e.now, e.now
	last := false
	if p.stage >= 0 {
		e.sum.Tasks++
		s := &j.stages[p.stage]
		s.done++
		j.left--
		e.unended--
		last = j.left == 0
	}
	if e.cfg.Timing.Watch > 0 {
		e.push(event{at: e.now + e.cfg.Timing.Watch, what: known, id: id, pod: p})
	}
	switch {
	case last && j.am != nil:
		e.end(podID(j, policy.AMStage, 0), j.am)
	case p.stage >= 0 && j.stages[p.stage].done == j.src.Stages[p.stage].Tasks:
		e.open(j)
	}
	if last && e.cfg.Left != nil {
		e.push(event{at: e.now + e.cfg.Left(j.src), what: left, pod: p})
	} else if last {
		e.core.JobEnded(j.key)
	}
	if e.cfg.Timing.Watch == 0 {
		e.known(id, p)
	}
	if last {
		e.finished(j)
	}
}

// known gives a pod's room back.
func (e *engine) known(id string, p *pod) {
	j, ask := p.job, p.size()
	n := &e.nodes[p.node]
	n.free = n.free.Add(ask)
	worked := unit.Time(0)
	if p.stage >= 0 {
		if worked = p.end - p.start - e.cfg.Timing.StartUp; e.cfg.Worked != nil {
			worked = e.cfg.Worked(j.src, p.stage, p.num)
		}
	}
	e.core.End(id, policy.Done, worked)
	e.core.Gone(id)
	q := &e.line.Queues[j.queue]
	q.Yield(e.now-e.line.From, ask.Mem)
	e.line.Named(-1, ask.Uses(), e.now)
	j.running--
	j.since -= p.start
	j.service += e.now - p.start
	e.running--
	if e.taskSink != nil {
		e.taskSink.Task(&sim.TaskRecord{Job: j.src, Seq: j.rec.Seq, Stage: p.stage, Number: p.num, Node: n.name, Start: p.start, End: p.end, Why: policy.Done, Kept: -1, Up: -1, Submitted: -1})
	}
}

func (e *engine) finished(j *job) {
	e.sum.End(&j.rec, sim.Finished, e.now)
	if j.rec.Start < 0 {
		j.rec.Start = e.now
	}
	j.rec.Size = sim.SizeOf(j.src, e.cfg.Seed, j.rec.Seq)
	if !e.cfg.NoAlone {
		j.rec.Alone = e.alone.Of(j.src, j.rec.Seq)
	}
	e.gone(j)
}

// refuse drops a job that is not admitted, with its pods.
func (e *engine) refuse(j *job, why string) {
	j.rec.Outcome, j.rec.Reason = sim.Refused, why
	e.unended -= j.left
	e.sum.Refused++
	e.core.JobEnded(j.key)
	e.core.Gone(podID(j, policy.AMStage, 0))
	for i := range j.stages {
		for n := int64(0); j.stages[i].open && n < j.src.Stages[i].Tasks; n++ {
			e.core.Gone(podID(j, i, n))
		}
	}
	e.gone(j)
}

// gone emits the record of a job and forgets it.
func (e *engine) gone(j *job) {
	q := &e.line.Queues[j.queue]
	if q.Pending -= j.pending; j.rec.Outcome == sim.Refused {
		q.Waiting--
	} else {
		q.Running--
	}
	j.rec.Service = j.attained(e.now)
	e.cfg.Sink.Job(&j.rec)
	if delete(e.byID, j.key); len(e.byID) == 0 {
		e.sum.Present += e.now
	}
	e.jobs[slices.Index(e.jobs, j)] = nil
	if e.ended++; e.ended > len(e.jobs)/2 {
		e.jobs, e.ended = slices.DeleteFunc(e.jobs, func(j *job) bool { return j == nil }), 0
	}
}

// attained is the container-time that a job has received.
func (j *job) attained(now unit.Time) unit.Time {
	return j.service + unit.Time(j.running)*now - j.since
}

// onlyRefused reports whether no job is left but those that the policy refuses: nothing will change its mind.
func (e *engine) onlyRefused() bool {
	for j := range e.present() {
		if e.core.Refused(j.key) == nil {
			return false
		}
	}
	return true
}

// finish ends the run.
func (e *engine) finish() {
	for _, j := range slices.Collect(e.present()) {
		if err := e.core.Refused(j.key); err != nil {
			e.refuse(j, err.Error())
		}
	}
	e.line.Rest(e.now, e.sampled)
	e.sum.BusyNamed = e.line.BusyNamed(e.now)
	if len(e.byID) > 0 {
		e.sum.Present += e.now
	}
	for j := range e.present() {
		e.sum.Unfinished(&j.rec, func() string {
			if v, _ := e.core.Why(j.key); len(v.Reasons) > 0 && v.Reasons[0].Limit != "" {
				return "held by " + v.Reasons[0].Limit
			}
			return "the scheduler gives it no room"
		})
		j.rec.Service = j.attained(e.now)
		e.cfg.Sink.Job(&j.rec)
	}
	e.sum.Report(e.cfg.Progress, e.now, e.next)
}

// present are the jobs that have not ended, in order of arrival.
func (e *engine) present() iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for _, j := range e.jobs {
			if j != nil && !yield(j) {
				return
			}
		}
	}
}

// sampled emits the interval that ends at an instant.
func (e *engine) sampled(end unit.Time) {
	e.sample.Close(&e.line, end, &e.sum, e.cfg.Sink, func(yield func(*sim.JobRecord, unit.Time) bool) {
		for j := range e.present() {
			if !yield(&j.rec, j.attained(end)) {
				return
			}
		}
	})
}

// explain answers Config.Why.
func (e *engine) explain() {
	w := e.cfg.Why
	e.ask = unit.Never
	if v, ok := e.core.Why(w.ID); ok && e.byID[w.ID] != nil {
		j := e.byID[w.ID]
		w.Present, w.Running, w.Pending, w.Reasons = true, j.running, j.pending, v.Reasons
	}
}

func podID(j *job, stage int, n int64) string {
	return j.key + "/" + strconv.Itoa(stage) + "/" + strconv.FormatInt(n, 10)
}
