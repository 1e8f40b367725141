package experiment

import (
	"math"
	"slices"
	"strings"
)

// Quantity is a figure that a check looks at: one value for each seed.
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

// Difference is a less b, seed by seed.
func Difference(a, b Quantity) Quantity {
	return infix(" - ", a, b, func(vs []float64) float64 { return vs[0] - vs[1] })
}

// fold combines quantities seed by seed; one that is missing leaves the seed out.
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

// infix is a fold of two whose name is written between them.
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
