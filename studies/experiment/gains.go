package experiment

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

// Gains are the figures of ways to run one workload, measured and predicted. A gain is the fall of a figure against the way Base: 0.4 is 40 % less.
type Gains struct {
	Ways                []string
	Base                string
	Measured, Predicted *Runs // Predicted may lack ways
}

// Gain is that of a way.
func (g *Gains) Gain(of *Runs, way, metric string) float64 {
	return 1 - of.Estimate(way, metric).Mean/of.Estimate(g.Base, metric).Mean
}

// Off is the predicted gain less the measured one.
func (g *Gains) Off(way, metric string) float64 {
	return g.Gain(g.Predicted, way, metric) - g.Gain(g.Measured, way, metric)
}

// Half is half the width of the interval of a measured gain.
func (g *Gains) Half(way, metric string) float64 {
	return g.Measured.Relative(g.Base, way, metric).Half()
}

// Order lists the ways by a figure, best first.
func (g *Gains) Order(of *Runs, metric string) string {
	list := slices.DeleteFunc(slices.Clone(g.Ways), func(way string) bool { return of.Estimate(way, metric).N == 0 })
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(of.Estimate(a, metric).Mean, of.Estimate(b, metric).Mean) })
	return strings.Join(list, ", ")
}

//go:embed gains.svg.tmpl
var gainsText string

// Picture shows, for each way, every measured run as a dot and the prediction as a bar, in a panel for each figure. Figures are ratios of 1 and more, and seldom more
// than 20. measured says what the dots are.
func (g *Gains) Picture(file, measured string, metrics []string, titles map[string]string) error {
	const width, step = 620.0, 30.0
	ways, left, ticks := float64(len(g.Ways)), 70.0, []float64{1, 2, 5, 10, 20}
	for _, way := range g.Ways {
		left = max(left, 16+8*float64(len(way)))
	}
	largest := 0.0
	for _, metric := range metrics {
		for _, way := range g.Ways {
			for _, v := range slices.Concat(g.Measured.Values(way, metric), g.Predicted.Values(way, metric)) {
				if v > largest { // not so if there is no value
					largest = v
				}
			}
		}
	}
	for n := len(ticks); ticks[n-1] < largest; n++ {
		ticks = append(ticks, 10*ticks[n-3])
	}
	largest = ticks[len(ticks)-1]
	top := func(panel int) float64 { return 40 + float64(panel)*(step*ways+70) }
	_, err := evidence.Page(gainsText, file, map[string]any{"G": g, "Measured": measured, "Metrics": metrics, "Titles": titles}, template.FuncMap{
		"x": func(v float64) string {
			return fmt.Sprintf("%.1f", left+math.Log(min(max(v, 1), largest))/math.Log(largest)*width)
		},
		"y":      func(panel int, by float64) string { return fmt.Sprintf("%.1f", top(panel)+by) },
		"foot":   func(panel int, by float64) string { return fmt.Sprintf("%.1f", top(panel)+step*ways+6+by) },
		"row":    func(panel, i int, by float64) string { return fmt.Sprintf("%.1f", top(panel)+step*(float64(i)+0.7)+by) },
		"height": func() float64 { return top(len(metrics)) - 10 }, "ticks": func() []float64 { return ticks },
		"width": func() float64 { return left + width + 30 }, "left": func(by float64) string { return fmt.Sprintf("%g", left+by) },
		"dots": func(way, metric string) []float64 {
			return slices.DeleteFunc(g.Measured.Values(way, metric), math.IsNaN)
		},
	})
	return err
}
