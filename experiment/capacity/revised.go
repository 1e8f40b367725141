package capacity

import (
	"maps"

	x "github.com/yardmaster/yardmaster/experiment"
)

// firstJudges are the rules that were changed after results had been seen, as they were at first: they are judged beside today's, and a reader
// may take the older one.
func firstJudges() map[string]x.Judge {
	byQueue := func(jobs []string, judge func(job string) x.Judge) x.Judge {
		return eachQueue(func(q string) x.Judge { return x.Each(inQueue(q, jobs...), judge) })
	}
	all := map[string]x.Judge{
		"L50-execution": blocks[0].executionOfTypes(),
		"L70-cap-ratio": blocks[1].capRatioOfTypes(),
		"I50-long-first": perType(shortTypes, func(t int) x.Judge {
			return x.Changes(blocks[0].of(0, by("ratio", t, "")), blocks[2].of(0, by("ratio", t, "")), -1, -0.5)
		}),
		"SEP-mulp":       blocks[3].mulpRatioOfTypes(),
		"S08-makespan":   x.Changes(x.Of("S07", "makespan/q1"), x.Of("S08", "makespan/q1"), -1, -0.5),
		"S04-maps":       x.Each(submitted, func(p string) x.Judge { return x.Changes(alike("S01", "map", p), alike("S04", "map", p), -0.5, 0.02) }),
		"locality-short": eachCell(shortTypes),
		"locality-long":  eachCell(longTypes),
		"S13-sort":       byQueue(submitted[:1], func(j string) x.Judge { return x.Falls(x.Of("S14", "exec/"+j), x.Of("S13", "exec/"+j)) }),
		"S13-waits":      byQueue(submitted[1:], func(j string) x.Judge { return x.Changes(x.Of("S14", "wait/"+j), x.Of("S13", "wait/"+j), 0.5, inf) }),
		"S15-waits":      byQueue(submitted[1:], func(j string) x.Judge { return x.Falls(x.Of("S15", "wait/"+j), x.Of("S16", "wait/"+j)) }),
		"S15-executes":   byQueue(submitted[:2], func(j string) x.Judge { return x.Rises(x.Of("S15", "exec/"+j), x.Of("S16", "exec/"+j)) }),
	}
	for _, v := range reduceSlots {
		all[v+"-MULP-times"] = x.Each(validationJobs[:], func(j string) x.Judge {
			return phases(func(metric string) x.Judge {
				return x.Rises(x.Of(v+"-Q2", metric+"/"+j), x.Of(v+"-MULP", metric+"/"+j))
			})
		})
		all[v+"-MAXCAP-delayed"] = x.Always(x.Of(v+"-MAXCAP", "delayed"), 0, 0)
	}
	for _, b := range blocks {
		all[b.id(0)+"-locality-settings"] = perType(allTypes, func(t int) x.Judge { return spread(b, t, 10) })
	}
	maps.Copy(all, variationJudges("L50", blocks[0], true))
	return all
}

// eachCell holds when types lie within their bounds in each of E01 to E32 by itself.
func eachCell(types []int) x.Judge {
	var judges []x.Judge
	for _, b := range blocks {
		for row := range rows {
			judges = append(judges, x.Labelled(b.id(row), perType(types, func(t int) x.Judge {
				low, high := localityBounds(t)
				return x.Within(b.of(row, by("rack-local", t, "")), low, high)
			})))
		}
	}
	return x.All(judges...)
}
