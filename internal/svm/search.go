package svm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Grid is the product of powers of 2 of C and gamma, from the first exponent of each to the second, in steps.
func Grid(c, gamma [2]int, step int) (grid []Params) {
	for i := c[0]; i <= c[1]; i += step {
		for k := gamma[0]; k <= gamma[1]; k += step {
			grid = append(grid, Params{C: math.Ldexp(1, i), Gamma: math.Ldexp(1, k)})
		}
	}
	return grid
}

// Score is the cross-validated accuracy of some parameters: the share of the examples' weight that is classified correctly.
type Score struct {
	Params
	Accuracy float64
}

// Search cross validates every point of a grid, and returns the scores and the best: that of the highest accuracy, and among equals the first. Without weights
// all examples count alike. They are dealt to the folds at random, each class by itself. A step limit keeps points that do not converge from dominating the time.
func Search(x [][]float64, y []bool, weight []float64, grid []Params, folds int, seed uint64) (scores []Score, best Score, err error) {
	if err := check(x, y); err != nil {
		return nil, best, err
	}
	if folds < 2 || folds > len(x) || len(grid) == 0 {
		return nil, best, fmt.Errorf("%d folds of %d examples, %d points to try", folds, len(x), len(grid))
	}
	apart := make([][]float64, len(x))
	for i := range x {
		apart[i] = make([]float64, len(x))
		for k := range x {
			apart[i][k] = distance(x[i], x[k])
		}
	}
	fold, all := deal(y, folds, seed), 0.0
	if weight == nil {
		weight = slices.Repeat([]float64{1}, len(x))
	}
	for _, w := range weight {
		all += w
	}
	for _, p := range grid {
		right := 0.0
		for f := range folds {
			right += validate(apart, y, weight, fold, f, p)
		}
		scores = append(scores, Score{p, right / all})
		if s := scores[len(scores)-1]; len(scores) == 1 || s.Accuracy > best.Accuracy {
			best = s
		}
	}
	return scores, best, nil
}

// deal assigns examples to folds.
func deal(y []bool, folds int, seed uint64) []int {
	fold, next := make([]int, len(y)), 0
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(y))
	for _, class := range []bool{true, false} {
		for _, i := range order {
			if y[i] == class {
				fold[i] = next % folds
				next++
			}
		}
	}
	return fold
}

// validate sums the weights of the examples of fold f that a machine trained on the other folds classifies correctly.
func validate(apart [][]float64, y []bool, weight []float64, fold []int, f int, p Params) (right float64) {
	var in []int
	var classes []bool
	for i := range fold {
		if fold[i] != f {
			in, classes = append(in, i), append(classes, y[i])
		}
	}
	s := newSolver(classes, p, func(i, k int) float64 { return apart[in[i]][in[k]] })
	bias, _ := s.solve()
	for t := range fold {
		if fold[t] != f {
			continue
		}
		sum := bias
		for i, a := range s.a {
			if a > 0 {
				sum += a * s.y[i] * math.Exp(-p.Gamma*apart[in[i]][t])
			}
		}
		if (sum > 0) == y[t] {
			right += weight[t]
		}
	}
	return right
}
