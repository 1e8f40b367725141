package capacity

import (
	"maps"
	"math"
	"slices"

	x "github.com/yardmaster/yardmaster/experiment"
)

// reduceSlots are the two halves of the validation: one reduce slot a node, then two.
var reduceSlots = []string{"V1", "V2"}

var firstQueue = validationJobs[:4]

// validationJudges are those of the two validation clusters. The source gives its findings in words; those that its algorithm decides
// must hold, the others are trends. Findings that its simulator and its real cluster disagree on are recorded.
func validationJudges() map[string]x.Judge {
	all := map[string]x.Judge{}
	for _, v := range reduceSlots {
		maps.Copy(all, map[string]x.Judge{
			v + "-Q2-times": x.Each(firstQueue, func(j string) x.Judge {
				return phases(func(metric string) x.Judge { return x.Rises(x.Of(v+"-Q1", metric+"/"+j), x.Of(v+"-Q2", metric+"/"+j)) })
			}),
			v + "-Q2-delayed": x.All(
				x.Labelled("TSort2", x.AtLeast(x.Of(v+"-Q2", "delayed/TSort2"), 90)),
				x.Labelled("TSort4", x.AtLeast(x.Of(v+"-Q2", "delayed/TSort4"), 90))),
			v + "-MAXCAP-delayed": x.All(
				x.Labelled("as written", x.Always(x.Of(v+"-MAXCAP", "delayed"), 0, 0)),
				x.Labelled("sorted once", x.Falls(x.Of(v+"-Q2s", "delayed"), x.Of(v+"-MAXCAPs", "delayed"))),
				x.Labelled("sorted once, each run", x.Always(x.Of(v+"-MAXCAPs", "delayed"), 0, 0))),
			v + "-MAXCAP-times": x.Each(validationJobs[:], func(j string) x.Judge {
				return x.All(
					x.Labelled("map", x.Changes(x.Of(v+"-Q2", "map/"+j), x.Of(v+"-MAXCAP", "map/"+j), -1, 0.05)),
					x.Labelled("reduce", x.Changes(x.Of(v+"-Q2", "reduce/"+j), x.Of(v+"-MAXCAP", "reduce/"+j), -1, 0.05)))
			}),
			v + "-MULP-times": x.Each(firstQueue, func(j string) x.Judge {
				return phases(func(metric string) x.Judge { return x.Rises(twin(v+"-Q2", metric, j), twin(v+"-MULP", metric, j)) })
			}),
			v + "-MSJ-one": eachQueue(func(q string) x.Judge { return x.Always(x.Of(v+"-MSJ", "at-once/"+q), 1, 1) }),
			v + "-MSJ-waits": x.Each([]string{"Sort1", "TSort2", "Sort2", "Sort3", "TSort4", "Sort4"}, func(j string) x.Judge {
				return x.Changes(x.Of(v+"-Q2", "wait/"+j), x.Of(v+"-MSJ", "wait/"+j), 1, math.Inf(1))
			}),
		})
	}
	for _, id := range []string{"V2-Q2", "V2-MAXCAP", "V2-MULP", "V2-MSJ"} {
		var measured, simulated int
		for i := range validationJobs {
			measured, simulated = measured+paper().Paired[id].Real[i], simulated+paper().Paired[id].Simulated[i]
		}
		all[id+"-paired"] = x.Within(x.Of(id, "paired"), 100*float64(measured)/80, 100*float64(simulated)/80)
	}
	all["V2-MSJ-least"] = x.Each([]string{"V2-Q2", "V2-MAXCAP", "V2-MULP"}, func(e string) x.Judge { return x.Falls(x.Of(e, "paired"), x.Of("V2-MSJ", "paired")) })
	all["V-stragglers"] = x.Each(reduceSlots, func(v string) x.Judge { return x.Rises(x.Of(v+"-Q1", "stragglers"), x.Of(v+"-Q2", "stragglers")) })
	return all
}

// phases judges map, reduce and execution time.
func phases(judge func(metric string) x.Judge) x.Judge {
	return x.All(x.Labelled("map", judge("map")), x.Labelled("reduce", judge("reduce")), x.Labelled("execution", judge("exec")))
}

// twin is a figure of one of the four jobs of queue 1 and its like in queue 2, which has the same capacity and the same work.
func twin(experiment, metric, job string) x.Quantity {
	i := slices.Index(validationJobs[:], job)
	return x.MeanOf(x.Of(experiment, metric+"/"+validationJobs[i]), x.Of(experiment, metric+"/"+validationJobs[i+4]))
}
