package tune

import (
	"math"
	"math/rand/v2"
)

// Candidates come from a design first: moves of one setting alone, and points at random. Their children combine the best of them
// and move nearby.

// shifts are by what factor a queue's capacity changes in a move, relative to its siblings'.
var shifts = []float64{0.25, 0.5, 0.7, 1.4, 2, 4}

// levels are where a setting goes in a move; what lies within levelGap of the present value is left out.
var levels = []float64{0, 0.2, 0.4, 0.6, 0.8, 1}

const levelGap = 0.1

// moves are the points that change one setting, or the capacities of one queue and its siblings.
func (s *Space) moves() (list []Point) {
	for _, unit := range s.units() {
		for _, i := range unit {
			a := s.axes[i]
			move := func(u float64) {
				p := s.Present()
				for _, k := range unit {
					p[k] = s.axes[k].at
				}
				p[i] = clip(u)
				list = append(list, p)
			}
			switch {
			case a.shared != "":
				for _, f := range shifts {
					move(a.at + math.Log(f)/spread)
				}
			case a.values != nil:
				for k := range a.values {
					move((float64(k) + 0.5) / float64(len(a.values)))
				}
			default:
				for _, u := range levels {
					if math.Abs(u-a.at) > levelGap {
						move(u)
					}
				}
			}
		}
	}
	return list
}

// random draws a point.
func (s *Space) random(r *rand.Rand) Point {
	p := make(Point, len(s.axes))
	for i := range p {
		p[i] = r.Float64()
	}
	return p
}

// sparse draws a point that leaves about half of the settings as they are: fewer changes are easier to search, to read and to
// trust.
func (s *Space) sparse(r *rand.Rand) Point {
	p := s.Present()
	for _, unit := range s.units() {
		if r.IntN(2) == 0 {
			s.redraw(r, p, unit)
		}
	}
	return p
}

// redraw draws what changes together: anywhere, or near the present setting.
func (s *Space) redraw(r *rand.Rand, p Point, unit []int) {
	far := r.IntN(2) == 0
	for _, i := range unit {
		if p[i] = r.Float64(); !far {
			p[i] = reflect(s.axes[i].at + 0.3*r.NormFloat64())
		}
	}
}

// steps are standard deviations of a coordinate that moves.
var steps = []float64{0.02, 0.06, 0.2}

// child draws a point from others, best first. It is one of them with some changes of another one; then a setting or two move,
// are reverted or drawn anew.
func (s *Space) child(r *rand.Rand, parents []Point) Point {
	units := s.units()
	better := func() Point { return parents[min(r.IntN(len(parents)), r.IntN(len(parents)), r.IntN(len(parents)))] }
	p := append(Point(nil), better()...)
	if r.IntN(2) == 0 {
		other := parents[r.IntN(len(parents))]
		for _, unit := range units {
			if r.IntN(2) == 0 {
				for _, i := range unit {
					p[i] = other[i]
				}
			}
		}
	}
	step := steps[r.IntN(len(steps))]
	for range 1 + r.IntN(3) {
		unit := units[r.IntN(len(units))]
		changed := !math.IsNaN(p[unit[0]])
		for k := 0; k < 4 && !changed; k++ { // what has changed already matters more
			unit = units[r.IntN(len(units))]
			changed = !math.IsNaN(p[unit[0]])
		}
		switch u := r.Float64(); {
		case !changed || u < 0.1:
			s.redraw(r, p, unit)
		case u < 0.2:
			for _, i := range unit {
				p[i] = math.NaN()
			}
		case len(unit) > 1 && u < 0.8: // one queue gains, and another one or all others pay
			d := step * math.Abs(r.NormFloat64())
			gain, pay := unit[r.IntN(len(unit))], unit[r.IntN(len(unit))]
			if p[gain] = clip(p[gain] + d); pay != gain {
				p[pay] = clip(p[pay] - d)
			}
		default:
			for _, i := range unit {
				p[i] = reflect(p[i] + step*r.NormFloat64())
			}
		}
	}
	return p
}

// located replaces what a point leaves as it is by its coordinate.
func (s *Space) located(p Point) Point {
	out := make(Point, len(p))
	for i, u := range p {
		if out[i] = u; math.IsNaN(u) {
			out[i] = s.axes[i].at
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
