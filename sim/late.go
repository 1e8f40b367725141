package sim

import (
	"cmp"
	"slices"
)

// chooseLate requests copies of a stage's slow tasks that will end last.
func (sp *speculation) chooseLate(g *slowGroup, list []progress, used *int64) {
	s := &g.job.stages[g.stage]
	s.copies.order()
	sp.rates = sp.rates[:0]
	for _, p := range list {
		sp.rates = append(sp.rates, p.rate)
	}
	slices.Sort(sp.rates)
	bound := s.copies.pace(sp.rates, int(slowQuantile*float64(len(sp.rates)+len(s.copies.took))))
	list = slices.DeleteFunc(list, func(p progress) bool { return !p.eligible || p.rate >= bound })
	if len(list) == 0 {
		return
	}
	// The time left is (1 - done) / rate; compared without dividing, since a task without progress has rate 0.
	slices.SortStableFunc(list, func(a, b progress) int { return cmp.Compare((1-b.done)*a.rate, (1-a.done)*b.rate) })
	most := max(int64(copyShare*float64(sp.containers(s))), 1)
	for _, p := range list {
		if *used >= most {
			return
		}
		*used++
		sp.ask(g.job, p.task)
	}
}

// order sorts the durations of finished tasks. The last ones are mostly the longest, so few elements move.
func (c *copies) order() {
	if len(c.took)-c.inRow > 32 {
		slices.Sort(c.took)
		c.inRow = len(c.took)
	}
	for ; c.inRow < len(c.took); c.inRow++ {
		x, slot := c.took[c.inRow], c.inRow
		for ; slot > 0 && c.took[slot-1] > x; slot-- {
			c.took[slot] = c.took[slot-1]
		}
		c.took[slot] = x
	}
}

// pace returns the rate of progress that k of a stage's tasks stay below: the finished ones, and others given in ascending order.
func (c *copies) pace(others []float64, k int) float64 {
	for last := len(c.took) - 1; ; k-- {
		var pace float64
		if last < 0 || len(others) > 0 && others[0] < 1/c.took[last] {
			pace, others = others[0], others[1:]
		} else {
			pace = 1 / c.took[last]
			last--
		}
		if k == 0 {
			return pace
		}
	}
}

// containers counts how many containers of a stage's size the present nodes can hold.
func (sp *speculation) containers(s *stage) int64 {
	var n int64
	nodes := sp.e.pools[s.Slot].nodes
	for i := range nodes {
		n += nodes[i].Total.Count(s.Ask)
	}
	return n
}

// rankNodes finds the slowest quarter of the nodes by work done.
func (sp *speculation) rankNodes() {
	sp.rates = append(sp.rates[:0], sp.work...)
	slices.Sort(sp.rates)
	bound := sp.rates[int(slowQuantile*float64(len(sp.rates)))]
	for n, w := range sp.work {
		sp.isLow[n] = w < bound
	}
}

// isSlow reports whether a node is excluded from copies.
func (sp *speculation) isSlow(node int32) bool { return sp.late && sp.isLow[node] }

// note records a finished attempt in the statistics of its stage and its node.
func (sp *speculation) note(j *job, t int32) {
	tk := &sp.e.tasks[t]
	s := &j.stages[tk.stage]
	if !sp.late || s.copies == nil {
		return
	}
	sp.done[tk.node]++
	s.copies.took = append(s.copies.took, (sp.e.now - sp.since(tk, s)).Seconds())
}
