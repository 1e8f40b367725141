package conform

import (
	"math"
	"sort"

	"github.com/yardmaster/yardmaster/result"
)

// Distance is how far one run is from another, the truth. Shares are of 1.
type Distance struct {
	Jobs    int     // compared
	Missing int     // that ended in one of the two only
	Median  float64 // of job times: relative error of the median
	P95     float64 // and of the 95th percentile
	Within5 float64 // share of jobs whose time is within 5 %
	MeanAbs float64 // mean of the jobs' relative errors

	Order   int     // jobs that start at the same place in the order of starts
	Tau     float64 // Kendall's rank correlation of the two orders
	Placed  float64 // share of containers on the same node within half a second
	First   int     // number of equal decisions before the first that differs; -1: none differs
	FirstAt float64 // its instant, s
	Total   int     // decisions
}

// Measure compares an outcome with the truth.
func Measure(truth, ours *Outcome) Distance {
	a, b := times(truth, ours)
	d := Distance{Jobs: len(a), Missing: len(truth.Submit) - len(a), First: -1}
	if len(a) > 0 {
		within := 0
		for i := range a {
			e := math.Abs(b[i]-a[i]) / a[i]
			d.MeanAbs += e / float64(len(a))
			if e <= 0.05 {
				within++
			}
		}
		d.Within5 = float64(within) / float64(len(a))
		d.Median = relative(result.Quantile(a, 0.5), result.Quantile(b, 0.5))
		d.P95 = relative(result.Quantile(a, 0.95), result.Quantile(b, 0.95))
	}
	d.Order, d.Tau = orders(truth, ours)
	d.Placed = placed(truth, ours)
	d.Total = len(truth.Placed)
	d.First, d.FirstAt = first(truth.Placed, ours.Placed)
	return d
}

func relative(truth, ours float64) float64 {
	if truth == 0 {
		return 0
	}
	return math.Abs(ours-truth) / truth
}

// orders compares the order in which masters got their containers.
func orders(truth, ours *Outcome) (same int, tau float64) {
	by := func(o *Outcome) []string {
		var ids []string
		for id := range truth.Submit {
			if truth.Start[id] >= 0 && has(ours.Start, id) && ours.Start[id] >= 0 {
				ids = append(ids, id)
			}
		}
		sort.Slice(ids, func(i, k int) bool {
			a, b := ids[i], ids[k]
			if o.Start[a] != o.Start[b] {
				return o.Start[a] < o.Start[b]
			}
			return a < b
		})
		return ids
	}
	x, y := by(truth), by(ours)
	rank := map[string]int{}
	for i, id := range y {
		rank[id] = i
	}
	up, down := 0, 0
	for i, id := range x {
		if y[i] == id {
			same++
		}
		for _, other := range x[i+1:] {
			if rank[other] > rank[id] {
				up++
			} else {
				down++
			}
		}
	}
	if up+down == 0 {
		return same, 1
	}
	return same, float64(up-down) / float64(up+down)
}

// placed is the share of the truth's containers that ours has for the same job, priority and node within half a second.
func placed(truth, ours *Outcome) float64 {
	const near = 500 // ms
	if len(truth.Placed) == 0 {
		return 0
	}
	type place struct {
		job            string
		node, priority int32
	}
	left := map[place][]int64{}
	for _, p := range ours.Placed {
		k := place{p.Job, p.Node, p.Priority}
		left[k] = append(left[k], p.At)
	}
	n := 0
	for _, p := range truth.Placed {
		k := place{p.Job, p.Node, p.Priority}
		for i, at := range left[k] {
			if at-p.At <= near && p.At-at <= near {
				left[k] = append(left[k][:i:i], left[k][i+1:]...)
				n++
				break
			}
		}
	}
	return float64(n) / float64(len(truth.Placed))
}

// first is the number of decisions before the first that differs; -1: all are the same.
func first(truth, ours []Placement) (n int, at float64) {
	for i, p := range truth {
		if i >= len(ours) || ours[i].Job != p.Job || ours[i].Node != p.Node || ours[i].Priority != p.Priority {
			return i, float64(p.At) / 1000
		}
	}
	if len(ours) > len(truth) {
		return len(truth), float64(ours[len(truth)].At) / 1000
	}
	return -1, 0
}

// mean averages distances field by field; the first difference is the earliest.
func mean(ds []Distance) Distance {
	var m Distance
	m.First = -1
	n := float64(len(ds))
	order := 0
	for i, d := range ds {
		m.Jobs, m.Total = d.Jobs, d.Total
		m.Missing = max(m.Missing, d.Missing)
		m.Median += d.Median / n
		m.P95 += d.P95 / n
		m.Within5 += d.Within5 / n
		m.MeanAbs += d.MeanAbs / n
		m.Tau += d.Tau / n
		m.Placed += d.Placed / n
		order += d.Order
		if d.First >= 0 && (m.First < 0 || d.First < m.First) {
			m.First, m.FirstAt, m.Total = d.First, d.FirstAt, d.Total
		}
		if i == len(ds)-1 {
			m.Order = int(math.Round(float64(order) / n))
		}
	}
	return m
}
