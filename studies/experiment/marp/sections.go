package marp

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	control "github.com/yardmaster/yardmaster/steer/marp"
	x "github.com/yardmaster/yardmaster/studies/experiment"
)

//go:embed sections.tmpl
var story string

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	box := func(e, name string) *box {
		b := boxOf(r.Values(e, "makespan/"+name))
		return &b
	}
	names := func(list []string) func() []string { return func() []string { return list } }
	return x.Story(story, r, template.FuncMap{
		"benches": benches, "sources": names(sourceNames), "steered": names(steered), "ours": names(ours), "compared": names(compared), "gainNames": names(gainNames[:]), "title": title, "seconds": seconds, "box": box,
		"balances": func() []balance { return balances }, "parameters": parameters, "six": func() []int { return []int{1, 2, 3, 4, 5, 6} },
		"printed": func(e, name string) published {
			if p, ok := paper().Tables[e][name]; ok {
				return p
			}
			nan := math.NaN()
			return published{Median: nan, Lower: nan, Upper: nan, LowExtreme: nan, HighExtreme: nan}
		},
		"printedGain": func(e, name string, i int) float64 { return paper().Gains[e][name][i] },
		"gain": func(e, name string, i int) string {
			return fmt.Sprintf("%.1f", 100*gains(box(e, "prj"), box(e, name))[i])
		},
		"saved": func(e, name string) string {
			j := x.Changes(span(e, "prj"), span(e, name), -1, 1).Of(r)
			return x.Point{Mean: -100 * j.Value, Lo: -100 * j.Hi, Hi: -100 * j.Lo}.String()
		},
		"change": func(v, base float64) string { return fmt.Sprintf("%+.1f", 100*(v/base-1)) }, "gained": func(v, base float64) string { return fmt.Sprintf("%.1f", 100*(1-v/base)) },
		"points": func(from, to, base float64) string { return fmt.Sprintf("%.1f", 100*(from-to)/base) },
		"first":  func(e, metric string) float64 { return r.Values(e, metric)[0] },
		"curve":  func(e, metric string) []sample { return firstCurve(r, e, metric) }, "meanCurves": func(e, metric string) []sample { return meanCurves(r, e, metric) },
		"sweep": func() (list []string) {
			for _, s := range control.Sweep() {
				list = append(list, fmt.Sprintf("%.1f", s.Value))
			}
			return list
		},
		"halved": func(controller, parameter, way string) string {
			return fmt.Sprintf("%+.1f", 100*x.Changes(span("E20", controller), span("E20", controller+"/"+parameter+"/"+way), -1, 1).Of(r).Value)
		},
	})
}

func seconds(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.1f", v)
}

// sample is a curve's value at an instant, in seconds; or the values of several curves.
type sample struct {
	At     string
	Value  float64
	Values []float64
}

// firstCurve is a curve of the first seed.
func firstCurve(r *x.Runs, e, metric string) (all []sample) {
	for _, name := range r.Metrics(e) {
		if at, ok := strings.CutPrefix(name, metric+"/"); ok {
			if v := r.Values(e, name)[0]; !math.IsNaN(v) {
				all = append(all, sample{At: strings.TrimLeft(at, "0"), Value: v})
			}
		}
	}
	return all
}

// meanCurves are means over seeds of the source's variants, while at least half of the seeds are still running.
func meanCurves(r *x.Runs, e, metric string) (all []sample) {
	for k, name := range sourceNames {
		for _, m := range r.Metrics(e) {
			at, ok := strings.CutPrefix(m, metric+name+"/")
			est := r.Estimate(e, m)
			if !ok || 2*est.N < len(r.Seeds()) {
				continue
			}
			i := slices.IndexFunc(all, func(s sample) bool { return s.At == at })
			if i < 0 {
				i, all = len(all), append(all, sample{At: at, Values: slices.Repeat([]float64{math.NaN()}, len(sourceNames))})
			}
			all[i].Values[k] = est.Mean
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return strings.Compare(a.At, b.At) })
	for i := range all {
		all[i].At = strings.TrimLeft(all[i].At, "0")
	}
	return all
}
