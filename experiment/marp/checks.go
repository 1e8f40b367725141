package marp

import (
	"fmt"
	"math"
	"slices"

	x "github.com/yardmaster/yardmaster/experiment"
	control "github.com/yardmaster/yardmaster/steer/marp"
)

// checks are what the source says, experiment by experiment.
func checks() []x.Check {
	var all []x.Check
	for _, part := range [][]x.Check{profileChecks(), sweepChecks(), patternChecks(), resultChecks(), resourceChecks(), variationChecks(), processorChecks(), balanceChecks()} {
		all = append(all, part...)
	}
	for i := range all {
		all[i].Why = whys[all[i].ID]
	}
	return all
}

// span is the makespan of an experiment's variant.
func span(experiment, name string) x.Quantity { return x.Of(experiment, "makespan/"+name) }

func profileChecks() []x.Check {
	return []x.Check{
		{ID: "E0-map", Strength: x.A, Text: "A job that maps keeps the processors busy: at most 15 % are idle in the mean", Paper: "100 % in use",
			Judge: x.AtMost(x.Of("E0", "idle-map"), 15),
			Revised: &x.Revision{First: x.Judge{Rule: "E0 idle-map: at most 15, on an earlier state of the model"}, Gave: &x.Judgement{Ours: "16.1"},
				Why: "it missed, and became \"less than 15 % idle for most of the phase\". Today it stands again as it was first written, and the model has changed since"}},
		{ID: "E0-reduce", Strength: x.A, Text: "A job that reduces leaves many of them idle for most of the phase", Paper: "sharp drop",
			Judge: x.AtLeast(x.Of("E0", "reduce-above"), 50)},
		{ID: "E0-progress", Strength: x.A, Text: "A job shows about half of its progress when its maps are done", Paper: "about 50 %",
			Judge: x.Always(x.Of("E0", "progress"), 50, 65)},
		{ID: "E0-start", Strength: x.B, Text: "A job needs some 13 s before its first map works", Paper: "about 13 s",
			Judge: x.Within(x.Of("E0", "start-up"), 9, 17)},
		{ID: "E1-idle", Strength: x.A, Text: "Jobs that run one after another leave processors idle in every reduce phase; all at once idle less, but do idle",
			Paper: "FIFO more than PRJ, PRJ some", Judge: x.All(x.Less(x.Of("E1", "idle/prj"), x.Of("E1", "idle/fifo")), x.AtLeast(x.Of("E1", "idle/prj"), 1))},
		{ID: "E2-faster", Strength: x.A, Text: "Four jobs at once are done sooner than one after another", Paper: "697 to 442 s, 36.6 % shorter",
			Judge: x.Changes(span("E2", "fifo"), span("E2", "prj"), -1, -0.2)},
		{ID: "E2-varies", Strength: x.A, Text: "At once, batch times vary more", Paper: "more",
			Judge: widerThan(span("E2", "prj"), span("E2", "fifo"))},
		{ID: "E3-slower", Strength: x.A, Text: "A job among six hardly ever makes more progress in 10 s than a job alone (here: in how many of 100 samples it makes less)", Paper: "rarely more",
			Judge: x.AtLeast(x.Of("E3", "slower"), 80)},
		{ID: "E11-cache", Strength: x.R, Text: "Batches are faster when the page cache still holds what the maps read (to be seen on a real host: here maps that never wait for the disk stand for it)",
			Paper: "sharp drop from run 2 on", Judge: x.Less(span("E11", "kept"), span("E11", "cleared"))},
	}
}

// widerThan holds when a's standard deviation over seeds is larger than b's.
func widerThan(a, b x.Quantity) x.Judge {
	return x.Judge{Rule: "standard deviation over seeds of " + a.Name + " > of " + b.Name, Of: func(r *x.Runs) x.Judgement {
		da, db := deviation(a.Values(r)), deviation(b.Values(r))
		j := x.Judgement{Holds: da > db, Ours: fmt.Sprintf("%s against %s", x.Number(da), x.Number(db)), Value: da - db, Lo: math.NaN(), Hi: math.NaN()}
		if math.IsNaN(da - db) {
			j.Note = "one seed: no deviation"
		}
		return j
	}}
}

func sweepChecks() []x.Check {
	at := func(n int, share float64) x.Quantity { return span("E4", sweepName(n, share)) }
	var interior, flat []x.Judge
	for _, s := range control.Sweep() {
		if s.Value > 0.15 && s.Value < 0.85 {
			interior = append(interior, x.Labelled(fmt.Sprintf("%.1f", s.Value), x.All(x.Less(at(24, s.Value), at(24, 0.1)), x.Less(at(24, s.Value), at(24, 0.9)))))
		}
		if s.Value > 0.35 {
			flat = append(flat, x.Labelled(fmt.Sprintf("%.1f", s.Value), x.AboutEqual(at(six, 0.3), at(six, s.Value), 0.01)))
		}
	}
	return []x.Check{
		{ID: "E4-interior", Strength: x.A, Text: "With enough jobs to fill every share, the best share is neither the smallest nor the largest", Paper: "least at 0.3, rising after it (a drawn curve)",
			Judge: x.Any(interior...)},
		{ID: "E4-flat", Strength: x.A, Text: "With six jobs, shares beyond what six masters need change nothing", Paper: "the source draws a rise; YARN does not reserve what masters do not take",
			Judge: x.All(flat...)},
		{ID: "E4-low", Strength: x.R, Text: "With six jobs, shares of 0.1 and 0.2 are slower than 0.3", Paper: "high at 0.1 and 0.2, least at 0.3",
			Judge: x.All(x.Less(at(six, 0.3), at(six, 0.1)), x.Less(at(six, 0.3), at(six, 0.2)))},
	}
}

func patternChecks() []x.Check {
	all := []x.Check{
		{ID: "E5-one", Strength: x.A, Text: "One job runs until the first admission", Paper: "one", Judge: x.Always(x.Of("E5", "first/cbt"), 1, 1)},
		{ID: "E5-spacing", Strength: x.A, Text: "No two admissions within 30 s", Paper: "30 s wait", Judge: x.Always(x.Of("E5", "spacing/cbt"), 30, math.Inf(1))},
		{ID: "E5-gap", Strength: x.A, Text: "The next job gets to work about 30 s after the processors fell idle", Paper: "about 30 s",
			Judge: x.Within(x.Of("E5", "gap/cbt"), 15, 45)},
		{ID: "E5-busy", Strength: x.R, Text: "Meanwhile 20 to 30 % of the processors are in use", Paper: "20-30 %", Judge: x.Within(x.Of("E5", "gap-busy/cbt"), 20, 30)},
		{ID: "E6-smoother", Strength: x.A, Text: "The moving average is smoother than the plain difference of the same series", Paper: "clearly",
			Judge: x.Less(x.Of("E6", "var/ema"), x.Of("E6", "var/sma"))},
		{ID: "E14-wait", Strength: x.R, Text: "Waiting for the disk jumps when a job begins to reduce", Paper: "jumps (live: nothing that could be used to predict)",
			Judge: x.Rises(x.Of("E14", "wait-map"), x.Of("E14", "wait-reduce"))},
	}
	for _, name := range []string{"cbtws", "cbtwat"} {
		all = append(all, x.Check{ID: "E18-" + name, Strength: x.A, Text: "Under " + title(name) + " the first two jobs follow CBT's pattern: one until the first admission, which comes when its maps are done",
			Paper: "as CBT", Judge: x.All(x.Always(x.Of("E18", "first/"+name), 1, 1), x.AtLeast(x.Of("E18", "begun/"+name), 45))})
	}
	return append(all,
		x.Check{ID: "E19-fair", Strength: x.A, Text: "A change of the Fair Scheduler's file is in force after more than 5 and at most 15 s", Paper: "10-15 s",
			Judge: x.All(x.Always(x.Of("E19", "latency/fair"), 5, 15), x.Always(x.Of("E19", "latency/fair-busy"), 5, 15))},
		x.Check{ID: "E19-capacity", Strength: x.A, Text: "The Capacity Scheduler takes it at once", Paper: "-", Judge: x.Always(x.Of("E19", "latency/capacity"), 0, 3)},
		x.Check{ID: "E19-busy", Strength: x.B, Text: "On a busy cluster the job gets to work later", Paper: "+10 to 15 s", Judge: x.Rises(x.Of("E19", "room/idle"), x.Of("E19", "room/busy"))},
		x.Check{ID: "E19-busy-by", Strength: x.R, Text: "Later by 10 to 15 s", Paper: "+10 to 15 s", Judge: x.Within(x.Difference(x.Of("E19", "room/busy"), x.Of("E19", "room/idle")), 10, 15)},
	)
}

// resultChecks are those of the three benchmarks.
func resultChecks() []x.Check {
	var all []x.Check
	for _, b := range benches() {
		e := b.experiment
		prj := span(e, "prj")
		all = append(all, x.Check{ID: e + "-prj", Strength: x.B, ByConstruction: true, Text: b.name + ": all six at once take as long as in the source",
			Paper: x.Number(sourceTables[e]["prj"].mean) + " s", Judge: x.Within(prj, 0.97*sourceTables[e]["prj"].mean, 1.03*sourceTables[e]["prj"].mean)})
		for _, name := range steered {
			band := bands[name]
			gain := fmt.Sprintf("%.1f %% shorter", sourceGains[e][name][0])
			all = append(all,
				x.Check{ID: e + "-" + name, Strength: x.A, Text: b.name + ": under " + title(name) + " the batch is done sooner than all at once", Paper: gain, Judge: x.Less(span(e, name), prj)},
				x.Check{ID: e + "-" + name + "-band", Strength: x.A, Text: fmt.Sprintf("%s: %s gains %.0f to %.0f %%", b.name, title(name), 100*band[0], 100*band[1]), Paper: gain,
					Judge: x.Changes(prj, span(e, name), -band[1], -band[0])})
		}
		for _, name := range steered[1:] {
			all = append(all, x.Check{ID: e + "-" + name + "-cbt", Strength: x.B, Text: b.name + ": " + title(name) + " is at least as fast as CBT", Paper: "faster",
				Judge: x.Changes(span(e, "cbt"), span(e, name), -1, 0)})
		}
		all = append(all,
			x.Check{ID: e + "-ahead", Strength: x.R, Text: b.name + ": ahead (ours) is done sooner than all at once", Paper: "not in the source", Judge: x.Less(span(e, "ahead"), prj)},
			x.Check{ID: e + "-ahead-best", Strength: x.R, Text: b.name + ": ahead (ours) is at least as fast as the best of the source's three, in the mean", Paper: "not in the source",
				Judge: x.All(x.Changes(span(e, "cbt"), span(e, "ahead"), -1, 0), x.Changes(span(e, "cbtws"), span(e, "ahead"), -1, 0), x.Changes(span(e, "cbtwat"), span(e, "ahead"), -1, 0))},
			x.Check{ID: e + "-kalman", Strength: x.R, Text: b.name + ": kalman-mem is done sooner than all at once", Paper: "not in the source", Judge: x.Less(span(e, "kalman-mem"), prj)},
			x.Check{ID: e + "-static", Strength: x.R, Text: b.name + ": no fixed number of jobs at once beats every controller of the source", Paper: "not in the source", Judge: noneBeats(e)})
	}
	return all
}

// noneBeats holds when some controller's mean is below that of every fixed number of jobs at once.
func noneBeats(e string) x.Judge {
	var each []x.Judge
	for _, name := range steered {
		var parts []x.Judge
		for _, k := range []string{"fifo", "prj-2", "prj-3", "prj-4", "prj-5", "prj"} {
			parts = append(parts, x.Labelled(title(k), x.Changes(span(e, k), span(e, name), -1, 0)))
		}
		each = append(each, x.Labelled(title(name), x.All(parts...)))
	}
	return x.Any(each...)
}

func resourceChecks() []x.Check {
	all := []x.Check{
		{ID: "E10-order", Strength: x.A, Text: "A running job makes the least progress all at once, more under CBT, and the most under one of the other two", Paper: "PRJ lowest, CBTwS highest",
			Judge: x.All(x.Less(x.Of("E10", "rate/prj"), x.Of("E10", "rate/cbt")),
				x.Changes(x.Of("E10", "rate/cbt"), x.MaxOf(x.Of("E10", "rate/cbtws"), x.Of("E10", "rate/cbtwat")), 0, math.Inf(1)))},
		{ID: "E12-peak", Strength: x.A, Text: "Under a controller the disk never holds more than all at once", Paper: "about 80 GB at most, controllers below",
			Judge: x.Each(steered, func(name string) x.Judge {
				return x.AtMost(x.Quotient(x.Of("E12", "disk/"+name), x.Of("E12", "disk/prj")), 1)
			})},
		{ID: "E12-lowest", Strength: x.R, Text: "CBTwAT has the lowest peak", Paper: "lowest",
			Judge: x.All(x.Changes(x.Of("E12", "disk/cbt"), x.Of("E12", "disk/cbtwat"), -1, 0), x.Changes(x.Of("E12", "disk/cbtws"), x.Of("E12", "disk/cbtwat"), -1, 0))},
		{ID: "E15-fits", Strength: x.B, Text: "Under CBTwS two jobs more fit the disk", Paper: "fit", Judge: x.Always(x.Of("E15", "disk/cbtws"), 0, diskLimit/1e9)},
		{ID: "E15-prj", Strength: x.R, Text: "All eight at once do not fit", Paper: "do not", Judge: x.AtLeast(x.Of("E15", "disk/prj"), diskLimit/1e9)},
	}
	points := map[string]string{"E7": "19.2", "E8": "16.3", "E9": "17.6"}
	for _, b := range benches() {
		cbt, zero := span("E13", b.short+"/cbt"), span("E13", b.short+"/zero")
		all = append(all,
			x.Check{ID: "E13-" + b.short, Strength: x.A, Text: b.name + ": CBT is faster without the delay", Paper: "hypothetical: 150 s, " + points[b.experiment] + " points of PRJ", Judge: x.Less(zero, cbt)},
			x.Check{ID: "E13-" + b.short + "-most", Strength: x.A, Text: b.name + ": it saves at most 30 s for each of five admissions", Paper: "150 s", Judge: x.AtMost(x.Difference(cbt, zero), 1.1*5*30)})
	}
	return all
}

func variationChecks() []x.Check {
	var over, works []x.Judge
	for _, name := range append([]string{"prj"}, steered...) {
		over = append(over, x.Labelled(title(name), x.Always(x.Of("E16", "over/"+name), 0, 0)))
		works = append(works, x.Labelled(title(name), x.Always(x.Of("E16", "jobs/"+name), six, six)))
	}
	all := []x.Check{
		{ID: "E16-works", Strength: x.A, Text: "The controllers work on the Capacity Scheduler: all jobs are done, and none starts that the share in force does not admit", Paper: "works",
			Judge: x.All(append(works, over...)...)},
		{ID: "E16-gain", Strength: x.R, Text: "There, too, batches under controllers are done sooner than all at once", Paper: "no numbers",
			Judge: x.Each(steered, func(name string) x.Judge { return x.Less(span("E16", name), span("E16", "prj")) })},
		{ID: "E16-quicker", Strength: x.R, Text: "Waiting 15 s instead of 30 after an increase shortens batches there", Paper: "not in the source",
			Judge: x.Each(steered, func(name string) x.Judge { return x.Less(span("E16", name+"-15"), span("E16", name)) })},
		{ID: "E17-mini", Strength: x.R, Text: "Two or three jobs at a time are not much faster than six (5 % at most)", Paper: "no significant gain",
			Judge: x.Each([]string{"prj-2", "prj-3"}, func(name string) x.Judge { return x.Changes(span("E17", "prj"), span("E17", name), -0.05, math.Inf(1)) })},
		{ID: "E17-best", Strength: x.R, Text: "No controller loses to the better of the two", Paper: "not in the source",
			Judge: x.Each(steered, func(name string) x.Judge {
				return x.All(x.Changes(span("E17", "prj-2"), span("E17", name), -1, 0), x.Changes(span("E17", "prj-3"), span("E17", name), -1, 0))
			})},
	}
	for _, c := range steered {
		var parts []x.Judge
		for _, p := range parameters() {
			if slices.Contains(p.of, c) {
				for _, way := range []string{"half", "double"} {
					parts = append(parts, x.Labelled(p.name+" "+way, x.AboutEqual(span("E20", c), span("E20", c+"/"+p.name+"/"+way), 0.05)))
				}
			}
		}
		all = append(all, x.Check{ID: "E20-" + c, Strength: x.R, Text: "No number of " + title(c) + " halved or doubled changes batch times by more than 5 %", Paper: "not in the source", Judge: x.All(parts...)})
	}
	return all
}

// processorChecks are ours: what the gain needs.
func processorChecks() []x.Check {
	var all []x.Check
	for _, kind := range []string{"plain", "long"} {
		var parts []x.Judge
		for _, b := range benches() {
			for _, name := range steered {
				parts = append(parts, x.Labelled(b.name+" "+title(name), x.Changes(span("E21", b.short+"/"+kind+"/prj"), span("E21", b.short+"/"+kind+"/"+name), 0, math.Inf(1))))
			}
		}
		all = append(all, x.Check{ID: "E21-" + kind, Strength: x.A, Paper: "not in the source", Judge: x.All(parts...),
			Text: map[string]string{
				"plain": "With an infinitely fast disk no controller beats all at once: the gain comes from the disk",
				"long":  "Nor with reduces that compute so long that the batch takes as long as the source's",
			}[kind]})
	}
	return all
}
