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

// divide computes how many containers each job should have if all were given anew, and writes that if it differs enough. What runs goes on, but as tasks end,
// their containers go to where they should be.
func (d *steerer) divide(seen *steer.Snapshot, placed []*job) []steer.Action {
	free := d.measure(seen)
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
	shares := make([]float64, len(d.slots))
	for i, n := range d.allot(placed, claims, sizes, free+1e-9) { // rounding
		j := placed[i]
		j.target, shares[j.next] = n, float64(n)*sizes[i]+d.share(j.AM)
	}
	if !d.may(steer.SetQueue) {
		return nil
	}
	return d.write(placed, shares)
}

// allot gives containers to jobs: first what each needs, users sharing alike; then, in max mode, what is left.
func (d *steerer) allot(placed []*job, claims []deadline.Claim, sizes []float64, free float64) (got []int64) {
	spent, users := map[string]float64{}, map[string]bool{}
	for _, j := range placed {
		users[j.User] = true
	}
	got = make([]int64, len(placed))
	unsure, quota := d.set.MissedShare*free, free/float64(max(len(users), 1))
	var short map[string]bool // users who would take more than their quota
	round := func(rest bool) {
		short = map[string]bool{}
		for i, n := range d.set.Share(d.now, claims, func(i int) bool {
			c, j := &claims[i], placed[i]
			state := j.state(d.now)
			switch {
			case free < sizes[i] || state == deadline.NoData && d.set.NoDataCap > 0 && c.Running >= d.set.NoDataCap,
				d.bounded(j) && unsure < sizes[i],
				state == deadline.Adjust && !rest && c.Need(d.now, c.Aim) <= 0:
				return false
			case !rest && spent[j.User]+sizes[i] > quota+1e-9:
				short[j.User] = true
				return false
			}
			free -= sizes[i]
			if spent[j.User] += sizes[i]; d.bounded(j) {
				unsure -= sizes[i]
			}
			return true
		}) {
			got[i] += n
		}
	}
	for range users {
		if round(false); len(short) == 0 {
			break
		}
		quota += free / float64(len(short))
	}
	round(true)
	return got
}

// write writes the capacities and maxima of slots. A slot whose job is limited has a maximum for its containers. That must not be below its capacity, so it has
// the smallest. The capacities of the other slots follow their jobs' shares; if there are none, the last slot, which is kept empty, takes all. Maxima are
// raised before capacities change and lowered after that. Changes of one container are not written, nor those for a job with nothing left to start.
func (d *steerer) write(placed []*job, shares []float64) (do []steer.Action) {
	if d.wrote == nil {
		d.wrote = slices.Repeat([]target{{max: -1}}, len(d.slots))
	}
	want, parts := slices.Repeat([]target{{max: -1}}, len(d.slots)), slices.Clone(shares)
	var lower []steer.Action
	why, changed, all := "containers by need:", false, len(placed) > 0 // all are limited
	for i, j := range placed {
		q, is := j.next, target{j.target, -1}
		if d.limited(j) {
			is, parts[q] = target{0, j.target}, 0
		} else {
			all = false
		}
		if want[q] = is; i < maxSaid {
			why += fmt.Sprintf(" %s %d (%s);", j.ID, j.target, j.why(d.now))
		}
		starts := j.claim.Unstarted > 0
		changed = changed || starts && apart(d.wrote[q].share, is.share)
		if was := d.wrote[q].max; is.max >= 0 && starts && (was < 0 || apart(was, is.max)) {
			changed = changed || was < 0
			d.wrote[q].max = is.max
			half := d.share(j.size) / 2 // so that rounding does not cost a container
			lower = append(lower, d.top(q, shares[q]+half, fmt.Sprintf("%s may have %d containers: %s", j.ID, is.max, j.why(d.now))))
		}
	}
	for q := range want {
		if want[q].max < 0 && d.wrote[q].max >= 0 {
			d.wrote[q].max = -1
			do = append(do, d.top(q, 1, "no job in "+d.slots[q]+" is limited any more"))
		}
	}
	if all {
		parts[len(parts)-1], why = 1, "the last slot takes the capacity of the others, so that their maxima can be lower"
	}
	if changed && !(all && d.reserved) {
		do = append(do, d.capacities(strings.TrimSuffix(why, ";"), parts)...)
		d.reserved = all
		for q := range want {
			d.wrote[q].share = want[q].share
		}
	}
	return append(do, lower...)
}

// target is how many containers a slot should have: by its capacity, or by its maximum; -1: any number.
type target struct{ share, max int64 }

// apart reports whether numbers of containers differ enough to be written: by more than one, or only one of them is 0.
func apart(a, b int64) bool { return a-b > 1 || b-a > 1 || (a == 0) != (b == 0) }

// measure is how much of what the slots together could hold at best they can have now: what is free, and what jobs in the intake hold, since the slots come
// before it. A slot with a low maximum does not show it; the others do. Without slots it is the intake's.
func (d *steerer) measure(seen *steer.Snapshot) (free float64) {
	var used, room unit.Resources
	var own []*steer.Queue
	for i := range seen.Queues {
		q := &seen.Queues[i]
		intake := steer.SamePath(q.Name, d.intake)
		slot := slices.ContainsFunc(d.slots, func(s string) bool { return steer.SamePath(s, q.Name) })
		if intake || slot {
			used = used.Add(q.Used)
		}
		if slot || intake && len(d.slots) == 0 {
			own = append(own, q)
		}
	}
	for _, q := range own {
		all := q.Ceiling.Add(used).Sub(q.Used)
		if q.Ceiling.Cores == 0 { // only memory is limited
			all.Cores = 0
		}
		room = room.Max(all)
	}
	if room = room.Min(seen.Total); room.Mem <= 0 {
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

// await notes which users wait for containers, or did a moment ago, with jobs that have not missed their goals.
func (d *steerer) await(jobs []*job) {
	d.waiting = map[string]bool{}
	for _, j := range jobs {
		if !j.Started || unstarted(j.Job) > 0 {
			j.waited = d.now
		}
		late := j.goal != unit.Never && j.none == "" && j.state(d.now) == deadline.Missed
		if !late && j.waited > 0 && d.now-j.waited < 3*d.interval {
			d.waiting[j.User] = true
		}
	}
}

// bounded reports whether a job is among those that together get no more than a share: nothing shows what it needs, or it is too late for that, and another
// user waits.
func (d *steerer) bounded(j *job) bool {
	others := len(d.waiting) > 1 || len(d.waiting) == 1 && !d.waiting[j.User]
	return others && d.set.MissedShare < 1 && j.state(d.now) != deadline.Adjust
}

// limited reports whether a slot's maximum is set for its job.
func (d *steerer) limited(j *job) bool { return d.set.Min || len(d.slots) > 1 && d.bounded(j) }

// top sets the maximum of a slot to a share of the room.
func (d *steerer) top(slot int, share float64, why string) steer.Action {
	value := min(max(math.Round(1e4*share)/100, steer.MinCapacity), 100)
	return steer.Action{Kind: steer.SetQueue, Queue: d.slots[slot], Property: maximum, Value: value, Why: why}
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
