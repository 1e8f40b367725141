package deadline

import (
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// prioritise gives the jobs priorities by rank, and brings those in slots back to the intake.
func (d *steerer) prioritise(jobs []*job, strays []*steer.Job) (do []steer.Action) {
	do = d.returnAll(jobs, strays)
	byID := make(map[string]*job, len(jobs))
	for _, j := range jobs {
		if j.claim.Unstarted > 0 { // otherwise nothing is to be decided
			byID[j.ID] = j
		}
	}
	d.order = slices.DeleteFunc(d.order, func(id string) bool { return byID[id] == nil })
	for _, j := range jobs { // by rank
		if byID[j.ID] != nil && !slices.Contains(d.order, j.ID) {
			d.order = append(d.order, j.ID)
		}
	}
	for end := len(d.order); end > 1; end-- {
		for i := 1; i < end; i++ {
			if a, b := byID[d.order[i-1]], byID[d.order[i]]; d.overtakes(&b.claim, &a.claim) {
				d.order[i-1], d.order[i] = b.ID, a.ID
			}
		}
	}
	for i, id := range d.order {
		j := byID[id]
		j.target = j.claim.Running + j.claim.Unstarted
		if want := max(d.highest-i, 1); want != j.Priority && d.may(steer.SetPriority) && j.ours(d) {
			j.set, j.before = want, j.Priority
			do = append(do, steer.Action{
				Kind: steer.SetPriority, Job: id, Value: float64(want), Why: fmt.Sprintf("%s is number %d of %d: %s", id, i+1, len(d.order), j.why(d.now)),
			})
		}
	}
	return do
}

// ours reports whether the priority of a job is its own or the one that was asked for, and not somebody else's.
func (j *job) ours(d *steerer) bool {
	switch p := j.Priority; {
	case j.set == 0 || p == j.before:
		return true
	case p == j.set:
		d.reached = true
		return true
	case !d.reached && p > j.before && p < j.set: // the cluster's maximum
		d.highest, d.reached = p, true
		return true
	}
	j.note = "has a priority that somebody else has set: it stays so"
	return false
}

// overtakes reports whether a job goes before the one that is before it now. Needs must differ by more than a container.
func (d *steerer) overtakes(b, a *deadline.Claim) bool {
	s, x := b.Rank(d.now)
	t, y := a.Rank(d.now)
	switch {
	case s != t:
		return s < t
	case s == deadline.Adjust:
		return x < y-1
	case s == deadline.Missed:
		return x < y-0.05
	}
	return x < y
}

// returnAll moves jobs from slots to the intake.
func (d *steerer) returnAll(jobs []*job, strays []*steer.Job) (do []steer.Action) {
	if !d.may(steer.MoveJob) {
		return nil
	}
	for _, j := range jobs {
		if j.slot >= 0 {
			do = append(do, d.move(j.ID, -1, "back to the intake: priorities are used instead of slots"))
		}
	}
	return append(do, d.clear(strays)...)
}

// clear moves jobs without goals out of the slots: they would take what is meant for others.
func (d *steerer) clear(strays []*steer.Job) (do []steer.Action) {
	for _, j := range strays {
		if d.may(steer.MoveJob) && !d.onItsWay(d.meters[j.ID]) {
			do = append(do, d.move(j.ID, -1, "back to the intake: it has no goal"))
		}
	}
	return do
}

// move moves a job to a slot; -1: to the intake.
func (d *steerer) move(id string, slot int, why string) steer.Action {
	m := d.meters[id]
	m.to, m.asked = slot, d.now
	queue := d.intake
	if slot >= 0 {
		queue = d.slots[slot]
	}
	return steer.Action{Kind: steer.MoveJob, Job: id, Queue: queue, Why: id + ": " + why}
}

// onItsWay reports whether a move was asked for a moment ago: it may not show yet.
func (d *steerer) onItsWay(m *meter) bool { return m.asked > 0 && d.now-m.asked < 3*d.interval }

// usable are the slots that jobs are moved to.
func (d *steerer) usable() int {
	if d.set.Min {
		return len(d.slots) - 1
	}
	return len(d.slots)
}

// place chooses slots for the jobs in the intake, the first in the order of serving first. A job that somebody has taken out of its slot stays where it is.
func (d *steerer) place(seen *steer.Snapshot, jobs []*job) {
	taken := make([]bool, len(d.slots))
	for i := range seen.Jobs {
		if k := slices.IndexFunc(d.slots, func(q string) bool { return steer.SameQueue(q, seen.Jobs[i].Queue) }); k >= 0 {
			taken[k] = true
		}
	}
	for _, j := range jobs {
		if j.slot < 0 && d.onItsWay(j.meter) && j.to >= 0 {
			taken[j.to] = true
		}
	}
	for _, j := range jobs {
		if j.slot >= 0 {
			continue
		}
		free := slices.Index(taken[:d.usable()], false)
		switch {
		case j.settled:
			j.note = "was in a slot and is not any more: somebody else has moved it, it stays so"
		case d.onItsWay(j.meter):
			j.slot = j.to
		case free < 0:
			j.note = "waits for a free slot"
		case d.may(steer.MoveJob):
			j.slot, taken[free] = free, true
		}
	}
}

// change writes what the slots should have, and makes the moves.
func (d *steerer) change(seen *steer.Snapshot, jobs []*job, strays []*steer.Job) (do []steer.Action) {
	placed := slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.slot < 0 })
	shares, targets := d.divide(placed, d.measure(seen, placed))
	switch {
	case !d.may(steer.SetQueue) || !slices.ContainsFunc(placed, func(j *job) bool { return d.differs(j, targets) }):
	case d.set.Min:
		do = d.maxima(placed, shares, targets)
	default:
		do, d.wrote = d.capacities(shares), targets
	}
	for _, j := range placed {
		if !steer.SameQueue(j.Queue, d.slots[j.slot]) && !d.onItsWay(j.meter) {
			do = append(do, d.move(j.ID, j.slot, fmt.Sprintf("to %s: %s", d.slots[j.slot], j.why(d.now))))
		}
	}
	return append(do, d.clear(strays)...)
}

// measure is how much of what the slots together could hold at best they can hold now, with what jobs bring along that are moved there. A slot with a
// low maximum does not show it; the others do.
func (d *steerer) measure(seen *steer.Snapshot, placed []*job) float64 {
	var room unit.Resources
	var used unit.Resources
	var own []*steer.Queue
	for i := range seen.Queues {
		q := &seen.Queues[i]
		if slices.ContainsFunc(d.slots, func(s string) bool { return steer.SameQueue(s, q.Name) }) {
			used, own = used.Add(q.Used), append(own, q)
		}
	}
	for _, j := range placed {
		if !steer.SameQueue(j.Queue, d.slots[j.slot]) {
			used = used.Add(j.Held)
		}
	}
	for _, q := range own {
		if all := q.Ceiling.Add(used).Sub(q.Used); q.Ceiling.Cores > 0 {
			room = room.Max(all)
		} else { // only memory is limited
			room.Mem = max(room.Mem, all.Mem)
		}
	}
	if room.Mem <= 0 {
		room = seen.Total
	}
	d.room = d.room.Max(room)
	free := float64(room.Mem) / float64(max(d.room.Mem, 1))
	if d.room.Cores > 0 {
		free = min(free, float64(room.Cores)/float64(d.room.Cores))
	}
	return free
}

// share is the part of the room that a container takes.
func (d *steerer) share(size unit.Resources) float64 {
	x := float64(size.Mem) / float64(max(d.room.Mem, 1))
	if d.room.Cores > 0 {
		x = max(x, float64(size.Cores)/float64(d.room.Cores))
	}
	return x
}

// divide computes how many containers each job should have if all were given anew: what runs goes on, but as tasks end, their containers go to
// where they should be. It returns them, and their share of the room, by slot.
func (d *steerer) divide(placed []*job, free float64) (shares []float64, targets []int64) {
	claims, sizes := make([]deadline.Claim, len(placed)), make([]float64, len(placed))
	usual := unit.Resources{Mem: 1024, Cores: 1}
	for _, j := range placed {
		if !j.size.IsZero() {
			usual = j.size
		}
	}
	for i, j := range placed {
		size := j.size
		if size.IsZero() {
			size = usual
		}
		sizes[i] = max(d.share(size), 1e-6)
		claims[i] = j.claim
		claims[i].Running, claims[i].Unstarted = 0, j.claim.Running+j.claim.Unstarted
		free -= d.share(j.AM)
	}
	free += 1e-9 // rounding
	missed := d.set.MissedShare * free
	got := d.set.Share(d.now, claims, func(i int) bool {
		s := deadline.StateOf(d.now, claims[i].Goal, claims[i].Estimated)
		switch {
		case free < sizes[i], s == deadline.Missed && missed < sizes[i], s == deadline.NoData && d.set.NoDataCap > 0 && claims[i].Running >= d.set.NoDataCap:
			return false
		case s == deadline.Missed:
			missed -= sizes[i]
		}
		free -= sizes[i]
		return true
	})
	shares, targets = make([]float64, len(d.slots)), make([]int64, len(d.slots))
	for i, j := range placed {
		j.target = got[i]
		targets[j.slot] += got[i]
		shares[j.slot] += float64(got[i])*sizes[i] + d.share(j.AM)
	}
	return shares, targets
}

// differs reports whether the target of a slot is to be written: it differs from the last one by more than a container, or only one of them is 0.
// A job with nothing left to start does not count.
func (d *steerer) differs(j *job, targets []int64) bool {
	if d.wrote == nil {
		return true
	}
	was, is := d.wrote[j.slot], targets[j.slot]
	return j.claim.Unstarted > 0 && (was-is > 1 || is-was > 1 || (was == 0) != (is == 0))
}

// least is the smallest capacity of a slot, in percent: a queue with none at all would need other limits too.
const least = 0.1

// capacities divides the parent's capacity in proportion to the shares.
func (d *steerer) capacities(shares []float64) []steer.Action {
	n, sum := float64(len(shares)), 0.0
	for _, s := range shares {
		sum += s
	}
	if sum <= 0 || len(shares) < 2 {
		return nil
	}
	set, rest, top := make([]steer.Share, len(shares)), 100.0, 0
	for i, s := range shares {
		set[i] = steer.Share{Queue: d.slots[i], Value: math.Floor(100*(least+(100-n*least)*s/sum)+1e-6) / 100}
		if rest -= set[i].Value; set[i].Value > set[top].Value {
			top = i
		}
	}
	set[top].Value = math.Round(100*(set[top].Value+rest)) / 100 // the sum stays 100
	return []steer.Action{steer.SetCapacities("capacities follow the containers that jobs should have: "+describe(set), set...)}
}

func describe(set []steer.Share) (text string) {
	for i, s := range set {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %g %%", s.Queue, s.Value)
	}
	return text
}

// maxima limits each slot to its share of the room. A maximum must not be below the capacity, so the last slot first takes the capacity of the others.
func (d *steerer) maxima(placed []*job, shares []float64, targets []int64) (do []steer.Action) {
	if !d.ready {
		only := make([]float64, len(d.slots))
		only[len(only)-1] = 1
		do, d.ready = d.capacities(only), true
	}
	wrote := d.wrote
	if wrote == nil {
		wrote = make([]int64, len(d.slots))
	}
	for _, j := range placed {
		i := j.slot
		if !d.differs(j, targets) {
			continue
		}
		limit := shares[i] + d.share(j.size)/2 // half a container more, so that rounding does not cost one
		do = append(do, steer.Action{
			Kind: steer.SetQueue, Queue: d.slots[i], Property: maximum, Value: min(max(math.Round(1e4*limit)/100, least), 100),
			Why: fmt.Sprintf("%s may have %d containers: %s", j.ID, targets[i], j.why(d.now)),
		})
		wrote[i] = targets[i]
	}
	d.wrote = wrote
	return do
}
