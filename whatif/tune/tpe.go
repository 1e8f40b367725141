package tune

import (
	"math"
	"math/rand/v2"
)

// A tree-structured Parzen estimator (Bergstra et al., NeurIPS 2011): the points tried so far are split into the best and the others, each
// half is a density over every axis, and the next point is the draw from the first whose ratio of densities is largest.
const (
	bestShare    = 0.1
	minBest      = 4
	maxBest      = 16
	draws        = 24
	narrow, wide = 0.03, 0.3 // bandwidths
	nearby       = 0.12      // standard deviation of a coordinate near a point
)

// propose draws a point, given those tried so far, best first. Coordinates of the present settings are known.
func (s *Space) propose(r *rand.Rand, tried []Point) Point {
	n := min(max(int(math.Ceil(bestShare*float64(len(tried)))), minBest), maxBest)
	if len(tried) <= n {
		return s.sparse(r)
	}
	best, others := s.located(tried[:n]), s.located(tried[n:])
	width := make([]float64, len(s.axes))
	for i := range width {
		mean, square := 0.0, 0.0
		for _, p := range best {
			mean, square = mean+p[i]/float64(n), square+p[i]*p[i]/float64(n)
		}
		width[i] = min(max(1.06*math.Sqrt(max(0, square-mean*mean))*math.Pow(float64(n), -0.2), narrow), wide)
	}
	var found Point
	units := s.units()
	top := math.Inf(-1)
	for k := range draws {
		p, parent := s.Present(), tried[r.IntN(n)]
		together := k%2 == 0 // keep most of one good point, or combine several
		for _, unit := range units {
			donor, u := parent, r.Float64()
			if !together {
				donor = tried[r.IntN(n)]
			}
			switch {
			case u < 1/float64(n+1): // the prior
				s.prior(r, p, unit)
			case !math.IsNaN(donor[unit[0]]):
				for _, i := range unit {
					if p[i] = donor[i]; !together || u >= 0.6 {
						p[i] = reflect(p[i] + width[i]*r.NormFloat64())
					}
				}
			}
		}
		at := s.located([]Point{p})[0]
		ratio := 0.0
		for i := range at {
			ratio += math.Log(density(at[i], best, i, width[i]) / density(at[i], others, i, width[i]))
		}
		if ratio > top {
			found, top = p, ratio
		}
	}
	return found
}

// located replaces what a point leaves as it is by its coordinate.
func (s *Space) located(points []Point) []Point {
	out := make([]Point, len(points))
	for k, p := range points {
		out[k] = make(Point, len(p))
		for i, u := range p {
			if out[k][i] = u; math.IsNaN(u) {
				out[k][i] = s.axes[i].at
			}
		}
	}
	return out
}

// reflect folds a coordinate back into 0 to 1.
func reflect(u float64) float64 {
	if u = math.Mod(math.Abs(u), 2); u > 1 {
		return 2 - u
	}
	return u
}

// density is that of points along an axis, with kernels reflected at the ends and a uniform prior of one point's weight.
func density(u float64, points []Point, axis int, width float64) float64 {
	sum := 1.0
	for _, p := range points {
		for _, v := range [3]float64{p[axis], -p[axis], 2 - p[axis]} {
			d := (u - v) / width
			sum += math.Exp(-d*d/2) / (width * math.Sqrt(2*math.Pi))
		}
	}
	return sum / float64(len(points)+1)
}
