package nas

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strings"
	"sync"
	"text/template"

	x "github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/experiment/facebook"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/unit"
)

//go:embed study.yaml
var studyFile []byte

//go:embed sections.tmpl
var story string

// texts are the texts of the study.
var texts = sync.OnceValue(func() *x.Texts { return yamlfile.Decode[x.Texts](studyFile) })

// Study is the study as data.
func Study() *x.Study {
	jobs := facebook.File(facebook.FB2010)
	return study(cloudLab(jobs), wholeDay(jobs))
}

// study is the study with two settings.
func study(testbed, day setting) *x.Study {
	return texts().With(runners(testbed, day), ownJudges, sections)
}

// variants are the schedulers that NAS is compared with, and NAS without parts, by the last word of an experiment's ID; WAIT is the bound of waits for locality.
var variants = map[string]string{
	"fair": "nas:parts=fair", "delay": "nas:parts=delay,skip=WAIT", "sw": "shufflewatcher:node=WAIT,rack=WAIT",
	"mts": "nas:parts=mts,skip=WAIT", "ca": "nas:parts=mts+ca,skip=WAIT", "nas": "nas:skip=WAIT",
	"nott": "nas:threshold=none,skip=WAIT", "noss": "nas:slowstart=fixed,skip=WAIT", "neither": "nas:threshold=none,slowstart=fixed,skip=WAIT",
}

// readings are readings of the source that were not chosen.
var readings = map[string]string{
	"nas/chosen": variants["nas"], "nas/reset": "nas:reset=any,skip=WAIT", "nas/gate": "nas:gate=all,skip=WAIT", "nas/nogate": "nas:gate=no,skip=WAIT", "nas/exempt": "nas:capped=waiting,skip=WAIT",
	"nas/text":    "nas:reset=any,gate=all,skip=WAIT",
	"fair/chosen": variants["fair"], "fair/exempt": "nas:parts=fair,capped=waiting", "delay/chosen": variants["delay"], "delay/text": "nas:parts=delay,reset=any,skip=WAIT",
	"delay/exempt": "nas:parts=delay,capped=waiting,skip=WAIT",
}

// Sweeps.
var (
	maxima = []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} // of T_max, with a T_min of 0.2
	minima = []float64{0.1, 0.2, 0.3, 0.4, 0.5}                // of T_min, with a T_max of 0.5
	users  = []int{50, 100, 200, 400}
)

// bounds is the scheduler with bounds of slow-start.
func bounds(tmin, tmax float64) string {
	return fmt.Sprintf("nas:tmin=%g,tmax=%g,skip=WAIT", tmin, tmax)
}

// runners are the experiments' runs, by ID.
func runners(testbed, day setting) map[string]x.Runner {
	all := map[string]x.Runner{}
	morning := day
	morning.until = 3 * unit.Hour
	for name, spec := range variants {
		all["NAS-R-"+name], all["NAS-S-"+name] = testbed.under(map[string]string{"": spec}), day.under(map[string]string{"": spec})
	}
	sweep := map[string]string{}
	for _, t := range maxima {
		sweep[fmt.Sprintf("max/%g/", t)] = bounds(0.2, t)
	}
	for _, t := range minima {
		sweep[fmt.Sprintf("min/%g/", t)] = bounds(t, 0.5)
	}
	all["NAS-R6"], all["NAS-S11"] = testbed.under(sweep), morning.under(sweep)
	all["NAS-S9"] = func(ctx context.Context, seed uint64) (x.Metrics, error) {
		m := x.Metrics{}
		for _, n := range users {
			s := morning
			s.users = n
			if err := s.play(ctx, seed, variants["nas"], fmt.Sprintf("%d/", n), m); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	other := map[string]string{}
	for name, spec := range readings {
		other[name+"/"] = spec
	}
	all["NAS-X1"] = testbed.under(other)
	onDay := map[string]string{}
	for _, name := range []string{"fair/exempt", "delay/exempt", "nas/exempt", "delay/text", "nas/text", "nas/nogate"} {
		onDay[name+"/"] = readings[name]
	}
	all["NAS-X3"] = day.under(onDay)
	one := testbed
	one.alone = true
	all["NAS-X2"] = one.under(map[string]string{"fair/": variants["fair"], "ca/": variants["ca"], "nogate/": readings["nas/nogate"], "nas/": variants["nas"]})
	probe := map[string]string{}
	for _, specs := range []map[string]string{variants, readings, {"bounds": bounds(0.1, 0.9)}} {
		for name, spec := range specs {
			probe[name+"/"] = spec
		}
	}
	all["NAS-P"] = small().under(probe)
	return all
}

// ownJudges are the judges that the study adds to those of package experiment.
var ownJudges = map[string]func(words []string, q []x.Quantity) x.Judge{
	// interior holds when a figure of a sweep is best, in the mean over seeds, at neither of its ends: an experiment with a sweep, a figure, and its sign.
	"interior": func(words []string, q []x.Quantity) x.Judge {
		id, what, _ := strings.Cut(words[0], " ")
		sweep, figure, _ := strings.Cut(what, "/")
		values := map[string][]float64{"max": maxima, "min": minima}[sweep]
		return x.Judge{
			Rule: fmt.Sprintf("%s: the best mean of %s is at none of the ends of T_%s %v", id, figure, sweep, values),
			Of: func(r *x.Runs) x.Judgement {
				best, list := 0, make([]float64, len(values))
				for i, t := range values {
					if list[i] = r.Estimate(id, fmt.Sprintf("%s/%g/%s", sweep, t, figure)).Mean; list[i] > list[best] != (words[1] == "-1") && list[i] != list[best] {
						best = i
					}
				}
				last := len(values) - 1
				return x.Judgement{
					Holds: best > 0 && best < last, Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN(),
					Ours: fmt.Sprintf("best at %g: %s; at the ends %s and %s", values[best], x.Number(list[best]), x.Number(list[0]), x.Number(list[last])),
				}
			},
		}
	},
}

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	return x.Story(story, r, template.FuncMap{
		"maxima": func() []float64 { return maxima }, "minima": func() []float64 { return minima }, "users": func() []int { return users }, "text": func(v any) string { return fmt.Sprint(v) },
		"percent": func(v float64) string { return x.Number(100*v) + " %" },
		"ratio": func(e, of, to string) string {
			a, b := r.Values(e, of), r.Values(e, to)
			for i := range a {
				a[i] /= b[i]
			}
			return x.Interval(result.Mean(a))
		},
	})
}
