package nas

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim/am"
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

// Study is the study as data.
func Study() *x.Study {
	jobs := facebook.File(facebook.FB2010)
	return study(cloudLab(jobs), fiveHours(jobs), fifth(jobs))
}

// study is the study with three settings.
func study(testbed, hours, part setting) *x.Study {
	return texts().With(runners(testbed, hours, part), ownJudges, sections)
}

// variants are the schedulers that NAS is compared with, and NAS without parts, by the last word of an experiment's ID; WAIT is the bound of waits for locality,
// CAP how reduces leave room for maps.
var variants = map[string]string{
	"fair": "nas:parts=fair," + printed, "delay": "nas:parts=delay,skip=WAIT," + printed, "sw": "shufflewatcher:node=WAIT,rack=WAIT,CAP",
	"mts": "nas:parts=mts,skip=WAIT," + printed, "ca": "nas:parts=mts+ca,skip=WAIT," + printed, "nas": "nas:skip=WAIT," + printed,
	"nott": "nas:threshold=none,skip=WAIT," + printed, "noss": "nas:slowstart=fixed,skip=WAIT," + printed, "neither": "nas:threshold=none,slowstart=fixed,skip=WAIT," + printed,
}

// printed is the scheduler as the source prints it: reduces are tried before maps, and maps of jobs known to shuffle much do not start in congested racks.
const printed = "first=reduces,gate=known,CAP"

// readings are readings of the source that were not chosen.
var readings = map[string]string{
	"nas/chosen": variants["nas"], "nas/soft": "nas:skip=WAIT,first=reduces,gate=soft,CAP", "nas/nogate": "nas:skip=WAIT,first=reduces,gate=no,CAP",
	"nas/text": "nas:reset=any,skip=WAIT,first=reduces,gate=all,CAP", "nas/maps": "nas:skip=WAIT,first=fair,gate=no,CAP",
	"fair/chosen": variants["fair"],
}

// Sweeps.
var (
	maxima = []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} // of T_max, with a T_min of 0.2
	minima = []float64{0.1, 0.2, 0.3, 0.4, 0.5}                // of T_min, with a T_max of 0.5
	users  = []int{50, 100, 200, 400}
)

// bounds is the scheduler with bounds of slow-start.
func bounds(tmin, tmax float64) string {
	return fmt.Sprintf("nas:tmin=%g,tmax=%g,skip=WAIT,%s", tmin, tmax, printed)
}

// runners are the experiments' runs, by ID.
func runners(testbed, hours, part setting) map[string]x.Runner {
	all := map[string]x.Runner{}
	for name, spec := range variants {
		all["NAS-R-"+name], all["NAS-S-"+name] = testbed.under(map[string]string{"": spec}), hours.under(map[string]string{"": spec})
	}
	sweep := map[string]string{}
	for _, t := range maxima {
		sweep[fmt.Sprintf("max/%g/", t)] = bounds(0.2, t)
	}
	for _, t := range minima {
		sweep[fmt.Sprintf("min/%g/", t)] = bounds(t, 0.5)
	}
	all["NAS-R6"] = testbed.under(sweep)
	hours.until = 2 * unit.Hour
	all["NAS-S11"] = hours.under(sweep)
	all["NAS-S9"] = together(func(run func(prefix string, s setting, spec string)) {
		for _, n := range users {
			s := hours
			s.users = n
			run(fmt.Sprintf("%d/", n), s, variants["nas"])
		}
	})
	other := map[string]string{}
	for name, spec := range readings {
		other[name+"/"] = spec
	}
	all["NAS-X1"] = testbed.under(other)
	all["NAS-X2"] = together(func(run func(prefix string, s setting, spec string)) {
		for name, change := range origins {
			s := part
			change(&s)
			for _, v := range []string{"fair", "nas"} {
				run(name+"/"+v+"/", s, variants[v])
			}
		}
	})
	probe := map[string]string{}
	for _, specs := range []map[string]string{variants, readings, {"bounds": bounds(0.1, 0.9)}} {
		for name, spec := range specs {
			probe[name+"/"] = spec
		}
	}
	all["NAS-P"] = small().under(probe)
	return all
}

// origins are the settings that tell where a gain comes from.
var origins = map[string]func(*setting){
	"read": func(*setting) {}, "cluster": func(s *setting) { s.capped = ofCluster }, "short": func(s *setting) { s.short = true },
	"former": func(s *setting) { s.short, s.capped = true, ofCluster }, "hadoop": func(s *setting) { s.am, s.capped = am.Hadoop, "cap=1" },
}

// ownJudges are the judges that the study adds to those of package experiment.
var ownJudges = map[string]func(words []string, q []x.Quantity) x.Judge{
	// interior holds when a figure of a sweep is best, in the mean over seeds, at neither of its ends: an experiment with a sweep, a figure, and its sign. Where
	// the best is no better than the ends, or the best end no better than what is between, by more than chance, it says nothing.
	"interior": func(words []string, q []x.Quantity) x.Judge {
		id, what, _ := strings.Cut(words[0], " ")
		sweep, figure, _ := strings.Cut(what, "/")
		values := map[string][]float64{"max": maxima, "min": minima}[sweep]
		return x.Judge{
			Rule: fmt.Sprintf("%s: the best mean of %s is at none of the ends of T_%s %v", id, figure, sweep, values),
			Of: func(r *x.Runs) x.Judgement {
				list, points := make([]float64, len(values)), make([]x.Quantity, len(values))
				for i, t := range values {
					points[i] = x.Of(id, fmt.Sprintf("%s/%g/%s", sweep, t, figure))
					list[i] = result.Mean(points[i].Values(r)).Mean
				}
				last, less := len(values)-1, words[1] == "-1"
				best, inner := 0, 1 // of all, and of those between the ends
				for i := range list {
					if list[i] != list[best] && list[i] > list[best] != less {
						best = i
					}
					if i > 0 && i < last && list[i] != list[inner] && list[i] > list[inner] != less {
						inner = i
					}
				}
				better := func(than, point int) bool {
					if less {
						return x.Falls(points[than], points[point]).Of(r).Holds
					}
					return x.Rises(points[than], points[point]).Of(r).Holds
				}
				j := x.Judgement{
					Holds: best == inner, Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN(),
					Ours: fmt.Sprintf("best at %g: %s; at the ends %s and %s", values[best], x.Number(list[best]), x.Number(list[0]), x.Number(list[last])),
				}
				if j.Holds && !(better(0, best) && better(last, best)) || !j.Holds && !better(inner, best) {
					j.Vacuous = "the ends differ from what is between them by no more than chance"
				}
				return j
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
			return x.Interval(result.Mean(slices.DeleteFunc(a, math.IsNaN))) // seeds that were not run
		},
	})
}
