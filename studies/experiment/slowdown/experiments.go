package slowdown

import (
	"context"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	x "github.com/yardmaster/yardmaster/studies/experiment"
)

// scheduler is a policy with settings, and the share of the nodes in its first partition; 0: it has none.
type scheduler struct {
	name, spec string
	share      float64
}

// The policies with the source's best settings. Predicted sizes are off by a factor exp(0.3 z).
const noise = 0.3

func fifo() scheduler { return scheduler{name: "fifo", spec: "fifo"} }

func fbq(limit int) scheduler { return scheduler{name: "fbq", spec: fmt.Sprint("fbq:limits=", limit)} }

func tags(share float64, limit int) scheduler {
	return scheduler{"tags", fmt.Sprintf("tags:limits=%d,shares=%g", limit, share), share}
}

func sita(share float64, limit int, noise float64, seed uint64) scheduler {
	return scheduler{"sita", fmt.Sprintf("sita:limits=%d,shares=%g,predictor=oracle,noise=%g,seed=%d", limit, share, noise, seed), share}
}

func comp(queues int, noise float64, seed uint64) scheduler {
	return scheduler{name: "comp", spec: fmt.Sprintf("comp:queues=%d,predictor=oracle,noise=%g,seed=%d", queues, noise, seed)}
}

// with adds settings.
func (s scheduler) with(name, settings string) scheduler {
	s.name, s.spec = name, s.spec+","+settings
	return s
}

// as renames it.
func (s scheduler) as(name string) scheduler {
	s.name = name
	return s
}

// fbq4 is FBQ with four queues.
func fbq4() scheduler { return scheduler{name: "fbq4", spec: "fbq:limits=4000,10000,36000"} }

// best are all policies with the best settings.
func best(seed uint64) []scheduler {
	return []scheduler{fifo(), fbq(12_000), bestTAGS(), bestSITA(seed), comp(2, noise, seed)}
}

func bestTAGS() scheduler            { return tags(0.5, 14_000) }
func bestSITA(seed uint64) scheduler { return sita(0.3, 18_000, noise, seed) }

// Grids of the sweeps.
var (
	shares     = []float64{0.1, 0.2, 0.3, 0.4, 0.5}
	gridLimits = []int{8_000, 14_000, 18_000, 24_000, 40_000}
	partLimits = []int{4_000, 8_000, 12_000, 14_000, 16_000, 18_000, 20_000, 24_000, 40_000}
	fbqLimits  = []int{2_000, 4_000, 8_000, 10_000, 12_000, 14_000, 16_000, 20_000, 30_000}
)

// setting is one run of an experiment.
type setting struct {
	definition string
	load       float64
	scheduler
}

// at are runs of several policies at some loads.
func at(definitions []string, loads []float64, policies ...scheduler) (list []setting) {
	for _, d := range definitions {
		for _, load := range loads {
			for _, s := range policies {
				list = append(list, setting{d, load, s})
			}
		}
	}
	return list
}

// grid are the runs of SV-2a and SV-2b.
func grid(seed uint64) []setting {
	list := []scheduler{fifo()}
	for _, share := range shares {
		for _, limit := range gridLimits {
			name := fmt.Sprintf("/%g/%d", share, limit)
			list = append(list, tags(share, limit).as("tags"+name), sita(share, limit, noise, seed).as("sita"+name))
		}
	}
	return at(sweeps, light, list...)
}

// The loads, and the definitions of load; sweeps use the second.
var (
	light, both         = []float64{0.7}, []float64{0.7, 0.9}
	definitions, sweeps = []string{total, bottleneck}, []string{bottleneck}
)

// plans are the runs of W-1121 that each experiment needs.
var plans = map[string]func(seed uint64) []setting{
	"SV-1":  func(uint64) []setting { return at(definitions, light, fifo()) },
	"SV-2a": grid, "SV-2b": grid,
	"SV-2c": func(seed uint64) []setting {
		var list []scheduler
		for _, limit := range partLimits {
			list = append(list, tags(0.5, limit).as(fmt.Sprint("tags/", limit)), sita(0.3, limit, noise, seed).as(fmt.Sprint("sita/", limit)))
		}
		return at(sweeps, light, list...)
	},
	"SV-2d": func(uint64) []setting {
		list := []scheduler{fifo()}
		for _, limit := range fbqLimits {
			list = append(list, fbq(limit).as(fmt.Sprint("fbq/", limit)))
		}
		return at(sweeps, both, list...)
	},
	"SV-2e": optima, "SV-3": optima,
	"SV-4": func(seed uint64) []setting { return at(definitions, both, best(seed)...) },
	"SV-5": func(seed uint64) []setting { return at(definitions, light, best(seed)...) },
	"SV-6": func(seed uint64) []setting {
		return at(definitions, both[1:], fbq(12_000), fbq4(), comp(2, noise, seed), comp(4, noise, seed).as("comp4"))
	},
	"SV-X2": func(seed uint64) []setting {
		list := []scheduler{{"sita/input", "sita:limits=18000,shares=0.3", 0.3}}
		for _, sigma := range []float64{0, noise, 1} {
			list = append(list, sita(0.3, 18_000, sigma, seed).as(fmt.Sprint("sita/", sigma)), comp(2, sigma, seed).as(fmt.Sprint("comp/", sigma)))
		}
		return at(sweeps, light, list...)
	},
	"SV-X3": func(uint64) []setting {
		return at(sweeps, light, fbq(12_000), fbq(12_000).with("completed", "count=completed"))
	},
	"SV-X4": func(uint64) (list []setting) {
		for _, reduces := range []string{"hold", "release", "defer"} {
			change := func(s scheduler) scheduler { return s.with(s.name+"/"+reduces, "reduces="+reduces) }
			list = append(list, at(sweeps, light, change(fbq(12_000)), change(bestTAGS()))...)
			list = append(list, at(sweeps, both[1:], change(fbq(12_000)), change(fbq4()))...)
		}
		return list
	},
}

func optima(seed uint64) []setting { return at(definitions, light, bestTAGS(), bestSITA(seed)) }

// runners are the experiments' runs, by ID. They share a seed cache.
func runners() map[string]x.Runner {
	c := newCache()
	run := map[string]x.Runner{
		"SV-0a": aloneTimes, "SV-0b": aloneTimes, "SV-0c": validation, "SV-X1": processorSharing,
		"SV-W": func(_ context.Context, seed uint64) (x.Metrics, error) {
			w, err := c.Workload(seed)
			return w.statistics(), err
		},
	}
	for id, plan := range plans {
		run[id] = func(ctx context.Context, seed uint64) (x.Metrics, error) {
			return playAll(ctx, c, seed, plan(seed))
		}
	}
	return run
}

// playAll returns the figures of several runs, named definition/load/policy/figure.
func playAll(ctx context.Context, c *cache, seed uint64, list []setting) (x.Metrics, error) {
	name := func(p setting) string { return fmt.Sprintf("%s/%g/%s/", p.definition, p.load, p.name) }
	of := map[string]playing{}
	for _, p := range list {
		of[name(p)] = playing{p.load, p.definition, p.spec}
	}
	m, err := c.Get(ctx, seed, of)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if at := name(p); p.share > 0 {
			m[at+"u1"] = m[at+"busy"] * m[at+"work1"] / p.share
			m[at+"u2"] = m[at+"busy"] * (1 - m[at+"work1"]) / (1 - p.share)
		}
	}
	return m, nil
}

// statistics are those by which W-1121 is accepted.
func (w *w1121) statistics() x.Metrics {
	return x.Metrics{
		"jobs": float64(len(w.jobs)), "reference/hours": sum(w.reference) / 3600, "reference/scv": result.SCV(w.reference),
		"reference/orders": slices.Max(w.reference) / slices.Min(w.reference), "reference/median": result.Quantile(w.reference, 0.5),
		"size/scv": result.SCV(w.sizes), "size/top8": w.topLoad(), "size/mean": sum(w.sizes) / jobs, "size/median": result.Quantile(w.sizes, 0.5),
		"size/min": slices.Min(w.sizes), "size/max": slices.Max(w.sizes), "maps": w.mapWork / w.allWork, "tasks/min": slices.Min(w.tasks), "tasks/max": slices.Max(w.tasks),
		"gap/total": w.gap(0.7, total), "gap/bottleneck": w.gap(0.7, bottleneck),
	}
}
