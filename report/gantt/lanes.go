package gantt

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// Limits on a picture.
const (
	maxBars = 20_000 // of all panels
	maxRows = 1_000  // lanes of a panel
)

// bar is what is drawn of one task, or of several.
type bar struct {
	from, to unit.Time
	stage    int32
	failed   bool
}

// row is the lanes of an executor, each in the order of time.
type row [][]bar

// lanes spreads the tasks of each executor over lanes, one for each slot: a task goes into the first free one. Where more overlap than there are
// slots, as a driver launches a task shortly before it notes the end of the one before, it goes into the one that is free next. Of too many
// executors the later ones are left out.
func (t *Timeline) lanes() (rows []row) {
	tasks := slices.Clone(t.Tasks)
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Executor, b.Executor))
	})
	slots := min(max(t.Slots, 1), maxRows)
	rows = make([]row, min(len(t.Executors), maxRows/slots))
	last := func(l []bar) unit.Time { return l[len(l)-1].to }
	for _, x := range tasks {
		if x.Executor < 0 || int(x.Executor) >= len(rows) {
			continue
		}
		r := &rows[x.Executor]
		k := slices.IndexFunc(*r, func(l []bar) bool { return last(l) <= x.Start })
		if k < 0 && len(*r) < slots {
			k, *r = len(*r), append(*r, nil)
		}
		if k < 0 {
			k = 0
			for i, l := range *r {
				if last(l) < last((*r)[k]) {
					k = i
				}
			}
		}
		(*r)[k] = append((*r)[k], bar{x.Start, x.End, x.Stage, x.Failed})
	}
	return rows
}

// merge merges adjacent bars that are at most so far apart: those of one stage, and short ones of different stages, which take the colour
// of the longest.
func merge(lane []bar, within unit.Time) []bar {
	var out []bar
	var longest unit.Time // of the bars in the last one
	for _, b := range lane {
		n := len(out) - 1
		if n >= 0 && b.from-out[n].to <= within && b.failed == out[n].failed {
			last, took := &out[n], b.to-b.from
			if last.stage == b.stage || min(last.to-last.from, took) <= within {
				if took > longest {
					last.stage, longest = b.stage, took
				}
				last.to = max(last.to, b.to)
				continue
			}
		}
		out, longest = append(out, b), b.to-b.from
	}
	return out
}

// thin merges bars until there are few enough in all panels, and counts them.
func thin(panels [][]row, axis unit.Time) (bars int, merged bool) {
	for within := unit.Time(0); ; within = max(2*within, axis/4096, 1) {
		bars = 0
		for _, r := range slices.Concat(panels...) {
			for k := range r {
				if within > 0 {
					r[k] = merge(r[k], within)
				}
				bars += len(r[k])
			}
		}
		if bars <= maxBars || within > 4*axis {
			return bars, within > 0
		}
	}
}
