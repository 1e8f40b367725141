package plan

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Names of planners.
const (
	JobPacker = "jobpacker"
	Corral    = "corral"
)

// Settings of a planner. The zero value is JobPacker's for one batch of jobs, without over-provisioning.
type Settings struct {
	Planner string  `json:"planner"`
	Online  bool    `json:"online"`                   // jobs arrive over time: the mean completion time counts; else all are there, and the makespan counts
	Batches int     `json:"batches,omitempty"`        // sub-batches of a batch
	Over    float64 `json:"over_provision,omitempty"` // extra containers planned for each job, as a share of its tasks
	Profile Model   `json:"shuffle_model,omitempty"`  // of the latency function while racks are not known; "": disjoint
	Seed    uint64  `json:"seed,omitempty"`           // of the order of sub-batches
	InOrder bool    `json:"in_order,omitempty"`       // online, a rack runs what is planned for it in the order of the plan, as in the source; else smaller jobs first
}

// timetable is when each container becomes free, by rack, ascending.
type timetable [][]float64

func newTimetable(c *Cluster) timetable {
	t := make(timetable, len(c.Racks))
	for i := range t {
		t[i] = make([]float64, c.Racks[i].Containers)
	}
	return t
}

func (t timetable) copyFrom(o timetable) {
	for i := range t {
		copy(t[i], o[i])
	}
}

// take gives the container that is free first a task. It returns the task's start and end.
func take(free []float64, from, length float64) (start, end float64) {
	start = max(free[0], from)
	end = start + length
	at, _ := slices.BinarySearch(free[1:], end)
	copy(free, free[1:at+1])
	free[at] = end
	return start, end
}

// run lists n tasks on a rack's containers and returns the last end.
func run(free []float64, n int64, from, length float64) (last float64) {
	for range n {
		_, end := take(free, from, length)
		last = max(last, end)
	}
	return last
}

// lastEnd is the last end of n tasks on a rack's containers, which it leaves as they are. spare is scratch.
func lastEnd(free []float64, n int64, from, length float64, spare *[]float64) float64 {
	if n <= int64(len(free)) && max(free[0], from)+length >= free[n-1] { // one wave
		return max(free[n-1], from) + length
	}
	*spare = append((*spare)[:0], free...)
	return run(*spare, n, from, length)
}

// soonest picks the r racks that first have n/r containers free, ties by number, and sorts them by number.
func (t timetable) soonest(n int64, r int, buf []int) []int {
	each := (n + int64(r) - 1) / int64(r)
	at := func(i int) float64 { return t[i][min(each, int64(len(t[i])))-1] }
	buf = buf[:0]
	for i := range t {
		buf = append(buf, i)
	}
	slices.SortStableFunc(buf, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	buf = buf[:r]
	slices.Sort(buf)
	return buf
}

// share is the number of n tasks that the i-th of r racks gets.
func share(n int64, r, i int) int64 {
	s := n / int64(r)
	if int64(i) < n%int64(r) {
		s++
	}
	return s
}

// provisioned is the number of slots planned for n tasks. The surplus only keeps containers free in the plan: sequences list real tasks.
func provisioned(n int64, over float64) int64 { return int64(math.Ceil(float64(n)*(1+over) - 1e-9)) }

// packer is JobPacker's list scheduler.
type packer struct {
	c     *Cluster
	over  float64
	t     timetable
	trial timetable // after the maps of a job, for one number of racks
	plan  *Plan
	spare []float64
	buf   [2][]int
	tasks [2][]int64 // of a job, by rack
}

func pack(ctx context.Context, c *Cluster, jobs []Job, s *Settings, out *Plan) error {
	p := packer{c: c, over: s.Over, t: newTimetable(c), trial: newTimetable(c), plan: out}
	p.tasks[0], p.tasks[1] = make([]int64, len(c.Racks)), make([]int64, len(c.Racks))
	for _, j := range ordered(c.profiles(jobs, cmp.Or(s.Profile, Disjoint)), s) {
		if err := ctx.Err(); err != nil {
			return err
		}
		from := 0.0
		if s.Online {
			from = j.Submit
		}
		if j.heavy {
			p.heavy(j, from)
		} else {
			p.light(j, from)
		}
	}
	return nil
}

// light places the tasks of a job with a small shuffle on whichever containers are free first.
func (p *packer) light(j *profile, from float64) {
	maps, start, end := p.spread(0, j.Maps, from, j.MapTime)
	racks := 0
	for _, n := range maps {
		if n > 0 {
			racks++
		}
	}
	if j.Reduces > 0 {
		if racks > 0 {
			end += p.c.ShuffleTime(j.Job, Pair{racks, max(1, racks)}, Disjoint)
		} else {
			end = from
		}
		_, first, last := p.spread(1, j.Reduces, end, j.RedTime)
		if end = last; j.Maps == 0 {
			start = first
		}
	}
	p.plan.add(j, p.tasks[0], p.tasks[1], start, end)
}

// spread lists tasks on the containers that are free first, in any rack, and counts the real ones by rack.
func (p *packer) spread(stage int, n int64, from, length float64) (tasks []int64, first, last float64) {
	tasks = p.tasks[stage]
	clear(p.tasks[1])
	clear(tasks)
	first, last = from, from
	for k := range provisioned(n, p.over) {
		best := 0
		for r := range p.t {
			if p.t[r][0] < p.t[best][0] {
				best = r
			}
		}
		start, end := take(p.t[best], from, length)
		if k == 0 {
			first = start
		}
		if k < n {
			last = max(last, end)
			tasks[best]++
		}
	}
	return tasks, first, last
}

// heavy places a job with a large shuffle by the feasible pair that completes first, the smaller one among equals. With over-provisioning a
// job's completion is that of all its planned slots.
func (p *packer) heavy(j *profile, from float64) {
	best, done := Pair{}, math.Inf(1)
	mapped := 0.0
	for i, pair := range j.pairs { // ordered by racks for maps
		if i == 0 || pair.Maps != j.pairs[i-1].Maps {
			p.trial.copyFrom(p.t)
			mapped = p.maps(p.trial, j, pair.Maps, from)
		}
		end := p.reduces(p.trial, j, pair, mapped, false)
		if end < done || end == done && pair.Maps+pair.Reduces < best.Maps+best.Reduces {
			best, done = pair, end
		}
	}
	first := math.Inf(1)
	for _, r := range p.t.soonest(provisioned(j.Maps, p.over), best.Maps, p.buf[0]) {
		first = min(first, max(p.t[r][0], from))
	}
	mapped = p.maps(p.t, j, best.Maps, from)
	done = p.reduces(p.t, j, best, mapped, true)
	p.plan.add(j, p.tasks[0], p.tasks[1], first, done)
}

// maps runs a job's maps in the racks that have room first, evenly, and returns when the last ends.
func (p *packer) maps(t timetable, j *profile, racks int, from float64) (last float64) {
	n := provisioned(j.Maps, p.over)
	p.buf[0] = t.soonest(n, racks, p.buf[0])
	clear(p.tasks[0])
	for i, r := range p.buf[0] {
		p.tasks[0][r] = share(j.Maps, racks, i)
		last = max(last, run(t[r], share(n, racks, i), from, j.MapTime))
	}
	return last
}

// reduces finds the racks of a job's reduces, after its maps, and returns when the last ends.
func (p *packer) reduces(t timetable, j *profile, pair Pair, mapped float64, commit bool) (last float64) {
	n := provisioned(j.Reduces, p.over)
	p.buf[1] = t.soonest(n, pair.Reduces, p.buf[1])
	clear(p.tasks[1])
	for i, r := range p.buf[1] {
		p.tasks[1][r] = share(j.Reduces, pair.Reduces, i)
	}
	from := mapped + PortBytes(j.Shuffle, p.tasks[0], p.tasks[1])/p.c.rate(j.Job, pair)
	for i, r := range p.buf[1] {
		k := share(n, pair.Reduces, i)
		switch {
		case k == 0:
		case commit:
			last = max(last, run(t[r], k, from, j.RedTime))
		default:
			last = max(last, lastEnd(t[r], k, from, j.RedTime, &p.spare))
		}
	}
	return last
}
