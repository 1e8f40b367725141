package deadline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// prioritise gives the jobs priorities by rank. Jobs with nothing left to start keep theirs; those that hold too much get their own back.
func (d *steerer) prioritise(seen *steer.Snapshot, goals, strays []*job) (do []steer.Action) {
	d.weigh(seen, goals)
	byID := make(map[string]*job, len(goals))
	set := func(j *job, to int, why string) {
		if j.Priority != to && d.may(steer.SetPriority) && len(do) < steer.MovesPerSample && d.ours(j) {
			if !j.touched {
				j.touched, j.own = true, j.Priority
			}
			j.set, j.before = to, j.Priority
			do = append(do, steer.Action{Kind: steer.SetPriority, Job: j.ID, Value: float64(to), Why: j.ID + " " + why})
		}
	}
	for _, j := range goals {
		switch j.target = j.claim.Running + j.claim.Unstarted; {
		case j.claim.Unstarted == 0:
		case j.over == "":
			byID[j.ID] = j
		case j.touched:
			set(j, j.own, "gets its own priority back: "+j.over)
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
	for _, j := range strays {
		if j.touched {
			set(j, j.own, "gets its own priority back: "+cmp.Or(j.none, "it has no goal"))
		}
	}
	for i, id := range d.order {
		j := byID[id]
		d.ours(j) // may lower the highest
		set(j, max(d.highest-i, 1), fmt.Sprintf("is number %d of %d: %s", i+1, len(d.order), j.why(d.now)))
	}
	return do
}

// weigh finds the jobs that get no priority because too much is held already: by jobs with nothing to show what they need, or by one of several users. They get
// it again when a fifth less is held.
func (d *steerer) weigh(seen *steer.Snapshot, goals []*job) {
	d.measure(seen)
	var unsure float64
	held := map[string]float64{}
	for _, j := range goals {
		size := d.share(j.Held)
		if held[j.User] += size; d.bounded(j) {
			unsure += size
		}
	}
	above := func(x, limit float64, was bool) bool { return x > limit || was && x > 0.8*limit }
	for _, j := range goals {
		switch was := j.over != ""; {
		case d.bounded(j) && above(unsure, d.set.MissedShare, was):
			j.over = fmt.Sprintf("jobs that have missed their goals or have no estimate hold %.0f %%, and other users wait", 100*unsure)
		case len(held) > 1 && above(held[j.User], 1/float64(len(held)), was):
			j.over = fmt.Sprintf("its user's jobs with goals hold %.0f %%, and there are %d users", 100*held[j.User], len(held))
		default:
			j.over = ""
		}
	}
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
	if !d.reached && j.touched && p > j.before && p <= j.set {
		if d.reached = true; p < j.set {
			d.highest = p
		}
	}
	if !j.touched || p == min(j.set, d.highest) || p == j.before {
		return true
	}
	j.note = "has a priority that somebody else has set: it is left as it is"
	return false
}

// moves moves jobs to where they should be, those that get a slot first. A move that was asked for a moment ago may not show yet.
func (d *steerer) moves(jobs []*job) (do []steer.Action) {
	slices.SortStableFunc(jobs, func(a, b *job) int { return cmp.Compare(min(b.next, 0), min(a.next, 0)) })
	for _, j := range jobs {
		if j.next == j.current || !d.may(steer.MoveJob) || d.onItsWay(j.meter) || d.now < j.due || len(do) == steer.MovesPerSample {
			continue
		}
		queue, why := d.intake, "back to the intake"
		if j.next >= 0 {
			queue, why = d.slots[j.next], "to "+d.slots[j.next]
		}
		switch {
		case j.next < 0 && j.note != "":
			why += ": it " + j.note
		case j.none != "":
			why += ": " + j.none
		case j.goal == unit.Never:
			why += ": it has no goal"
		default:
			why += ": " + j.why(d.now)
		}
		j.slot, j.moved, j.settled = j.next, d.now, false
		do = append(do, steer.Action{Kind: steer.MoveJob, Job: j.ID, Queue: queue, Why: j.ID + " " + why})
	}
	return do
}

func (d *steerer) onItsWay(m *meter) bool { return m.moved > 0 && d.now-m.moved < 3*d.interval }

// place chooses slots and returns the jobs that have one; one job a slot, the last one stays empty. Slots are shared among users: the first job of each user comes before the second of
// any, and of a user's jobs those that have a slot come first, then the order of serving. A job without a goal has no slot: it would take what is meant for
// others. Jobs that have missed their goals leave one slot to the others. A job that somebody has taken out of its slot stays where it is.
func (d *steerer) place(goals, strays []*job) (placed []*job) {
	usable := max(len(d.slots)-1, 1)
	inside := make([]int, len(d.slots)) // jobs by slot
	for _, j := range strays {
		if j.current >= 0 {
			inside[j.current]++
		}
	}
	var list []*job
	for _, j := range goals {
		if j.current >= 0 {
			inside[j.current]++
		}
		switch j.seat = -1; {
		case j.current >= 0 && j.current < usable:
			j.seat, j.settled, j.tries = j.current, true, 0
		case j.settled:
			j.note = "was moved out of its slot by somebody else, and is left there"
			continue
		case d.onItsWay(j.meter):
			j.seat = j.slot
		case d.now < j.due:
			j.note = "could not be moved: it is tried again later"
			continue
		}
		if j.seat >= 0 || d.may(steer.MoveJob) && !d.onItsWay(j.meter) {
			list = append(list, j)
		}
	}
	slices.SortStableFunc(list, func(a, b *job) int { return cmp.Compare(min(b.seat, 0), min(a.seat, 0)) })
	of := map[string]int{}
	for _, j := range list {
		of[j.User]++
		j.turn = of[j.User]
	}
	slices.SortStableFunc(list, func(a, b *job) int { return cmp.Compare(a.turn, b.turn) })
	missed := 0
	list = slices.DeleteFunc(list, func(j *job) bool {
		if j.state(d.now) != deadline.Missed {
			return false
		}
		if missed++; missed <= max(usable-1, 1) {
			return false
		}
		j.note = "has missed its goal: the last slot is for jobs that can still meet theirs"
		return true
	})
	taken := make([]bool, usable)
	for _, j := range list[:min(usable, len(list))] {
		if j.seat >= 0 && !taken[j.seat] {
			j.next, taken[j.seat] = j.seat, true
		}
	}
	for i, j := range list {
		switch {
		case j.next >= 0:
		case i < usable:
			for q := range taken {
				if !taken[q] && (j.next < 0 || inside[q] < inside[j.next]) {
					j.next = q
				}
			}
			taken[j.next] = true
		case j.seat >= 0:
			j.note = "leaves its slot to another user's job"
		default:
			j.note = "waits for a free slot"
		}
		if j.next >= 0 {
			placed = append(placed, j)
		}
	}
	return placed
}
