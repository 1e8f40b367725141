package yardstick

import "github.com/yardmaster/yardmaster/result"

// quantile is the value below which a share p of the values lies; 0 of none.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return result.Quantile(values, p)
}

func median(values []float64) float64 { return quantile(values, 0.5) }
