package result

import (
	"math"
	"slices"
	"sort"
)

// Curve is a cumulative distribution: the share Y[i] of jobs has a value of at most X[i]. X and Y rise.
type Curve struct {
	X []float64 `json:"x"`
	Y []float64 `json:"y"`
}

// Curves are those of a run's finished jobs.
type Curves struct {
	Wait     Curve `json:"wait"`
	Elapsed  Curve `json:"elapsed"`
	Slowdown Curve `json:"slowdown"`
}

// A curve's points: most at equal steps of the share, the others denser towards 1, where the slowest jobs are.
const (
	evenPoints = 1600
	tailPoints = 399
)

// Curves returns the distributions of what was collected so far.
func (c *Collector) Curves() Curves {
	return Curves{c.wait.curve(), c.elapsed.curve(), c.slowdown.curve()}
}

func (s *series) curve() Curve {
	c := Curve{X: []float64{}, Y: []float64{}}
	if s.n == 0 {
		return c
	}
	add := func(x float64, rank int64) {
		x = round(x)
		y := round(float64(rank) / float64(s.n))
		if k := len(c.X) - 1; k >= 0 && c.X[k] == x { // a step: keep its top
			c.Y[k] = y
			return
		}
		c.X, c.Y = append(c.X, x), append(c.Y, y)
	}
	ranks := curveRanks(s.n)
	if s.sketch == nil {
		s.sort()
		for _, r := range ranks {
			x := s.values[r-1]
			// All values equal to x are at most x.
			add(x, int64(sort.Search(len(s.values), func(i int) bool { return s.values[i] > x })))
		}
		return c
	}
	var below int64
	next := 0
	for _, bar := range s.sketch.Distribution() {
		if bar.Count == 0 {
			continue
		}
		below += bar.Count
		if next < len(ranks) && ranks[next] <= below {
			add(min(max(float64(bar.To)*sketchStep, s.min), s.max), below)
		}
		for next < len(ranks) && ranks[next] <= below {
			next++
		}
	}
	return c
}

// curveRanks picks at most 2,000 ranks from 1 to n, both included.
func curveRanks(n int64) []int64 {
	var ranks []int64
	if n <= evenPoints+tailPoints {
		for r := int64(1); r <= n; r++ {
			ranks = append(ranks, r)
		}
		return ranks
	}
	for i := range int64(evenPoints) {
		ranks = append(ranks, 1+int64(float64(n-1)*float64(i)/(evenPoints-1)))
	}
	for i := range tailPoints { // from the slowest hundredth to the slowest job
		far := float64(n) * 0.01 * math.Pow(100/float64(n), float64(i)/(tailPoints-1))
		ranks = append(ranks, min(n, max(1, n-int64(far)+1)))
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}
