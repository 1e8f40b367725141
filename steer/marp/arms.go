package marp

import (
	"math"

	"github.com/yardmaster/yardmaster/workload"
)

// arms chooses among a few thresholds: each is tried for a number of samples and scored by the mean growth seen
// meanwhile. After that the best is used, except for a share epsilon of the samples, which use a random one; scores are
// no longer updated.
type arms struct {
	set    *Learning
	thetas []int
	scores []int
	draws  uint64
	ptr    int // arm in use while exploring
	cnt    int // samples scored for it
	sum    float64
	best   int // threshold; 0 while exploring
}

func newArms(s *Learning) *arms { return &arms{set: s} }

// uniform is the next whole number in 1..n.
func (a *arms) uniform(n int) int {
	u := workload.Uniform01(a.set.Seed, a.draws)
	a.draws++
	return 1 + min(int(u*float64(n)), n-1)
}

// begin draws distinct thresholds, in random order.
func (a *arms) begin() {
	pool := make([]int, 0, a.set.Highest-a.set.Lowest+1)
	for t := a.set.Lowest; t <= a.set.Highest; t++ {
		pool = append(pool, t)
	}
	for i := range a.set.Thresholds {
		k := i + a.uniform(len(pool)-i) - 1
		pool[i], pool[k] = pool[k], pool[i]
	}
	a.thetas = pool[:a.set.Thresholds]
	a.scores = make([]int, a.set.Thresholds)
	a.ptr, a.cnt, a.sum, a.best = 0, 0, 0, 0
}

// choose is the threshold for the next sample.
func (a *arms) choose() int {
	switch {
	case a.best == 0:
		return a.thetas[a.ptr]
	case a.uniform(100) > a.set.Epsilon:
		return a.best
	case a.set.ArmByIndex:
		return a.uniform(len(a.thetas))
	}
	return a.thetas[a.uniform(len(a.thetas))-1]
}

// score records the growth that the sample saw.
func (a *arms) score(growth float64) {
	if a.best != 0 {
		return
	}
	a.sum += growth
	if a.cnt++; a.cnt < a.set.SamplesPerThreshold {
		return
	}
	a.scores[a.ptr] = int(math.Trunc(a.sum / float64(a.cnt)))
	a.cnt, a.sum = 0, 0
	if a.ptr++; a.ptr == len(a.thetas) {
		a.best = a.winner()
	}
}

func (a *arms) winner() int {
	w := 0
	for i := 1; i < len(a.thetas); i++ {
		better := a.scores[i] > a.scores[w]
		if a.scores[i] == a.scores[w] {
			switch a.set.Ties {
			case Smallest:
				better = a.thetas[i] < a.thetas[w]
			case Largest:
				better = a.thetas[i] > a.thetas[w]
			case Latest:
				better = true
			}
		}
		if better {
			w = i
		}
	}
	return a.thetas[w]
}
