// Package planned runs a plan (package plan): JobPacker's online scheduler.
//
// A free container goes to the first entry of its rack's sequence that can run: its job has arrived, and its stage has tasks to start. (The source
// says the first job; so a rack would idle while that one cannot start.) Where jobs arrive over time, entries of smaller jobs come first, unless the
// plan says that its order counts: it is that of arrivals, and a small job would wait behind all tasks of a large one. Only if none can, it goes to jobs that are
// not in the plan, by fewest containers held.
//
// In a plan for circuits, only jobs with a large shuffle are in sequences. The others run in any rack, with those that are not in the plan, and those with
// a small input come before a planned job that holds more containers.
//
// Jobs outside the plan with a large input are presumed to have a large shuffle, and are kept apart: a rack that runs a task of a job with a
// large shuffle, planned or not, prefers the others and those that it runs already; any other rack prefers them. If the preferred kind has
// nothing to start, the other kind may.
//
// AMs take at most half of a rack: a sequence must not wait for containers that AMs hold while they wait for the sequence.
//
// If all nodes of a rack are lost, its sequence is dropped for good, and the tasks in it are scheduled as those of jobs that are not in the
// plan; so are tasks that the plan did not foresee, and AMs.
//
// The input of a planned job is placed in the racks of its maps, one replica of each block; in each as much as it has maps there. (The source
// draws one of them at random, so that some maps would have to read from other racks.) The other replicas lie in other racks, if there are
// any: otherwise racks would run each other's maps.
package planned

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// entry is what is left of an entry of a rack's sequence.
type entry struct {
	work  int32 // planned job
	stage int8
	left  int64
}

// rack is the state of a rack.
type rack struct {
	entries []entry
	ready   rank.Heap // positions of entries that can run
	dead    bool
	heavy   int64   // running tasks of jobs with a large shuffle
	room    int64   // memory of its nodes
	ams     int64   // memory of the AMs that it runs
	here    []int32 // jobs outside the plan that are presumed to have one, and run tasks here
}

// spot is the place of an entry.
type spot struct{ rack, at int32 }

// work is a planned job.
type work struct {
	*plan.Placed
	spots [2][]spot // by stage
	input []int32   // racks of its maps, each as often as its share of them
	job   int32     // its Index, plus one, while it is present
	used  bool      // it has arrived
}

// state is a job that is present.
type state struct {
	job   *policy.Job
	work  int32 // -1: it is in no sequence
	input int32 // the work whose input it reads; -1: it is not in the plan
	heavy bool
	open  [2]bool  // its entries are in the racks' heaps
	left  [2]int64 // tasks in its entries
	// Of a job outside the plan: tasks by rack, if it is presumed to have a large shuffle; and, in the variant with limits, the racks that it may
	// use, by stage.
	tasks  []int32
	limits [2]limit
}

// limit is the racks in which a stage of a job outside the plan may run.
type limit struct {
	most int // 0: no limit
	in   []int32
	data []int32 // racks from which it may choose; none: all
}

func (l *limit) allows(rack int32) bool {
	return l.most == 0 || slices.Contains(l.in, rack) || len(l.in) < l.most && (len(l.data) == 0 || slices.Contains(l.data, rack))
}

// Order is the online scheduler. It serves one run.
type Order struct {
	plan    *plan.Plan
	works   []work
	byID    map[string]int32
	racks   []rack
	jobs    []state      // by Index
	waiting [2]rank.Heap // jobs outside the plan, or with tasks that it did not foresee, by containers held
	ams     rank.Heap
	limited bool
	free    bool    // small jobs run in any rack
	bySize  bool    // entries of smaller jobs come first
	nodes   []int32 // rack of each node
	runEnd  []int32 // by node: the next node that is in another rack
}

// Kinds of jobs outside the plan, by their presumed shuffle.
const (
	small = iota
	large
)

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
	_ policy.Refuser   = (*Order)(nil)
)

// New makes a policy of a plan, which is not modified.
func New(p *plan.Plan) policy.Policy {
	o := &Order{plan: p, works: make([]work, len(p.Jobs)), byID: make(map[string]int32, len(p.Jobs)), racks: make([]rack, len(p.Racks)),
		limited: p.AdHoc.MapRacks > 0 || p.AdHoc.ReduceRacks > 0}
	o.free, o.bySize = p.Aggregate, p.Settings.Online && p.Settings.Planner == plan.JobPacker && !p.Settings.InOrder
	for i := range p.Jobs {
		o.works[i].Placed = &p.Jobs[i]
		o.byID[p.Jobs[i].ID] = int32(i)
	}
	for r := range p.Racks {
		for _, e := range p.Racks[r].Run {
			at := o.byID[e.Job]
			w := &o.works[at]
			if e.Stage == plan.MapStage {
				for range max(1, e.Count*min(w.Maps, inputShares)/max(w.Maps, 1)) {
					w.input = append(w.input, int32(r))
				}
			}
			w.spots[e.Stage] = append(w.spots[e.Stage], spot{int32(r), int32(len(o.racks[r].entries))})
			o.racks[r].entries = append(o.racks[r].entries, entry{at, int8(e.Stage), e.Count})
		}
	}
	return policy.Policy{Order: o, ByNode: true, Choose: func(policy.Storage) {}, Input: o.input, Gathers: o.gathers, Needs: policy.Racks}
}

// Resized drops the sequences of racks that have lost all nodes.
func (o *Order) Resized(_ unit.Time, c policy.Cluster) {
	if c.Racks == nil || c.Room == nil {
		return
	}
	if o.nodes == nil {
		o.nodes = c.Racks
		o.runEnd = make([]int32, len(o.nodes))
		for i := len(o.nodes) - 1; i >= 0; i-- {
			if o.runEnd[i] = int32(i + 1); i+1 < len(o.nodes) && o.nodes[i+1] == o.nodes[i] {
				o.runEnd[i] = o.runEnd[i+1]
			}
		}
		for len(o.racks) < len(c.Working) {
			o.racks = append(o.racks, rack{}) // the plan is of a smaller cluster
		}
	}
	for r := range o.racks {
		o.racks[r].room = 0
	}
	for i, r := range o.nodes {
		if c.Working[r] > 0 {
			o.racks[r].room += c.Room(int32(i), policy.MapSlot).Mem
		}
	}
	for r := range o.racks {
		if (r >= len(c.Working) || c.Working[r] == 0) && !o.racks[r].dead {
			o.drop(&o.racks[r])
		}
	}
}

// drop gives up a rack's sequence.
func (o *Order) drop(r *rack) {
	r.dead, o.limited = true, false
	for at, e := range r.entries {
		r.ready.Remove(int32(at))
		if s := o.present(e.work); s != nil {
			s.left[e.stage] -= e.left
		}
	}
	for i := range o.jobs {
		if s := &o.jobs[i]; s.job != nil {
			s.limits = [2]limit{}
			o.update(s)
		}
	}
}

// present is the state of a planned job; nil: it is not there.
func (o *Order) present(w int32) *state {
	if i := o.works[w].job; i > 0 {
		return &o.jobs[i-1]
	}
	return nil
}

// Arrived admits a job unless no rack may run its AM.
func (o *Order) Arrived(_ unit.Time, j *policy.Job) error {
	if slices.ContainsFunc(j.Stages, func(s policy.Stage) bool { return s.Gang > 1 }) {
		return errors.New("its tasks start together (a gang), and a plan chooses one rack at a time")
	}
	if !j.AM.IsZero() && o.nodes != nil && !slices.ContainsFunc(o.racks, func(r rack) bool { return r.runsAM(j.AM, -r.ams) }) {
		return fmt.Errorf("its AM asks for %v: AMs take at most half of a rack, and no rack is that large", j.AM)
	}
	s := dense.At(&o.jobs, j.Index)
	*s = state{job: j, work: -1, input: -1, tasks: s.tasks[:0]}
	if w, ok := o.byID[j.ID]; ok && !o.works[w].used && len(j.Stages) <= 2 {
		o.works[w].used, s.input = true, w
		if s.heavy = o.works[w].Heavy; s.heavy || !o.free {
			o.works[w].job, s.work = j.Index+1, w
			for stage, spots := range o.works[w].spots {
				for _, at := range spots {
					if r := &o.racks[at.rack]; !r.dead {
						s.left[stage] += r.entries[at.at].left
					}
				}
			}
		}
	} else if s.heavy = float64(j.Input) > o.plan.AdHoc.HeavyInput; s.heavy {
		s.tasks = append(s.tasks, make([]int32, len(o.racks))...)
	}
	if s.input < 0 && o.limited && len(j.Stages) > 0 && len(j.Stages) <= 2 {
		o.limit(s)
	}
	o.update(s)
	return nil
}

// runsAM reports whether a rack may run another AM, in place of some of the memory that AMs hold.
func (r *rack) runsAM(am unit.Resources, more int64) bool { return 2*(r.ams+more+am.Mem) <= r.room }

// limit gives a job outside the plan as few racks as planned ones have. Its racks are drawn by its number.
func (o *Order) limit(s *state) {
	n := len(o.racks)
	width := func(tasks int64, each float64) int { return min(max(1, int(math.Round(float64(tasks)*each))), n) }
	for i, each := range []float64{o.plan.AdHoc.MapRacks, o.plan.AdHoc.ReduceRacks} {
		if i < len(s.job.Stages) && each > 0 {
			s.limits[i] = limit{most: width(s.job.Stages[i].Tasks, each)}
		}
	}
	drawn := make([]int32, n)
	for i := range drawn {
		drawn[i] = int32(i)
		k := int(workload.Uniform01(workload.Seed(o.plan.Settings.Seed, uint64(s.job.Seq)), uint64(i)) * float64(i+1))
		drawn[i], drawn[k] = drawn[k], drawn[i]
	}
	l := &s.limits[0]
	l.data = drawn[:min(2*l.most, n)] // the first replica of its input in the first half of them, the others in the second
}

// inputShares is the precision with which a job's input is divided among the racks of its maps.
const inputShares = 1024

// input is where a job's input should lie.
func (o *Order) input(j *policy.Job) (first, others []int32) {
	s := &o.jobs[j.Index]
	if s.input >= 0 {
		w := &o.works[s.input]
		for r := range o.racks {
			if !slices.Contains(w.MapRacks, int32(r)) {
				others = append(others, int32(r))
			}
		}
		return w.input, others
	}
	if l := &s.limits[0]; l.most > 0 {
		return l.data[:l.most], l.data[l.most:]
	}
	return nil, nil
}

// gathers reports whether a job's output waits until it is enough for a circuit.
func (o *Order) gathers(j *policy.Job) bool {
	s := &o.jobs[j.Index]
	return o.plan.Aggregate && s.heavy && (s.work >= 0 || s.limits[0].most > 0)
}

// update brings the heaps up to date with what a job wants.
func (o *Order) update(s *state) {
	j := s.job
	wants, am := j.Pending > 0, j.Pending > 0 && j.Front < 0
	if s.work >= 0 {
		wants = false
		for stage := range min(len(j.Stages), 2) {
			st := &j.Stages[stage]
			if open := !am && st.Open() > 0; open != s.open[stage] {
				s.open[stage] = open
				for _, at := range o.works[s.work].spots[stage] {
					o.place(at, open)
				}
			}
			wants = wants || o.spare(s, stage)
		}
	}
	if am {
		o.ams.Set(j.Index, 0, j.Seq)
	} else {
		o.ams.Remove(j.Index)
	}
	kind := small
	if s.heavy {
		kind = large
	}
	if wants && !am {
		o.waiting[kind].Set(j.Index, float64(j.Running), j.Seq)
	} else {
		o.waiting[kind].Remove(j.Index)
	}
}

// place puts an entry into its rack's heap, or takes it out.
func (o *Order) place(at spot, in bool) {
	if r := &o.racks[at.rack]; in && !r.dead && r.entries[at.at].left > 0 {
		key := float64(at.at)
		if o.bySize {
			w := &o.works[r.entries[at.at].work]
			key = float64(w.Maps + w.Reduces)
		}
		r.ready.Set(at.at, key, int64(at.at))
	} else {
		r.ready.Remove(at.at)
	}
}

// spare reports whether a planned job has tasks to start that no rack's sequence has.
func (o *Order) spare(s *state, stage int) bool {
	return s.open[stage] && s.job.Stages[stage].Pending > s.left[stage]
}

// Changed updates the job.
func (o *Order) Changed(_ unit.Time, j *policy.Job) { o.update(&o.jobs[j.Index]) }

// Started counts a task.
func (o *Order) Started(e *policy.Event) { o.happened(e, +1) }

// Ended counts the end of a task. If it has to run again, its rack's sequence has it again.
func (o *Order) Ended(e *policy.Event) { o.happened(e, -1) }

func (o *Order) happened(e *policy.Event, by int64) {
	s := &o.jobs[e.Job.Index]
	switch {
	case e.Node == nil:
	case e.Stage >= 0:
		o.count(s, e, by)
	case e.Stage == policy.AMStage:
		o.racks[e.Node.Rack].ams += by * e.Size.Mem
	}
	o.update(s)
}

func (o *Order) count(s *state, e *policy.Event, by int64) {
	at := e.Node.Rack
	r := &o.racks[at]
	if s.heavy {
		r.heavy += by
	}
	if s.work >= 0 && (by > 0 || e.Why != policy.Done) {
		for _, spot := range o.works[s.work].spots[e.Stage] {
			if spot.rack != at || r.dead {
				continue
			}
			if x := &r.entries[spot.at]; x.left > 0 || by < 0 {
				x.left -= by
				s.left[e.Stage] -= by
				o.place(spot, s.open[e.Stage])
				break
			}
		}
	}
	if s.work >= 0 {
		return
	}
	if len(s.tasks) > 0 {
		s.tasks[at] += int32(by)
		switch {
		case by > 0 && s.tasks[at] == 1:
			r.here = append(r.here, s.job.Index)
		case by < 0 && s.tasks[at] == 0:
			if k := slices.Index(r.here, s.job.Index); k >= 0 {
				r.here = slices.Delete(r.here, k, k+1)
			}
		}
	}
	if by > 0 && e.Stage < 2 {
		if l := &s.limits[e.Stage]; l.most > 0 && !slices.Contains(l.in, at) {
			l.in = append(l.in, at)
		}
	}
}

// Left drops the job and what is left of its entries.
func (o *Order) Left(_ unit.Time, j *policy.Job) {
	s := &o.jobs[j.Index]
	o.ams.Remove(j.Index)
	for k := range o.waiting {
		o.waiting[k].Remove(j.Index)
	}
	if s.work >= 0 {
		o.works[s.work].job = 0
		for _, spots := range o.works[s.work].spots {
			for _, at := range spots {
				o.racks[at.rack].entries[at.at].left = 0
				o.place(at, false)
			}
		}
	}
	*s = state{tasks: s.tasks[:0]}
}

// Ranked proposes AMs, then the rack's sequence, then other jobs.
func (o *Order) Ranked(offer *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if offer.Node == nil {
		return false
	}
	at := offer.Node.Rack
	r := &o.racks[at]
	v := o.walk(&o.ams, func(id int32) policy.Verdict {
		if j := o.jobs[id].job; j.Front != policy.AMStage || r.runsAM(j.AM, 0) {
			offer.Stage = j.Front
			return try(j)
		}
		return policy.Pass
	})
	if v != policy.Pass {
		return v == policy.Took
	}
	other := func(id int32) policy.Verdict { return o.other(&o.jobs[id], at, offer, try) }
	if id, ok := r.ready.Min(); ok && o.free && o.waiting[small].Len() > 0 && o.waiting[small].MinKey() < float64(o.present(r.entries[id].work).job.Running) {
		if v := o.walk(&o.waiting[small], other); v != policy.Pass {
			return v == policy.Took
		}
	}
	v = o.walk(&r.ready, func(id int32) policy.Verdict {
		e := &r.entries[id]
		j := o.present(e.work).job
		if j.Stages[e.stage].Open() == 0 {
			return policy.Pass
		}
		offer.Stage = int(e.stage)
		return try(j)
	})
	if v != policy.Pass {
		return v == policy.Took
	}
	kinds := [2]int{large, small}
	if r.heavy > 0 {
		kinds = [2]int{small, large}
		if id := o.running(r); id >= 0 {
			if v := other(id); v != policy.Pass {
				return v == policy.Took
			}
		}
	}
	for _, k := range kinds {
		if v := o.walk(&o.waiting[k], other); v != policy.Pass {
			return v == policy.Took
		}
	}
	o.skip(offer)
	return false
}

// walk proposes what a heap holds, best first, and returns the last verdict. Usually the first is taken: that needs no walk.
func (o *Order) walk(h *rank.Heap, propose func(id int32) policy.Verdict) policy.Verdict {
	id, ok := h.Min()
	if !ok {
		return policy.Pass
	}
	v := propose(id)
	if v != policy.Pass || h.Len() == 1 {
		return v
	}
	first := true
	h.Walk(func(id int32) bool {
		if !first {
			v = propose(id)
		}
		first = false
		return v == policy.Pass
	})
	return v
}

// running is the job with a presumed large shuffle that a rack runs already, if it holds fewer containers than any other; -1: none.
func (o *Order) running(r *rack) int32 {
	best := int32(-1)
	for _, id := range r.here {
		if o.waiting[large].Has(id) && (best < 0 || o.jobs[id].job.Running < o.jobs[best].job.Running) {
			best = id
		}
	}
	if h := &o.waiting[small]; best >= 0 && h.Len() > 0 && h.MinKey() <= float64(o.jobs[best].job.Running) {
		return -1
	}
	return best
}

// other proposes a job outside the plan, or tasks of a planned one that no sequence has.
func (o *Order) other(s *state, rack int32, offer *policy.Offer, try func(*policy.Job) policy.Verdict) policy.Verdict {
	for stage := range s.job.Stages {
		if s.job.Stages[stage].Open() == 0 || s.work >= 0 && !o.spare(s, stage) || s.work < 0 && stage < 2 && !s.limits[stage].allows(rack) {
			continue
		}
		offer.Stage = stage
		if v := try(s.job); v != policy.Pass {
			return v
		}
	}
	return policy.Pass
}

// skip says that the order has nothing for nodes before the next one in a rack with work.
func (o *Order) skip(offer *policy.Offer) {
	i := offer.Node.Index
	if int(i) >= len(o.runEnd) || o.ams.Len()+o.waiting[small].Len()+o.waiting[large].Len() > 0 || o.racks[offer.Node.Rack].ready.Len() > 0 {
		return
	}
	for i = o.runEnd[i]; int(i) < len(o.nodes) && o.racks[o.nodes[i]].ready.Len() == 0; {
		i = o.runEnd[i]
	}
	offer.Next = i
}
