package capacity

import (
	"fmt"
	"math"

	x "github.com/yardmaster/yardmaster/experiment"
)

// Rows of a block by what they have in common, and those that differ in one setting only, in the same order.
var (
	strict = []int{0, 1, 2, 4} // MULP 100: a, b, c, e
	shared = []int{3, 5, 6, 7} // MULP 25: d, f, g, h
	capped = []int{1, 4, 5, 7}
	open   = []int{0, 2, 3, 6} // the same without a maximum-capacity
)

// mean is a figure's mean over rows of a block.
func (b block) mean(rows []int, metric string) x.Quantity {
	qs := make([]x.Quantity, len(rows))
	for i, r := range rows {
		qs[i] = x.Of(b.id(r), metric)
	}
	return x.MeanOf(qs...)
}

// lengths are the two groups of types.
var lengths = []string{"long", "short"}

// of is a figure of one row.
func (b block) of(row int, metric string) x.Quantity { return x.Of(b.id(row), metric) }

func typed(t int) string { return fmt.Sprintf("type %d", t) }

// perType judges types, each labelled.
func perType(types []int, judge func(t int) x.Judge) x.Judge {
	judges := make([]x.Judge, len(types))
	for i, t := range types {
		judges[i] = x.Labelled(typed(t), judge(t))
	}
	return x.All(judges...)
}

// by is the name of a type's figure, in one queue or in all.
func by(metric string, t int, queue string) string {
	if queue == "" {
		return fmt.Sprintf("%s/%d", metric, t)
	}
	return fmt.Sprintf("%s/%d/%s", metric, t, queue)
}

// rowsEach judges rows one by one.
func (b block) rowsEach(rows []int, judge func(row int) x.Judge) x.Judge {
	judges := make([]x.Judge, len(rows))
	for i, r := range rows {
		judges[i] = x.Labelled(b.id(r), judge(r))
	}
	return x.All(judges...)
}

// mulpFalls holds when a figure falls for types from MULP 100 to 25, in the mean of the four pairs.
func (b block) mulpFalls(metric string, types []int, queue string) x.Judge {
	return perType(types, func(t int) x.Judge {
		return x.Falls(b.mean(strict, by(metric, t, queue)), b.mean(shared, by(metric, t, queue)))
	})
}

// flat holds when the largest of some means over seeds is no more than so many times the smallest.
func flat(most float64, cells []x.Quantity) x.Judge {
	return x.Within(x.Quotient(x.MaxOf(cells...), x.MinOf(cells...)), 1, most)
}

func (b block) makespans(queues ...string) []x.Quantity {
	var qs []x.Quantity
	for i := range rows {
		for _, q := range queues {
			qs = append(qs, b.of(i, "makespan/"+q))
		}
	}
	return qs
}

// longFirstChecks are those of E01 to E08.
func longFirstChecks() []x.Check {
	b := blocks[0]
	return append([]x.Check{
		{
			ID: "L50-ratio", Strength: x.A,
			Text:  "MULP 25 in place of 100: the response ratio falls for every type",
			Paper: "1.2 to 1.01 (type 1) … 6.7 to 1.54 (type 4) … 14.5 to 3.3 (type 5)",
			Judge: b.mulpFalls("ratio", allTypes, ""),
		},
		{
			ID: "L50-waiting", Strength: x.A,
			Text:  "MULP 25 in place of 100: waiting falls for every type",
			Paper: "falls",
			Judge: b.mulpFalls("wait", allTypes, ""),
		},
		{
			ID: "L50-execution", Strength: x.A,
			Text:  "MULP 25 in place of 100: execution rises, of long jobs and of short ones",
			Paper: "rises",
			Judge: x.Each(lengths, func(g string) x.Judge { return x.Rises(b.mean(strict, "exec/"+g), b.mean(shared, "exec/"+g)) }),
		},
		{
			ID: "L50-execution-types", Strength: x.B,
			Text:  "MULP 25 in place of 100: execution rises for every type",
			Paper: "rises",
			Judge: b.executionOfTypes(),
			Why:   "a job of one map meets disks as busy at the end of the run, with the reduces of type 3, as amid the long jobs' maps before",
		},
		{
			ID: "L50-short-by", Strength: x.B,
			Text:  "MULP 25 in place of 100: the response ratio of types 5 to 7 falls by 75 % or more",
			Paper: "-75 % and more",
			Judge: perType(shortTypes, func(t int) x.Judge {
				return x.Changes(b.mean(strict, by("ratio", t, "")), b.mean(shared, by("ratio", t, "")), -1, -0.75)
			}),
		},
		{
			ID: "L50-type4-by", Strength: x.B,
			Text: "MULP 25 in place of 100: the response ratio of type 4 falls by about 77 % (67 to 87 %; E01 and its pair " +
				"excepted)",
			Paper: "6.7 to 1.54",
			Judge: x.Changes(b.mean(strict[1:], "ratio/4"), b.mean(shared[1:], "ratio/4"), -0.87, -0.67),
		},
		{
			ID: "L50-elapsed-2", Strength: x.B,
			Text:  "MULP 25: the elapsed time of type 2, which comes early, is not better",
			Paper: "slightly worse",
			Judge: x.Changes(b.mean(strict, "elapsed/2"), b.mean(shared, "elapsed/2"), 0, math.Inf(1)),
		},
		{
			ID: "L50-elapsed-late", Strength: x.B,
			Text:  "MULP 25: the elapsed time of types 4, 5 and 7, which come late, is much better (by 20 % or more)",
			Paper: "much better",
			Judge: perType([]int{4, 5, 7}, func(t int) x.Judge {
				return x.Changes(b.mean(strict, by("elapsed", t, "")), b.mean(shared, by("elapsed", t, "")), -1, -0.2)
			}),
		},
		{
			ID: "L50-elapsed-5-7", Strength: x.B,
			Text:  "MULP 25: type 5 gains more of its elapsed time than type 7",
			Paper: "more so for 5",
			Judge: x.Less(x.Quotient(b.mean(shared, "elapsed/5"), b.mean(strict, "elapsed/5")),
				x.Quotient(b.mean(shared, "elapsed/7"), b.mean(strict, "elapsed/7"))),
		},
		{
			ID: "L50-cap", Strength: x.B,
			Text: "maximum-capacity plays no significant role at 50/50 (ratios of all types within 10 %; E01 and its pair " +
				"excepted)",
			Paper: "within a few %",
			Judge: perType(allTypes, func(t int) x.Judge {
				return x.AboutEqual(b.mean(open[1:], by("ratio", t, "")), b.mean(capped[1:], by("ratio", t, "")), 0.1)
			}),
		},
		{
			ID: "L50-E01", Strength: x.B,
			Text:  "In E01 types 3 and 4 have a lower ratio than in E02 and E03, because their maps are delayed after a first few",
			Paper: "type 3 1.24 against 1.51, type 4 2.1 against 6.7",
			Judge: perType([]int{3, 4}, func(t int) x.Judge {
				return x.All(x.Labelled("E02", x.Falls(b.of(1, by("ratio", t, "")), b.of(0, by("ratio", t, "")))),
					x.Labelled("E03", x.Falls(b.of(2, by("ratio", t, "")), b.of(0, by("ratio", t, "")))))
			}),
			Why: delayNeedsIdle,
		},
		{
			ID: "L50-makespan", Strength: x.B,
			Text:  "The makespan is flat: it is set by the longest jobs, not by settings (largest over smallest at most 1.05)",
			Paper: "1.03",
			Judge: flat(1.05, b.makespans(twoQueues...)),
		},
		{
			ID: "E-calibrated", Strength: x.B, ByConstruction: true,
			Text:  "E01's makespan is about 1230 s (within 5 %)",
			Paper: "1232 s, 1234 s",
			Judge: x.Within(x.Of("E01", "makespan"), 0.95*1230, 1.05*1230),
		},
		{
			ID: "E-occupancy", Strength: x.B, ByConstruction: true,
			Text:  "A map holds its slot for no longer than the makespan allows",
			Paper: "at most 27.5 s on average",
			Judge: x.AtMost(x.Of("E01", "occupancy"), 27.5),
		},
	}, variationChecks(b)...)
}

// unequalChecks are those of E09 to E16.
func unequalChecks() []x.Check {
	b := blocks[1]
	return []x.Check{
		{
			ID: "L70-makespan", Strength: x.A,
			Text:  "With a maximum-capacity the 70 % queue has the shorter makespan",
			Paper: "1001 against 1399 s (E10)",
			Judge: b.rowsEach(capped, func(r int) x.Judge { return x.Less(b.of(r, "makespan/q1"), b.of(r, "makespan/q2")) }),
		},
		{
			ID: "L70-ratio", Strength: x.A,
			Text:  "With a maximum-capacity types 2 to 7 have the lower response ratio in the 70 % queue",
			Paper: "1.6 against 2.3 (type 2) … 12.5 against 26 (type 5) in E10",
			Judge: b.rowsEach(capped, func(r int) x.Judge {
				return perType(allTypes[1:], func(t int) x.Judge { return x.Less(b.of(r, by("ratio", t, "q1")), b.of(r, by("ratio", t, "q2"))) })
			}),
		},
		{
			ID: "L70-mulp-ratio", Strength: x.A,
			Text:  "MULP 25: the response ratio falls in both queues for all types",
			Paper: "falls",
			Judge: eachQueue(func(q string) x.Judge { return b.mulpFalls("ratio", allTypes, q) }),
		},
		{
			ID: "L70-mulp-elapsed", Strength: x.B,
			Text:  "MULP 25: elapsed time improves for types 4 to 7",
			Paper: "improves",
			Judge: eachQueue(func(q string) x.Judge { return b.mulpFalls("elapsed", allTypes[3:], q) }),
		},
		{
			ID: "L70-mulp-early", Strength: x.B,
			Text:  "MULP 25: elapsed time does not improve for types 1 to 3",
			Paper: "not better",
			Judge: eachQueue(func(q string) x.Judge {
				return perType(allTypes[:3], func(t int) x.Judge {
					return x.Changes(b.mean(strict, by("elapsed", t, q)), b.mean(shared, by("elapsed", t, q)), 0, math.Inf(1))
				})
			}),
		},
		{
			ID: "L70-open-makespan", Strength: x.R,
			Text:  "Without a maximum-capacity both queues have about the same makespan (within 5 %)",
			Paper: "1211 and 1244 s (E09)",
			Judge: b.rowsEach(open, func(r int) x.Judge { return x.AboutEqual(b.of(r, "makespan/q1"), b.of(r, "makespan/q2"), 0.05) }),
			Why:   leastLoaded,
		},
		{
			ID: "L70-open-small", Strength: x.R,
			Text:  "In E12 and E15 small jobs of the 70 % queue have a worse elapsed time than those of the 30 % queue",
			Paper: "worse",
			Judge: b.rowsEach([]int{3, 6}, func(r int) x.Judge {
				return perType(shortTypes, func(t int) x.Judge { return x.Less(b.of(r, by("elapsed", t, "q2")), b.of(r, by("elapsed", t, "q1"))) })
			}),
			Why: leastLoaded,
		},
		{
			ID: "L70-open-erratic", Strength: x.R,
			Text:  "In E12 and E15 the execution of type 5 in the 70 % queue is erratic (variation above 0.5)",
			Paper: "0.76, 0.80",
			Judge: b.rowsEach([]int{3, 6}, func(r int) x.Judge {
				return variance{b: b, rows: []int{r}, types: []int{5}, queue: "q1", low: 0.5, high: math.Inf(1)}.judge()
			}),
			Why: leastLoaded,
		},
		{
			ID: "L70-E14-waiting", Strength: x.A,
			Text:  "In E14 the short jobs of the 70 % queue wait less than those of the 30 % queue",
			Paper: "low and very high",
			Judge: perType(shortTypes, func(t int) x.Judge { return x.Less(b.of(5, by("wait", t, "q1")), b.of(5, by("wait", t, "q2"))) }),
		},
		{
			ID: "L70-E12-waiting", Strength: x.R,
			Text:  "In E12 waiting is very high for the short jobs of the 70 % queue (higher than in the 30 % queue)",
			Paper: "very high",
			Judge: perType(shortTypes, func(t int) x.Judge { return x.Less(b.of(3, by("wait", t, "q2")), b.of(3, by("wait", t, "q1"))) }),
			Why:   leastLoaded,
		},
		{
			ID: "L70-cap-makespan", Strength: x.A,
			Text:  "A maximum-capacity makes the 30 % queue's makespan longer",
			Paper: "1244 to 1399 s",
			Judge: b.pairs(open, capped, func(from, to int) x.Judge { return x.Rises(b.of(from, "makespan/q2"), b.of(to, "makespan/q2")) }),
		},
		{
			ID: "L70-cap-ratio", Strength: x.A,
			Text: "A maximum-capacity makes the 30 % queue's response ratios worse (E09 to E10: long jobs, short jobs, and " +
				"type 4, which is named)",
			Paper: "type 4 3.74 to 10.78",
			Judge: x.Each([]string{"long", "short", "4"}, func(g string) x.Judge {
				return x.Rises(b.of(0, "ratio/"+g+"/q2"), b.of(1, "ratio/"+g+"/q2"))
			}),
		},
		{
			ID: "L70-cap-types", Strength: x.B,
			Text:  "A maximum-capacity makes the 30 % queue's response ratios worse for each of types 2 to 7 and in each pair",
			Paper: "in all of 24 pairs",
			Judge: b.capRatioOfTypes(),
			Why: "as long as the large queue has work the rule holds the small one at its capacity with or without a " +
				"maximum; only jobs that still wait " +
				"when the large queue is done can gain. With MULP 25 most have started by then",
		},
	}
}

// executionOfTypes holds when the execution of every type rises from MULP 100 to 25.
func (b block) executionOfTypes() x.Judge {
	return perType(allTypes, func(t int) x.Judge {
		return x.Rises(b.mean(strict, by("exec", t, "")), b.mean(shared, by("exec", t, "")))
	})
}

// capRatioOfTypes holds when a maximum-capacity raises the response ratios of queue 2 for each of types 2 to 7, in each pair.
func (b block) capRatioOfTypes() x.Judge {
	return b.pairs(open, capped, func(from, to int) x.Judge {
		return perType(allTypes[1:], func(t int) x.Judge { return x.Rises(b.of(from, by("ratio", t, "q2")), b.of(to, by("ratio", t, "q2"))) })
	})
}

// mulpRatioOfTypes holds when, with a maximum-capacity, MULP 25 lowers the response ratio of every type.
func (b block) mulpRatioOfTypes() x.Judge {
	return perType(allTypes, func(t int) x.Judge { return x.Falls(b.of(1, by("ratio", t, "")), b.of(5, by("ratio", t, ""))) })
}

// pairs judges rows against those that differ from them in one setting.
func (b block) pairs(from, to []int, judge func(from, to int) x.Judge) x.Judge {
	judges := make([]x.Judge, len(from))
	for i := range from {
		judges[i] = x.Labelled(b.id(from[i])+" to "+b.id(to[i]), judge(from[i], to[i]))
	}
	return x.All(judges...)
}

// leastLoaded is why uncapped unequal queues do not do here what the source reports.
const leastLoaded = "the rule as written serves the queue with the lowest running/capacity first, which holds backlogged " +
	"queues at their " +
	"capacities without any maximum; the source's figures cannot follow from it (see the section on other queue orders)"
