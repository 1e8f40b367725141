package capacity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	x "github.com/yardmaster/yardmaster/studies/experiment"
)

// ownJudges are the judges that the study adds to those of package experiment.
func ownJudges() map[string]func(words []string, q []x.Quantity) x.Judge {
	varies := func(how string, jobwise bool) func([]string, []x.Quantity) x.Judge { // experiments, type, queue, min, max
		return func(w []string, _ []x.Quantity) x.Judge {
			ids, low, high := strings.Split(w[0], "+"), number(w[3]), number(w[4])
			rule := fmt.Sprintf("variation of exec/%s over the seeds%s in %s %s: %g to %g", w[1], how, strings.Join(ids, ", "), w[2], low, high)
			return x.Judge{Rule: rule, Of: func(r *x.Runs) x.Judgement {
				m := meanVariation(r, ids, w[1], w[2], jobwise)
				return figure(m, m >= low && m <= high)
			}}
		}
	}
	more := func(how string, jobwise bool) func([]string, []x.Quantity) x.Judge { // experiments, others that vary more, type
		return func(w []string, _ []x.Quantity) x.Judge {
			from, to := strings.Split(w[0], "+"), strings.Split(w[1], "+")
			rule := fmt.Sprintf("variation of exec/%s over the seeds%s in %s > in %s ", w[2], how, strings.Join(to, ", "), strings.Join(from, ", "))
			return x.Judge{Rule: rule, Of: func(r *x.Runs) x.Judgement {
				a, b := meanVariation(r, from, w[2], "", jobwise), meanVariation(r, to, w[2], "", jobwise)
				j := figure(b-a, b > a)
				if j.Note == "" {
					j.Ours = x.Number(a) + " to " + x.Number(b)
				}
				return j
			}}
		}
	}
	return map[string]func([]string, []x.Quantity) x.Judge{
		"near": near, "flat": flat, "local": local, "spread": spread,
		"varies": varies("", false), "varies-by-job": varies(", job by job,", true), "varies-more": more("", false), "varies-more-by-job": more(", job by job,", true),
	}
}

// number parses a number of a rule.
func number(word string) float64 {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic("capacity: " + err.Error())
	}
	return v
}

// near holds when a makespan (from, to, queue) changes by roughly what the source prints: 0.5 to 1.5 times that change. It takes its
// figures from the table of makespans.
func near(w []string, _ []x.Quantity) x.Judge {
	from, to, queue := int(number(w[0])), int(number(w[1])), int(number(w[2]))
	printed := paper().Sensitivity[to-1][queue-1]/paper().Sensitivity[from-1][queue-1] - 1
	low, high := 0.5*printed, 1.5*printed
	if printed < 0 {
		low, high = high, low
	}
	metric := fmt.Sprintf("makespan/q%d", queue)
	return x.Changes(x.Of(fmt.Sprintf("S%02d", from), metric), x.Of(fmt.Sprintf("S%02d", to), metric), low, high)
}

// flat holds when the largest makespan of two queues in some experiments is at most a given multiple of the smallest.
func flat(w []string, _ []x.Quantity) x.Judge {
	var cells []x.Quantity
	for id := range strings.SplitSeq(w[0], "+") {
		cells = append(cells, x.Of(id, "makespan/q1"), x.Of(id, "makespan/q2"))
	}
	return x.Within(x.Quotient(x.MaxOf(cells...), x.MinOf(cells...)), 1, number(w[1]))
}

// local holds when a type's share of rack-local maps lies within its bounds.
func local(w []string, q []x.Quantity) x.Judge {
	low, high := localityBounds(int(number(w[0])))
	return x.Within(q[0], low, high)
}

// spread holds when the means of a type's share of rack-local maps over some experiments lie within a given number of points of each
// other; by default, the source's own spread.
func spread(w []string, _ []x.Quantity) x.Judge {
	ids, largest := strings.Split(w[0], "+"), printedSpread(int(number(w[1])))
	if len(w) > 2 {
		largest = number(w[2])
	}
	rule := fmt.Sprintf("largest less smallest mean of rack-local/%s over %s to %s: at most %s points", w[1], ids[0], ids[len(ids)-1], x.Number(largest))
	return x.Judge{Rule: rule, Of: func(r *x.Runs) x.Judgement {
		low, high := math.Inf(1), math.Inf(-1)
		for _, id := range ids {
			v := r.Estimate(id, "rack-local/"+w[1]).Mean
			low, high = math.Min(low, v), math.Max(high, v)
		}
		j := figure(high-low, high-low <= largest+1e-9)
		j.Ours = x.Number(low) + " to " + x.Number(high) + " %"
		return j
	}}
}

// figure is a judgement on a figure without an interval.
func figure(v float64, holds bool) x.Judgement {
	j := x.Judgement{Holds: holds, Ours: x.Number(v), Value: v, Lo: v, Hi: v}
	if math.IsNaN(v) {
		j.Holds, j.Note = false, "it takes two seeds to vary"
	}
	return j
}

// variation is the coefficient of variation of execution time over repeated runs: standard deviation over mean. pooled takes all jobs of
// the type and all seeds as one sample, as the source seems to; ofRuns is computed for each job over the seeds and then averaged over the
// jobs, which excludes the differences between them. NaN with one seed.
func variation(r *x.Runs, experiment, t, queue string) (pooled, ofRuns float64) {
	var all []float64
	var sum, jobs float64
	for _, j := range mix(blockOf(experiment).pattern) {
		if j.Class != t || queue != "" && j.Queue != queue {
			continue
		}
		values := r.Values(experiment, "exec/"+j.ID)
		mean, dev := stat.MeanStdDev(values, nil)
		sum, jobs = sum+dev/mean, jobs+1
		all = append(all, values...)
	}
	mean, dev := stat.MeanStdDev(all, nil)
	return dev / mean, sum / jobs
}

func meanVariation(r *x.Runs, experiments []string, t, queue string, jobwise bool) float64 {
	var sum float64
	for _, id := range experiments {
		v, each := variation(r, id, t, queue)
		if jobwise {
			v = each
		}
		sum += v
	}
	return sum / float64(len(experiments))
}

// rackLocalShare is the expected share of a job's maps that find no replica of their block on the node they run on: one rack of nodes,
// replicas placed at random, one map for each heartbeat of a node drawn at random, node-local maps preferred. With m maps waiting the
// next heartbeat finds none of them local with probability q^m, where q = 1 - copies/nodes is that of a single one; so
//
//	L(M) = (q + q^2 + ... + q^M) / M = q (1 - q^M) / ((1 - q) M)
func rackLocalShare(maps int64, nodes, copies int) float64 {
	q := 1 - float64(copies)/float64(nodes)
	return q * (1 - math.Pow(q, float64(maps))) / ((1 - q) * float64(maps))
}

// printedShares are the shares of rack-local maps that the source prints for a type, by block and queue.
func printedShares(t int) (rows [][8]float64) {
	for _, table := range paper().Blocks {
		for _, by := range table.RackLocal {
			if row, ok := by[t]; ok {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// printedRange is the min and max of them over all experiments.
func printedRange(t int) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range printedShares(t) {
		low, high = min(low, slices.Min(row[:])), max(high, slices.Max(row[:]))
	}
	return low, high
}

// localityBounds are the bounds for a type's share of rack-local maps, in percent: the source's own range for the short types, the
// oracle and twice the oracle for the long ones (near its end a job has few maps to choose from, and nodes are not drawn at random then).
func localityBounds(t int) (low, high float64) {
	if long(t) {
		l := 100 * rackLocalShare(types[t].maps, workers, replication)
		return l, 2 * l
	}
	return printedRange(t)
}

// printedSpread is the maximum spread, in points, of the source's shares of rack-local maps of a type in one block and queue.
func printedSpread(t int) (largest float64) {
	for _, row := range printedShares(t) {
		largest = max(largest, slices.Max(row[:])-slices.Min(row[:]))
	}
	return largest
}
