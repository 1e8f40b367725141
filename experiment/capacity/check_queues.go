package capacity

import (
	x "github.com/yardmaster/yardmaster/experiment"
)

// interleavedJudges are those of E17 to E24.
func interleavedJudges() map[string]x.Judge {
	b, longFirst := blocks[2], blocks[0]
	return map[string]x.Judge{
		"I50-ratio": b.mulpFalls("ratio", allTypes, ""),
		"I50-late": perType([]int{1, 2, 3}, func(t int) x.Judge {
			return x.Less(x.Quotient(b.mean(shared, "ratio/4"), b.mean(strict, "ratio/4")),
				x.Quotient(b.mean(shared, by("ratio", t, "")), b.mean(strict, by("ratio", t, ""))))
		}),
		"I50-makespan":      flat(1.03, b.makespans(twoQueues...)),
		"I50-mulp-makespan": x.Changes(b.mean(strict, "makespan"), b.mean(shared, "makespan"), -1, 0.01),
		"I50-long-first": x.All(perType(shortTypes, func(t int) x.Judge { return x.Falls(longFirst.of(0, by("ratio", t, "")), b.of(0, by("ratio", t, ""))) }),
			x.Labelled("type 5, by half", x.Changes(longFirst.of(0, "ratio/5"), b.of(0, "ratio/5"), -1, -0.5)),
			x.Labelled("short jobs, by half", x.Changes(longFirst.of(0, "ratio/short"), b.of(0, "ratio/short"), -1, -0.5))),
	}
}

// separateJudges are those of E25 to E32.
func separateJudges() map[string]x.Judge {
	b, mixed := blocks[3], blocks[2]
	shortMakespan := func(r int) x.Quantity { return x.MaxOf(b.of(r, "makespan/q1"), b.of(r, "makespan/q2")) }
	longMakespan := func(r int) x.Quantity { return x.MaxOf(b.of(r, "makespan/q3"), b.of(r, "makespan/q4")) }
	return map[string]x.Judge{
		"SEP-ratio": b.rowsEach(capped, func(r int) x.Judge {
			return perType(shortTypes, func(t int) x.Judge { return x.Within(b.of(r, by("ratio", t, "")), 1, 1.65) })
		}),
		"SEP-makespan": b.rowsEach(capped, func(r int) x.Judge { return x.Within(x.Quotient(shortMakespan(r), longMakespan(r)), 0, 0.4) }),
		"SEP-open-ratio": b.rowsEach(open, func(r int) x.Judge {
			return perType(shortTypes, func(t int) x.Judge { return x.AtLeast(b.of(r, by("ratio", t, "")), 4) })
		}),
		"SEP-open-makespan": b.rowsEach(open, func(r int) x.Judge { return x.AboutEqual(longMakespan(r), shortMakespan(r), 0.1) }),
		"SEP-cap-waiting": perType(longTypes, func(t int) x.Judge {
			return x.Rises(b.mean(open, by("wait", t, "")), b.mean(capped, by("wait", t, "")))
		}),
		"SEP-cap-ratio": perType(longTypes, func(t int) x.Judge {
			return x.Rises(b.mean(open, by("ratio", t, "")), b.mean(capped, by("ratio", t, "")))
		}),
		"SEP-cap-execution": perType(longTypes, func(t int) x.Judge {
			return x.Falls(b.mean(open, by("exec", t, "")), b.mean(capped, by("exec", t, "")))
		}),
		"SEP-mulp":          x.Each(lengths, func(g string) x.Judge { return x.Falls(b.of(1, "ratio/"+g), b.of(5, "ratio/"+g)) }),
		"SEP-mulp-types":    b.mulpRatioOfTypes(),
		"SEP-best":          perType(shortTypes, func(t int) x.Judge { return x.Falls(mixed.of(5, by("ratio", t, "")), b.of(5, by("ratio", t, ""))) }),
		"SEP-best-makespan": x.AtMost(shortMakespan(5), 425),
	}
}
