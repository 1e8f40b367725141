package shuffle

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/internal/undo"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// Kinds of requests that a user's jobs wait for.
const (
	Others    = iota // AMs and containers that jobs keep
	Reduces          // reduces of any job
	Maps             // maps of any job
	LightMaps        // maps of light jobs (or Unpredicted ones); these are also in Maps
	kinds
)

// Users is an order of users: who holds fewer containers is next, and among equals who came first. A policy embeds it and adds Ranked.
//
// Invariant: a job is in its user's list of a kind if and only if it had such a request at its last event, and a user is in the heap of a
// kind if and only if that list is not empty.
type Users struct {
	Jobs
	Unpredicted bool           // jobs count as light until they are predicted
	Store       policy.Storage // nil: the engine does not let an order choose the stage

	users     []User
	names     map[string]int32
	positions []position // by Index of the job
	heaps     [kinds]rank.Heap
	walk      rank.Cursor
}

// User is a user with jobs.
type User struct {
	running int64
	jobs    [kinds][]int32 // Index of the jobs that wait, in no particular order
	Wait    [2]Wait        // for maps, for reduces
}

// For Wait.
const (
	ForMap = iota
	ForReduce
)

// position is a job's place in its user's lists.
type position struct {
	user    int32
	running int64
	in      [kinds]int32 // position in the list, plus one; 0: absent
}

// Wait counts the offers that a user let pass since its last start of a kind.
type Wait struct {
	offers
	ended undo.Log[offers] // by starts, which may be undone
}

type offers struct {
	n     int64
	since unit.Time // of the first
}

// Bound limits a wait, by offers or by time.
type Bound struct {
	Skips int64
	Time  unit.Time // if Timed
	Timed bool
}

// ReadBound reads a parameter: a count of offers, or a time.
func ReadBound(r *policy.Reader, key string, otherwise Bound) Bound {
	text, ok := r.Params[key]
	if !ok {
		return otherwise
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return Bound{Skips: n}
	}
	t, err := unit.ParseTime(text)
	if err != nil || t < 0 || t > unit.Day {
		r.Keep(fmt.Errorf("%s=%q: want a number of offers, or a time of at most a day, such as 5s", key, text))
	}
	return Bound{Time: t, Timed: true}
}

// Over reports whether a user has waited long enough.
func (b Bound) Over(w *Wait, now unit.Time) bool {
	if b.Timed {
		return b.Time == 0 || w.n > 0 && now-w.since >= b.Time
	}
	return w.n >= b.Skips
}

// Skip counts an offer that the user let pass.
func (w *Wait) Skip(now unit.Time) {
	if w.n == 0 {
		w.since = now
	}
	w.n++
}

func (w *Wait) reset() {
	w.ended.Keep(w.offers)
	w.offers = offers{}
}

// undo takes a start back: the wait that it ended goes on.
func (w *Wait) undo() {
	if ended, _ := w.ended.Take(); ended.n > 0 {
		w.n, w.since = w.n+ended.n, ended.since
	}
}

// Continue says that the last start did not end the wait.
func (w *Wait) Continue() {
	w.undo()
	w.ended.Keep(offers{})
}

// Choose is called by engines that let an order choose the stage.
func (o *Users) Choose(s policy.Storage) { o.Store = s }

// Resized gives the size of the cluster.
func (o *Users) Resized(_ unit.Time, c policy.Cluster) { o.Jobs.Resized(c) }

// Arrived admits a job. Gangs need room on several nodes at once, and offers name one.
func (o *Users) Arrived(_ unit.Time, v *policy.Job) error {
	for i := range v.Stages {
		if v.Stages[i].Gang > 1 {
			return errors.New("its tasks start together (a gang), and this policy chooses one node at a time")
		}
	}
	id, known := o.names[v.User]
	if !known {
		if o.names == nil {
			o.names = map[string]int32{}
		}
		id = int32(len(o.users))
		o.users = append(o.users, User{})
		o.names[v.User] = id
	}
	j := o.Jobs.Arrived(v)
	*dense.At(&o.positions, v.Index) = position{user: id}
	o.list(j)
	return nil
}

// Changed updates what a job waits for.
func (o *Users) Changed(_ unit.Time, v *policy.Job) {
	j := o.Of(v.Index)
	o.Jobs.Changed(j)
	o.list(j)
}

// Started notes a start: the wait of the job's user is over.
func (o *Users) Started(e *policy.Event) {
	j := o.Of(e.Job.Index)
	o.Jobs.Started(j, e)
	if e.Stage >= 0 {
		o.waitOf(j, e.Stage).reset()
	}
	o.list(j)
}

// Ended notes an end.
func (o *Users) Ended(e *policy.Event) {
	j := o.Of(e.Job.Index)
	o.Jobs.Ended(j, e)
	if e.Why == policy.Undone && e.Stage >= 0 {
		o.waitOf(j, e.Stage).undo()
	}
	o.list(j)
}

func (o *Users) waitOf(j *Job, stage int) *Wait {
	w := &o.UserOf(j).Wait
	if j.IsMap(stage) {
		return &w[ForMap]
	}
	return &w[ForReduce]
}

// Left drops a job.
func (o *Users) Left(_ unit.Time, v *policy.Job) {
	at := &o.positions[v.Index]
	o.enter(v.Index, at, [kinds]bool{})
	o.users[at.user].running -= at.running
	o.rank(at.user, at.running != 0)
	o.Jobs.Left(o.Of(v.Index))
}

// UserOf is the user of a present job.
func (o *Users) UserOf(j *Job) *User { return &o.users[o.positions[j.Index].user] }

// Open is the first stage of a job with a map to start in a kind of slot, or with a reduce; -1: none. If a waiting job's Front stage has no
// task to start, the job wants a copy of a slow one.
func (j *Job) Open(reduce bool, slot uint8) int {
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Open() > 0 && (len(s.After) > 0) == reduce && s.Slot == slot {
			return i
		}
	}
	if j.Pending > 0 && j.Front >= 0 && j.IsMap(j.Front) != reduce && (j.Front >= len(j.Stages) || j.Stages[j.Front].Open() == 0 && j.Stages[j.Front].Slot == slot) {
		return j.Front
	}
	return -1
}

func (j *Job) opens(reduce bool) bool {
	return j.Open(reduce, policy.MapSlot) >= 0 || j.Open(reduce, policy.ReduceSlot) >= 0
}

// list updates the lists that a job is in.
func (o *Users) list(j *Job) {
	at := &o.positions[j.Index]
	var want [kinds]bool
	switch {
	case j.Pending <= 0:
	case j.Front < 0:
		want[Others] = true
	default:
		want[Reduces] = j.opens(true)
		want[Maps] = j.opens(false)
		want[LightMaps] = want[Maps] && o.IsLight(j)
	}
	changed := o.enter(j.Index, at, want)
	if by := j.Running - at.running; by != 0 {
		at.running = j.Running
		o.users[at.user].running += by
		changed = true
	}
	if changed {
		o.rank(at.user, true)
	}
}

func (o *Users) enter(job int32, at *position, want [kinds]bool) (changed bool) {
	u := &o.users[at.user]
	for k := range kinds {
		list := &u.jobs[k]
		switch p := at.in[k] - 1; {
		case want[k] == (p >= 0):
			continue
		case want[k]:
			*list = append(*list, job)
			at.in[k] = int32(len(*list))
		default:
			last := len(*list) - 1
			moved := (*list)[last]
			(*list)[p] = moved
			o.positions[moved].in[k] = p + 1
			*list = (*list)[:last]
			at.in[k] = 0
		}
		changed = true
	}
	return changed
}

// rank updates a user's place in the heaps.
func (o *Users) rank(id int32, changed bool) {
	u := &o.users[id]
	for k := range kinds {
		switch {
		case len(u.jobs[k]) == 0:
			o.heaps[k].Remove(id)
		case changed || !o.heaps[k].Has(id):
			o.heaps[k].Set(id, float64(u.running), int64(id))
		}
	}
}

// Each yields the users that wait for a kind, next first, with the jobs that do, until yield returns false. After a yield that started
// something, it must return false.
func (o *Users) Each(kind int, yield func(u *User, jobs []int32) bool) {
	h := &o.heaps[kind]
	for o.walk.Start(h); ; o.walk.Next() {
		id, _, _, ok := o.walk.Peek()
		if !ok {
			return
		}
		if u := &o.users[id]; !yield(u, u.jobs[kind]) {
			return
		}
	}
}

// Before reports whether the next user that waits for a kind holds fewer containers than the next one that waits for another, or if it is the same one, whether
// a job of it does; among equals it does.
func (o *Users) Before(kind, other int) bool {
	a, ok := o.heaps[kind].Min()
	b, also := o.heaps[other].Min()
	if !ok || !also {
		return ok
	}
	if a != b {
		return o.users[a].running <= o.users[b].running
	}
	return o.least(o.users[a].jobs[kind]) <= o.least(o.users[a].jobs[other])
}

// least is what the job of a list holds that holds the fewest containers.
func (o *Users) least(jobs []int32) int64 {
	least := int64(math.MaxInt64)
	for _, i := range jobs {
		least = min(least, o.Of(i).Running)
	}
	return least
}

// IsLight reports whether maps of a job are in LightMaps.
func (o *Users) IsLight(j *Job) bool {
	return j.Class == Light || o.Unpredicted && !j.Predictor.Known()
}

// Waits reports whether any job waits for a kind.
func (o *Users) Waits(kind int) bool { return o.heaps[kind].Len() > 0 }
