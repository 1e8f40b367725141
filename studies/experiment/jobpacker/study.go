package jobpacker

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"
	"text/template"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
)

//go:embed study.yaml
var studyFile []byte

//go:embed sections.tmpl
var story string

// texts are the texts of the study.
var texts = sync.OnceValue(func() *x.Texts { return yamlfile.Decode[x.Texts](studyFile) })

// Study is the study as data. It needs the trace FB-2010 (see package facebook), except for its probe.
func Study() *x.Study { return study(facebook.File(facebook.FB2010)) }

func study(from facebook.Source) *x.Study { return texts().With(runners(from), nil, sections) }

// named are runs by the prefix of their figures.
type named map[string]setting

// against are runs of several schedulers, with changes.
func against(at *site, batch bool, schedulers []string, change func(*setting)) named {
	n := named{}
	for _, name := range schedulers {
		s := standard(at, name, batch)
		change(&s)
		n[name+"/"] = s
	}
	return n
}

// sweep are runs with values of a setting, online on the simulated cluster unless changed.
func sweep[T any](values []T, scheduler string, change func(*setting, T)) named {
	n := named{}
	for _, v := range values {
		s := standard(simulated, scheduler, false)
		change(&s, v)
		n[fmt.Sprint(v, "/", scheduler, "/")] = s
	}
	return n
}

// under puts a prefix before those of runs.
func (n named) under(prefix string) named {
	out := named{}
	for name, s := range n {
		out[prefix+name] = s
	}
	return out
}

func join(all ...named) named {
	out := named{}
	for _, n := range all {
		maps.Copy(out, n)
	}
	return out
}

func asIs(*setting) {}

// mixed is a mix of recurring and other jobs. Only plans depend on that.
func mixed(s *setting) {
	if s.scheduler == jobPacker || s.scheduler == corral {
		s.forecast.Recurring = mix
		s.over = 1
	}
}

// bySize lets smaller jobs of a plan go first, as "yardmaster plan" does.
func bySize(s *setting) { s.bySize = true }

func limited(s *setting) {
	mixed(s)
	s.limit = true
}

func wrongSizes(s *setting, percent int) { s.forecast.Shuffle = float64(percent) / 100 }

func wrongTimes(s *setting, percent int) {
	if percent > 0 {
		s.forecast.Shifted, s.forecast.Shift = float64(percent)/100, 200
	}
}

// Values of the sweeps.
var (
	percents   = []int{0, 10, 20, 30, 40, 50}
	slowStarts = []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
	overs      = []float64{0, 0.5, 1, 1.5, 2}
	intervals  = []float64{0.1, 0.5, 1, 2, 3}
	subBatches = []int{1, 2, 3, 5, 10, 20}
	uplinks    = []float64{1.5, 5}
)

var (
	everyone   = []string{jobPacker, fHybrid, corral, fEPS, noNetwork}
	contenders = []string{jobPacker, fHybrid, corral}
)

// plans are the runs that each experiment needs.
func plans() map[string]named {
	interval := func(s *setting, v float64) { s.interval = unit.FromSeconds(v) }
	p := map[string]named{
		"JP-S1": against(simulated, true, everyone, asIs),
		"JP-S2": against(simulated, false, everyone, asIs),
		"JP-S3": against(simulated, false, everyone[:4], mixed),
		"JP-S4": join(against(simulated, false, everyone[:1], mixed), against(simulated, false, everyone[:1], limited).under("limited/")),
		"JP-E1": against(emulated, true, everyone, asIs),
		"JP-E2": against(emulated, false, everyone, asIs),
		"JP-E3": against(emulated, false, everyone[:4], mixed),
		"JP-T1": join(sweep(percents, jobPacker, wrongSizes), sweep(percents[5:], corral, wrongSizes), against(simulated, false, contenders[1:2], asIs)),
		"JP-T2": join(sweep(percents, jobPacker, wrongTimes), sweep(percents[5:], corral, wrongTimes), against(simulated, false, contenders[1:2], asIs)),
		"JP-T3": sweep(slowStarts, jobPacker, func(s *setting, v float64) { s.slowStart = v }),
		"JP-T4": sweep(overs, jobPacker, func(s *setting, v float64) {
			mixed(s)
			s.over = v
		}),
		"JP-T5": join(sweep(intervals, jobPacker, interval), sweep(intervals[4:], fHybrid, interval)),
		"JP-T6": sweep(subBatches, jobPacker, func(s *setting, v int) { s.batch, s.batches = true, v }),
		"JP-F":  {}, "JP-N1": {}, "JP-N2": {},
		"JP-N3": join(against(simulated, false, everyone[:1], bySize).under("selected/"), against(simulated, false, everyone[:1], func(s *setting) { bySize(s); s.random = true }).under("random/")),
		"JP-N4": {},
	}
	for name, batch := range map[string]bool{"batch/": true, "online/": false} {
		maps.Copy(p["JP-N4"], against(emulated, batch, everyone[:4], func(s *setting) { s.all = true }).under(name))
		for _, v := range uplinks {
			maps.Copy(p["JP-F"], against(simulated, batch, everyone[:4], func(s *setting) { s.uplink, s.figure, s.random = v, true, true }).under(fmt.Sprint(v, "/", name)))
		}
		maps.Copy(p["JP-N1"], against(simulated, batch, everyone[:4], func(s *setting) { s.random = true }).under(name))
		maps.Copy(p["JP-N2"], against(simulated, batch, contenders, func(s *setting) { s.few = true }).under(name))
	}
	// On a synthetic trace, what every setting changes.
	of := []named{against(emulated, true, contenders, asIs).under("emulated/"), against(simulated, false, everyone, asIs).under("online/")}
	for name, change := range changes {
		of = append(of, against(emulated, inBatch(name), contenders[:1], change).under(name+"/"))
	}
	of = append(of, against(simulated, false, contenders[:2], func(s *setting) { s.few = true }).under("few/"))
	p["JP-0"] = join(of...)
	return p
}

// changes are a change of each setting that the experiments change.
var changes = map[string]func(*setting){
	"uplink": func(s *setting) { s.uplink = 3 }, "interval": func(s *setting) { s.interval = 3 * unit.Second }, "reduce": func(s *setting) { s.reduce = 100e9 },
	"lengths": func(s *setting) { s.figure = true }, "slow-start": func(s *setting) { s.slowStart = 0.2 }, "sub-batches": func(s *setting) { s.batches = 1 },
	"mix": mixed, "over-provision": func(s *setting) { mixed(s); s.over = 0 }, "limited": limited,
	"random": func(s *setting) { s.random = true }, "all": func(s *setting) { s.all = true }, "by size": bySize,
	"sizes": func(s *setting) { wrongSizes(s, 50) }, "times": func(s *setting) { wrongTimes(s, 50) },
}

// inBatch reports whether a change is seen in a batch only.
func inBatch(change string) bool { return change == "sub-batches" || change == "slow-start" }

// standIn is a synthetic trace: few of its jobs are heavy.
func standIn() facebook.Source { return facebook.StandIn(600, 300e9) }

// runners are the experiments' runs, by ID. They share a cache.
func runners(from facebook.Source) map[string]x.Runner {
	cache := &x.Cache[sample, setting]{Make: draw(from), Run: play}
	small := &x.Cache[sample, setting]{Make: draw(standIn()), Run: play}
	run := map[string]x.Runner{
		"JP-W": func(_ context.Context, seed uint64) (x.Metrics, error) {
			drawn, err := cache.Workload(seed)
			if err != nil {
				return nil, err
			}
			m := x.Metrics{}
			for name, at := range map[string]*site{"simulated/": simulated, "emulated/": emulated} {
				s := standard(at, "", true)
				m.Add(name, s.statistics(s.of(drawn)))
				s.random = true
				m.Add("random/"+name, s.statistics(s.of(drawn)))
			}
			return m, nil
		},
	}
	for id, runs := range plans() {
		c := cache
		if id == "JP-0" {
			c = small
		}
		run[id] = func(ctx context.Context, seed uint64) (x.Metrics, error) { return c.Get(ctx, seed, runs) }
	}
	return run
}

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	titles := map[string]string{
		jobPacker: "JobPacker", fHybrid: "F-Hybrid", corral: "Corral", fEPS: "F-EPS", noNetwork: "Fair, no network", "JP-T1": "Error of shuffle sizes, %",
		"JP-T2": "Jobs with a wrong arrival, %", "JP-T3": "Slow-start", "JP-T4": "Over-provisioning", "JP-T5": "Interval of the circuit switch, s",
	}
	values := map[string]any{"JP-T1": percents, "JP-T2": percents, "JP-T3": slowStarts, "JP-T4": overs, "JP-T5": intervals, "JP-T6": subBatches}
	return x.Story(story, r, template.FuncMap{
		"everyone": func() []string { return everyone }, "contenders": func() []string { return contenders }, "title": func(of string) string { return titles[of] },
		"values": func(id string) []string { return strings.Fields(strings.Trim(fmt.Sprint(values[id]), "[]")) },
	})
}
