package capacity

import (
	"fmt"
	"math"
	"slices"

	x "github.com/yardmaster/yardmaster/experiment"
)

var inf = math.Inf(1)

// Jobs of the sensitivity runs, in order of submission.
var submitted = []string{"Sort", "TeraSort", "WordCount"}

var (
	twoQueues   = []string{"q1", "q2"}
	fourSorts   = []string{"TeraSort1", "TeraSort2", "TeraSort3", "TeraSort4"}
	secondQueue = []string{"q2/Sort", "q2/TeraSort", "q2/WordCount"}
)

// alike is a figure of a program's jobs in queues 1 and 2, which have equal capacities and equal work: one is as good as the other, so
// their mean is what a seed has to say.
func alike(experiment, metric, program string) x.Quantity {
	return x.MeanOf(x.Of(experiment, metric+"/q1/"+program), x.Of(experiment, metric+"/q2/"+program))
}

// eachQueue judges both queues.
func eachQueue(judge func(queue string) x.Judge) x.Judge { return x.Each(twoQueues, judge) }

// rising holds when a figure grows along a list of jobs.
func rising(experiment, metric string, jobs []string) x.Judge {
	var steps []x.Judge
	for i := 1; i < len(jobs); i++ {
		steps = append(steps, x.Labelled(jobs[i-1]+" to "+jobs[i],
			x.Rises(x.Of(experiment, metric+"/"+jobs[i-1]), x.Of(experiment, metric+"/"+jobs[i]))))
	}
	return x.All(steps...)
}

func inQueue(queue string, jobs ...string) []string {
	out := make([]string, len(jobs))
	for i, j := range jobs {
		out[i] = queue + "/" + j
	}
	return out
}

// near holds when a makespan changes by about what the source prints: from half of that change to one and a half times it. It takes its
// figures from the table of makespans.
func near(from, to, queue int) x.Judge {
	printed := sensitivity[to-1][queue-1]/sensitivity[from-1][queue-1] - 1
	low, high := 0.5*printed, 1.5*printed
	if printed < 0 {
		low, high = high, low
	}
	metric := fmt.Sprintf("makespan/q%d", queue)
	return x.Changes(x.Of(fmt.Sprintf("S%02d", from), metric), x.Of(fmt.Sprintf("S%02d", to), metric), low, high)
}

// size is the check on how large a change of makespan is that another check only wants in its direction.
func size(id, text, paper, why string, judges ...x.Judge) x.Check {
	return x.Check{ID: id, Strength: x.B, Text: text + " (half to one and a half times as much)", Paper: paper, Judge: x.All(judges...), Why: why}
}

// notBinding is why S04 is S01 over again.
const notBinding = "the queue with the lowest running/capacity is served first and both queues have maps to start until the end, so each is held at its " +
	"capacity without a maximum, which then changes nothing: S04 is S01 to the last digit"

// sensitivityChecks are those on the real cluster's one factor at a time.
func sensitivityChecks() []x.Check {
	return []x.Check{
		{
			ID: "S01-fifo", Strength: x.A,
			Text:  "Waiting time grows with the order of arrival inside a queue",
			Paper: "Sort, TeraSort, WordCount",
			Judge: x.All(rising("S01", "wait", inQueue("q1", submitted...)), rising("S01", "wait", inQueue("q2", submitted...))),
		},
		{
			ID: "S03-slower", Strength: x.A,
			Text:  "With three queues instead of two every job of queues 1 and 2 takes longer, and so do the queues",
			Paper: "almost a factor of 2",
			Judge: x.All(
				x.Each(slices.Concat(inQueue("q1", submitted...), inQueue("q2", submitted...)), func(j string) x.Judge {
					return x.Rises(x.Of("S01", "elapsed/"+j), x.Of("S03", "elapsed/"+j))
				}),
				eachQueue(func(q string) x.Judge { return x.Rises(x.Of("S01", "makespan/"+q), x.Of("S03", "makespan/"+q)) })),
			Why: "the first job of a queue has all slots of its queue from the start and is slowed down only by the disks and links it shares: on average " +
				"longer, but by less than it varies from run to run. With sixty seeds all hold",
		},
		size("S03-by", "With three queues instead of two the makespans of queues 1 and 2 rise by two thirds", "+61 %, +66 %",
			"nine jobs are half as much work again as six; the end is set by the last reduces, which begin later by what the "+
				"maps take longer and then run side by "+
				"side. On the real cluster they slowed each other down by more than sharing a disk explains",
			near(1, 3, 1), near(1, 3, 2)),
		{
			ID: "S02-large", Strength: x.A,
			Text:  "At 90/10 the map times of queue 1 fall",
			Paper: "all three jobs",
			Judge: x.Each(inQueue("q1", submitted...), func(j string) x.Judge { return x.Falls(x.Of("S01", "map/"+j), x.Of("S02", "map/"+j)) }),
		},
		{
			ID: "S02-small", Strength: x.A,
			Text:  "At 90/10 the makespan of queue 2 rises",
			Paper: "1123 to 1921 s, +71 %",
			Judge: x.Rises(x.Of("S01", "makespan/q2"), x.Of("S02", "makespan/q2")),
		},
		size("S02-by", "At 90/10 the makespan of queue 2 rises by 71 %", "+71 %", "", near(1, 2, 2)),
		{
			ID: "S02-equal", Strength: x.A,
			Text:  "At 90/10 the makespan of queue 1 is about equal (within 15 %)",
			Paper: "1127 to 1131 s",
			Judge: x.AboutEqual(x.Of("S01", "makespan/q1"), x.Of("S02", "makespan/q1"), 0.15),
		},
		{
			ID: "S04-makespan", Strength: x.B,
			Text:  "A maximum-capacity equal to the capacity changes little at 50/50 (within 10 %)",
			Paper: "+2.0 %, +3.4 %",
			Judge: eachQueue(func(q string) x.Judge {
				return x.AboutEqual(x.Of("S01", "makespan/"+q), x.Of("S04", "makespan/"+q), 0.1)
			}),
		},
		{
			ID: "S04-maps", Strength: x.B,
			Text:  "With a maximum-capacity at 50/50 maps are slightly faster",
			Paper: "slightly faster",
			Judge: x.Each(submitted, func(p string) x.Judge { return x.Falls(alike("S01", "map", p), alike("S04", "map", p)) }),
			Why:   notBinding,
		},
		{
			ID: "S04-reduces", Strength: x.B,
			Text:  "With a maximum-capacity at 50/50 reduces are unaffected (within 10 %)",
			Paper: "unaffected",
			Judge: x.Each(submitted, func(p string) x.Judge { return x.AboutEqual(alike("S01", "reduce", p), alike("S04", "reduce", p), 0.1) }),
		},
		{
			ID: "S05-slower", Strength: x.A,
			Text:  "At 90/10 with a maximum-capacity queue 2, which has one map and one reduce slot, is slower than without",
			Paper: "1921 to 2195 s, +14.3 %",
			Judge: x.Rises(x.Of("S02", "makespan/q2"), x.Of("S05", "makespan/q2")),
		},
		size("S05-by", "At 90/10 a maximum-capacity slows queue 2 down by 14 %", "+14.3 %",
			"the queue has one reduce slot for its three jobs, so their reduces stand in line: without the maximum they run "+
				"side by side",
			near(2, 5, 2)),
		{
			ID: "S05-phases", Strength: x.A,
			Text: "At 90/10 with a maximum-capacity the later jobs of queue 2 have a longer map phase than reduce phase, " +
				"whose slot the job before holds",
			Paper: "TeraSort and WordCount",
			Judge: x.Each(secondQueue[1:], func(j string) x.Judge { return x.Less(x.Of("S05", "reduce/"+j), x.Of("S05", "map/"+j)) }),
		},
		{
			ID: "S07-waiting", Strength: x.A,
			Text:  "MULP 25 in place of 100: the jobs after the first wait less",
			Paper: "waiting falls",
			Judge: x.Each(inQueue("q1", fourSorts[1:]...), func(j string) x.Judge { return x.Falls(x.Of("S06", "wait/"+j), x.Of("S07", "wait/"+j)) }),
		},
		{
			ID: "S07-maps", Strength: x.A,
			Text:  "MULP 25 in place of 100: every job's map time rises",
			Paper: "all four",
			Judge: x.Each(inQueue("q1", fourSorts...), func(j string) x.Judge { return x.Rises(x.Of("S06", "map/"+j), x.Of("S07", "map/"+j)) }),
		},
		{
			ID: "S07-makespan", Strength: x.A,
			Text:  "MULP 25 in place of 100: the makespan rises",
			Paper: "1388 to 1671 s, +20 %",
			Judge: x.Rises(x.Of("S06", "makespan/q1"), x.Of("S07", "makespan/q1")),
			Why: "where no two reduces share a node both settings take about the same time (S06a, S07a). What makes a run a fifth longer is a pair " +
				"of reduces on one node, which the scheduler leaves to chance under either setting (see the section on reduces alone and paired)",
		},
		{
			ID: "S07-alone", Strength: x.B, ByConstruction: true,
			Text:  "A reduce alone on its node takes about 14 minutes (within 15 %)",
			Paper: "840 s",
			Judge: x.Within(x.Of("S07", "reduce-alone"), 0.85*840, 1.15*840),
		},
		{
			ID: "S07-paired", Strength: x.B,
			Text:  "A reduce that shares its node takes about twice as long (1.6 to 2.4 times)",
			Paper: "about 28 min",
			Judge: x.Changes(x.Of("S07", "reduce-alone"), x.Of("S07", "reduce-paired"), 0.6, 1.4),
			Why: "two reduces compete while both use the disk; the time in which a reduce waits for the last maps, or " +
				"computes, is not doubled",
		},
		{
			ID: "S08-makespan", Strength: x.A,
			Text:  "Five reduces a job in place of one: the makespan falls",
			Paper: "1671 to 691 s, -59 %",
			Judge: x.Falls(x.Of("S07", "makespan/q1"), x.Of("S08", "makespan/q1")),
		},
		size("S08-by", "Five reduces a job in place of one: the makespan falls by 59 %", "-59 %", "", near(7, 8, 1)),
		{
			ID: "S08-waits", Strength: x.A,
			Text:  "With MULP 25 and five reduces a job, jobs wait little (less than 5 % of their elapsed time)",
			Paper: "small waits",
			Judge: x.Each(inQueue("q1", fourSorts...), func(j string) x.Judge {
				return x.AtMost(x.Quotient(x.Of("S08", "wait/"+j), x.Of("S08", "elapsed/"+j)), 0.05)
			}),
		},
		{
			ID: "S09-same", Strength: x.A,
			Text:  "ULF 2 changes nothing where a job needs one reduce slot (makespans within 10 %)",
			Paper: "+9.5 %, +3.7 %",
			Judge: eachQueue(func(q string) x.Judge {
				return x.AboutEqual(x.Of("S01", "makespan/"+q), x.Of("S09", "makespan/"+q), 0.1)
			}),
		},
		{
			ID: "S11-small", Strength: x.A,
			Text:  "At 90/10 with two reduces a job ULF 2 lets users of queue 2 take two slots: its makespan falls",
			Paper: "1899 to 1249 s, -34 %",
			Judge: x.Falls(x.Of("S10", "makespan/q2"), x.Of("S11", "makespan/q2")),
		},
		{
			ID: "S11-large", Strength: x.A,
			Text:  "At 90/10 with two reduces a job ULF 2 shortens the makespan of queue 1 as well",
			Paper: "1030 to 847 s, -18 %",
			Judge: x.Falls(x.Of("S10", "makespan/q1"), x.Of("S11", "makespan/q1")),
			Why: "queue 1 has nine slots of each kind under either limit, and what ULF 2 gives to users of queue 2 it can " +
				"only take from others: nothing in the rule " +
				"can make queue 1 faster",
		},
		size("S11-by", "At 90/10 with two reduces a job ULF 2 shortens the makespan of queue 2 by 34 %", "-34 %", "", near(10, 11, 2)),
		{
			ID: "S12-order", Strength: x.A,
			Text:  "With priorities WordCount, the last submitted, runs first and Sort last, in each queue",
			Paper: "WordCount, TeraSort, Sort",
			Judge: x.All(rising("S12", "wait", inQueue("q1", "WordCount", "TeraSort", "Sort")),
				rising("S12", "wait", inQueue("q2", "WordCount", "TeraSort", "Sort"))),
		},
		{
			ID: "S13-one", Strength: x.A,
			Text:  "maximum-system-jobs 2 with two queues: one job of a queue at a time",
			Paper: "1",
			Judge: eachQueue(func(q string) x.Judge { return x.Always(x.Of("S13", "at-once/"+q), 1, 1) }),
		},
		{
			ID: "S14-two", Strength: x.A,
			Text:  "maximum-system-jobs 4 with two queues: two jobs of a queue at a time",
			Paper: "2",
			Judge: eachQueue(func(q string) x.Judge { return x.Always(x.Of("S14", "at-once/"+q), 2, 2) }),
		},
		{
			ID: "S13-sort", Strength: x.B,
			Text:  "With one job of a queue at a time (maximum-system-jobs 2) the first Sort executes faster than two at a time",
			Paper: "faster",
			Judge: x.Falls(alike("S14", "exec", "Sort"), alike("S13", "exec", "Sort")),
		},
		{
			ID: "S13-waits", Strength: x.B,
			Text:  "With one job of a queue at a time (maximum-system-jobs 2) the later jobs wait much longer (by half or more)",
			Paper: "much longer",
			Judge: x.Each(submitted[1:], func(p string) x.Judge {
				return x.Changes(alike("S14", "wait", p), alike("S13", "wait", p), 0.5, inf)
			}),
		},
		{
			ID: "S14-terasort", Strength: x.B,
			Text:  "With two jobs of a queue at a time (maximum-system-jobs 4) TeraSort executes faster than with one",
			Paper: "as stated",
			Judge: x.Falls(alike("S13", "exec", "TeraSort"), alike("S14", "exec", "TeraSort")),
			Why:   "a job that has its queue to itself cannot execute slower than one that shares it",
		},
		{
			ID: "S14-wordcount", Strength: x.B,
			Text:  "WordCount's execution is similar one at a time and two at a time (within 15 %)",
			Paper: "similar",
			Judge: x.AboutEqual(alike("S13", "exec", "WordCount"), alike("S14", "exec", "WordCount"), 0.15),
		},
		{
			ID: "S15-one", Strength: x.A,
			Text:  "At most 100 active tasks and jobs of 76: one job of a queue at a time; at most 160: two",
			Paper: "1 and 2",
			Judge: x.All(
				eachQueue(func(q string) x.Judge { return x.Always(x.Of("S15", "at-once/"+q), 1, 1) }),
				eachQueue(func(q string) x.Judge { return x.Always(x.Of("S16", "at-once/"+q), 2, 2) })),
		},
		{
			ID: "S15-waits", Strength: x.A,
			Text:  "With at most 100 active tasks (one job of a queue at a time) the later jobs wait longer than with 160 (two)",
			Paper: "long waits",
			Judge: x.Each(submitted[1:], func(p string) x.Judge { return x.Falls(alike("S15", "wait", p), alike("S16", "wait", p)) }),
		},
		{
			ID: "S15-executes", Strength: x.A,
			Text: "With at most 100 active tasks (one job of a queue at a time) Sort and TeraSort execute faster than with " +
				"160 (two)",
			Paper: "short execution",
			Judge: x.Each(submitted[:2], func(p string) x.Judge { return x.Rises(alike("S15", "exec", p), alike("S16", "exec", p)) }),
		},
		{
			ID: "S16-makespan", Strength: x.A,
			Text:  "With at most 160 active tasks the makespans are shorter than with 100",
			Paper: "-32 %, -25 %",
			Judge: eachQueue(func(q string) x.Judge { return x.Falls(x.Of("S15", "makespan/"+q), x.Of("S16", "makespan/"+q)) }),
		},
		size("S16-by", "With at most 160 active tasks the makespans are shorter than with 100 by 32 % and 25 %", "-32 %, -25 %", "",
			near(15, 16, 1), near(15, 16, 2)),
		{
			ID: "S-smaller", Strength: x.B,
			Text:  "The queue of the smaller capacity has the larger makespan",
			Paper: "S02, S05, S10, S11",
			Judge: x.Each([]string{"S02", "S05", "S10", "S11"}, func(e string) x.Judge {
				return x.Less(x.Of(e, "makespan/q1"), x.Of(e, "makespan/q2"))
			}),
		},
	}
}
