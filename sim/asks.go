package sim

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// asks counts the container sizes that waiting jobs want next. There are few distinct sizes, so a list suffices.
type asks struct {
	list []askCount
	min  unit.Resources // componentwise, over all wanted sizes; too large for any node when there are none
}

type askCount struct {
	ask unit.Resources
	n   int64
}

var nothingWanted = unit.Resources{Mem: math.MaxInt64, Cores: math.MaxInt64}

func newAsks() asks { return asks{min: nothingWanted} }

func (a *asks) add(r unit.Resources) {
	for i := range a.list {
		if a.list[i].ask == r {
			a.list[i].n++
			return
		}
	}
	a.list = append(a.list, askCount{r, 1})
	a.min = a.min.Min(r)
}

func (a *asks) remove(r unit.Resources) {
	for i := range a.list {
		if a.list[i].ask != r {
			continue
		}
		if a.list[i].n--; a.list[i].n > 0 {
			return
		}
		last := len(a.list) - 1
		a.list[i] = a.list[last]
		a.list = a.list[:last]
		a.min = nothingWanted
		for _, c := range a.list {
			a.min = a.min.Min(c.ask)
		}
		return
	}
	panic("sim: remove of a container size that is not counted")
}
