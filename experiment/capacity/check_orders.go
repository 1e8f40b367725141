package capacity

import (
	x "github.com/yardmaster/yardmaster/experiment"
)

// readingChecks are statements of the source that do not hold for the rule as written, asked again under another order of queues. They
// say nothing about the scheduler, only which reading the source's figures fit; so they are recorded.
func readingChecks() []x.Check {
	equal, uneven, apart := blocks[0], blocks[1], blocks[3]
	under := func(b block, row int, letter, metric string) x.Quantity { return x.Of(b.id(row)+letter, metric) }
	checks := []x.Check{
		{
			ID: "L70-open-makespan-e", Strength: x.R,
			Text:  "With the fewest running tasks first: without a maximum-capacity both queues have about the same makespan (within 5 %)",
			Paper: "1211 and 1244 s (E09)",
			Judge: uneven.rowsEach(open, func(r int) x.Judge {
				return x.AboutEqual(under(uneven, r, "e", "makespan/q1"), under(uneven, r, "e", "makespan/q2"), 0.05)
			}),
		},
		{
			ID: "L70-open-small-e", Strength: x.R,
			Text:  "With the fewest running tasks first: in E12 and E15 small jobs of the 70 % queue wait longer than those of the 30 % queue",
			Paper: "very high",
			Judge: uneven.rowsEach([]int{3, 6}, func(r int) x.Judge {
				return perType(shortTypes, func(t int) x.Judge {
					return x.Less(under(uneven, r, "e", by("wait", t, "q2")), under(uneven, r, "e", by("wait", t, "q1")))
				})
			}),
		},
		{
			ID: "SEP-open-ratio-m", Strength: x.R,
			Text:  "With the most loaded queue first: without a maximum-capacity the short queues starve, their response ratio is 4.2 to 14.1 (at least 4)",
			Paper: "4.2 to 14.1",
			Judge: apart.rowsEach(open, func(r int) x.Judge {
				return perType(shortTypes, func(t int) x.Judge { return x.AtLeast(under(apart, r, "m", by("ratio", t, "")), 4) })
			}),
		},
		{
			ID: "L50-E01-s", Strength: x.R,
			Text:  "With queues sorted once a heartbeat: in E01 types 3 and 4 have a lower ratio than in E02 and E03",
			Paper: "type 3 1.24 against 1.51, type 4 2.1 against 6.7",
			Judge: perType([]int{3, 4}, func(t int) x.Judge {
				in := func(row int) x.Quantity { return under(equal, row, "s", by("ratio", t, "")) }
				return x.All(x.Labelled("E02", x.Falls(in(1), in(0))), x.Labelled("E03", x.Falls(in(2), in(0))))
			}),
		},
	}
	for _, v := range reduceSlots {
		checks = append(checks, x.Check{
			ID: v + "-Q2-delayed-s", Strength: x.R,
			Text:  "With queues sorted once a heartbeat: the maps of TeraSort 2 and 4 are delayed after a first few, in one run of ten or more",
			Paper: "real: 1 of 10",
			Judge: x.All(
				x.Labelled("TSort2", x.AtLeast(x.Of(v+"-Q2s", "delayed/TSort2"), 10)),
				x.Labelled("TSort4", x.AtLeast(x.Of(v+"-Q2s", "delayed/TSort4"), 10))),
		})
	}
	return checks
}
