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
func perType(types []int, judge func(t int) x.Judge) x.Judge { return labelled(types, typed, judge) }

// labelled judges things one by one.
func labelled(things []int, name func(int) string, judge func(int) x.Judge) x.Judge {
	judges := make([]x.Judge, len(things))
	for i, t := range things {
		judges[i] = x.Labelled(name(t), judge(t))
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
	return labelled(rows, b.id, judge)
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

// longFirstJudges are those of E01 to E08.
func longFirstJudges() map[string]x.Judge {
	b := blocks[0]
	return map[string]x.Judge{
		"L50-ratio":           b.mulpFalls("ratio", allTypes, ""),
		"L50-waiting":         b.mulpFalls("wait", allTypes, ""),
		"L50-execution":       x.Each(lengths, func(g string) x.Judge { return x.Rises(b.mean(strict, "exec/"+g), b.mean(shared, "exec/"+g)) }),
		"L50-execution-types": b.executionOfTypes(),
		"L50-short-by": perType(shortTypes, func(t int) x.Judge {
			return x.Changes(b.mean(strict, by("ratio", t, "")), b.mean(shared, by("ratio", t, "")), -1, -0.75)
		}),
		"L50-type4-by":  x.Changes(b.mean(strict[1:], "ratio/4"), b.mean(shared[1:], "ratio/4"), -0.87, -0.67),
		"L50-elapsed-2": x.Changes(b.mean(strict, "elapsed/2"), b.mean(shared, "elapsed/2"), 0, math.Inf(1)),
		"L50-elapsed-late": perType([]int{4, 5, 7}, func(t int) x.Judge {
			return x.Changes(b.mean(strict, by("elapsed", t, "")), b.mean(shared, by("elapsed", t, "")), -1, -0.2)
		}),
		"L50-elapsed-5-7": x.Less(x.Quotient(b.mean(shared, "elapsed/5"), b.mean(strict, "elapsed/5")),
			x.Quotient(b.mean(shared, "elapsed/7"), b.mean(strict, "elapsed/7"))),
		"L50-cap": perType(allTypes, func(t int) x.Judge {
			return x.AboutEqual(b.mean(open[1:], by("ratio", t, "")), b.mean(capped[1:], by("ratio", t, "")), 0.1)
		}),
		"L50-E01": perType([]int{3, 4}, func(t int) x.Judge {
			return x.All(x.Labelled("E02", x.Falls(b.of(1, by("ratio", t, "")), b.of(0, by("ratio", t, "")))),
				x.Labelled("E03", x.Falls(b.of(2, by("ratio", t, "")), b.of(0, by("ratio", t, "")))))
		}),
		"L50-makespan": flat(1.05, b.makespans(twoQueues...)),
		"E-calibrated": x.Within(x.Of("E01", "makespan"), 0.95*1230, 1.05*1230),
		"E-occupancy":  x.AtMost(x.Of("E01", "occupancy"), 27.5),
	}
}

// unequalJudges are those of E09 to E16.
func unequalJudges() map[string]x.Judge {
	b := blocks[1]
	return map[string]x.Judge{
		"L70-makespan": b.rowsEach(capped, func(r int) x.Judge { return x.Less(b.of(r, "makespan/q1"), b.of(r, "makespan/q2")) }),
		"L70-ratio": b.rowsEach(capped, func(r int) x.Judge {
			return perType(allTypes[1:], func(t int) x.Judge { return x.Less(b.of(r, by("ratio", t, "q1")), b.of(r, by("ratio", t, "q2"))) })
		}),
		"L70-mulp-ratio":   eachQueue(func(q string) x.Judge { return b.mulpFalls("ratio", allTypes, q) }),
		"L70-mulp-elapsed": eachQueue(func(q string) x.Judge { return b.mulpFalls("elapsed", allTypes[3:], q) }),
		"L70-mulp-early": eachQueue(func(q string) x.Judge {
			return perType(allTypes[:3], func(t int) x.Judge {
				return x.Changes(b.mean(strict, by("elapsed", t, q)), b.mean(shared, by("elapsed", t, q)), 0, math.Inf(1))
			})
		}),
		"L70-open-makespan": b.rowsEach(open, func(r int) x.Judge { return x.AboutEqual(b.of(r, "makespan/q1"), b.of(r, "makespan/q2"), 0.05) }),
		"L70-open-small": b.rowsEach([]int{3, 6}, func(r int) x.Judge {
			return perType(shortTypes, func(t int) x.Judge { return x.Less(b.of(r, by("elapsed", t, "q2")), b.of(r, by("elapsed", t, "q1"))) })
		}),
		"L70-open-erratic": b.rowsEach([]int{3, 6}, func(r int) x.Judge {
			return variance{b: b, rows: []int{r}, types: []int{5}, queue: "q1", low: 0.5, high: math.Inf(1)}.judge()
		}),
		"L70-E14-waiting":  perType(shortTypes, func(t int) x.Judge { return x.Less(b.of(5, by("wait", t, "q1")), b.of(5, by("wait", t, "q2"))) }),
		"L70-E12-waiting":  perType(shortTypes, func(t int) x.Judge { return x.Less(b.of(3, by("wait", t, "q2")), b.of(3, by("wait", t, "q1"))) }),
		"L70-cap-makespan": b.pairs(open, capped, func(from, to int) x.Judge { return x.Rises(b.of(from, "makespan/q2"), b.of(to, "makespan/q2")) }),
		"L70-cap-ratio": x.Each([]string{"long", "short", "4"}, func(g string) x.Judge {
			return x.Rises(b.of(0, "ratio/"+g+"/q2"), b.of(1, "ratio/"+g+"/q2"))
		}),
		"L70-cap-types": b.capRatioOfTypes(),
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
