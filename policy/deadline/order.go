package deadline

import (
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/keyed"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// goalless is the class of jobs without a goal in min mode, after all states.
const goalless = states

// Order is the order. It serves one run.
//
// Invariant: a job that waits for a kind of slot is in exactly one class of that kind, with its key as of its last event or refresh.
type Order struct {
	Settings
	cluster   policy.Cluster
	jobs      []*policy.Job // by Index
	histories []history     // by Index
	classes   [policy.Slots][goalless + 1]rank.Heap
	goals     rank.Heap // jobs that have not missed their goals yet, by goal
	held      int64     // containers of jobs that have

	// In min mode a scheduling pass serves jobs in their order at its start; those it served are ranked again afterwards.
	passNow  unit.Time
	passNode *policy.Node
	served   []*policy.Job

	walk  rank.Cursor
	paths []float64 // scratch of later
}

// history is what is known of a job's tasks beyond the view.
type history struct {
	goal   unit.Time
	missed bool
	stages []stage
}

type stage struct {
	running Running
	longest unit.Time
	ready   unit.Time // when the stages that it needs were done; Never: they are not
}

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Timer     = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
	_ policy.Estimator = (*Order)(nil)
)

// New makes an empty order.
func New(s Settings) *Order { return &Order{Settings: s, passNow: -1} }

// Resized recomputes everything: how long later stages take depends on the size of the cluster.
func (o *Order) Resized(now unit.Time, c policy.Cluster) {
	o.cluster = c
	o.rankAll(now)
}

// Arrived admits every job.
func (o *Order) Arrived(now unit.Time, j *policy.Job) error {
	if n := int(j.Index) + 1 - len(o.jobs); n > 0 {
		o.jobs = append(o.jobs, make([]*policy.Job, n)...)
		o.histories = append(o.histories, make([]history, n)...)
	}
	h := history{goal: unit.Never}
	if j.Deadline > 0 {
		h.goal = j.Deadline
		o.goals.Set(j.Index, float64(h.goal), j.Seq)
	}
	o.jobs[j.Index], o.histories[j.Index] = j, h
	o.Changed(now, j)
	return nil
}

// history is what is known of a job. A ResourceManager shows stages only when they are first requested, so there may be more than at arrival.
func (o *Order) history(j *policy.Job) *history {
	h := &o.histories[j.Index]
	for i := len(h.stages); i < len(j.Stages); i++ {
		s := stage{}
		if len(j.Stages[i].After) > 0 {
			s.ready = unit.Never
		}
		h.stages = append(h.stages, s)
	}
	return h
}

// Changed re-ranks the job.
func (o *Order) Changed(now unit.Time, j *policy.Job) {
	o.endPass(now)
	o.rank(now, j)
}

// Started records when the task started.
func (o *Order) Started(e *policy.Event) {
	h := o.history(e.Job)
	if e.Stage >= 0 {
		h.stages[e.Stage].running.Add(e.Now)
	}
	if h.missed {
		o.held++
	}
	if !o.Min {
		o.rank(e.Now, e.Job)
		return
	}
	o.served = append(o.served, e.Job)
	for slot := range o.classes {
		if e.Job.Waiting[slot] == 0 {
			o.remove(slot, e.Job.Index)
		}
	}
}

// Ended records the length of the task, and the stages that become ready with it.
func (o *Order) Ended(e *policy.Event) {
	h := o.history(e.Job)
	if e.Stage >= 0 {
		s := &h.stages[e.Stage]
		start := e.Now - e.Held
		if s.ready != unit.Never {
			start = max(start, s.ready)
		}
		s.running.Remove(start)
		if e.Why == policy.Done {
			s.longest = max(s.longest, e.Worked)
		}
		for i := e.Stage + 1; i < len(h.stages); i++ {
			if t := &h.stages[i]; t.ready == unit.Never && satisfied(e.Job, i) {
				t.ready = e.Now
				t.running.Restart(e.Now)
			}
		}
	}
	if h.missed {
		o.held--
	}
	o.Changed(e.Now, e.Job)
}

// satisfied reports whether all stages that a stage needs are done.
func satisfied(j *policy.Job, s int) bool {
	for _, e := range j.Stages[s].After {
		if from := &j.Stages[e.From]; from.Done < from.Tasks {
			return false
		}
	}
	return true
}

// Left removes the job.
func (o *Order) Left(now unit.Time, j *policy.Job) {
	o.endPass(now)
	if o.histories[j.Index].missed {
		o.held -= j.Running
	}
	for slot := range o.classes {
		o.remove(slot, j.Index)
	}
	o.goals.Remove(j.Index)
	o.jobs[j.Index], o.histories[j.Index] = nil, history{}
}

func (o *Order) remove(slot int, id int32) {
	for c := range o.classes[slot] {
		o.classes[slot][c].Remove(id)
	}
}

// rank puts a job into its class, by its key.
func (o *Order) rank(now unit.Time, j *policy.Job) {
	h := &o.histories[j.Index]
	for slot := range o.classes {
		if j.Waiting[slot] == 0 {
			o.remove(slot, j.Index)
			continue
		}
		w, aim, estimated := o.work(now, j, slot)
		c := Claim{Work: w, Submitted: j.Submitted, Goal: h.goal, Aim: aim, Estimated: estimated}
		state, key := c.Rank(now)
		class, tie := int(state), j.Seq
		switch {
		case h.goal == unit.Never:
			key = float64(j.Running)
			if o.Min {
				class = int(goalless)
			}
		case state == Adjust:
			tie = int64(h.goal/unit.Millisecond)<<24 | j.Seq&(1<<24-1)
		}
		for c := range o.classes[slot] {
			if c != class {
				o.classes[slot][c].Remove(j.Index)
			}
		}
		o.classes[slot][class].Set(j.Index, key, tie)
	}
}

func (o *Order) rankAll(now unit.Time) {
	for _, j := range o.jobs {
		if j != nil && j.Pending > 0 {
			o.rank(now, j)
		}
	}
}

// work is what the stages of a job that could start tasks on a kind of slot have to do, and by when; estimated: their tasks' lengths are known.
func (o *Order) work(now unit.Time, j *policy.Job, slot int) (w Work, aim unit.Time, estimated bool) {
	h := o.history(j)
	aim = h.goal
	for i := range j.Stages {
		s := &j.Stages[i]
		if int(s.Slot) != slot || s.Open() <= 0 {
			continue
		}
		w.Running += s.Running
		w.Unstarted += s.Pending
		mean, ok := o.mean(j, i)
		if !ok || h.goal == unit.Never {
			continue
		}
		estimated = true
		w.Left += float64(s.Pending) * mean
		if t := &h.stages[i]; t.ready == unit.Never {
			w.Left += float64(s.Running) * mean
		} else {
			w.Left += t.running.Left(now, mean, !o.Literal)
		}
		length, later := o.later(j, i)
		if o.WorkMode {
			w.Left += later
			length = 0
		}
		if o.TailGuard {
			length += float64(h.stages[i].longest)
		}
		aim = min(aim, h.goal-unit.Time(length))
	}
	return w, aim, estimated
}

// Estimates predicts the ends of jobs that have a goal: a stage that can run takes its remaining work divided by the containers it holds, and its
// successors take as long as later says. There is no estimate while such a stage holds nothing.
func (o *Order) Estimates(now unit.Time, each func(j *policy.Job, end unit.Time)) {
	for _, j := range o.jobs {
		if j == nil || o.histories[j.Index].goal == unit.Never {
			continue
		}
		if end, ok := o.end(now, j); ok {
			each(j, unit.Time(min(end, float64(unit.Never/2))))
		}
	}
}

// end is when a job ends.
func (o *Order) end(now unit.Time, j *policy.Job) (end float64, ok bool) {
	h := o.history(j)
	for i := range j.Stages {
		s := &j.Stages[i]
		if h.stages[i].ready == unit.Never || s.Pending+s.Running == 0 {
			continue
		}
		mean, known := o.mean(j, i)
		if !known || s.Running == 0 {
			return 0, false
		}
		w := Work{Left: float64(s.Pending)*mean + max(0, h.stages[i].running.Left(now, mean, !o.Literal))}
		later, _ := o.later(j, i)
		end, ok = max(end, w.End(now, s.Running)+later), true
	}
	return end, ok
}

// mean is the mean length of a stage's tasks; until enough have finished, that of the last stage before it, by the cost ratio.
func (o *Order) mean(j *policy.Job, s int) (mean float64, ok bool) {
	ratio := 1.0
	for {
		st := &j.Stages[s]
		if st.Done >= o.MinSamples && st.Worked > 0 {
			return ratio * float64(st.Worked) / float64(st.Done), true
		}
		if len(st.After) == 0 {
			return 0, false
		}
		s = st.After[len(st.After)-1].From
		ratio *= o.CostRatio
	}
}

// later is how long the stages after one take, along the longest path, and how much work they are. Tasks that hold a container and wait have not begun.
func (o *Order) later(j *policy.Job, s int) (length, work float64) {
	n := len(j.Stages)
	if s == n-1 {
		return 0, 0
	}
	if len(o.paths) < n {
		o.paths = make([]float64, n)
	}
	o.paths[s] = 0
	for t := s + 1; t < n; t++ {
		st := &j.Stages[t]
		o.paths[t] = -1
		for _, e := range st.After {
			if e.From >= s {
				o.paths[t] = max(o.paths[t], o.paths[e.From])
			}
		}
		mean, ok := o.mean(j, t)
		if o.paths[t] < 0 || !ok {
			continue
		}
		left := st.Pending
		if o.histories[j.Index].stages[t].ready == unit.Never {
			left += st.Running
		}
		work += float64(left) * mean
		o.paths[t] += math.Ceil(float64(left)/float64(max(1, o.room(st)))) * mean
		length = max(length, o.paths[t])
	}
	return length, work
}

// room is how many tasks of a stage the cluster holds at once.
func (o *Order) room(s *policy.Stage) int64 {
	if n := o.cluster.Slots[s.Slot]; n > 0 {
		return n
	}
	n := int64(math.MaxInt64)
	if s.Ask.Mem > 0 {
		n = o.cluster.Total.Mem / s.Ask.Mem
	}
	if s.Ask.Cores > 0 {
		n = min(n, o.cluster.Total.Cores/s.Ask.Cores)
	}
	return n
}

// expire moves jobs whose goals have passed.
func (o *Order) expire(now unit.Time) {
	for o.goals.Len() > 0 && o.goals.MinKey() <= float64(now) {
		id, _ := o.goals.Min()
		o.goals.Remove(id)
		o.histories[id].missed = true
		o.held += o.jobs[id].Running
		o.rank(now, o.jobs[id])
	}
}

func (o *Order) endPass(now unit.Time) {
	for _, j := range o.served {
		if o.jobs[j.Index] == j {
			o.rank(now, j)
		}
	}
	o.served = o.served[:0]
	o.passNow = -1
}

// Ranked proposes jobs class by class.
func (o *Order) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if o.Min && (of.Now != o.passNow || of.Node != o.passNode) {
		o.endPass(of.Now)
		o.passNow, o.passNode = of.Now, of.Node
	}
	o.expire(of.Now)
	for c := range o.classes[of.Slot] {
		for o.walk.Start(&o.classes[of.Slot][c]); ; o.walk.Next() {
			id, key, _, ok := o.walk.Peek()
			if !ok || o.Min && c == int(Adjust) && key >= 0 { // nobody after it needs anything
				break
			}
			if j := o.jobs[id]; o.allowed(of.Now, State(c), int(of.Slot), j) {
				if v := try(j); v != policy.Pass {
					return v == policy.Took
				}
			}
		}
	}
	return false
}

// allowed reports whether a job may be given a container.
func (o *Order) allowed(now unit.Time, class State, slot int, j *policy.Job) bool {
	switch class {
	case Missed:
		return o.MissedShare == 1 || float64(o.held) < o.MissedShare*float64(o.roomFor(j, slot))
	case NoData:
		return o.NoDataCap == 0 || j.Running < o.NoDataCap
	case Adjust:
		return !o.Min || o.needs(now, slot, j)
	}
	return true
}

// needs reports whether a job needs one more container, by the rounding of min mode.
func (o *Order) needs(now unit.Time, slot int, j *policy.Job) bool {
	w, aim, _ := o.work(now, j, slot)
	return o.wants(w.Need(now, aim))
}

// roomFor is how many of the tasks that a job waits to start the cluster holds at once.
func (o *Order) roomFor(j *policy.Job, slot int) int64 {
	for i := range j.Stages {
		if s := &j.Stages[i]; int(s.Slot) == slot && s.Open() > 0 {
			return o.room(s)
		}
	}
	return math.MaxInt64
}

// Tick recomputes all needs. In min mode they grow while containers are idle.
func (o *Order) Tick(now unit.Time) (again unit.Time, changed bool) {
	o.endPass(now)
	o.expire(now)
	o.rankAll(now)
	if o.Min {
		for slot := range o.classes {
			if id, ok := o.classes[slot][Adjust].Min(); ok && o.needs(now, slot, o.jobs[id]) {
				changed = true
			}
		}
	}
	return now + o.Refresh, changed
}

// Why names the limit that holds a job back, and counts the jobs that come first.
func (o *Order) Why(now unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	for slot := range o.classes {
		for c := range o.classes[slot] {
			if !o.classes[slot][c].Has(j.Index) {
				continue
			}
			var r policy.Reason
			if !o.allowed(now, State(c), slot, j) {
				r.Limit = [...]string{"missed-share", "nodata-cap", "mode"}[c]
				switch State(c) {
				case Missed:
					r.Count, r.MaxCount = o.held, int64(o.MissedShare*float64(o.roomFor(j, slot)))
				case NoData:
					r.Count, r.MaxCount = j.Running, o.NoDataCap
				}
			}
			for first := range c {
				keyed.Ahead(&r, &o.classes[slot][first], j.Index, o.jobs)
			}
			keyed.Ahead(&r, &o.classes[slot][c], j.Index, o.jobs)
			return r.Append(to)
		}
	}
	return to
}
