package capacity

import (
	"math"
	"slices"

	x "github.com/yardmaster/yardmaster/experiment"
)

// reduceSlots are the two halves of the validation: one reduce slot a node, then two.
var reduceSlots = []string{"V1", "V2"}

var firstQueue = validationJobs[:4]

// validationChecks are those of the two validation clusters. The source gives its findings in words; those that its algorithm decides
// must hold, the others are trends. Findings that its simulator and its real cluster disagree on are recorded.
func validationChecks() []x.Check {
	var checks []x.Check
	for _, v := range reduceSlots {
		checks = append(checks,
			x.Check{
				ID: v + "-Q2-times", Strength: x.B,
				Text:  "Two queues in place of one: map, reduce and execution times of every job rise",
				Paper: "every job",
				Judge: x.Each(firstQueue, func(j string) x.Judge {
					return phases(func(metric string) x.Judge { return x.Rises(x.Of(v+"-Q1", metric+"/"+j), x.Of(v+"-Q2", metric+"/"+j)) })
				}),
			},
			x.Check{
				ID: v + "-Q2-delayed", Strength: x.R,
				Text: "Two queues: the maps of TeraSort 2 and 4 are delayed after a first few",
				Paper: map[string]string{"V1": "simulated: 9 runs of 10; real: 1 of 10",
					"V2": "simulated: every run; real: 1 of 10"}[v],
				Judge: x.All(
					x.Labelled("TSort2", x.AtLeast(x.Of(v+"-Q2", "delayed/TSort2"), 90)),
					x.Labelled("TSort4", x.AtLeast(x.Of(v+"-Q2", "delayed/TSort4"), 90))),
				Why: delayNeedsIdle,
			},
			x.Check{
				ID: v + "-MAXCAP-delayed", Strength: x.A,
				Text: "With maximum-capacity 50 % no job's maps are delayed after a first few, in no run: neither by the rule as written nor with queues sorted " +
					"once a heartbeat, where without a maximum some are",
				Paper: "none, real and simulated",
				Judge: x.All(
					x.Labelled("as written", x.Always(x.Of(v+"-MAXCAP", "delayed"), 0, 0)),
					x.Labelled("sorted once", x.Falls(x.Of(v+"-Q2s", "delayed"), x.Of(v+"-MAXCAPs", "delayed"))),
					x.Labelled("sorted once, each run", x.Always(x.Of(v+"-MAXCAPs", "delayed"), 0, 0))),
			},
			x.Check{
				ID: v + "-MAXCAP-times", Strength: x.B,
				Text:  "With maximum-capacity 50 % map and reduce times are equal or better (not more than 5 % longer)",
				Paper: "equal or better",
				Judge: x.Each(validationJobs[:], func(j string) x.Judge {
					return x.All(
						x.Labelled("map", x.Changes(x.Of(v+"-Q2", "map/"+j), x.Of(v+"-MAXCAP", "map/"+j), -1, 0.05)),
						x.Labelled("reduce", x.Changes(x.Of(v+"-Q2", "reduce/"+j), x.Of(v+"-MAXCAP", "reduce/"+j), -1, 0.05)))
				}),
			},
			x.Check{
				ID: v + "-MULP-times", Strength: x.B,
				Text:  "MULP 50: both users' maps run at once, so map, reduce and execution times of every job rise",
				Paper: "every job",
				Judge: x.Each(firstQueue, func(j string) x.Judge {
					return phases(func(metric string) x.Judge { return x.Rises(twin(v+"-Q2", metric, j), twin(v+"-MULP", metric, j)) })
				}),
				Why: map[string]string{"V2": "with two reduce slots a node, chance decides which reduces share one, and that " +
					"moves a reduce by more than MULP does"}[v],
			},
			x.Check{
				ID: v + "-MSJ-one", Strength: x.A,
				Text:  "maximum-system-jobs 2: never more than one job of a queue at once",
				Paper: "1",
				Judge: eachQueue(func(q string) x.Judge { return x.Always(x.Of(v+"-MSJ", "at-once/"+q), 1, 1) }),
			},
			x.Check{
				ID: v + "-MSJ-waits", Strength: x.B,
				Text:  "maximum-system-jobs 2: every job after the first of its queue waits much longer (twice or more)",
				Paper: "very long",
				Judge: x.Each([]string{"Sort1", "TSort2", "Sort2", "Sort3", "TSort4", "Sort4"}, func(j string) x.Judge {
					return x.Changes(x.Of(v+"-Q2", "wait/"+j), x.Of(v+"-MSJ", "wait/"+j), 1, math.Inf(1))
				}),
			})
	}
	paired := []struct{ id, paper string }{
		{"V2-Q2", "real 28.75 %, simulated 58.75 %"}, {"V2-MAXCAP", "real 26.25 %, simulated 58.75 %"},
		{"V2-MULP", "real 26.25 %, simulated 61.25 %"}, {"V2-MSJ", "real 7.5 %, simulated 46.25 %"},
	}
	for _, p := range paired {
		runs := pairedRuns[p.id]
		var measured, simulated int
		for i := range validationJobs {
			measured, simulated = measured+runs.real[i], simulated+runs.simulated[i]
		}
		checks = append(checks, x.Check{
			ID: p.id + "-paired", Strength: x.R,
			Text: "Share of reduces that shared their node with another job's (from the real cluster's share to the " +
				"simulated one)",
			Paper: p.paper,
			Judge: x.Within(x.Of(p.id, "paired"), 100*float64(measured)/80, 100*float64(simulated)/80),
			Why: "heartbeats come at fixed phases, so the node that follows the longest gap gets most reduces; the source's " +
				"simulator, which has the same, pairs " +
				"twice as often as its real cluster",
		})
	}
	return append(checks,
		x.Check{
			ID: "V2-MSJ-least", Strength: x.B,
			Text:  "With maximum-system-jobs 2 reduces share a node less often than in the other three",
			Paper: "7.5 % against 26 % and more",
			Judge: x.Each([]string{"V2-Q2", "V2-MAXCAP", "V2-MULP"}, func(e string) x.Judge { return x.Falls(x.Of(e, "paired"), x.Of("V2-MSJ", "paired")) }),
		},
		x.Check{
			ID: "V-stragglers", Strength: x.R,
			Text:  "More queues mean more slow maps (more than twice their job's median)",
			Paper: "real: 7 to 23, 4 to 27 in all ten runs",
			Judge: x.Each(reduceSlots, func(v string) x.Judge { return x.Rises(x.Of(v+"-Q1", "stragglers"), x.Of(v+"-Q2", "stragglers")) }),
			Why:   "the model has contention for disks and network, but no machine that is slow for a reason of its own",
		},
	)
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

// delayNeedsIdle is why delayed map execution is rarer here than in the source's simulator.
const delayNeedsIdle = "it needs a slot that is idle while the head job's user is at its limit; the queue with the lowest " +
	"running/capacity is served first, so as long as both queues have maps to start each is held at its capacity and no slot " +
	"is idle"
