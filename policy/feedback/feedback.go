// Package feedback serves jobs by attained service, without knowing their sizes: a job starts in the first of K queues and is demoted to queue
// k+1 when it has attained limit k. Small jobs pass large ones.
//
//	fbq     feedback queueing: all nodes serve the first queue that has a task to start
//	tags    task assignment by guessing size: queue k has its own partition of the nodes (see policy/levels)
//
//	attained(j, now) = sum over j's tasks of (end or now) - (start, or the end of the stages that it waits for)
//
// A reduce that waits for its job's maps attains nothing. Failed attempts count: they held the container. Limits are cumulative. A job that
// attains a limit is demoted, by several queues at once if necessary; its running tasks keep running. The first queue is in order of arrival,
// each other one in the order in which its jobs reached the limit.
//
// Demotion is exact at every decision: a job that reaches its limit between two events is demoted before the second is handled. A heap holds, for each running job,
// a time no later than when it reaches its limit. Each event checks the jobs whose time has come, in order: they are demoted or get a later
// time. An event costs O(1), or O(log n) in running jobs if it brings a job's limit closer.
//
// Switches:
//
//	count=completed     only finished tasks count
//	reduces=release     a demoted job releases the containers of reduces that wait for its maps; it may take them again at once
//	reduces=defer       the same, but it takes reduce slots again only when its maps are done (fixed slots)
//	restart=yes         a demoted job restarts (the original TAGS)
//
// Source: "Reducing Job Slowdown Variability for Data-Intensive Workloads", MASCOTS 2015: FBQ and TAGS. It does not say whether running
// tasks count or whether limits are cumulative. On an engine that does not show which stage waits for which (a ResourceManager, unless
// reduces are released), waiting reduces count.
package feedback

import (
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/levels"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/unit"
)

const countHelp, reducesHelp = "what counts as service: running (default), the time of running and completed tasks; or completed, that of completed ones only",
	"reduces of a demoted job that wait for its maps: hold (default) or release their containers; or defer: release them, and take reduce slots only when the maps are done"

// FBQ registers feedback queueing.
var FBQ = policy.Entry{
	Name:  "fbq",
	Title: "feedback queues: a job moves down one queue at each limit of service; needs no sizes",
	Params: map[string]string{
		"limits":  "total container-seconds of service at which a job leaves the first queue, the second, ... (default 12000)",
		"count":   countHelp,
		"reduces": reducesHelp,
	},
	New: func(p policy.Params) (policy.Policy, error) { return read(p, "12000", "") },
}

// TAGS registers feedback between partitions.
var TAGS = policy.Entry{
	Name:  "tags",
	Title: "as fbq, and each queue has its own share of the nodes",
	Params: map[string]string{
		"limits":  "total container-seconds of service at which a job leaves the first queue, the second, ... (default 14000)",
		"shares":  "shares of the nodes, for all queues except the last (default 0.5)",
		"borrow":  "no (default), or yes: a queue uses nodes whose own queue has nothing to start",
		"count":   countHelp,
		"reduces": reducesHelp,
		"restart": "no (default), or yes: a demoted job restarts",
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
	r := policy.Reader{Params: p}
	o.Queues = levels.New(parts, r.Second("borrow", "no", "yes"))
	o.completed = r.Second("count", "running", "completed")
	reduces := r.Choice("reduces", "hold", "release", "defer")
	o.defers = reduces == "defer"
	o.restart = r.Second("restart", "no", "yes")
	made = policy.Policy{Order: o, ByNode: len(parts) > 0}
	if reduces != "hold" || o.restart {
		o.preempting = &preempting{Order: o}
		made.Order = o.preempting
	}
	if o.restart {
		made.Needs |= policy.Restarts
	}
	if made.ByNode || o.preempting != nil {
		made.Shifted = o.Shifted
	}
	return made, r.Err
}

// Order is the order of both policies. It serves one run.
type Order struct {
	*levels.Queues
	limits     []unit.Time
	completed  bool        // running tasks do not count
	restart    bool        // a demoted job restarts
	defers     bool        // a demoted job takes no reduce slots until its maps are done
	preempting *preempting // nil: demoted jobs keep their containers
	jobs       []service
	due        rank.Heap // running jobs by next, then by arrival
}

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
	_ policy.Keeper    = (*Order)(nil)
	_ policy.Preemptor = (*preempting)(nil)
)

// service is a job's attained service: done + running*now - starts.
type service struct {
	job        *policy.Job
	done       unit.Time
	running    int64     // tasks that attain service
	starts     unit.Time // sum of the times at which they began to
	next       unit.Time // no later than when it reaches its limit; Never: it is not in the heap
	queue      int
	stages     []stage // as of its arrival
	restarting bool    // it is about to restart
}

// stage is when the tasks of a stage could begin to work, and how many hold a container before that.
type stage struct {
	from    unit.Time // waits: not yet
	waiting int64
}

const waits unit.Time = -1

func (s *service) attained(now unit.Time) unit.Time {
	return s.done + unit.Time(s.running)*now - s.starts
}

// Arrived puts a job into the first queue, or where it stood before a restart. What was saved may be older than the restart: then the service that the engine
// credits says how far the job has come since.
func (o *Order) Arrived(now unit.Time, j *policy.Job) error {
	stood, was, err := o.Resume(j)
	if !was {
		err = o.Enter(j, 0)
	}
	if err != nil {
		return err
	}
	dense.At(&o.jobs, j.Index)
	o.begin(j, int(stood.Queue))
	s := &o.jobs[j.Index]
	if s.done = stood.Attained; !o.completed && !s.waits() {
		s.done = max(s.done, j.Attained(now))
		o.demote(s, s.done)
	}
	return nil
}

// Save saves the levels of jobs and their attained service, after it has demoted those that have reached their limits by now, in that order.
func (o *Order) Save(now unit.Time) ([]byte, error) {
	o.settle(now)
	return o.Queues.Save(func(j *policy.Job) unit.Time {
		s := &o.jobs[j.Index]
		if o.completed {
			return s.done
		}
		return s.attained(now)
	}, nil)
}

// Load restores them.
func (o *Order) Load(saved []byte) error { return o.Queues.Load(saved, nil) }

func (o *Order) begin(j *policy.Job, queue int) {
	s := &o.jobs[j.Index]
	*s = service{job: j, next: unit.Never, queue: queue, stages: s.stages[:0]}
	for range j.Stages {
		s.stages = append(s.stages, stage{from: waits})
	}
	o.due.Remove(j.Index)
	s.release(j, 0)
}

// waits reports whether a stage of the job waits for another.
func (s *service) waits() bool {
	return slices.ContainsFunc(s.stages, func(st stage) bool { return st.from == waits })
}

// release starts the service of stages that no longer wait.
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

// Changed ranks the job again.
func (o *Order) Changed(now unit.Time, j *policy.Job) {
	if s := &o.jobs[j.Index]; s.restarting {
		o.begin(j, s.queue)
	}
	o.Queues.Changed(now, j)
}

// Started counts a task from now, unless it waits for other stages.
func (o *Order) Started(e *policy.Event) {
	o.settle(e.Now)
	o.Queues.Started(e)
	if e.Stage < 0 {
		return // AMs and kept containers are no part of its size
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

// Ended adds the task's service.
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
	if !s.restarting && (e.Why == policy.Done || !o.completed && e.Why != policy.Undone) {
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

// Left removes the job.
func (o *Order) Left(now unit.Time, j *policy.Job) {
	o.due.Remove(j.Index)
	o.jobs[j.Index].restarting = false
	o.Queues.Left(now, j)
}

// Ranked demotes jobs that have reached their limits, then proposes jobs.
func (o *Order) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	o.settle(of.Now)
	return o.Queues.Ranked(of, try)
}

// reaches is when a job attains its queue's limit if its running tasks continue.
func (o *Order) reaches(s *service) unit.Time {
	if s.queue >= len(o.limits) || s.running == 0 {
		return unit.Never
	}
	n := unit.Time(s.running)
	return (o.limits[s.queue] - s.done + s.starts + n - 1) / n
}

// schedule makes sure that the job is checked in time.
func (o *Order) schedule(s *service) {
	if at := o.reaches(s); at < s.next && !o.completed {
		s.next = at
		o.due.Set(s.job.Index, float64(at), s.job.Seq)
	}
}

// settle demotes the jobs that have reached a limit by now, in the order in which they reached it.
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

// demote moves a job to the queue for its service.
func (o *Order) demote(s *service, attained unit.Time) {
	if queue := sizes.Level(attained, o.limits); queue > s.queue {
		s.queue = queue
		o.Shift()
		_ = o.Enter(s.job, queue) // it is already in a queue: no error
		o.Defer(s.job, o.defers && s.waits())
		if t := o.preempting; t != nil && !slices.Contains(t.jobs, s.job) {
			t.jobs = append(t.jobs, s.job)
		}
	}
}

// preempting is an order that preempts containers of jobs when it demotes them.
type preempting struct {
	*Order
	jobs []*policy.Job // demoted since the last claims
}

// Left removes the job, also from the demoted ones.
func (t *preempting) Left(now unit.Time, j *policy.Job) {
	if i := slices.Index(t.jobs, j); i >= 0 {
		t.jobs = slices.Delete(t.jobs, i, i+1)
	}
	t.Order.Left(now, j)
}

// Victims claims the waiting reduces of demoted jobs for the job that is next, if that does not depend on the node; or restarts these jobs.
func (t *preempting) Victims(_ unit.Time, to []policy.Claim) []policy.Claim {
	for _, j := range t.jobs {
		s := &t.Order.jobs[j.Index]
		if t.restart {
			s.restarting, s.done = true, 0
			to = append(to, policy.Claim{Job: j, Restart: true})
			continue
		}
		for i := range s.stages {
			if n := s.stages[i].waiting; n > 0 {
				c := policy.Claim{Job: j, Stage: i, Count: n, For: t.First(j.Stages[i].Slot)}
				if c.For == j {
					c.For = nil
				}
				to = append(to, c)
			}
		}
	}
	t.jobs = t.jobs[:0]
	return to
}
