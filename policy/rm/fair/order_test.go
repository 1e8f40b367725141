package fair

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/unit"
)

func r(mem, cores int64) unit.Resources { return unit.Resources{Mem: mem, Cores: cores} }

func TestCompare(t *testing.T) {
	total := r(1000, 100)
	of := func(name string, weight float64, used, demand, floor unit.Resources) queues.Standing {
		return queues.Standing{Name: name, Weight: weight, Used: used, Demand: demand, Min: floor}
	}
	none, lots := unit.Resources{}, r(1000, 100)
	for name, c := range map[string]struct {
		kind queues.Kind
		a, b queues.Standing
		want int
	}{
		"fair: no demand is last":                   {queues.Fair, of("a", 1, none, none, none), of("b", 1, r(500, 1), lots, none), 1},
		"fair: demand of vcores alone is none":      {queues.Fair, of("a", 1, none, r(0, 9), none), of("b", 1, r(500, 1), lots, none), 1},
		"fair: below its minimum is first":          {queues.Fair, of("a", 1, r(300, 1), lots, r(400, 0)), of("b", 9, none, lots, none), -1},
		"fair: minimum is cut to demand":            {queues.Fair, of("a", 1, r(300, 1), r(300, 1), r(400, 0)), of("b", 1, none, lots, none), 1},
		"fair: both needy, by usage/minimum":        {queues.Fair, of("a", 1, r(100, 1), lots, r(400, 0)), of("b", 1, r(30, 1), lots, r(100, 0)), -1},
		"fair: needy alike, by usage/weight":        {queues.Fair, of("a", 1, r(100, 1), lots, r(400, 0)), of("b", 8, r(25, 1), lots, r(100, 0)), 1},
		"fair: by usage/weight":                     {queues.Fair, of("a", 2, r(300, 1), lots, none), of("b", 1, r(200, 1), lots, none), -1},
		"fair: vcores do not count":                 {queues.Fair, of("b", 1, r(100, 90), lots, none), of("a", 1, r(200, 1), lots, none), -1},
		"fair: weight 0 is after the others":        {queues.Fair, of("a", 0, none, lots, none), of("b", 1, r(900, 1), lots, none), 1},
		"fair: weight 0 twice, by usage":            {queues.Fair, of("a", 0, r(2, 1), lots, none), of("b", 0, r(1, 1), lots, none), 1},
		"fair: then by name":                        {queues.Fair, of("a", 1, r(2, 1), lots, none), of("b", 1, r(2, 1), lots, none), -1},
		"drf: no demand is not last":                {queues.DRF, of("a", 1, none, none, none), of("b", 1, r(500, 1), lots, none), -1},
		"drf: dominant share":                       {queues.DRF, of("a", 1, r(100, 30), lots, none), of("b", 1, r(200, 1), lots, none), 1},
		"drf: dominant share/weight":                {queues.DRF, of("a", 2, r(100, 30), lots, none), of("b", 1, r(200, 1), lots, none), -1},
		"drf: then the other":                       {queues.DRF, of("a", 1, r(300, 20), lots, none), of("b", 1, r(200, 30), lots, none), 0},
		"drf: needy in the dominant resource":       {queues.DRF, of("a", 1, r(100, 30), lots, r(0, 40)), of("b", 1, none, lots, none), -1},
		"drf: not needy in the other":               {queues.DRF, of("a", 1, r(100, 30), lots, r(999, 0)), of("b", 1, none, lots, none), 1},
		"drf: both needy, by usage/minimum":         {queues.DRF, of("a", 1, r(100, 0), lots, r(200, 0)), of("b", 1, r(0, 10), lots, r(0, 40)), 1},
		"drf: minimum is not cut to demand":         {queues.DRF, of("a", 1, r(300, 1), r(300, 1), r(400, 0)), of("b", 1, none, lots, none), -1},
		"drf: memory is dominant when shares equal": {queues.DRF, of("a", 1, r(300, 30), lots, r(0, 99)), of("b", 1, none, lots, none), 1},
		"fifo: names when started together":         {queues.FIFO, of("b", 9, none, lots, r(400, 0)), of("a", 1, r(300, 1), lots, none), 1},
	} {
		t.Run(name, func(t *testing.T) {
			// Where the measures tie, start and name decide: the names are chosen so that 0 is told apart.
			got := compare(c.kind, &c.a, &c.b, total)
			if c.want == 0 {
				c.b.Name = c.a.Name
				got = compare(c.kind, &c.a, &c.b, total)
			}
			if got != c.want {
				t.Errorf("compare is %d, want %d", got, c.want)
			}
			if back := compare(c.kind, &c.b, &c.a, total); back != -got {
				t.Errorf("the other way round it is %d", back)
			}
			for _, k := range []queues.Kind{queues.Fair, queues.DRF, queues.FIFO} { // start goes before name
				x, y := queues.Standing{Name: "z", Start: 1, Weight: 1, Demand: lots}, queues.Standing{Name: "a", Start: 2, Weight: 1, Demand: lots}
				if compare(k, &x, &y, total) != -1 {
					t.Errorf("policy %d does not look at the start before the name", k)
				}
			}
		})
	}
}

func TestMeasures(t *testing.T) {
	total := r(1000, 100)
	for _, c := range []struct {
		kind           queues.Kind
		x, y           unit.Resources
		below, atLeast bool
	}{
		{queues.Fair, r(1, 99), r(2, 0), true, false},
		{queues.Fair, r(2, 0), r(2, 99), false, true},
		{queues.FIFO, r(2, 0), r(1, 99), false, true},
		{queues.DRF, r(100, 30), r(200, 0), false, true},
		{queues.DRF, r(100, 20), r(300, 0), true, false},
		{queues.DRF, r(200, 10), r(200, 15), false, false}, // the dominant shares are equal, the others are not
		{queues.DRF, r(200, 15), r(200, 10), false, true},
		{queues.DRF, r(5, 5), r(5, 5), false, true},
	} {
		if got := below(c.kind, c.x, c.y, total); got != c.below {
			t.Errorf("policy %d: %v below %v is %v", c.kind, c.x, c.y, got)
		}
		if got := atLeast(c.kind, c.x, c.y, total); got != c.atLeast {
			t.Errorf("policy %d: %v at least %v is %v", c.kind, c.x, c.y, got)
		}
	}
}
