package yarn

// pile is a FIFO list of tasks of some stages: first all that were never taken, stage by stage, then those put back. Tasks never
// taken are counted, not stored.
type pile struct {
	a       *app
	stages  []int32
	current int   // stage in stages
	next    int64 // its next task
	again   []task
	n       int64
}

func newPile(a *app, stages []int32) pile {
	p := pile{a: a, stages: stages}
	for _, i := range stages {
		p.n += a.stages[i].waiting()
	}
	p.seek()
	return p
}

// seek moves to the first task of the stage that is next.
func (p *pile) seek() {
	p.next = 0
	if p.current < len(p.stages) {
		p.next = p.a.stages[p.stages[p.current]].first
	}
}

// waiting is the number of tasks that no container was given to when the run started.
func (s *stage) waiting() int64 { return s.src.Tasks - s.first }

// take returns the first task.
func (p *pile) take() task {
	p.n--
	for p.current < len(p.stages) {
		i := p.stages[p.current]
		if p.next < p.a.stages[i].src.Tasks {
			p.next++
			return task{i, p.next - 1}
		}
		p.current++
		p.seek()
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

// count adds what the tasks of a stage want.
func (p *waitingPart) count(w *wishes, s *stage) {
	if p.near == nil {
		p.rest.count(w)
		return
	}
	for num := range s.src.Tasks {
		if p.near.Waits(num) {
			w.add(s, num)
		}
	}
}

// count adds what the tasks of the pile want.
func (p *pile) count(w *wishes) {
	for k := p.current; k < len(p.stages); k++ {
		s := &p.a.stages[p.stages[k]]
		next := s.first
		if k == p.current {
			next = p.next
		}
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
