package fair

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// byGroup serves the user or pool with the smallest usage/weight, and in it the job with the smallest usage.
//
// Invariants: a group's heap holds exactly its jobs that had Pending > 0 at their last event; a group is in needy or in
// sated exactly when its heap is not empty, in needy when it holds less than its minimum; used is the sum over its jobs.
type byGroup struct {
	scale
	user              bool
	weights, minimums map[string]float64 // as typed; a group reads them when it is made
	names             map[string]int32
	groups            []*group
	needy, sated      rank.Heap // of groups
	jobs              []member  // by Index
}

type group struct {
	weight  float64
	minimum float64 // minimum share, MiB
	used    unit.Resources
	jobs    []*policy.Job // by slot: numbers of its own keep a group's heap as small as the group
	slots   dense.Numbers
	heap    rank.Heap // of slots
}

type member struct {
	job         *policy.Job
	group, slot int32
}

func (g *group) enter(j *policy.Job) (slot int32) {
	slot = g.slots.Take()
	*dense.At(&g.jobs, slot) = j
	return slot
}

func (g *group) leave(slot int32) {
	g.heap.Remove(slot)
	g.jobs[slot] = nil
	g.slots.Give(slot)
}

var (
	_ policy.Order = (*byGroup)(nil)
	_ policy.Knobs = (*byGroup)(nil)
)

func (f *byGroup) Resized(_ unit.Time, c policy.Cluster) {
	f.resize(c)
	for _, m := range f.jobs {
		if m.job != nil && f.groups[m.group].heap.Has(m.slot) {
			f.groups[m.group].heap.Set(m.slot, f.of(&m.job.Used), m.job.Seq)
		}
	}
	for g := range f.groups {
		f.place(int32(g))
	}
}

// group finds a group by name, or makes it.
func (f *byGroup) group(name string) int32 {
	if g, ok := f.names[name]; ok {
		return g
	}
	g := int32(len(f.groups))
	made := &group{weight: 1, minimum: f.minimums[name]}
	if w, ok := f.weights[name]; ok {
		made.weight = w
	}
	f.groups, f.names[name] = append(f.groups, made), g
	return g
}

// place ranks a group by its usage.
func (f *byGroup) place(id int32) {
	g := f.groups[id]
	best, ok := g.heap.Min()
	if !ok {
		f.needy.Remove(id)
		f.sated.Remove(id)
		return
	}
	seq := g.jobs[best].Seq
	if held := float64(g.used.Mem); held < g.minimum {
		f.sated.Remove(id)
		f.needy.Set(id, held/g.minimum, seq)
		return
	}
	if g.minimum > 0 {
		f.needy.Remove(id)
	}
	f.sated.Set(id, f.of(&g.used)/g.weight, seq)
}

func (f *byGroup) Arrived(now unit.Time, j *policy.Job) error {
	name := Pool(j.Queue)
	if f.user {
		name = j.User
	}
	g := f.group(name)
	*dense.At(&f.jobs, j.Index) = member{j, g, f.groups[g].enter(j)}
	f.Changed(now, j)
	return nil
}

// Pool is the pool of a job submitted to queue: "" means default, as everywhere.
func Pool(queue string) string {
	if queue == "" {
		return "default"
	}
	return queue
}

func (f *byGroup) Changed(_ unit.Time, j *policy.Job) { f.held(j, unit.Resources{}) }
func (f *byGroup) Started(e *policy.Event)            { f.held(e.Job, e.Size) }
func (f *byGroup) Ended(e *policy.Event)              { f.held(e.Job, unit.Resources{}.Sub(e.Size)) }

// held adds to a job's usage, and reranks it and its group.
func (f *byGroup) held(j *policy.Job, more unit.Resources) {
	m := &f.jobs[j.Index]
	g := f.groups[m.group]
	g.used = g.used.Add(more)
	if j.Pending > 0 {
		g.heap.Set(m.slot, f.of(&j.Used), j.Seq)
	} else {
		g.heap.Remove(m.slot)
	}
	f.place(m.group)
}

func (f *byGroup) Left(_ unit.Time, j *policy.Job) {
	m := &f.jobs[j.Index]
	f.groups[m.group].leave(m.slot)
	f.place(m.group)
	*m = member{}
}

func (f *byGroup) Ranked(_ *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	verdict := policy.Pass
	var jobs []*policy.Job
	inside := func(slot int32) bool {
		j := jobs[slot]
		if j.Pending <= 0 {
			return true
		}
		verdict = try(j)
		return verdict == policy.Pass
	}
	each := func(g int32) bool {
		jobs = f.groups[g].jobs
		f.groups[g].heap.Walk(inside)
		return verdict == policy.Pass
	}
	f.needy.Walk(each)
	if verdict == policy.Pass {
		f.sated.Walk(each)
	}
	return verdict == policy.Took
}

// SetPriority is a no-op: shares do not depend on priorities.
func (f *byGroup) SetPriority(*policy.Job, int) {}

// Move moves the job and what it holds to another pool. By user it is a no-op.
func (f *byGroup) Move(j *policy.Job, queue string) error {
	if f.user {
		return nil
	}
	m := &f.jobs[j.Index]
	to := f.group(Pool(queue))
	if m.group == to {
		return nil
	}
	old, g := f.groups[m.group], f.groups[to]
	waiting := old.heap.Has(m.slot)
	old.leave(m.slot)
	old.used, g.used = old.used.Sub(j.Used), g.used.Add(j.Used)
	f.place(m.group)
	m.group, m.slot = to, g.enter(j)
	if waiting {
		g.heap.Set(m.slot, f.of(&j.Used), j.Seq)
	}
	f.place(to)
	return nil
}

// SetQueue sets the weight or the minimum share (MiB) of a pool or user.
func (f *byGroup) SetQueue(queue, property string, value float64) (float64, error) {
	if !(value >= 0) || math.IsInf(value, 0) || value == 0 && property == "weight" {
		return 0, fmt.Errorf("set %s of %s to %v: it must be a positive number", property, queue, value)
	}
	id, knob, err := f.knob(queue, property)
	if err != nil {
		return 0, err
	}
	old := *knob
	*knob = value
	if property == "min" && value == 0 {
		f.needy.Remove(id) // place looks there only while there is a minimum
	}
	f.place(id)
	return old, nil
}

// Property reads what SetQueue sets.
func (f *byGroup) Property(queue, property string) (float64, error) {
	_, knob, err := f.knob(queue, property)
	if err != nil {
		return 0, err
	}
	return *knob, nil
}

func (f *byGroup) knob(queue, property string) (id int32, at *float64, err error) {
	id = f.group(Pool(queue))
	switch g := f.groups[id]; property {
	case "weight":
		return id, &g.weight, nil
	case "min":
		return id, &g.minimum, nil
	}
	return id, nil, fmt.Errorf("set %s of %s: fair has weight and min", property, queue)
}
