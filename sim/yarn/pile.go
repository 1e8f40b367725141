package yarn

// pile is a FIFO list of tasks of some stages: first all that were never taken, stage by stage, then those put back. Tasks never
// taken are counted, not stored.
type pile struct {
	a      *app
	stages []int32
	at     int   // stage in stages
	next   int64 // its next task
	again  []task
	n      int64
}

func newPile(a *app, stages []int32) pile {
	p := pile{a: a, stages: stages}
	for _, i := range stages {
		p.n += a.stages[i].src.Tasks
	}
	return p
}

// take returns the first task.
func (p *pile) take() task {
	p.n--
	for p.at < len(p.stages) {
		i := p.stages[p.at]
		if p.next < p.a.stages[i].src.Tasks {
			p.next++
			return task{i, p.next - 1}
		}
		p.at++
		p.next = 0
	}
	t := p.again[0]
	p.again = p.again[1:]
	return t
}

// put adds a task at the end.
func (p *pile) put(t task) {
	p.n++
	p.again = append(p.again, t)
}

// count adds what the tasks of the pile want.
func (p *pile) count(w *wishes) {
	for k, next := p.at, p.next; k < len(p.stages); k, next = k+1, 0 {
		s := &p.a.stages[p.stages[k]]
		if s.hosts == nil {
			if rest := s.src.Tasks - next; rest > 0 {
				w.addAll(s.src.Ask, rest)
			}
			continue
		}
		for num := next; num < s.src.Tasks; num++ {
			w.add(s, num)
		}
	}
	for _, t := range p.again {
		w.add(&p.a.stages[t.stage], t.num)
	}
}
