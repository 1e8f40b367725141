package capacity1

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/internal/undo"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
)

// Kinds of slots.
const (
	mapSlots    = policy.MapSlot
	reduceSlots = policy.ReduceSlot
	kinds       = policy.Slots
)

// state is the order: queues, users, jobs, and a part for each kind of slot.
//
// Invariants, for each kind of slot: a queue's occupied is the sum of its users' held, a user's held is the sum of its jobs'; a job is in
// its user's ready list if and only if it is initialised and has tasks of that kind to start; a user is in the queue's heap
// if and only if its ready list is not empty. A user exists while it has jobs.
type state struct {
	cfg    Config
	queues []*queue
	byName map[string]*queue
	jobs   []job // by Index
	parts  [kinds]*part
	round  uint64 // of the poller
}

type queue struct {
	set    Queue
	limits Limits

	jobs        int64 // waiting and initialised
	initialised int64
	activeTasks int64 // of initialised jobs
	waiting     []position
	dirty       bool // changed since the last poll

	users   []user // by number
	byUser  map[string]int32
	numbers dense.Numbers // of users
	use     [kinds]usage
}

// usage is a queue's part of one kind of slot.
type usage struct {
	capacity, maximum int64 // slots; maximum -1: no limit
	occupied, running int64 // slots, tasks
	key               float64
	ready             rank.Heap // users with jobs to serve, by the first of them
}

type user struct {
	name        string
	jobs        int64 // waiting and initialised
	initialised int64
	activeTasks int64
	held        [kinds]int64      // slots
	ready       [kinds][]position // initialised jobs with tasks to start, in order
	over        uint64            // round of the poller in which it was found at its limit
}

type job struct {
	view          *policy.Job
	at            position
	queue         *queue
	user          int32
	tasks         int64
	initialised   bool
	ready         [kinds]bool
	held          [kinds]int64 // slots
	running       [kinds]int64
	opportunities int64           // scheduling opportunities for maps since the last local one
	ended         undo.Log[int64] // what starts took off opportunities
}

// position is a job's position in its queue's order: by level (0 where the queue has no priorities), then by arrival. Hadoop's job ids
// count submissions, so the arrival number is both the time of submission and the tie-breaking id.
type position struct {
	level int64 // smaller is more urgent
	seq   int64
	id    int32 // Index of the job
}

func (p position) compare(o position) int {
	return cmp.Or(cmp.Compare(p.level, o.level), cmp.Compare(p.seq, o.seq))
}

// insert inserts a job in order. Most are appended.
func insert(list []position, p position) []position {
	if n := len(list); n == 0 || list[n-1].compare(p) < 0 {
		return append(list, p)
	}
	i, _ := slices.BinarySearchFunc(list, p, position.compare)
	return slices.Insert(list, i, p)
}

// remove removes a job; no-op if absent.
func remove(list []position, p position) []position {
	if i, in := slices.BinarySearchFunc(list, p, position.compare); in {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// Levels of priority, from 1 to 5 as jobs carry them.
const (
	veryLow, normal, veryHigh = 1, 3, 5
)

func (q *queue) level(priority int) int64 {
	switch {
	case !q.set.SupportsPriority:
		return 0
	case priority == 0:
		priority = normal
	}
	return -int64(min(max(priority, veryLow), veryHigh))
}

func (q *queue) user(name string) int32 {
	if u, ok := q.byUser[name]; ok {
		return u
	}
	u := q.numbers.Take()
	old := dense.At(&q.users, u)
	for k := range old.ready {
		old.ready[k] = old.ready[k][:0]
	}
	*old = user{name: name, ready: old.ready}
	q.byUser[name] = u
	return u
}

// enter adds a job, with all that it holds, to a queue.
func (s *state) enter(q *queue, id int32, name string) {
	j := &s.jobs[id]
	j.queue, j.user = q, q.user(name)
	j.at.level = q.level(j.view.Priority)
	u := &q.users[j.user]
	q.jobs++
	u.jobs++
	q.dirty = true
	if j.initialised {
		s.count(j, 1)
	} else {
		q.waiting = insert(q.waiting, j.at)
	}
	for k := range kinds {
		s.charge(j, k, j.held[k], j.running[k])
		s.show(j, k)
	}
	if q.jobs == 1 {
		s.lend()
	}
}

// leave removes it.
func (s *state) leave(id int32) {
	j := &s.jobs[id]
	q := j.queue
	u := &q.users[j.user]
	for k := range kinds {
		s.hide(j, k)
		s.charge(j, k, -j.held[k], -j.running[k])
	}
	if j.initialised {
		s.count(j, -1)
	} else {
		q.waiting = remove(q.waiting, j.at)
	}
	q.jobs--
	q.dirty = true
	if u.jobs--; u.jobs == 0 {
		delete(q.byUser, u.name)
		q.numbers.Give(j.user)
	}
	if q.jobs == 0 {
		s.lend()
	}
}

// count adds n initialised jobs (n is 1 or -1) to the counters that the poller compares with its limits.
func (s *state) count(j *job, n int64) {
	u := &j.queue.users[j.user]
	j.queue.initialised += n
	u.initialised += n
	j.queue.activeTasks += n * j.tasks
	u.activeTasks += n * j.tasks
}

// charge adds slots and tasks to what a job's queue and user hold.
func (s *state) charge(j *job, kind int, slots, tasks int64) {
	use := &j.queue.use[kind]
	use.occupied += slots
	use.running += tasks
	j.queue.users[j.user].held[kind] += slots
}

// show makes a job eligible for one kind of slot, if it is initialised and has tasks to start.
func (s *state) show(j *job, kind int) {
	if !j.initialised || j.ready[kind] || j.view.Waiting[kind] <= 0 {
		return
	}
	j.ready[kind] = true
	s.parts[kind].waiting++
	u := &j.queue.users[j.user]
	u.ready[kind] = insert(u.ready[kind], j.at)
	s.rank(j, kind)
}

// hide undoes show.
func (s *state) hide(j *job, kind int) {
	if !j.ready[kind] {
		return
	}
	j.ready[kind] = false
	p := s.parts[kind]
	if p.waiting--; p.waiting == 0 {
		p.epoch++
	}
	u := &j.queue.users[j.user]
	u.ready[kind] = remove(u.ready[kind], j.at)
	s.rank(j, kind)
}

// rank ranks a job's user by the first of the user's jobs.
func (s *state) rank(j *job, kind int) {
	h := &j.queue.use[kind].ready
	if list := j.queue.users[j.user].ready[kind]; len(list) == 0 {
		h.Remove(j.user)
	} else {
		h.Set(j.user, float64(list[0].level), list[0].seq)
	}
}

// size computes the slots of every queue's share and maximum of one kind.
func (s *state) size(kind int) {
	slots := float64(s.parts[kind].slots)
	for _, q := range s.queues {
		use := &q.use[kind]
		use.capacity = roundDown(q.set.Capacity * slots / 100)
		use.maximum = -1
		if q.set.MaxCapacity != -1 {
			use.maximum = roundDown(q.set.MaxCapacity * slots / 100)
		}
	}
	s.lend()
}

// lend adds up the shares of queues that have no job, if others may borrow them.
func (s *state) lend() {
	if !s.cfg.Borrow {
		return
	}
	for k, p := range s.parts {
		p.idle = 0
		for _, q := range s.queues {
			if q.jobs == 0 {
				p.idle += q.use[k].capacity
			}
		}
	}
}
