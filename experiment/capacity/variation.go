package capacity

import (
	"fmt"
	"math"
	"strings"

	x "github.com/yardmaster/yardmaster/experiment"
	"gonum.org/v1/gonum/stat"
)

// jobsOf are the IDs of a type's jobs, in one queue or in all.
func (b block) jobsOf(t int, queue string) []string {
	var ids []string
	for _, j := range mix(b.pattern) {
		if j.Class == fmt.Sprint(t) && (queue == "" || j.Queue == queue) {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// variation is the coefficient of variation of execution time over repeated runs: standard deviation over mean. pooled takes all jobs of
// the type and all seeds as one sample, as the source seems to; ofRuns is that of each job over the seeds, then the mean over the jobs, which
// leaves out what differs between them. NaN with one seed.
func variation(r *x.Runs, b block, row, t int, queue string) (pooled, ofRuns float64) {
	var all []float64
	var sum float64
	ids := b.jobsOf(t, queue)
	for _, id := range ids {
		values := r.Values(b.id(row), "exec/"+id)
		mean, dev := stat.MeanStdDev(values, nil)
		sum += dev / mean
		all = append(all, values...)
	}
	mean, dev := stat.MeanStdDev(all, nil)
	return dev / mean, sum / float64(len(ids))
}

// variance asks whether the variation, averaged over rows, lies between low and high for every one of some types.
type variance struct {
	b           block
	rows, types []int
	queue       string
	low, high   float64
	ofRuns      bool // job by job over the seeds
}

func (v variance) judge() x.Judge {
	return perType(v.types, func(t int) x.Judge {
		rule := fmt.Sprintf("variation of exec/%d over the seeds%s in %s %s: %g to %g", t, jobwise(v.ofRuns), names(v.b, v.rows), v.queue, v.low, v.high)
		return x.Judge{Rule: rule, Of: func(r *x.Runs) x.Judgement {
			m := meanVariation(r, v.b, v.rows, t, v.queue, v.ofRuns)
			return figure(m, m >= v.low && m <= v.high)
		}}
	})
}

func jobwise(ofRuns bool) string {
	if ofRuns {
		return ", job by job,"
	}
	return ""
}

func meanVariation(r *x.Runs, b block, rows []int, t int, queue string, ofRuns bool) float64 {
	var sum float64
	for _, row := range rows {
		v, each := variation(r, b, row, t, queue)
		if ofRuns {
			v = each
		}
		sum += v
	}
	return sum / float64(len(rows))
}

func names(b block, rows []int) string {
	var ids []string
	for _, r := range rows {
		ids = append(ids, b.id(r))
	}
	return strings.Join(ids, ", ")
}

// figure is a judgement on a figure that has no interval.
func figure(v float64, holds bool) x.Judgement {
	j := x.Judgement{Holds: holds, Ours: x.Number(v), Value: v, Lo: v, Hi: v}
	if math.IsNaN(v) {
		j.Holds, j.Note = false, "it takes two seeds to vary"
	}
	return j
}

// every is the rows of a block.
var every = []int{0, 1, 2, 3, 4, 5, 6, 7}

// variesMore holds when the variation of a type is larger with MULP 25 than with 100, in the mean over the rows of each.
func variesMore(b block, t int, ofRuns bool) x.Judge {
	rule := fmt.Sprintf("variation of exec/%d over the seeds%s in %s > in %s ", t, jobwise(ofRuns), names(b, shared), names(b, strict))
	return x.Judge{Rule: rule, Of: func(r *x.Runs) x.Judgement {
		from, to := meanVariation(r, b, strict, t, "", ofRuns), meanVariation(r, b, shared, t, "", ofRuns)
		j := figure(to-from, to > from)
		if j.Note == "" {
			j.Ours = x.Number(from) + " to " + x.Number(to)
		}
		return j
	}}
}

// variationJudges ask of a block what the source says of E01 to E08. Of E09 to E24 it prints tables and says nothing: they are recorded only.
func variationJudges(name string, b block, ofRuns bool) map[string]x.Judge {
	return map[string]x.Judge{
		name + "-cv-short": variance{b: b, rows: every, types: shortTypes, low: 0.1, high: 0.5, ofRuns: ofRuns}.judge(),
		name + "-cv-mulp":  perType(shortTypes, func(t int) x.Judge { return variesMore(b, t, ofRuns) }),
		name + "-cv-long":  variance{b: b, rows: every, types: longTypes, high: 0.1, ofRuns: ofRuns}.judge(),
	}
}
