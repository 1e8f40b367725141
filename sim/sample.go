package sim

import "github.com/yardmaster/yardmaster/unit"

// queueState counts what a queue holds. The time containers are held within an interval is the sum of their ends minus
// the sum of their starts, both from the interval's beginning: two additions a container, no look at the others.
type queueState struct {
	name       string
	containers int64
	mem        int64
	area       int64   // container-microseconds in the present interval, without those still held
	areaMem    float64 // MiB-microseconds, likewise
	running    int64
	waiting    int64
	pending    int64
}

func (q *queueState) hold(since unit.Time, mem int64) {
	q.containers++
	q.mem += mem
	q.area -= int64(since)
	q.areaMem -= float64(since) * float64(mem)
}

func (q *queueState) yield(since unit.Time, mem int64) {
	q.containers--
	q.mem -= mem
	q.area += int64(since)
	q.areaMem += float64(since) * float64(mem)
}

// shift carries n containers of mem MiB together from one queue to another.
func shift(from, to *queueState, since unit.Time, n, mem int64) {
	from.containers -= n
	from.mem -= mem
	from.area += n * int64(since)
	from.areaMem += float64(since) * float64(mem)
	to.containers += n
	to.mem += mem
	to.area -= n * int64(since)
	to.areaMem -= float64(since) * float64(mem)
}

func (e *engine) queueIndex(name string) int32 {
	if name == "" {
		name = "default"
	}
	if i, ok := e.queueOf[name]; ok {
		return i
	}
	i := int32(len(e.queues))
	e.queueOf[name] = i
	e.queues = append(e.queues, queueState{name: name})
	return i
}

// sampler cuts virtual time into intervals of equal length.
type sampler struct {
	period   unit.Time
	from, to unit.Time
	out      Sample
}

func (s *sampler) init(period unit.Time) {
	if period <= 0 {
		period = 10 * unit.Second
	}
	period = min(period, longestInterval)
	s.period = period
	s.to = period
}

// longestInterval keeps container-microseconds within 63 bits on any cluster.
const longestInterval = unit.Day

// sample closes every interval that ends at or before now. A stretch in which nothing happens is one long interval, or
// as few as longestInterval allows.
func (e *engine) sample(now unit.Time) {
	s := &e.samples
	e.closeInterval(s.to)
	for s.period <= now-s.from {
		gap := min(now-s.from, max(longestInterval, s.period))
		e.closeInterval(s.from + gap/s.period*s.period)
	}
	s.to = s.from + s.period
}

func (e *engine) sampleRest() {
	if e.now > e.samples.from {
		e.closeInterval(e.now)
	}
}

func (e *engine) closeInterval(to unit.Time) {
	s := &e.samples
	width := int64(to - s.from)
	s.out.From, s.out.To = s.from, to
	s.out.Queues = s.out.Queues[:0]
	for i := range e.queues {
		q := &e.queues[i]
		area, mem := q.area+q.containers*width, q.areaMem+float64(q.mem)*float64(width)
		s.out.Queues = append(s.out.Queues, QueueSample{
			Name: q.name, Containers: float64(area) / float64(width), Mem: mem / float64(width),
			Running: q.running, Waiting: q.waiting, Pending: q.pending,
		})
		e.sum.Busy += unit.Time(area)
		e.sum.BusyMem += mem / float64(unit.Second)
		q.area, q.areaMem = 0, 0
	}
	e.cfg.Sink.Sample(&s.out)
	s.from = to
}
