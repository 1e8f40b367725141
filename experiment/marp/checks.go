package marp

import (
	"fmt"
	"math"
	"slices"

	x "github.com/yardmaster/yardmaster/experiment"
	control "github.com/yardmaster/yardmaster/steer/marp"
)

// span is the makespan of an experiment's variant.
func span(experiment, name string) x.Quantity { return x.Of(experiment, "makespan/"+name) }

// judges are those of the checks, experiment by experiment.
func judges() map[string]x.Judge {
	all := map[string]x.Judge{
		"E0-map":       x.AtMost(x.Of("E0", "idle-map"), 15),
		"E0-reduce":    x.AtLeast(x.Of("E0", "reduce-above"), 50),
		"E0-progress":  x.Always(x.Of("E0", "progress"), 50, 65),
		"E0-start":     x.Within(x.Of("E0", "start-up"), 9, 17),
		"E1-idle":      x.All(x.Less(x.Of("E1", "idle/prj"), x.Of("E1", "idle/fifo")), x.AtLeast(x.Of("E1", "idle/prj"), 1)),
		"E2-faster":    x.Changes(span("E2", "fifo"), span("E2", "prj"), -1, -0.2),
		"E2-varies":    widerThan(span("E2", "prj"), span("E2", "fifo")),
		"E3-slower":    x.AtLeast(x.Of("E3", "slower"), 80),
		"E11-cache":    x.Less(span("E11", "kept"), span("E11", "cleared")),
		"E5-one":       x.Always(x.Of("E5", "first/cbt"), 1, 1),
		"E5-spacing":   x.Always(x.Of("E5", "spacing/cbt"), 30, math.Inf(1)),
		"E5-gap":       x.Within(x.Of("E5", "gap/cbt"), 15, 45),
		"E5-busy":      x.Within(x.Of("E5", "gap-busy/cbt"), 20, 30),
		"E6-smoother":  x.Less(x.Of("E6", "var/ema"), x.Of("E6", "var/sma")),
		"E14-wait":     x.Rises(x.Of("E14", "wait-map"), x.Of("E14", "wait-reduce")),
		"E19-fair":     x.All(x.Always(x.Of("E19", "latency/fair"), 5, 15), x.Always(x.Of("E19", "latency/fair-busy"), 5, 15)),
		"E19-capacity": x.Always(x.Of("E19", "latency/capacity"), 0, 3),
		"E19-busy":     x.Rises(x.Of("E19", "room/idle"), x.Of("E19", "room/busy")),
		"E19-busy-by":  x.Within(x.Difference(x.Of("E19", "room/busy"), x.Of("E19", "room/idle")), 10, 15),
		"E10-order": x.All(x.Less(x.Of("E10", "rate/prj"), x.Of("E10", "rate/cbt")),
			x.Changes(x.Of("E10", "rate/cbt"), x.MaxOf(x.Of("E10", "rate/cbtws"), x.Of("E10", "rate/cbtwat")), 0, math.Inf(1))),
		"E12-peak": x.Each(steered, func(name string) x.Judge {
			return x.AtMost(x.Quotient(x.Of("E12", "disk/"+name), x.Of("E12", "disk/prj")), 1)
		}),
		"E12-lowest":  x.All(x.Changes(x.Of("E12", "disk/cbt"), x.Of("E12", "disk/cbtwat"), -1, 0), x.Changes(x.Of("E12", "disk/cbtws"), x.Of("E12", "disk/cbtwat"), -1, 0)),
		"E15-fits":    x.Always(x.Of("E15", "disk/cbtws"), 0, diskLimit/1e9),
		"E15-prj":     x.AtLeast(x.Of("E15", "disk/prj"), diskLimit/1e9),
		"E16-gain":    x.Each(steered, func(name string) x.Judge { return x.Less(span("E16", name), span("E16", "prj")) }),
		"E16-quicker": x.Each(steered, func(name string) x.Judge { return x.Less(span("E16", name+"-15"), span("E16", name)) }),
		"E17-mini":    x.Each([]string{"prj-2", "prj-3"}, func(name string) x.Judge { return x.Changes(span("E17", "prj"), span("E17", name), -0.05, math.Inf(1)) }),
		"E17-best": x.Each(steered, func(name string) x.Judge {
			return x.All(x.Changes(span("E17", "prj-2"), span("E17", name), -1, 0), x.Changes(span("E17", "prj-3"), span("E17", name), -1, 0))
		}),
	}
	for _, name := range steered[1:] {
		all["E18-"+name] = x.All(x.Always(x.Of("E18", "first/"+name), 1, 1), x.AtLeast(x.Of("E18", "begun/"+name), 45))
	}
	var over, works []x.Judge
	for _, name := range append([]string{"prj"}, steered...) {
		over = append(over, x.Labelled(title(name), x.Always(x.Of("E16", "over/"+name), 0, 0)))
		works = append(works, x.Labelled(title(name), x.Always(x.Of("E16", "jobs/"+name), six, six)))
	}
	all["E16-works"] = x.All(append(works, over...)...)
	for _, c := range steered {
		var parts []x.Judge
		for _, p := range parameters() {
			if slices.Contains(p.of, c) {
				for _, way := range []string{"half", "double"} {
					parts = append(parts, x.Labelled(p.name+" "+way, x.AboutEqual(span("E20", c), span("E20", c+"/"+p.name+"/"+way), 0.05)))
				}
			}
		}
		all["E20-"+c] = x.All(parts...)
	}
	for _, b := range benches() {
		b.judges(all)
	}
	sweepJudges(all)
	needsJudges(all)
	return all
}

func (b *bench) judges(all map[string]x.Judge) {
	e := b.experiment
	prj, cbt, zero := span(e, "prj"), span("E13", b.short+"/cbt"), span("E13", b.short+"/zero")
	mean := paper().Tables[e]["prj"].Mean
	all[e+"-prj"] = x.Within(prj, 0.97*mean, 1.03*mean)
	var best []x.Judge
	for i, name := range steered {
		band := paper().Bands[name]
		all[e+"-"+name] = x.Less(span(e, name), prj)
		all[e+"-"+name+"-band"] = x.Changes(prj, span(e, name), -band[1], -band[0])
		if i > 0 {
			all[e+"-"+name+"-cbt"] = x.Changes(span(e, "cbt"), span(e, name), -1, 0)
		}
		best = append(best, x.Changes(span(e, name), span(e, "ahead"), -1, 0))
	}
	all[e+"-ahead"] = x.Less(span(e, "ahead"), prj)
	all[e+"-ahead-best"] = x.All(best...)
	all[e+"-kalman"] = x.Less(span(e, "kalman-mem"), prj)
	all[e+"-static"] = noneBeats(e)
	all["E13-"+b.short] = x.Less(zero, cbt)
	all["E13-"+b.short+"-most"] = x.AtMost(x.Difference(cbt, zero), 1.1*5*30)
}

func sweepJudges(all map[string]x.Judge) {
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
	all["E4-interior"] = x.Any(interior...)
	all["E4-flat"] = x.All(flat...)
	all["E4-low"] = x.All(x.Less(at(six, 0.3), at(six, 0.1)), x.Less(at(six, 0.3), at(six, 0.2)))
}

// needsJudges are ours: what the gain needs.
func needsJudges(all map[string]x.Judge) {
	for _, kind := range []string{"plain", "long"} {
		var parts []x.Judge
		for _, b := range benches() {
			for _, name := range steered {
				parts = append(parts, x.Labelled(b.name+" "+title(name), x.Changes(span("E21", b.short+"/"+kind+"/prj"), span("E21", b.short+"/"+kind+"/"+name), 0, math.Inf(1))))
			}
		}
		all["E21-"+kind] = x.All(parts...)
	}
	var parts []x.Judge
	for i := range balances {
		if id := balances[i].id; !balances[i].otherJobs {
			parts = append(parts, x.Labelled(balances[i].name, x.All(
				x.Less(span("E22", id+"/cbtws"), span("E22", id+"/prj")), x.Less(span("E22", id+"/cbtws"), span("E22", id+"/cbt")))))
		}
	}
	all["E22-order"] = x.Any(parts...)
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
