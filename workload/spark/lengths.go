package spark

import (
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

// warm estimates by how much the first task of each slot takes longer, and takes it off those tasks' lengths. For every first task
// whose stage has enough others, the difference to their median is one observation; the estimate is the median of those.
func (a *App) warm(stages []*stage) unit.Time {
	type of struct{ median, least uint32 }
	others := map[*stage]of{}
	firsts := map[*stage]map[int32]bool{}
	for _, x := range a.Executors {
		for _, f := range x.first {
			if firsts[f.stage] == nil {
				firsts[f.stage] = map[int32]bool{}
			}
			firsts[f.stage][f.partition] = true
		}
	}
	for _, s := range stages {
		if firsts[s] == nil {
			continue
		}
		var rest []uint32
		for _, t := range s.lengths {
			if !firsts[s][t.partition] {
				rest = append(rest, t.ms)
			}
		}
		if len(rest) > 0 {
			slices.Sort(rest)
			others[s] = of{rest[len(rest)/2], rest[0]}
		}
	}
	var extra []int64
	for _, x := range a.Executors {
		for _, f := range x.first {
			if o, some := others[f.stage]; some {
				extra = append(extra, int64(f.ms)-int64(o.median))
			}
		}
	}
	if len(extra) == 0 {
		return 0
	}
	slices.Sort(extra)
	warm := uint32(max(extra[len(extra)/2], 0))
	for _, x := range a.Executors {
		for _, f := range x.first {
			i, found := slices.BinarySearchFunc(f.stage.lengths, f.partition, func(t taskLength, p int32) int { return int(t.partition) - int(p) })
			if !found || f.stage.lengths[i].ms != f.ms { // another attempt counts
				continue
			}
			least := min(others[f.stage].least, f.ms)
			f.stage.lengths[i].ms = max(f.ms-min(warm, f.ms), least)
		}
	}
	return unit.Time(warm) * unit.Millisecond
}

// quantiles is the size of the table that stands for a list that is too long.
const quantiles = 1001

// fillLengths lists the lengths of tasks, or gives quantiles of the largest stages where a job would list too many.
func fillLengths(out []workload.Stage, stages []*stage) {
	listed := 0
	order := make([]int, len(stages))
	for i, s := range stages {
		order[i] = i
		listed += max(len(s.lengths), len(out[i].After))
	}
	slices.SortStableFunc(order, func(x, y int) int { return len(stages[y].lengths) - len(stages[x].lengths) })
	for _, i := range order {
		s := stages[i]
		values := make([]unit.Time, len(s.lengths))
		for k, t := range s.lengths {
			values[k] = unit.Time(t.ms) * unit.Millisecond
		}
		kind, many := workload.List, len(values) > quantiles
		if s.extra > 0 || many && listed > jobfile.MaxListed {
			kind = workload.Quantiles
			slices.Sort(values)
		}
		if kind == workload.Quantiles && many {
			listed -= len(values) - quantiles
			for k := range quantiles {
				values[k] = values[k*(len(values)-1)/(quantiles-1)]
			}
			values = slices.Clone(values[:quantiles])
		}
		out[i].Length = workload.Lengths{Kind: kind, Values: values}
	}
}
