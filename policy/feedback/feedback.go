// Package feedback serves jobs by the service that they have attained, without knowing their sizes: a job starts in the first of K
// queues and is demoted to queue k+1 when it has attained limit k. Small jobs pass large ones; a large job pays once.
//
//	fbq     feedback queueing: all nodes serve the first queue that has a task to start
//	tags    task assignment by guessing size: queue k has a partition of the nodes to itself (see policy/levels)
//
//	attained(j, now) = sum over j's tasks of (end or now) - (start, or the end of the stages that it waits for)
//
// A reduce that waits for its job's maps attains nothing. Attempts that failed count: they had the container. Limits are cumulative, and
// attained >= limit demotes, by several queues at once if need be. Inside a queue jobs stand in the order in which they reached the limit,
// in the first one in the order of arrival. Running tasks stay where they are.
//
// Demotion is exact at every decision; between events there is none, so a job that reaches its limit then moves at the next one. A heap has, for each job that runs, an instant no later than the one at which it reaches its
// limit; at each event the jobs whose instant has come are looked at in order, and are demoted or get a later one. An event costs O(1), and
// O(log n) in running jobs if it brings a job's limit nearer.
//
// Switches:
//
//	count=completed     only tasks that are done count
//	reduces=release     a job that is demoted gives back the containers of reduces that wait for its maps; they may be taken again at once
//	reduces=defer       so it does, and takes reduce slots again only when its maps are done (fixed slots)
//	restart=yes         a job that is demoted begins anew (TAGS as first published)
//
// Source: "Reducing Job Slowdown Variability for Data-Intensive Workloads", MASCOTS 2015: FBQ and TAGS. It leaves open whether running
// tasks count and whether limits are cumulative. Where the engine does not show which stage waits for which (a ResourceManager),
// waiting reduces count.
package feedback

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/levels"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/unit"
)

const countHelp, reducesHelp = "service that counts: running (default) tasks too, or completed ones only",
	"reduces of a demoted job that wait for its maps: hold (default) or release their containers, or defer: and take reduce slots when the maps are done"

// FBQ is the registry's line of feedback queueing.
var FBQ = policy.Entry{
	Name:  "fbq",
	Title: "feedback queues: a job moves down a queue at each limit of service; no sizes needed",
	Params: map[string]string{
		"limits":  "container-seconds that a job may receive in the queues up to the first, the second, ... (default 12000)",
		"count":   countHelp,
		"reduces": reducesHelp,
	},
	New: func(p policy.Params) (policy.Policy, error) { return read(p, "12000", "") },
}

// TAGS is the registry's line of feedback between partitions.
var TAGS = policy.Entry{
	Name:  "tags",
	Title: "as fbq, and each queue has its own part of the nodes",
	Params: map[string]string{
		"limits":  "container-seconds that a job may receive in the queues up to the first, the second, ... (default 14000)",
		"shares":  "parts of the nodes for the queues but the last (default 0.5)",
		"borrow":  "no (default), or yes: a queue uses nodes of others that have nothing to start there",
		"count":   countHelp,
		"reduces": reducesHelp,
		"restart": "no (default), or yes: a demoted job begins anew",
	},
	New: func(p policy.Params) (policy.Policy, error) { return read(p, "14000", "0.5") },
}

func read(p policy.Params, limits, shares string) (made policy.Policy, err error) {
	o := &Order{}
	if o.limits, err = levels.ReadLimits(p, limits); err != nil {
		return made, err
	}
	var parts []float64
	if shares != "" {
		if parts, err = levels.ReadShares(p, shares, len(o.limits)+1); err != nil {
			return made, err
		}
	}
	choice := func(key string, words ...string) string {
		word, wrong := p.Choice(key, words...)
		err = cmp.Or(err, wrong)
		return word
	}
	o.Queues = levels.New(parts, choice("borrow", "no", "yes") == "yes")
	o.completed = choice("count", "running", "completed") == "completed"
	reduces := choice("reduces", "hold", "release", "defer")
	o.defers = reduces == "defer"
	o.restart = choice("restart", "no", "yes") == "yes"
	made = policy.Policy{Order: o, ByNode: len(parts) > 0}
	if reduces != "hold" || o.restart {
		o.taking = &taking{Order: o}
		made.Order = o.taking
	}
	if made.ByNode || o.taking != nil {
		made.Shifted = o.Shifted
	}
	return made, err
}

// Order is the order of both. It serves one run.
type Order struct {
	*levels.Queues
	limits    []unit.Time
	completed bool    // running tasks do not count
	restart   bool    // a demoted job begins anew
	defers    bool    // a demoted job takes no reduce slot before its maps are done
	taking    *taking // nil: nothing is taken from demoted jobs
	jobs      []service
	due       rank.Heap // running jobs by next, then by arrival
}

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
	_ policy.Preemptor = (*taking)(nil)
)

// service is what a job has received: done + running*now - starts.
type service struct {
	job     *policy.Job
	done    unit.Time
	running int64     // tasks that attain service
	starts  unit.Time // sum of the instants since which they do
	next    unit.Time // it does not reach its limit before; Never: it is not in the heap
	queue   int
	stages  []stage // those that the job had when it arrived
	anew    bool    // it is about to begin anew
}

// stage is since when the tasks of a stage may work, and how many hold a container before.
type stage struct {
	from    unit.Time // waits: not yet
	waiting int64
}

const waits unit.Time = -1

func (s *service) attained(now unit.Time) unit.Time {
	return s.done + unit.Time(s.running)*now - s.starts
}

// Arrived puts a job into the first queue.
func (o *Order) Arrived(_ unit.Time, j *policy.Job) error {
	if err := o.Enter(j, 0); err != nil {
		return err
	}
	if need := int(j.Index) + 1 - len(o.jobs); need > 0 {
		o.jobs = append(o.jobs, make([]service, need)...)
	}
	o.begin(j, 0)
	return nil
}

func (o *Order) begin(j *policy.Job, queue int) {
	s := &o.jobs[j.Index]
	*s = service{job: j, next: unit.Never, queue: queue, stages: s.stages[:0]}
	for range j.Stages {
		s.stages = append(s.stages, stage{from: waits})
	}
	o.due.Remove(j.Index)
	s.release(j, 0)
}

// waits says whether a stage of the job waits for another.
func (s *service) waits() bool {
	return slices.ContainsFunc(s.stages, func(st stage) bool { return st.from == waits })
}

// release finds the stages whose tasks may work from now on.
func (s *service) release(j *policy.Job, now unit.Time) {
	for i := range s.stages {
		st := &s.stages[i]
		if st.from != waits {
			continue
		}
		ready := true
		for _, edge := range j.Stages[i].After {
			up := &j.Stages[edge.From]
			ready = ready && s.stages[edge.From].from != waits && up.Done == up.Tasks
		}
		if ready {
			st.from = now
			s.running += st.waiting
			s.starts += unit.Time(st.waiting) * now
			st.waiting = 0
		}
	}
}

// Changed ranks the job anew.
func (o *Order) Changed(now unit.Time, j *policy.Job) {
	if s := &o.jobs[j.Index]; s.anew {
		o.begin(j, s.queue)
	}
	o.Queues.Changed(now, j)
}

// Started counts a task from now on, unless it waits for other stages.
func (o *Order) Started(e *policy.Event) {
	o.settle(e.Now)
	o.Queues.Started(e)
	if e.Stage < 0 {
		return // what a job keeps or is led by is no part of its size
	}
	s := &o.jobs[e.Job.Index]
	if e.Stage < len(s.stages) && s.stages[e.Stage].from == waits {
		s.stages[e.Stage].waiting++
		return
	}
	s.running++
	s.starts += e.Now
	o.schedule(s)
}

// Ended adds what the task has attained.
func (o *Order) Ended(e *policy.Event) {
	o.settle(e.Now)
	o.Queues.Ended(e)
	if e.Stage < 0 {
		return
	}
	j, s, from := e.Job, &o.jobs[e.Job.Index], e.Now-e.Held
	if e.Stage < len(s.stages) {
		st := &s.stages[e.Stage]
		if st.from == waits {
			st.waiting--
			return
		}
		from = max(from, st.from)
	}
	s.running--
	s.starts -= from
	if !s.anew && (e.Why == policy.Done || !o.completed && e.Why != policy.Undone) {
		s.done += e.Now - from
	}
	if o.completed {
		o.demote(s, s.done)
	}
	if e.Why == policy.Done && e.Stage < len(s.stages) && j.Stages[e.Stage].Done == j.Stages[e.Stage].Tasks {
		s.release(j, e.Now)
		o.schedule(s)
		if o.defers {
			o.Shift()
			o.Defer(j, s.queue > 0 && s.waits())
		}
	}
}

// Left forgets the job.
func (o *Order) Left(now unit.Time, j *policy.Job) {
	o.due.Remove(j.Index)
	o.jobs[j.Index].anew = false
	o.Queues.Left(now, j)
}

// Ranked demotes the jobs that have reached their limits, and proposes jobs.
func (o *Order) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	o.settle(of.Now)
	return o.Queues.Ranked(of, try)
}

// reaches is the instant at which a job attains its queue's limit if what runs goes on.
func (o *Order) reaches(s *service) unit.Time {
	if s.queue >= len(o.limits) || s.running == 0 {
		return unit.Never
	}
	n := unit.Time(s.running)
	return (o.limits[s.queue] - s.done + s.starts + n - 1) / n
}

// schedule sees to it that the job is looked at in time.
func (o *Order) schedule(s *service) {
	if at := o.reaches(s); at < s.next && !o.completed {
		s.next = at
		o.due.Set(s.job.Index, float64(at), s.job.Seq)
	}
}

// settle demotes the jobs that have reached a limit by now, in the order in which they did.
func (o *Order) settle(now unit.Time) {
	for o.due.Len() > 0 && o.due.MinKey() <= float64(now) {
		id, _ := o.due.Min()
		s := &o.jobs[id]
		if at := o.reaches(s); at == s.next {
			o.demote(s, s.attained(at))
		}
		s.next = unit.Never
		o.due.Remove(id)
		o.schedule(s)
	}
}

// demote moves a job to the queue of its service.
func (o *Order) demote(s *service, attained unit.Time) {
	if queue := sizes.Level(attained, o.limits); queue > s.queue {
		s.queue = queue
		o.Shift()
		_ = o.Enter(s.job, queue) // it is in already
		o.Defer(s.job, o.defers && s.waits())
		if t := o.taking; t != nil && !slices.Contains(t.jobs, s.job) {
			t.jobs = append(t.jobs, s.job)
		}
	}
}

// Why says which queue the job is in and who is ahead.
func (o *Order) Why(now unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	o.settle(now)
	return o.Queues.Why(now, j, to)
}

// taking is an order that takes containers from jobs when it demotes them.
type taking struct {
	*Order
	jobs []*policy.Job // demoted since the last claims
}

// Left forgets the job, and that it was demoted.
func (t *taking) Left(now unit.Time, j *policy.Job) {
	if i := slices.Index(t.jobs, j); i >= 0 {
		t.jobs = slices.Delete(t.jobs, i, i+1)
	}
	t.Order.Left(now, j)
}

// Victims claims the reduces that wait in demoted jobs, or all that those run.
func (t *taking) Victims(_ unit.Time, to []policy.Claim) []policy.Claim {
	for _, j := range t.jobs {
		s := &t.Order.jobs[j.Index]
		if t.restart {
			s.anew, s.done = true, 0
			to = append(to, policy.Claim{Job: j, Restart: true})
			continue
		}
		for i := range s.stages {
			if n := s.stages[i].waiting; n > 0 {
				to = append(to, policy.Claim{Job: j, Stage: i, Count: n})
			}
		}
	}
	t.jobs = t.jobs[:0]
	return to
}
