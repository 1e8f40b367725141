package capacity

import (
	x "github.com/yardmaster/yardmaster/experiment"
)

// interleavedChecks are those of E17 to E24.
func interleavedChecks() []x.Check {
	b, longFirst := blocks[2], blocks[0]
	return []x.Check{
		{
			ID: "I50-ratio", Strength: x.A,
			Text:  "MULP 25 in place of 100: the response ratio falls for all seven types",
			Paper: "1.18 to 1.02 (type 1) … 8.6 to 1.79 (type 4)",
			Judge: b.mulpFalls("ratio", allTypes, ""),
		},
		{
			ID: "I50-late", Strength: x.A,
			Text:  "MULP 25 in place of 100: the response ratio falls most for late arrivals: among the long types for type 4",
			Paper: "-79 % against -14 % to -24 %",
			Judge: perType([]int{1, 2, 3}, func(t int) x.Judge {
				return x.Less(x.Quotient(b.mean(shared, "ratio/4"), b.mean(strict, "ratio/4")),
					x.Quotient(b.mean(shared, by("ratio", t, "")), b.mean(strict, by("ratio", t, ""))))
			}),
		},
		{
			ID: "I50-makespan", Strength: x.B,
			Text:  "The makespan is set by the long jobs: largest over smallest at most 1.03",
			Paper: "1.02",
			Judge: flat(1.03, b.makespans(twoQueues...)),
		},
		{
			ID: "I50-mulp-makespan", Strength: x.B,
			Text:  "MULP 25 does not make the makespan longer (by more than 1 %)",
			Paper: "1 to 2 % lower",
			Judge: x.Changes(b.mean(strict, "makespan"), b.mean(shared, "makespan"), -1, 0.01),
		},
		{
			ID: "I50-long-first", Strength: x.A,
			Text: "At the defaults the short types' response ratios are much lower than behind all long jobs (type 5, which " +
				"is named, and all short jobs: half or less)",
			Paper: "type 5 15 to 2.03, type 6 12.8 to 3.19, type 7 10.3 to 4.2",
			Judge: x.All(perType(shortTypes, func(t int) x.Judge { return x.Falls(longFirst.of(0, by("ratio", t, "")), b.of(0, by("ratio", t, ""))) }),
				x.Labelled("type 5, by half", x.Changes(longFirst.of(0, "ratio/5"), b.of(0, "ratio/5"), -1, -0.5)),
				x.Labelled("short jobs, by half", x.Changes(longFirst.of(0, "ratio/short"), b.of(0, "ratio/short"), -1, -0.5))),
		},
	}
}

// separateChecks are those of E25 to E32.
func separateChecks() []x.Check {
	b, mixed := blocks[3], blocks[2]
	shortMakespan := func(r int) x.Quantity { return x.MaxOf(b.of(r, "makespan/q1"), b.of(r, "makespan/q2")) }
	longMakespan := func(r int) x.Quantity { return x.MaxOf(b.of(r, "makespan/q3"), b.of(r, "makespan/q4")) }
	return []x.Check{
		{
			ID: "SEP-ratio", Strength: x.A,
			Text:  "With a maximum-capacity the short queues' response ratios stay low (at most 1.65)",
			Paper: "1.06 to 1.65",
			Judge: b.rowsEach(capped, func(r int) x.Judge {
				return perType(shortTypes, func(t int) x.Judge { return x.Within(b.of(r, by("ratio", t, "")), 1, 1.65) })
			}),
		},
		{
			ID: "SEP-makespan", Strength: x.A,
			Text:  "With a maximum-capacity the short queues' makespan is about a third of the long queues' (at most 0.4)",
			Paper: "0.31 to 0.35",
			Judge: b.rowsEach(capped, func(r int) x.Judge { return x.Within(x.Quotient(shortMakespan(r), longMakespan(r)), 0, 0.4) }),
		},
		{
			ID: "SEP-open-ratio", Strength: x.R,
			Text:  "Without a maximum-capacity the short queues starve: their response ratio is 4.2 to 14.1",
			Paper: "4.2 to 14.1",
			Judge: b.rowsEach(open, func(r int) x.Judge {
				return perType(shortTypes, func(t int) x.Judge { return x.AtLeast(b.of(r, by("ratio", t, "")), 4) })
			}),
			Why: leastLoaded,
		},
		{
			ID: "SEP-open-makespan", Strength: x.R,
			Text:  "Without a maximum-capacity the short queues' makespan is about that of the long queues (within 10 %)",
			Paper: "1196 and 1249 s (E25)",
			Judge: b.rowsEach(open, func(r int) x.Judge { return x.AboutEqual(longMakespan(r), shortMakespan(r), 0.1) }),
			Why:   leastLoaded,
		},
		{
			ID: "SEP-cap-waiting", Strength: x.A,
			Text:  "A maximum-capacity makes long jobs wait longer",
			Paper: "longer",
			Judge: perType(longTypes, func(t int) x.Judge {
				return x.Rises(b.mean(open, by("wait", t, "")), b.mean(capped, by("wait", t, "")))
			}),
		},
		{
			ID: "SEP-cap-ratio", Strength: x.A,
			Text:  "A maximum-capacity raises long jobs' response ratios",
			Paper: "type 4 2.46 to 9.36",
			Judge: perType(longTypes, func(t int) x.Judge {
				return x.Rises(b.mean(open, by("ratio", t, "")), b.mean(capped, by("ratio", t, "")))
			}),
		},
		{
			ID: "SEP-cap-execution", Strength: x.B,
			Text:  "A maximum-capacity shortens long jobs' execution",
			Paper: "falls",
			Judge: perType(longTypes, func(t int) x.Judge {
				return x.Falls(b.mean(open, by("exec", t, "")), b.mean(capped, by("exec", t, "")))
			}),
		},
		{
			ID: "SEP-mulp", Strength: x.A,
			Text: "With a maximum-capacity, MULP 25 lowers the response ratios of long jobs and, slightly, of short ones " +
				"(E26 to E30)",
			Paper: "falls; type 4 9.36 to 1.73",
			Judge: x.Each(lengths, func(g string) x.Judge { return x.Falls(b.of(1, "ratio/"+g), b.of(5, "ratio/"+g)) }),
		},
		{
			ID: "SEP-mulp-types", Strength: x.B,
			Text:  "With a maximum-capacity, MULP 25 lowers the response ratio of every type (E26 to E30)",
			Paper: "1.23 to 1.01, 2.21 to 1.56, 1.59 to 1.16, 9.36 to 1.73, 1.2 to 1.06, 1.65 to 1.20, 1.53 to 1.27",
			Judge: b.mulpRatioOfTypes(),
			Why: "jobs of types 5 and 6 hold one or two slots, so no user limit touches them, and those with ten maps (type " +
				"7) come after them; what they wait " +
				"for is the poller, and slots that MULP does not free",
		},
		{
			ID: "SEP-best", Strength: x.A,
			Text: "Separate queues, a maximum-capacity and MULP 25 (E30) beat interleaved queues with the same settings " +
				"(E22) for short types",
			Paper: "1.06, 1.20, 1.27 against 1.43, 2.53, 1.89",
			Judge: perType(shortTypes, func(t int) x.Judge { return x.Falls(mixed.of(5, by("ratio", t, "")), b.of(5, by("ratio", t, ""))) }),
		},
		{
			ID: "SEP-best-makespan", Strength: x.A,
			Text: "Separate queues, a maximum-capacity and MULP 25 (E30) cut the makespan of the short jobs to about 420 s " +
				"(at most 425)",
			Paper: "432 and 418 s",
			Judge: x.AtMost(shortMakespan(5), 425),
		},
	}
}
