package yardstick

import (
	"slices"
)

// quantile is the value below which a share p of the values lies.
func quantile(values []float64, p float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return 0
	}
	at := p * float64(len(v)-1)
	i := int(at)
	if i+1 == len(v) {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

func median(values []float64) float64 { return quantile(values, 0.5) }
