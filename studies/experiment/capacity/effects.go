package capacity

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// paired reports for each job of a trace whether one of its reduces ever shared its node with a reduce of another job: the
// same-reduce-node effect. Intervals that only touch do not count.
func (t *trace) paired() map[*played]bool {
	type held struct {
		task
		by *played
	}
	byNode := map[string][]held{}
	for _, p := range t.jobs {
		for _, r := range p.reduces {
			byNode[r.node] = append(byNode[r.node], held{r, p})
		}
	}
	together := map[*played]bool{}
	for _, hs := range byNode {
		slices.SortFunc(hs, func(a, b held) int { return cmp.Compare(a.start, b.start) })
		for i, a := range hs {
			for _, b := range hs[i+1:] {
				if b.start >= a.end {
					break
				}
				if a.by != b.by && b.end > b.start {
					together[a.by], together[b.by] = true, true
				}
			}
		}
	}
	return together
}

// delayed reports which jobs of a trace met delayed map execution: a job got a few map slots although a job ahead of it in its
// queue had maps to start, and then none until that job had started them all, so that its wait looks short and its maps long.
//
// A later job L met it behind a job A, which comes before L in the order of their queue, if
//
//  1. A started its first map before L did, and some map after L's first;
//  2. L had started some of its maps, but not all, when A started its last one: k of n, 0 < k < n;
//  3. between L's k-th map and the next one A started more maps than the k that L had, its last among them; and
//  4. that gap is longer than twice the mean length of L's maps: L did not merely wait for a slot of its own to free up.
//
// A single-map job cannot meet it. Nor can two jobs that share their queue by the user limit: both keep starting maps.
func (t *trace) delayed() map[*played]bool {
	found := map[*played]bool{}
	queues := map[string][]*played{}
	for _, p := range t.jobs {
		queues[p.job.Queue] = append(queues[p.job.Queue], p)
	}
	for _, q := range queues {
		slices.SortFunc(q, func(a, b *played) int {
			return cmp.Or(cmp.Compare(b.job.Priority, a.job.Priority), cmp.Compare(a.job.Submit, b.job.Submit), cmp.Compare(a.seq, b.seq))
		})
		for i, later := range q {
			found[later] = found[later] || slices.ContainsFunc(q[:i], later.delayedBehind)
		}
	}
	return found
}

func (p *played) delayedBehind(ahead *played) bool {
	first, last := ahead.maps[0].start, ahead.maps[len(ahead.maps)-1].start
	if first >= p.maps[0].start || last <= p.maps[0].start {
		return false
	}
	k := startedBefore(p.maps, last)
	if k == len(p.maps) {
		return false
	}
	from, to := p.maps[k-1].start, p.maps[k].start
	between := len(ahead.maps) - startedBefore(ahead.maps, from+1)
	return between > k && to-from > 2*meanLength(p.maps)
}

// startedBefore counts the tasks that started before an instant; tasks are sorted by start.
func startedBefore(tasks []task, at unit.Time) int {
	n, _ := slices.BinarySearchFunc(tasks, at, func(t task, at unit.Time) int { return cmp.Compare(t.start, at) })
	return n
}

func meanLength(tasks []task) unit.Time {
	var sum unit.Time
	for _, t := range tasks {
		sum += t.end - t.start
	}
	return sum / unit.Time(len(tasks))
}

// atOnce is the maximum number of a queue's jobs that were between their first map and their finish at the same time.
func (t *trace) atOnce(queue string) int {
	type change struct {
		at unit.Time
		by int
	}
	var changes []change
	for _, p := range t.jobs {
		if p.job.Queue == queue {
			changes = append(changes, change{p.maps[0].start, +1}, change{p.finish, -1})
		}
	}
	// At the same instant, finishes come before starts.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	var now, largest int
	for _, c := range changes {
		now += c.by
		largest = max(largest, now)
	}
	return largest
}

// stragglers counts maps that took more than twice the median of their job's maps.
func (t *trace) stragglers() int {
	var n int
	for _, p := range t.jobs {
		lengths := make([]unit.Time, len(p.maps))
		for i, m := range p.maps {
			lengths[i] = m.end - m.start
		}
		slices.Sort(lengths)
		median := lengths[len(lengths)/2]
		for _, l := range lengths {
			if l > 2*median {
				n++
			}
		}
	}
	return n
}
