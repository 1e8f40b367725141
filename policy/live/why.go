package live

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// View is a job as people ask about it.
type View struct {
	Job
	Now                   unit.Time
	Held, Released, Bound int
	Stranded              int
	Done                  int64
	Used                  unit.Resources
	Refused               error     // by the policy
	Lacks                 unit.Time // since when it lacks room at its turn; 0: it does not
	Reasons               []policy.Reason
}

// Jobs are all present jobs, in order of arrival, without reasons.
func (c *Core) Jobs() []View {
	c.mu.Lock()
	defer c.mu.Unlock()
	order := slices.SortedFunc(maps.Values(c.jobs), func(a, b *job) int { return cmp.Compare(a.view.Seq, b.view.Seq) })
	out := make([]View, len(order))
	for i, j := range order {
		out[i] = c.view(j)
	}
	return out
}

// Why is a present job, and what holds it back if a task of it is held: tightest limit first, who is ahead last.
func (c *Core) Why(key string) (View, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[key]
	if j == nil {
		return View{}, false
	}
	c.step()
	v := c.view(j)
	if j.refused == nil && v.Held > 0 && c.started {
		v.Reasons = c.reasons(j)
	}
	return v, true
}

// Refused is why the policy refuses a job; nil: it does not.
func (c *Core) Refused(key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[key]; j != nil {
		return j.refused
	}
	return nil
}

// Held returns at most n of a job's held tasks, in their order.
func (c *Core) Held(key string, n int) (held []Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[key]
	if j == nil {
		return nil
	}
	for i := range j.stages {
		q := &j.stages[i].waiting
		for _, t := range slices.Concat(q.again, q.first) {
			if len(held) == n {
				return held
			}
			if t.state == Held {
				held = append(held, t.Task)
			}
		}
	}
	return held
}

func (c *Core) view(j *job) View {
	return View{
		Job: j.Job, Now: c.now, Held: j.in[Held], Released: j.in[Released], Bound: j.in[Bound], Stranded: j.in[stranded], Done: j.view.Done, Used: j.view.Used,
		Refused: j.refused, Lacks: j.lacks,
	}
}

// reasons says why a job's next task is held; without one that may start, why its first held ones may not.
func (c *Core) reasons(j *job) []policy.Reason {
	v := &j.view
	if v.Pending > 0 {
		s := &v.Stages[v.Front]
		why := c.pol.Why(c.now, v, policy.Ask{Stage: v.Front, Size: s.Ask, Together: together(s), Held: func(int32) *policy.Job { return nil }}, c.each(), nil)
		if len(why) > 0 {
			return why
		}
		if room := c.room(); !v.Ask.Fits(room) { // what is free is for tasks that were released and have no node yet
			var free unit.Resources // of the nodes, which does not yet count those tasks
			for n := range c.each() {
				free = free.Max(n.Free)
			}
			return append(why, policy.Reason{Limit: policy.NodeRoom, Max: free.Min(room).Max(unit.Resources{}), Size: s.Ask})
		}
		if x := c.blocker(); x != nil && x != j {
			why = append(why, policy.Reason{Ahead: 1, Next: [3]string{x.Key}})
		}
		return why
	}
	var why []policy.Reason
	for i := range j.stages {
		s, n := &v.Stages[i], together(&v.Stages[i])
		switch {
		case s.Pending == 0:
		case j.stages[i].shape.closed:
			why = append(why, policy.Reason{Limit: policy.NoNode, Size: s.Ask})
		case !c.holds(s.Ask):
			why = append(why, policy.Reason{Limit: policy.NodeSize, Max: c.nearest(s.Ask), Size: s.Ask})
		case s.Pending < n:
			why = append(why, policy.Reason{Limit: policy.GangSize, Count: s.Pending, MaxCount: n, Size: s.Ask})
		default:
			why = append(why, policy.Reason{Limit: policy.GangRoom, Count: c.capacity(s.Ask), MaxCount: n, Size: s.Ask})
		}
		if len(why) == 3 {
			break
		}
	}
	return why
}

// blocker is the first job that lacks room, which those behind it leave free; nil: none.
func (c *Core) blocker() (first *job) {
	for _, j := range c.jobs {
		if j.view.Pending > 0 && !c.fits(j, j.view.Front) && (first == nil || j.order < first.order) {
			first = j
		}
	}
	return first
}

func (c *Core) each() iter.Seq2[*policy.Node, policy.Near] {
	return func(yield func(*policy.Node, policy.Near) bool) {
		for _, n := range c.list {
			if !n.Total.IsZero() && !yield(&n.Node, policy.NoPreference) {
				return
			}
		}
	}
}

// capacity is how many tasks of a size the empty cluster has room for.
func (l *ledger) capacity(ask unit.Resources) (n int64) {
	for _, x := range l.list {
		n += x.Total.Count(ask)
	}
	return n
}
