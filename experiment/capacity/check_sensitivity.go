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
	printed := paper().Sensitivity[to-1][queue-1]/paper().Sensitivity[from-1][queue-1] - 1
	low, high := 0.5*printed, 1.5*printed
	if printed < 0 {
		low, high = high, low
	}
	metric := fmt.Sprintf("makespan/q%d", queue)
	return x.Changes(x.Of(fmt.Sprintf("S%02d", from), metric), x.Of(fmt.Sprintf("S%02d", to), metric), low, high)
}

// sensitivityJudges are those on the real cluster's one factor at a time.
func sensitivityJudges() map[string]x.Judge {
	return map[string]x.Judge{
		"S01-fifo": x.All(rising("S01", "wait", inQueue("q1", submitted...)), rising("S01", "wait", inQueue("q2", submitted...))),
		"S03-slower": x.All(
			x.Each(slices.Concat(inQueue("q1", submitted...), inQueue("q2", submitted...)), func(j string) x.Judge {
				return x.Rises(x.Of("S01", "elapsed/"+j), x.Of("S03", "elapsed/"+j))
			}),
			eachQueue(func(q string) x.Judge { return x.Rises(x.Of("S01", "makespan/"+q), x.Of("S03", "makespan/"+q)) })),
		"S03-by":    x.All(near(1, 3, 1), near(1, 3, 2)),
		"S02-large": x.Each(inQueue("q1", submitted...), func(j string) x.Judge { return x.Falls(x.Of("S01", "map/"+j), x.Of("S02", "map/"+j)) }),
		"S02-small": x.Rises(x.Of("S01", "makespan/q2"), x.Of("S02", "makespan/q2")),
		"S02-by":    x.All(near(1, 2, 2)),
		"S02-equal": x.AboutEqual(x.Of("S01", "makespan/q1"), x.Of("S02", "makespan/q1"), 0.15),
		"S04-makespan": eachQueue(func(q string) x.Judge {
			return x.AboutEqual(x.Of("S01", "makespan/"+q), x.Of("S04", "makespan/"+q), 0.1)
		}),
		"S04-maps":     x.Each(submitted, func(p string) x.Judge { return x.Falls(alike("S01", "map", p), alike("S04", "map", p)) }),
		"S04-reduces":  x.Each(submitted, func(p string) x.Judge { return x.AboutEqual(alike("S01", "reduce", p), alike("S04", "reduce", p), 0.1) }),
		"S05-slower":   x.Rises(x.Of("S02", "makespan/q2"), x.Of("S05", "makespan/q2")),
		"S05-by":       x.All(near(2, 5, 2)),
		"S05-phases":   x.Each(secondQueue[1:], func(j string) x.Judge { return x.Less(x.Of("S05", "reduce/"+j), x.Of("S05", "map/"+j)) }),
		"S07-waiting":  x.Each(inQueue("q1", fourSorts[1:]...), func(j string) x.Judge { return x.Falls(x.Of("S06", "wait/"+j), x.Of("S07", "wait/"+j)) }),
		"S07-maps":     x.Each(inQueue("q1", fourSorts...), func(j string) x.Judge { return x.Rises(x.Of("S06", "map/"+j), x.Of("S07", "map/"+j)) }),
		"S07-makespan": x.Rises(x.Of("S06", "makespan/q1"), x.Of("S07", "makespan/q1")),
		"S07-alone":    x.Within(x.Of("S07", "reduce-alone"), 0.85*840, 1.15*840),
		"S07-paired":   x.Changes(x.Of("S07", "reduce-alone"), x.Of("S07", "reduce-paired"), 0.6, 1.4),
		"S08-makespan": x.Falls(x.Of("S07", "makespan/q1"), x.Of("S08", "makespan/q1")),
		"S08-by":       x.All(near(7, 8, 1)),
		"S08-waits": x.Each(inQueue("q1", fourSorts...), func(j string) x.Judge {
			return x.AtMost(x.Quotient(x.Of("S08", "wait/"+j), x.Of("S08", "elapsed/"+j)), 0.05)
		}),
		"S09-same": eachQueue(func(q string) x.Judge {
			return x.AboutEqual(x.Of("S01", "makespan/"+q), x.Of("S09", "makespan/"+q), 0.1)
		}),
		"S11-small": x.Falls(x.Of("S10", "makespan/q2"), x.Of("S11", "makespan/q2")),
		"S11-large": x.Falls(x.Of("S10", "makespan/q1"), x.Of("S11", "makespan/q1")),
		"S11-by":    x.All(near(10, 11, 2)),
		"S12-order": x.All(rising("S12", "wait", inQueue("q1", "WordCount", "TeraSort", "Sort")),
			rising("S12", "wait", inQueue("q2", "WordCount", "TeraSort", "Sort"))),
		"S13-one":  eachQueue(func(q string) x.Judge { return x.Always(x.Of("S13", "at-once/"+q), 1, 1) }),
		"S14-two":  eachQueue(func(q string) x.Judge { return x.Always(x.Of("S14", "at-once/"+q), 2, 2) }),
		"S13-sort": x.Falls(alike("S14", "exec", "Sort"), alike("S13", "exec", "Sort")),
		"S13-waits": x.Each(submitted[1:], func(p string) x.Judge {
			return x.Changes(alike("S14", "wait", p), alike("S13", "wait", p), 0.5, inf)
		}),
		"S14-terasort":  x.Falls(alike("S13", "exec", "TeraSort"), alike("S14", "exec", "TeraSort")),
		"S14-wordcount": x.AboutEqual(alike("S13", "exec", "WordCount"), alike("S14", "exec", "WordCount"), 0.15),
		"S15-one": x.All(
			eachQueue(func(q string) x.Judge { return x.Always(x.Of("S15", "at-once/"+q), 1, 1) }),
			eachQueue(func(q string) x.Judge { return x.Always(x.Of("S16", "at-once/"+q), 2, 2) })),
		"S15-waits":    x.Each(submitted[1:], func(p string) x.Judge { return x.Falls(alike("S15", "wait", p), alike("S16", "wait", p)) }),
		"S15-executes": x.Each(submitted[:2], func(p string) x.Judge { return x.Rises(alike("S15", "exec", p), alike("S16", "exec", p)) }),
		"S16-makespan": eachQueue(func(q string) x.Judge { return x.Falls(x.Of("S15", "makespan/"+q), x.Of("S16", "makespan/"+q)) }),
		"S16-by":       x.All(near(15, 16, 1), near(15, 16, 2)),
		"S-smaller": x.Each([]string{"S02", "S05", "S10", "S11"}, func(e string) x.Judge {
			return x.Less(x.Of(e, "makespan/q1"), x.Of(e, "makespan/q2"))
		}),
	}
}
