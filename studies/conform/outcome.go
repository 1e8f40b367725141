package conform

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
)

// Placement is one container allocated to an application: the order of placements is the order of the scheduler's decisions.
type Placement struct {
	Job      string
	Node     int32
	Priority int32
	At       int64 // ms
	Turn     int   // index of its pass over the node among all passes; orders those at the same instant
}

// Outcome is the result of a run, in terms that the daemons, SLS and the simulator share. Instants are ms since time 0; -1: it did not happen.
type Outcome struct {
	Submit, Start, End map[string]int64 // by application; Start is that of the first container; under SLS, of the AM
	Placed             []Placement      // in order of allocation; see Settle
}

// NewOutcome returns an empty outcome.
func NewOutcome() *Outcome {
	return &Outcome{Submit: map[string]int64{}, Start: map[string]int64{}, End: map[string]int64{}}
}

// ofRecord is the outcome of a run of SLS, without the jobs that it lost and the warm-up job.
func ofRecord(s *Scenario, rec *sls.Record) *Outcome {
	o := NewOutcome()
	lost := map[string]bool{warmUp: true}
	for _, l := range rec.Lost {
		id, _, _ := strings.Cut(l, " ")
		lost[id] = true
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; !lost[j.ID] {
			o.Submit[j.ID], o.End[j.ID], o.Start[j.ID] = j.Start, -1, -1
		}
	}
	for i := range rec.Jobs {
		j := &rec.Jobs[i]
		if _, ok := o.Submit[j.ID]; ok {
			o.End[j.ID], o.Start[j.ID] = j.End, j.AM
		}
	}
	turn := served(rec)
	for i := range rec.Containers {
		if c := &rec.Containers[i]; c.Allocated >= 0 && rec.Jobs[c.Job].ID != warmUp {
			o.Placed = append(o.Placed, Placement{rec.Jobs[c.Job].ID, c.Node, c.Priority, c.Allocated, turn(c)})
		}
	}
	o.Settle()
	return o
}

// served returns the pass in which a container was allocated, as a log index: the last one over its node before.
func served(rec *sls.Record) func(c *sls.ContainerRecord) int {
	type pass struct {
		at    int64
		place int
	}
	passes := make([][]pass, len(rec.Nodes))
	i := 0
	rec.Log.Each(func(kind byte, at int64, of int32) {
		if kind == sls.Pass {
			passes[of] = append(passes[of], pass{at, i})
		}
		i++
	})
	return func(c *sls.ContainerRecord) int {
		if c.Node < 0 {
			return 0
		}
		p := passes[c.Node]
		k := sort.Search(len(p), func(i int) bool { return p[i].at > c.Allocated })
		if k == 0 {
			return 0
		}
		return p[k-1].place
	}
}

// Settle sorts placements by time, and those of one pass over a node by job: the order within a pass is not recorded on
// both sides. Call it once, when all placements are in.
func (o *Outcome) Settle() {
	slices.SortStableFunc(o.Placed, func(a, b Placement) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Turn, b.Turn)) })
	const pass = 500 // ms: a node is served about once a second
	for i := 0; i < len(o.Placed); {
		k := i + 1
		for k < len(o.Placed) && o.Placed[k].Node == o.Placed[i].Node && o.Placed[k].At-o.Placed[i].At < pass {
			k++
		}
		slices.SortStableFunc(o.Placed[i:k], func(a, b Placement) int {
			return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Priority, b.Priority))
		})
		i = k
	}
}

// times lists the elapsed times of the jobs that ended in both outcomes, in the same order, in seconds.
func times(truth, ours *Outcome) (a, b []float64) {
	for _, id := range slices.Sorted(maps.Keys(truth.Submit)) {
		if truth.End[id] < 0 || ours.End[id] < 0 || !has(ours.Submit, id) {
			continue
		}
		a = append(a, float64(truth.End[id]-truth.Submit[id])/1000)
		b = append(b, float64(ours.End[id]-ours.Submit[id])/1000)
	}
	return a, b
}

func has(m map[string]int64, id string) bool {
	_, ok := m[id]
	return ok
}

// Distance is the distance of one run from another, the truth. Shares are fractions of 1.
type Distance struct {
	Jobs    int     // compared
	Missing int     // ended in only one of the two
	Median  float64 // of job times: relative error of the median
	P95     float64 // and of the 95th percentile
	Within5 float64 // share of jobs whose time is within 5 %
	MeanAbs float64 // mean of the jobs' relative errors

	Order   int     // jobs with the same rank in the order of starts
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

// orders compares the order in which AMs got their containers.
func orders(truth, ours *Outcome) (same int, tau float64) {
	by := func(o *Outcome) []string {
		ids := slices.SortedFunc(maps.Keys(truth.Submit), func(a, b string) int { return cmp.Or(cmp.Compare(o.Start[a], o.Start[b]), cmp.Compare(a, b)) })
		return slices.DeleteFunc(ids, func(id string) bool { return truth.Start[id] < 0 || !has(ours.Start, id) || ours.Start[id] < 0 })
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

// placed is the share of the truth's containers for which ours has one of the same job, priority and node within half a second.
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
	m := Distance{First: -1}
	n := float64(len(ds))
	order := 0
	for _, d := range ds {
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
	}
	m.Order = int(math.Round(float64(order) / n))
	return m
}
