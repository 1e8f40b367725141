package capacity

import (
	x "github.com/yardmaster/yardmaster/experiment"
)

// readingJudges are for statements of the source that do not hold for the rule as written, asked again under another order of queues. They
// say nothing about the scheduler, only which reading the source's figures fit; so they are recorded.
func readingJudges() map[string]x.Judge {
	equal, uneven, apart := blocks[0], blocks[1], blocks[3]
	under := func(b block, row int, letter, metric string) x.Quantity { return x.Of(b.id(row)+letter, metric) }
	all := map[string]x.Judge{
		"L70-open-makespan-e": uneven.rowsEach(open, func(r int) x.Judge {
			return x.AboutEqual(under(uneven, r, "e", "makespan/q1"), under(uneven, r, "e", "makespan/q2"), 0.05)
		}),
		"L70-open-small-e": uneven.rowsEach([]int{3, 6}, func(r int) x.Judge {
			return perType(shortTypes, func(t int) x.Judge {
				return x.Less(under(uneven, r, "e", by("wait", t, "q2")), under(uneven, r, "e", by("wait", t, "q1")))
			})
		}),
		"SEP-open-ratio-m": apart.rowsEach(open, func(r int) x.Judge {
			return perType(shortTypes, func(t int) x.Judge { return x.AtLeast(under(apart, r, "m", by("ratio", t, "")), 4) })
		}),
		"L50-E01-s": perType([]int{3, 4}, func(t int) x.Judge {
			in := func(row int) x.Quantity { return under(equal, row, "s", by("ratio", t, "")) }
			return x.All(x.Labelled("E02", x.Falls(in(1), in(0))), x.Labelled("E03", x.Falls(in(2), in(0))))
		}),
	}
	for _, v := range reduceSlots {
		all[v+"-Q2-delayed-s"] = x.All(
			x.Labelled("TSort2", x.AtLeast(x.Of(v+"-Q2s", "delayed/TSort2"), 10)),
			x.Labelled("TSort4", x.AtLeast(x.Of(v+"-Q2s", "delayed/TSort4"), 10)))
	}
	return all
}
