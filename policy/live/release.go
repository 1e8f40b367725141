package live

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Release returns the tasks to start now, in the policy's order. It may be called at any time.
func (c *Core) Release() []Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started {
		return nil
	}
	c.step()
	c.poll()
	for len(c.leaving) > 0 && c.leaving[0].at <= c.now {
		if j := c.leaving[0].job; j.tasks == 0 && c.now >= j.idle+linger {
			c.leave(j)
		}
		c.leaving = c.leaving[1:]
	}
	if c.stale {
		c.resized()
		for _, j := range c.jobs {
			before := j.view.Pending
			for i := range j.stages {
				c.refresh(j, i)
			}
			c.changed(j, before, false)
		}
	}
	c.readmit()
	c.unpark(c.helped)
	c.helped = false
	if c.outstanding > c.window/2 {
		return nil
	}
	c.gave = nil
	offer := policy.Offer{Now: c.now}
	for c.outstanding < c.window && len(c.sizes) > 0 && c.least.Fits(c.room()) {
		c.passed, c.skipped, c.reserved = 0, 0, unit.Resources{}
		clear(c.lacking)
		c.counted.Asked++
		if !c.pol.Order.Ranked(&offer, c.try) {
			break
		}
	}
	return c.gave
}

// serve releases the next task of a job that the policy proposes, or its next gang.
func (c *Core) serve(v *policy.Job) policy.Verdict {
	j, i := c.byIndex[v.Index], v.Front
	if c.lacking[j.User] >= ofUser {
		if c.skipped++; c.skipped >= walk {
			return policy.Enough
		}
		return policy.Pass
	}
	if !c.fits(j, i) {
		i = -1
		for k := range v.Stages {
			if j.stages[k].open > 0 && v.Replaces(k, v.Front) && c.fits(j, k) {
				i = k
				break
			}
		}
	}
	if i < 0 {
		return c.lackRoom(j)
	}
	j.lacks = 0
	s, first := j.stages[i].shape, c.seq+1
	for range together(&v.Stages[i]) {
		t := j.stages[i].waiting.take()
		c.held--
		c.release(t)
		if t.Group = 0; t.Gang > 1 {
			t.Group = first
		}
		c.counted.Releases++
		c.log("release", t)
		t.trial = s.parked
		c.gave = append(c.gave, t.Task)
	}
	if s.parked {
		c.turn(s, true, unit.Never)
	}
	c.changed(j, v.Pending, false)
	return policy.Took
}

// lackRoom passes over a job. If smaller ones have passed it for long, those behind it leave room free for it: as much as it asks for, and then, as room is spread
// over nodes, twice as much after each further wait, up to a quarter of the cluster.
func (c *Core) lackRoom(j *job) policy.Verdict {
	if j.lacks == 0 {
		j.lacks = max(c.now, 1)
	}
	if c.reserved.IsZero() {
		c.reserved = c.reserve(j)
	}
	c.lacking[j.User]++
	if c.passed++; c.passed >= lookahead {
		return policy.Enough
	}
	return policy.Pass
}

// reserve is the room that those behind a job leave to it.
func (c *Core) reserve(j *job) unit.Resources {
	if j.lacks == 0 || c.now-j.lacks < policy.GangPatience {
		return unit.Resources{}
	}
	times := int64(1) << min((c.now-j.lacks)/policy.GangPatience-1, 20)
	return j.view.Ask.Times(max(1, min(times, c.total.Count(j.view.Ask)/4)))
}

// fits reports whether there is room for a stage's next task or gang.
func (c *Core) fits(j *job, i int) bool {
	s, n := &j.view.Stages[i], together(&j.view.Stages[i])
	return c.outstanding+int(n) <= max(c.window, int(n)) && s.Ask.Times(n).Fits(c.room().Sub(c.reserved)) && (n == 1 && !j.stages[i].tight || c.packs(s.Ask, n, freeOf))
}

// together is how many tasks of a stage start at once: what its last gang lacks, or a whole one.
func together(s *policy.Stage) int64 {
	if s.Gang <= 1 {
		return 1
	}
	return s.Gang - (s.Running+s.Done)%s.Gang
}

// refresh brings up to date how many of a stage's waiting tasks may start.
func (c *Core) refresh(j *job, i int) {
	if !c.started {
		return
	}
	st, v := &j.stages[i], &j.view.Stages[i]
	n := int64(st.waiting.n)
	open := n
	switch {
	case n == 0:
	case st.shape.closed, !c.holds(v.Ask), v.Gang > 1 && (n < together(v) || !c.packs(v.Ask, together(v), totalOf)):
		open = 0
	}
	v.Pending, v.Later = n, n-open
	if d := open - st.open; d != 0 {
		j.view.Want(policy.MapSlot, d)
		c.count(v.Ask, d)
		st.open = open
	}
	if open > 0 {
		j.front = min(j.front, i)
	}
}

// changed brings up to date which stage of a job is next, and tells the policy what it has to know: see policy.Order. before is what was pending, starts aside.
func (c *Core) changed(j *job, before int64, grew bool) {
	v, ask := &j.view, j.view.Ask
	for j.front < len(j.stages) && j.stages[j.front].open == 0 {
		j.front++
	}
	if j.front < len(j.stages) {
		s := &v.Stages[j.front]
		v.Front, v.Ask = j.front, s.Ask
		if n := together(s); n > 1 {
			v.Ask = s.Ask.Times(n)
		}
	} else {
		j.lacks = 0
	}
	if c.started && j.arrived && j.refused == nil && (grew || v.Pending < before || before == 0 && v.Pending > 0 || v.Pending > 0 && v.Ask != ask) {
		c.pol.Order.Changed(c.now, v)
		c.shifted()
	}
}

// count keeps the sizes of pending tasks, and a lower bound of them that is computed again only when enough have gone.
func (c *Core) count(size unit.Resources, n int64) {
	was := c.sizes[size]
	c.sizes[size] = was + n
	switch {
	case was+n == 0:
		delete(c.sizes, size)
		if c.removed++; c.removed <= len(c.sizes) {
			return
		}
		c.removed = 0
		first := true
		for s := range c.sizes {
			if first {
				c.least, first = s, false
			}
			c.least = c.least.Min(s)
		}
	case was == 0 && len(c.sizes) == 1:
		c.least, c.removed = size, 0
	case was == 0:
		c.least = c.least.Min(size)
	}
}
