package spark

import (
	"cmp"
	"slices"
)

// driven is a unit of the driver's program: an SQL execution, or a Spark job outside of one.
type driven struct {
	start, end int64
	jobs       []*job
	followed   bool
	waits      []int // stages, by index
	sinks      []int
}

// waits finds out which stages each Spark job had waited for, by its number, from the order of submissions and ends. Jobs of
// one SQL execution wait for all of it that had ended. Between units: one that begins while no other is active waits for all
// that ended since the last such moment (a barrier); another one continues the thread of the driver whose unit ended last and
// has no successor, if there is one, and else began after the last barrier.
func (a *App) waits(stages []*stage, index map[*stage]int) map[int][]int {
	of := map[int][]int{} // stages by Spark job
	for i, s := range stages {
		of[s.job] = append(of[s.job], i)
	}
	inner := a.followers(stages, index)
	out := map[int][]int{}
	var barrier []int // what the last barrier waited for
	var since []*driven
	latest := int64(0)
	for _, u := range a.units(of) {
		if latest <= u.start {
			barrier = nil
			for _, v := range since {
				barrier = append(barrier, v.sinks...)
			}
			since, u.waits = nil, barrier
		} else {
			u.waits = barrier
			var before *driven
			for _, v := range since {
				if v.end <= u.start && !v.followed && (before == nil || v.end >= before.end) {
					before = v
				}
			}
			if before != nil {
				before.followed, u.waits = true, before.sinks
			}
		}
		latest = max(latest, u.end)
		since = append(since, u)
		u.order(of, inner, out)
	}
	return out
}

// order says what the Spark jobs of a unit wait for, and what its last stages are.
func (u *driven) order(of map[int][]int, inner map[int][]int, out map[int][]int) {
	var all []int
	for n, x := range u.jobs {
		var ended []int
		for _, y := range u.jobs[:n] {
			if y.end > 0 && y.end <= x.submit {
				ended = append(ended, of[y.id]...)
			}
		}
		if out[x.id] = sinks(ended, inner); len(ended) == 0 {
			out[x.id] = u.waits
		}
		all = append(all, of[x.id]...)
		for _, k := range out[x.id] { // followed within the unit
			inner[k] = append(inner[k], of[x.id]...)
		}
	}
	u.sinks = sinks(all, inner)
}

// sinks are those of some stages that none of the others follows, in their order. It sorts the list.
func sinks(list []int, followers map[int][]int) (last []int) {
	slices.Sort(list)
	list = slices.Compact(list)
	for _, i := range list {
		if !slices.ContainsFunc(followers[i], func(k int) bool { _, among := slices.BinarySearch(list, k); return among }) {
			last = append(last, i)
		}
	}
	return last
}

// followers are the stages that read the shuffles of each.
func (a *App) followers(stages []*stage, index map[*stage]int) map[int][]int {
	out := map[int][]int{}
	for i, s := range stages {
		for _, e := range a.after(s, i, stages, index, nil) {
			out[e.From] = append(out[e.From], i)
		}
	}
	return out
}

// units are the units whose Spark jobs ran stages, by their start.
func (a *App) units(of map[int][]int) (list []*driven) {
	bySQL := map[int64]*driven{}
	var jobs []*job
	for id := range of {
		if x := a.jobs[id]; x != nil {
			jobs = append(jobs, x)
		}
	}
	slices.SortFunc(jobs, func(x, y *job) int { return cmp.Or(cmp.Compare(x.submit, y.submit), cmp.Compare(x.id, y.id)) })
	for _, x := range jobs {
		u := bySQL[x.sql]
		if x.sql < 0 || u == nil {
			u = &driven{start: x.submit}
			list = append(list, u)
			if x.sql >= 0 {
				bySQL[x.sql] = u
				if e := a.sql[x.sql]; e != nil {
					u.start, u.end = min(u.start, cmp.Or(e.start, u.start)), e.end
				}
			}
		}
		u.end = max(u.end, cmp.Or(x.end, a.Ended()))
		u.jobs = append(u.jobs, x)
	}
	slices.SortStableFunc(list, func(x, y *driven) int { return cmp.Compare(x.start, y.start) })
	return list
}
