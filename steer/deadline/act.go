package deadline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// prioritise gives the jobs priorities by rank. Jobs with nothing left to start keep theirs.
func (d *steerer) prioritise(goals []*job) (do []steer.Action) {
	byID := make(map[string]*job, len(goals))
	for _, j := range goals {
		if j.target = j.claim.Running + j.claim.Unstarted; j.claim.Unstarted > 0 {
			byID[j.ID] = j
		}
	}
	d.order = slices.DeleteFunc(d.order, func(id string) bool { return byID[id] == nil })
	known := make(map[string]bool, len(d.order))
	for _, id := range d.order {
		known[id] = true
	}
	for _, j := range goals {
		if byID[j.ID] != nil && !known[j.ID] {
			d.order = append(d.order, j.ID)
		}
	}
	for end, swapped := len(d.order), true; swapped && end > 1; end-- {
		swapped = false
		for i := 1; i < end; i++ {
			if a, b := byID[d.order[i-1]], byID[d.order[i]]; d.overtakes(&b.claim, &a.claim) {
				d.order[i-1], d.order[i], swapped = b.ID, a.ID, true
			}
		}
	}
	for i, id := range d.order {
		j := byID[id]
		if ours := d.ours(j); ours && j.Priority != max(d.highest-i, 1) && d.may(steer.SetPriority) && len(do) < steer.MovesPerSample {
			j.set, j.before = max(d.highest-i, 1), j.Priority
			why := fmt.Sprintf("%s is number %d of %d: %s", id, i+1, len(d.order), j.why(d.now))
			do = append(do, steer.Action{Kind: steer.SetPriority, Job: id, Value: float64(j.set), Why: why})
		}
	}
	return do
}

// overtakes reports whether b goes before a, which is before it now. Needs must differ by more than a container.
func (d *steerer) overtakes(b, a *deadline.Claim) bool {
	s, x := b.Rank(d.now)
	t, y := a.Rank(d.now)
	margin := 0.0
	switch s {
	case deadline.Adjust:
		margin = 1
	case deadline.Missed:
		margin = 0.05
	}
	return s < t || s == t && x < y-margin
}

// ours reports whether the priority of a job is its own or the one that was asked for, and not somebody else's. If the first one that is set comes out lower,
// it is the cluster's maximum.
func (d *steerer) ours(j *job) bool {
	p := j.Priority
	if !d.reached && j.set > 0 && p > j.before && p <= j.set {
		if d.reached = true; p < j.set {
			d.highest = p
		}
	}
	if j.set == 0 || p == min(j.set, d.highest) || p == j.before {
		return true
	}
	j.note = "has a priority that somebody else has set: it stays so"
	return false
}

// moves moves jobs to where they should be. A move that was asked for a moment ago may not show yet.
func (d *steerer) moves(jobs []*job) (do []steer.Action) {
	for _, j := range jobs {
		if j.to == j.at || !d.may(steer.MoveJob) || d.onItsWay(j.meter) || d.now < j.due || len(do) == steer.MovesPerSample {
			continue
		}
		queue, why := d.intake, "back to the intake"
		if j.to >= 0 {
			queue, why = d.slots[j.to], "to "+d.slots[j.to]
		}
		if j.goal != unit.Never {
			why += ": " + j.why(d.now)
		} else {
			why += ": it has no goal"
		}
		j.slot, j.moved = j.to, d.now
		do = append(do, steer.Action{Kind: steer.MoveJob, Job: j.ID, Queue: queue, Why: j.ID + " " + why})
	}
	return do
}

func (d *steerer) onItsWay(m *meter) bool { return m.moved > 0 && d.now-m.moved < 3*d.interval }

// crowd is how many jobs with goals may share a slot.
const crowd = 20

// place chooses slots, for the first in the order of serving first, and returns the jobs that have one. A job without a goal has none: it would take what is
// meant for others. A job that somebody has taken out of its slot stays where it is. Users may submit to a slot, too: of many in one, the last ones leave it.
func (d *steerer) place(jobs []*job) (placed []*job) {
	usable := len(d.slots)
	if d.set.Min {
		usable--
	}
	taken, inside := make([]bool, len(d.slots)), make([]int, len(d.slots))
	for _, j := range jobs {
		if j.at >= 0 {
			taken[j.at] = true
		}
		if d.onItsWay(j.meter) && j.slot >= 0 {
			taken[j.slot] = true
		}
	}
	for _, j := range jobs {
		free := slices.Index(taken[:usable], false)
		stays := j.at >= 0 && j.at < usable && inside[j.at] < crowd
		switch j.settled = j.settled || stays; {
		case j.goal == unit.Never:
		case stays:
			j.to, j.tries = j.at, 0
			inside[j.at]++
		case j.settled:
			j.to, j.note = j.at, "was in a slot and is not any more: somebody else has moved it, it stays so"
			continue
		case d.onItsWay(j.meter):
			j.to = j.slot
		case free < 0:
			j.note = "waits for a free slot"
		case d.now < j.due:
			j.note = "could not be moved: it is tried again later"
		case d.may(steer.MoveJob):
			j.to, taken[free] = free, true
		}
		if j.to >= 0 {
			placed = append(placed, j)
		}
	}
	return placed
}

// divide computes how many containers each job should have if all were given anew, and writes that if it differs enough. What runs goes on, but as tasks end,
// their containers go to where they should be.
func (d *steerer) divide(seen *steer.Snapshot, placed []*job) []steer.Action {
	free := d.measure(seen, placed)
	claims, sizes := make([]deadline.Claim, len(placed)), make([]float64, len(placed))
	usual := unit.Resources{Mem: 1024, Cores: 1}
	for _, j := range placed {
		if free -= d.share(j.AM); !j.size.IsZero() {
			usual = j.size
		}
	}
	for i, j := range placed {
		if claims[i] = j.claim; j.size.IsZero() {
			j.size = usual
		}
		sizes[i] = max(d.share(j.size), 1e-5)
		claims[i].Running, claims[i].Unstarted = 0, j.claim.Running+j.claim.Unstarted
	}
	free += 1e-9 // rounding
	missed := d.set.MissedShare * free
	got := d.set.Share(d.now, claims, func(i int) bool {
		s := placed[i].state(d.now)
		if free < sizes[i] || s == deadline.Missed && missed < sizes[i] || s == deadline.NoData && d.set.NoDataCap > 0 && claims[i].Running >= d.set.NoDataCap {
			return false
		}
		if free -= sizes[i]; s == deadline.Missed {
			missed -= sizes[i]
		}
		return true
	})
	shares, targets := make([]float64, len(d.slots)), make([]int64, len(d.slots))
	for i, j := range placed {
		j.target = got[i]
		targets[j.to] += got[i]
		shares[j.to] += float64(got[i])*sizes[i] + d.share(j.AM)
	}
	var differ []*job
	for _, j := range placed {
		if d.differs(j, targets) && !slices.ContainsFunc(differ, func(k *job) bool { return k.to == j.to }) {
			differ = append(differ, j)
		}
	}
	if len(differ) == 0 || !d.may(steer.SetQueue) {
		return nil
	}
	if d.set.Min {
		return d.limit(differ, shares, targets)
	}
	d.wrote = targets
	why := "containers by need:"
	for _, j := range placed[:min(len(placed), maxSaid)] {
		why += fmt.Sprintf(" %s %d (%s);", j.ID, j.target, j.why(d.now))
	}
	return d.capacities(why, shares)
}

// measure is how much of what the slots together could hold at best they can hold now, with what jobs bring along that are moved there. A slot with a
// low maximum does not show it; the others do.
func (d *steerer) measure(seen *steer.Snapshot, placed []*job) (free float64) {
	var used, room unit.Resources
	var own []*steer.Queue
	for i := range seen.Queues {
		q := &seen.Queues[i]
		if slices.ContainsFunc(d.slots, func(s string) bool { return steer.SameQueue(s, q.Name) }) {
			used, own = used.Add(q.Used), append(own, q)
		}
	}
	for _, j := range placed {
		if j.at < 0 {
			used = used.Add(j.Held)
		}
	}
	for _, q := range own {
		all := q.Ceiling.Add(used).Sub(q.Used)
		if q.Ceiling.Cores == 0 { // only memory is limited
			all.Cores = 0
		}
		room = room.Max(all)
	}
	if room.Mem <= 0 {
		room = seen.Total
	}
	d.room = d.room.Max(room)
	if free = float64(room.Mem) / float64(max(d.room.Mem, 1)); d.room.Cores > 0 {
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

// differs reports whether the target of a job's slot is to be written: it differs from the last one by more than a container, or only one of them is 0.
// A job with nothing left to start does not count.
func (d *steerer) differs(j *job, targets []int64) bool {
	if d.wrote == nil {
		return true
	}
	was, is := d.wrote[j.to], targets[j.to]
	return j.claim.Unstarted > 0 && (was-is > 1 || is-was > 1 || (was == 0) != (is == 0))
}

// capacities divides the parent's capacity in proportion to the shares.
func (d *steerer) capacities(why string, shares []float64) []steer.Action {
	n, sum := float64(len(shares)), 0.0
	for _, s := range shares {
		sum += s
	}
	if sum <= 0 || n < 2 {
		return nil
	}
	set, rest, top := make([]steer.Share, len(shares)), 100.0, 0
	for i, s := range shares {
		set[i] = steer.Share{Queue: d.slots[i], Value: math.Floor(100*(steer.MinCapacity+(100-n*steer.MinCapacity)*s/sum)+1e-6) / 100}
		if rest -= set[i].Value; set[i].Value > set[top].Value {
			top = i
		}
	}
	set[top].Value = math.Round(100*(set[top].Value+rest)) / 100 // the sum stays 100
	return []steer.Action{steer.SetCapacities(strings.TrimSuffix(why, ";"), set...)}
}

// limit limits slots to their shares of the room. A maximum must not be below the capacity, so the last slot first takes the capacity of the others.
func (d *steerer) limit(differ []*job, shares []float64, targets []int64) (do []steer.Action) {
	if !d.ready {
		only := make([]float64, len(d.slots))
		only[len(only)-1] = 1
		do, d.ready = d.capacities("the last slot takes the capacity of the others, so that their maxima can be lower", only), true
	}
	if d.wrote == nil {
		d.wrote = make([]int64, len(d.slots))
	}
	for _, j := range differ {
		top := shares[j.to] + d.share(j.size)/2 // half a container more, so that rounding does not cost one
		do = append(do, steer.Action{
			Kind: steer.SetQueue, Queue: d.slots[j.to], Property: maximum, Value: min(max(math.Round(1e4*top)/100, steer.MinCapacity), 100),
			Why: fmt.Sprintf("%s may have %d containers: %s", j.ID, targets[j.to], j.why(d.now)),
		})
		d.wrote[j.to] = targets[j.to]
	}
	return do
}
