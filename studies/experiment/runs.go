package experiment

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

// Runs are the figures of the experiments that were run, by seed.
type Runs struct {
	seeds   []uint64
	metrics map[string][]Metrics // by experiment, in the order of seeds; nil where a run is missing
	asked   *asked               // what judges read; nil: not recorded
}

// asked records what a judge read.
type asked struct {
	experiments []string
	missing     []string // "E01 ratio/9": figures that no run has
}

// NewRuns makes runs of existing figures, for tests of checks: by experiment and then by seed, in the order of seeds.
func NewRuns(seeds []uint64, metrics map[string][]Metrics) *Runs {
	return &Runs{seeds: seeds, metrics: metrics}
}

// Seeds are the seeds, in order.
func (r *Runs) Seeds() []uint64 { return r.seeds }

// Has reports whether the experiments have at least one seed in common.
func (r *Runs) Has(experiments ...string) bool { return len(r.common(experiments)) > 0 }

// Values are the values of a figure by seed, in the order of Seeds; NaN where a run does not have it.
func (r *Runs) Values(experiment, metric string) []float64 {
	found := false
	values := make([]float64, len(r.seeds))
	for i := range values {
		values[i] = math.NaN()
		if runs := r.metrics[experiment]; i < len(runs) {
			if v, ok := runs[i][metric]; ok {
				values[i], found = v, true
			}
		}
	}
	if r.asked != nil {
		if !slices.Contains(r.asked.experiments, experiment) {
			r.asked.experiments = append(r.asked.experiments, experiment)
		}
		if name := experiment + " " + metric; !found && !slices.Contains(r.asked.missing, name) {
			r.asked.missing = append(r.asked.missing, name)
		}
	}
	return values
}

// Estimate is the mean of a figure over the seeds that have it, with its 95 % interval.
func (r *Runs) Estimate(experiment, metric string) result.Estimate {
	return estimate(r.Values(experiment, metric))
}

// Relative is the relative change of a figure from one experiment to another, with an interval of 95 % from those of the two means.
func (r *Runs) Relative(from, to, metric string) result.Estimate {
	a, b := r.Estimate(from, metric), r.Estimate(to, metric)
	half := b.Mean / a.Mean * math.Hypot(a.Half()/a.Mean, b.Half()/b.Mean)
	if !a.Known || !b.Known { // of a single run
		half = math.Inf(1)
	}
	change := b.Mean/a.Mean - 1
	return result.Estimate{N: min(a.N, b.N), Mean: change, Low: change - half, High: change + half, Known: !math.IsInf(half, 1)}
}

// Point is Estimate for a chart.
func (r *Runs) Point(experiment, metric string) Point { return point(r.Estimate(experiment, metric)) }

func point(e result.Estimate) Point {
	if e.N == 0 {
		return Point{math.NaN(), math.NaN(), math.NaN()}
	}
	return Point{e.Mean, e.Low, e.High}
}

// Metrics are the names of all figures of an experiment, sorted.
func (r *Runs) Metrics(experiment string) []string {
	var names []string
	for _, m := range r.metrics[experiment] {
		for name := range m {
			if i, found := slices.BinarySearch(names, name); !found {
				names = slices.Insert(names, i, name)
			}
		}
	}
	return names
}

// common are the indices of the seeds that all the experiments have.
func (r *Runs) common(experiments []string) []int {
	var at []int
	for i := range r.seeds {
		if !slices.ContainsFunc(experiments, func(e string) bool {
			runs := r.metrics[e]
			return i >= len(runs) || runs[i] == nil
		}) {
			at = append(at, i)
		}
	}
	return at
}

// only is the part with the seeds that the experiments have in common, as passed to a judge.
func (r *Runs) only(experiments []string) *Runs {
	at := r.common(experiments)
	part := &Runs{metrics: map[string][]Metrics{}, asked: &asked{}}
	for _, i := range at {
		part.seeds = append(part.seeds, r.seeds[i])
	}
	for _, e := range experiments {
		for _, i := range at {
			part.metrics[e] = append(part.metrics[e], r.metrics[e][i])
		}
	}
	return part
}

// estimate is the mean of the values, ignoring NaN.
func estimate(values []float64) result.Estimate {
	return result.Mean(slices.DeleteFunc(slices.Clone(values), math.IsNaN))
}

// Quantity is a figure that a check uses: one value per seed.
type Quantity struct {
	Name   string                  // the formula: "E01 ratio/5", "max(E01 makespan/q1, E01 makespan/q2)"
	Values func(r *Runs) []float64 // in the order of r.Seeds(); NaN where there is none
}

// Of is a figure of an experiment.
func Of(experiment, metric string) Quantity {
	return Quantity{
		Name:   experiment + " " + metric,
		Values: func(r *Runs) []float64 { return r.Values(experiment, metric) },
	}
}

// MeanOf is the mean of several quantities, seed by seed.
func MeanOf(qs ...Quantity) Quantity {
	return fold("mean", qs, func(vs []float64) float64 { return sum(vs) / float64(len(vs)) })
}

// MaxOf is the largest of several quantities, seed by seed.
func MaxOf(qs ...Quantity) Quantity {
	return fold("max", qs, slices.Max[[]float64])
}

// MinOf is the smallest of several quantities, seed by seed.
func MinOf(qs ...Quantity) Quantity {
	return fold("min", qs, slices.Min[[]float64])
}

// Quotient is a over b, seed by seed.
func Quotient(a, b Quantity) Quantity {
	return infix(" / ", a, b, func(vs []float64) float64 { return vs[0] / vs[1] })
}

// Difference is a minus b, seed by seed.
func Difference(a, b Quantity) Quantity {
	return infix(" - ", a, b, func(vs []float64) float64 { return vs[0] - vs[1] })
}

// fold combines quantities seed by seed; a seed with a missing value is NaN.
func fold(name string, qs []Quantity, of func([]float64) float64) Quantity {
	names := make([]string, len(qs))
	for i, q := range qs {
		names[i] = q.Name
	}
	return Quantity{Name: name + "(" + strings.Join(names, ", ") + ")", Values: func(r *Runs) []float64 {
		columns := make([][]float64, len(qs))
		for i, q := range qs {
			columns[i] = q.Values(r)
		}
		values := make([]float64, len(r.seeds))
		row := make([]float64, len(qs))
		for s := range values {
			for i := range qs {
				row[i] = columns[i][s]
			}
			if values[s] = of(row); math.IsInf(values[s], 0) {
				values[s] = math.NaN()
			}
		}
		return values
	}}
}

// infix is a fold of two quantities whose name is an infix operator.
func infix(name string, a, b Quantity, of func([]float64) float64) Quantity {
	q := fold("", []Quantity{a, b}, of)
	q.Name = "(" + a.Name + name + b.Name + ")"
	return q
}

func sum(vs []float64) float64 {
	var s float64
	for _, v := range vs {
		s += v
	}
	return s
}

// Design is a full factorial design: every combination of k factors at two levels, one experiment each.
type Design struct {
	Factors []string
	// Cells are the experiments in standard order: bit i of a cell's index says whether factor i is at its second level.
	Cells []string
}

// Effect is the effect of a factor, or of an interaction of several, on a figure. For a factor it is the mean of the cells at the second
// level minus that of the cells at the first; for an interaction of two, half the difference between one's effects at the two levels of the other.
type Effect struct {
	Name string // "MULP", "ULF x MULP"
	// Estimate is the change with its 95 % interval: the contrast is computed seed by seed, so that effects of a seed common to all cells cancel.
	result.Estimate
	// Relative is the change as a share of the mean over all cells.
	Relative result.Estimate
	// Share is this effect's part of the variation between the means of the cells; the shares of all effects add up to 1.
	Share float64
}

// Effects are the main effects in the order of the factors, then the two-way interactions, three-way and so on; none if a cell
// is missing. Source: Box, Hunter and Hunter, Statistics for Experimenters, chapter 5.
func (d *Design) Effects(r *Runs, metric string) []Effect {
	if len(d.Cells) != 1<<len(d.Factors) || !r.Has(d.Cells...) {
		return nil
	}
	part := r.only(d.Cells)
	cells := make([][]float64, len(d.Cells))
	for i, cell := range d.Cells {
		cells[i] = part.Values(cell, metric)
	}
	overall := make([]float64, len(part.seeds))
	for s := range overall {
		overall[s] = contrast(cells, 0, s) / 2
	}
	var effects []Effect
	var squares float64
	for order := 1; order <= len(d.Factors); order++ {
		for of := uint(1); of < 1<<len(d.Factors); of++ {
			if bits.OnesCount(of) != order {
				continue
			}
			changes := make([]float64, len(part.seeds))
			for s := range changes {
				changes[s] = contrast(cells, of, s)
			}
			e := Effect{Name: d.name(of), Estimate: estimate(changes)}
			if mean := estimate(overall); mean.N > 0 && mean.Mean != 0 {
				e.Relative = e.Estimate
				e.Relative.Mean, e.Relative.Low, e.Relative.High = e.Mean/mean.Mean, e.Low/mean.Mean, e.High/mean.Mean
			}
			squares += e.Mean * e.Mean
			effects = append(effects, e)
		}
	}
	for i := range effects {
		if squares > 0 {
			effects[i].Share = effects[i].Mean * effects[i].Mean / squares
		}
	}
	return effects
}

// contrast is the mean of the cells where the product of the factors' signs is +1 minus the mean of those where it is -1; for no factor,
// twice the mean of all.
func contrast(cells [][]float64, of uint, seed int) float64 {
	var total float64
	order := bits.OnesCount(of)
	for cell, values := range cells {
		if at := bits.OnesCount(uint(cell) & of); (order-at)%2 == 0 { //nolint:gosec // a slice index
			total += values[seed]
		} else {
			total -= values[seed]
		}
	}
	return total / (float64(len(cells)) / 2)
}

func (d *Design) name(of uint) string {
	var names []string
	for i, f := range d.Factors {
		if of&(1<<i) != 0 {
			names = append(names, f)
		}
	}
	return strings.Join(names, " x ")
}
