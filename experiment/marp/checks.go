package marp

import (
	x "github.com/yardmaster/yardmaster/experiment"
)

// span is the makespan of an experiment's variant.
func span(experiment, name string) x.Quantity { return x.Of(experiment, "makespan/"+name) }

// ownJudges are those that the rules of the checks name beside the experiment package's.
var ownJudges = map[string]func(words []string, q []x.Quantity) x.Judge{
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
