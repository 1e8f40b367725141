package nas

import (
	"fmt"
	"testing"

	x "github.com/yardmaster/yardmaster/studies/experiment"
)

// The best point of a sweep is in its interior only if it is better than both ends by more than chance.
func TestInterior(t *testing.T) {
	judge := ownJudges["interior"]([]string{"E max/throughput", "1"}, nil)
	for name, c := range map[string]struct {
		best    int     // index of the best point
		by      float64 // by how much it is better
		holds   bool
		vacuous bool
	}{
		"clear": {2, 10, true, false}, "by chance": {2, 0.01, true, true}, "at an end": {0, 10, false, false}, "at an end by chance": {0, 0.01, false, true},
	} {
		var seeds []x.Metrics
		for seed := range 8 {
			m := x.Metrics{}
			for i, v := range maxima {
				noise := float64((seed*7+i*5)%4) - 1.5 // other in each seed and point, and 0 in the mean
				if m[fmt.Sprintf("max/%g/throughput", v)] = 100 + noise; i == c.best {
					m[fmt.Sprintf("max/%g/throughput", v)] += c.by
				}
			}
			seeds = append(seeds, m)
		}
		j := judge.Of(x.NewRuns(x.Seeds(1, len(seeds)), map[string][]x.Metrics{"E": seeds}))
		if j.Holds != c.holds || (j.Vacuous != "") != c.vacuous {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
