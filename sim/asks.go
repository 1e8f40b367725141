package sim

import (
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// asks counts the sizes of containers that waiting jobs want next. There are few different ones, so a list serves.
type asks struct {
	list  []askCount
	least unit.Resources // by component, over all that are wanted; too large for any node when none is
}

type askCount struct {
	ask unit.Resources
	n   int64
}

var nothingWanted = unit.Resources{Mem: math.MaxInt64, Cores: math.MaxInt64}

func newAsks() asks { return asks{least: nothingWanted} }

func (a *asks) add(r unit.Resources) {
	for i := range a.list {
		if a.list[i].ask == r {
			a.list[i].n++
			return
		}
	}
	a.list = append(a.list, askCount{r, 1})
	a.least = a.least.Min(r)
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
		a.least = nothingWanted
		for _, c := range a.list {
			a.least = a.least.Min(c.ask)
		}
		return
	}
	panic("sim: a size of container that nobody wanted is not wanted any more")
}
