// Package svm is a support vector machine with a radial kernel for two classes: training, cross validation and decision values.
//
// Training solves the dual of the soft-margin problem (C-SVC)
//
//	min  1/2 sum_ij a_i a_j y_i y_j K(x_i, x_j) - sum_i a_i     0 <= a_i <= C,  sum_i a_i y_i = 0
//	K(u, v) = exp(-gamma |u - v|^2)
//
// by sequential minimal optimisation: each step solves for the two multipliers that the second-order rule of R.-E. Fan, P.-H. Chen and C.-J. Lin,
// Working Set Selection Using Second Order Information for Training Support Vector Machines, JMLR 6, 2005 (LIBSVM's), selects. There is no
// shrinking and no randomness: the same examples in the same order give the same machine. A test compares decision values with those of
// scikit-learn.
package svm

import (
	"fmt"
	"math"
	"slices"
)

// MaxExamples bounds a training set: all kernel rows are kept in memory.
const MaxExamples = 4096

// Params are the parameters of a machine.
type Params struct {
	C, Gamma  float64
	Tolerance float64 // violation of the optimality conditions at which training stops; 0: 1e-3
	Steps     int     // max steps; 0: 10 million
}

// Model is a trained machine.
type Model struct {
	Gamma   float64     `json:"gamma"`
	Bias    float64     `json:"bias"`
	Vectors [][]float64 `json:"vectors"`
	Weights []float64   `json:"weights"` // multiplier and sign of each vector
	// Converged is false if training stopped at the maximum number of steps.
	Converged bool `json:"converged"`
}

// Decision is positive for the class of the true examples. Its absolute value is the distance from the boundary, up to a constant factor.
func (m *Model) Decision(x []float64) float64 {
	sum := m.Bias
	for i, v := range m.Vectors {
		sum += m.Weights[i] * math.Exp(-m.Gamma*distance(v, x))
	}
	return sum
}

// Validate reports a model that cannot have been trained on examples of the given dimension.
func (m *Model) Validate(dimension int) error {
	if !(m.Gamma > 0) || math.IsInf(m.Gamma, 0) || math.IsNaN(m.Bias) || math.IsInf(m.Bias, 0) || len(m.Vectors) != len(m.Weights) {
		return fmt.Errorf("gamma %v, bias %v, %d vectors with %d weights", m.Gamma, m.Bias, len(m.Vectors), len(m.Weights))
	}
	if len(m.Vectors) > MaxExamples {
		return fmt.Errorf("%d vectors; at most %d are taken", len(m.Vectors), MaxExamples)
	}
	for i, v := range m.Vectors {
		if len(v) != dimension || slices.ContainsFunc(append(v[:len(v):len(v)], m.Weights[i]), notFinite) {
			return fmt.Errorf("vector %d is %v with weight %v", i, v, m.Weights[i])
		}
	}
	return nil
}

func notFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// distance is the squared distance.
func distance(u, v []float64) (sum float64) {
	for k := range u {
		d := u[k] - v[k]
		sum += d * d
	}
	return sum
}

// Train trains a machine. If all examples are of one class, its decision is 1 or -1 everywhere.
func Train(x [][]float64, y []bool, p Params) (*Model, error) {
	if err := check(x, y); err != nil {
		return nil, err
	}
	if !(p.C > 0 && p.Gamma > 0) || math.IsInf(p.C, 0) || math.IsInf(p.Gamma, 0) {
		return nil, fmt.Errorf("gamma %v, C %v: both must be positive", p.Gamma, p.C)
	}
	m := &Model{Gamma: p.Gamma}
	s := newSolver(y, p, func(i, k int) float64 { return distance(x[i], x[k]) })
	m.Bias, m.Converged = s.solve()
	for i, a := range s.a {
		if a > 0 {
			m.Vectors, m.Weights = append(m.Vectors, slices.Clone(x[i])), append(m.Weights, a*s.y[i])
		}
	}
	return m, nil
}

func check(x [][]float64, y []bool) error {
	if len(x) == 0 || len(x) != len(y) || len(x) > MaxExamples {
		return fmt.Errorf("%d examples with %d classes: want 1 to %d", len(x), len(y), MaxExamples)
	}
	for i := range x {
		if len(x[i]) != len(x[0]) || slices.ContainsFunc(x[i], notFinite) {
			return fmt.Errorf("example %d is %v", i, x[i])
		}
	}
	return nil
}

// solver is the state of sequential minimal optimisation.
type solver struct {
	p       Params
	y, a, g []float64 // sign, multiplier and gradient of each example
	apart   func(i, k int) float64
	rows    [][]float64 // of the kernel, computed when needed
}

func newSolver(y []bool, p Params, apart func(i, k int) float64) *solver {
	n := len(y)
	s := &solver{p: p, y: make([]float64, n), a: make([]float64, n), g: make([]float64, n), apart: apart, rows: make([][]float64, n)}
	if s.p.Tolerance <= 0 {
		s.p.Tolerance = 1e-3
	}
	if s.p.Steps <= 0 {
		s.p.Steps = 10_000_000
	}
	for i := range y {
		s.g[i] = -1
		if s.y[i] = -1; y[i] {
			s.y[i] = 1
		}
	}
	return s
}

func (s *solver) row(i int) []float64 {
	if s.rows[i] == nil {
		s.rows[i] = make([]float64, len(s.y))
		for k := range s.y {
			s.rows[i][k] = math.Exp(-s.p.Gamma * s.apart(i, k))
		}
	}
	return s.rows[i]
}

// solve returns the bias, and whether the optimum was reached.
func (s *solver) solve() (bias float64, converged bool) {
	for range s.p.Steps {
		i, j := s.select2()
		if j < 0 {
			return s.bias(), true
		}
		s.step(i, j)
	}
	return s.bias(), false
}

// rises and falls say whether y_i a_i may grow or shrink.
func (s *solver) rises(i int) bool { return s.y[i] > 0 && s.a[i] < s.p.C || s.y[i] < 0 && s.a[i] > 0 }
func (s *solver) falls(i int) bool { return s.y[i] > 0 && s.a[i] > 0 || s.y[i] < 0 && s.a[i] < s.p.C }

// tiny replaces a curvature that is not positive: two equal examples.
const tiny = 1e-12

// select2 selects the pair with the largest violation, to second order; j < 0: the optimum is reached.
func (s *solver) select2() (i, j int) {
	i, j = -1, -1
	high, low := math.Inf(-1), math.Inf(1)
	for k := range s.y {
		if v := -s.y[k] * s.g[k]; v > high && s.rises(k) {
			high, i = v, k
		}
	}
	if i < 0 {
		return i, j
	}
	row, best := s.row(i), math.Inf(1)
	for k := range s.y {
		if !s.falls(k) {
			continue
		}
		v := -s.y[k] * s.g[k]
		low = min(low, v)
		if d := high - v; d > 0 {
			if gain := -d * d / max(2-2*row[k], tiny); gain < best {
				best, j = gain, k
			}
		}
	}
	if high-low < s.p.Tolerance {
		return i, -1
	}
	return i, j
}

// step solves for two multipliers: y_i a_i grows by as much as y_j a_j shrinks.
func (s *solver) step(i, j int) {
	ri, rj := s.row(i), s.row(j)
	t := (s.y[j]*s.g[j] - s.y[i]*s.g[i]) / max(2-2*ri[j], tiny)
	room := func(k int, sign float64) float64 { // in the direction of the sign
		if sign > 0 {
			return s.p.C - s.a[k]
		}
		return s.a[k]
	}
	mi, mj := room(i, s.y[i]), room(j, -s.y[j])
	t = min(t, mi, mj)
	oldI, oldJ := s.a[i], s.a[j]
	s.a[i] += s.y[i] * t
	s.a[j] -= s.y[j] * t
	// A multiplier that reaches a bound is exactly there: rounding must not leave it a little inside.
	s.clamp(i, t == mi, s.y[i] > 0)
	s.clamp(j, t == mj, s.y[j] < 0)
	di, dj := (s.a[i]-oldI)*s.y[i], (s.a[j]-oldJ)*s.y[j]
	for k := range s.g {
		s.g[k] += s.y[k] * (di*ri[k] + dj*rj[k])
	}
}

func (s *solver) clamp(k int, bound, upper bool) {
	if bound {
		if s.a[k] = 0; upper {
			s.a[k] = s.p.C
		}
	}
}

// bias is that of the examples on the margin; without any, the middle of what the others allow.
func (s *solver) bias() float64 {
	sum, free := 0.0, 0
	high, low := math.Inf(-1), math.Inf(1)
	for k := range s.y {
		v := -s.y[k] * s.g[k]
		if s.a[k] > 0 && s.a[k] < s.p.C {
			sum, free = sum+v, free+1
		}
		if s.rises(k) {
			high = max(high, v)
		}
		if s.falls(k) {
			low = min(low, v)
		}
	}
	switch {
	case free > 0:
		return sum / float64(free)
	case math.IsInf(high, 0) || math.IsInf(low, 0): // one class only
		return s.y[0]
	}
	return (high + low) / 2
}
