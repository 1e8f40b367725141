package capacity

import (
	"fmt"

	x "github.com/yardmaster/yardmaster/experiment"
)

// revisions are the rules that were changed after results had been seen: each as it was at first, which is judged beside today's, and why it
// is no longer so. A reader may take the older one.
func revisions() map[string]x.Revision {
	const together = "both queues have the same jobs at the same instants, and are now taken together"
	byQueue := func(jobs []string, judge func(job string) x.Judge) x.Judge {
		return eachQueue(func(q string) x.Judge { return x.Each(inQueue(q, jobs...), judge) })
	}
	all := map[string]x.Revision{
		"L50-execution": {
			First: blocks[0].executionOfTypes(),
			Why:   "the source says \"every type\" of response ratios only; the first rule stays as L50-execution-types",
		},
		"L70-cap-ratio": {
			First: blocks[1].capRatioOfTypes(),
			Why:   "the source names type 4; the first rule stays as L70-cap-types",
		},
		"I50-long-first": {
			First: perType(shortTypes, func(t int) x.Judge {
				return x.Changes(blocks[0].of(0, by("ratio", t, "")), blocks[2].of(0, by("ratio", t, "")), -1, -0.5)
			}),
			Why: "\"much lower\" gives no number, and type 5 is what is named",
		},
		"SEP-mulp": {
			First: blocks[3].mulpRatioOfTypes(),
			Why:   "the source says \"long jobs and, slightly, short ones\"; the first rule stays as SEP-mulp-types",
		},
		"S08-makespan": {
			First: x.Changes(x.Of("S07", "makespan/q1"), x.Of("S08", "makespan/q1"), -1, -0.5),
			Why:   "the size is judged by S08-by",
		},
		"S04-maps": {
			First: x.Each(submitted, func(p string) x.Judge { return x.Changes(alike("S01", "map", p), alike("S04", "map", p), -0.5, 0.02) }),
			Why:   "it held for a maximum-capacity that is ignored, which is no faster; the source says faster",
		},
		"locality-short": {
			First: eachCell(shortTypes),
			Why:   "the closed form is an expectation, and the source's own means are over all experiments",
		},
		"locality-long": {
			First: eachCell(longTypes),
			Why:   "the closed form is an expectation, and the source's own means are over all experiments; block by block it is E01-locality to E25-locality",
		},
		"S13-sort": {
			First: byQueue(submitted[:1], func(j string) x.Judge { return x.Falls(x.Of("S14", "exec/"+j), x.Of("S13", "exec/"+j)) }),
			Why:   together,
		},
		"S13-waits": {
			First: byQueue(submitted[1:], func(j string) x.Judge { return x.Changes(x.Of("S14", "wait/"+j), x.Of("S13", "wait/"+j), 0.5, inf) }),
			Why:   together,
		},
		"S15-waits": {
			First: byQueue(submitted[1:], func(j string) x.Judge { return x.Falls(x.Of("S15", "wait/"+j), x.Of("S16", "wait/"+j)) }),
			Why:   together,
		},
		"S15-executes": {
			First: byQueue(submitted[:2], func(j string) x.Judge { return x.Rises(x.Of("S15", "exec/"+j), x.Of("S16", "exec/"+j)) }),
			Why:   together,
		},
	}
	for _, v := range reduceSlots {
		all[v+"-MULP-times"] = x.Revision{
			First: x.Each(validationJobs[:], func(j string) x.Judge {
				return phases(func(metric string) x.Judge {
					return x.Rises(x.Of(v+"-Q2", metric+"/"+j), x.Of(v+"-MULP", metric+"/"+j))
				})
			}),
			Why: together,
		}
		all[v+"-MAXCAP-delayed"] = x.Revision{
			First: x.Always(x.Of(v+"-MAXCAP", "delayed"), 0, 0),
			Why:   "it held for a maximum-capacity that is ignored, since nothing is delayed without one either (" + v + "-Q2-delayed)",
		}
	}
	for _, b := range blocks {
		all[b.id(0)+"-locality-settings"] = x.Revision{
			First: perType(allTypes, func(t int) x.Judge { return spread(b, t, 10) }),
			Why: "it was one bound for types whose shares are 2 and 90 %, then 15 points for all: a share of 2 % that grows eightfold would have passed. " +
				"It is now the source's own largest spread, type by type",
		}
	}
	const pooled = "it is now the variation over all jobs of a type, which fits the source better"
	jobByJob := func(v variance) variance { v.ofRuns = true; return v }
	all["L50-cv-short"] = x.Revision{First: jobByJob(shortVariance).judge(), Why: pooled}
	all["L50-cv-long"] = x.Revision{First: jobByJob(longVariance).judge(), Why: pooled}
	all["L50-cv-mulp"] = x.Revision{First: perType(shortTypes, func(t int) x.Judge { return variesMore(blocks[0], t, "", true) }), Why: pooled}
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

// marked adds to checks what was changed about them.
func marked(checks []x.Check) []x.Check {
	left := revisions()
	for i := range checks {
		if r, ok := left[checks[i].ID]; ok {
			checks[i].Revised = &r
			delete(left, checks[i].ID)
		}
	}
	for id := range left {
		panic(fmt.Sprintf("capacity: %s was revised and is not there", id))
	}
	return checks
}
