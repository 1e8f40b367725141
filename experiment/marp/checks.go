package marp

import (
	"fmt"
	"math"

	x "github.com/yardmaster/yardmaster/experiment"
)

// span is the makespan of an experiment's variant.
func span(experiment, name string) x.Quantity { return x.Of(experiment, "makespan/"+name) }

// ownJudges are those that the rules of the checks name beside the experiment package's.
var ownJudges = map[string]func(words []string, q []x.Quantity) x.Judge{
	// wider holds when the first one's standard deviation over seeds is larger than the second's.
	"wider": func(_ []string, q []x.Quantity) x.Judge {
		return x.Judge{Rule: "standard deviation over seeds of " + q[0].Name + " > of " + q[1].Name, Of: func(r *x.Runs) x.Judgement {
			a, b := deviation(q[0].Values(r)), deviation(q[1].Values(r))
			j := x.Judgement{Holds: a > b, Ours: fmt.Sprintf("%s against %s", x.Number(a), x.Number(b)), Value: a - b, Lo: math.NaN(), Hi: math.NaN()}
			if math.IsNaN(a - b) {
				j.Note = "one seed: no deviation"
			}
			return j
		}}
	},
	// balances holds when on one of the hosts CBTwS is faster than all at once and than CBT.
	"balances": func([]string, []x.Quantity) x.Judge {
		var parts []x.Judge
		for _, b := range balances {
			if !b.otherJobs {
				parts = append(parts, x.Labelled(b.name, x.All(x.Less(span("E22", b.id+"/cbtws"), span("E22", b.id+"/prj")), x.Less(span("E22", b.id+"/cbtws"), span("E22", b.id+"/cbt")))))
			}
		}
		return x.Any(parts...)
	},
}
