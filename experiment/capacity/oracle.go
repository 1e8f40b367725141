package capacity

import (
	"fmt"
	"math"
	"slices"

	x "github.com/yardmaster/yardmaster/experiment"
)

// rackLocalShare is the expected share of a job's maps that find no copy of their block on the node they run on: one rack of nodes, so
// many copies placed at random, one map for each heartbeat of a node drawn at random, node-local maps preferred. With m maps waiting the
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

// printedRange is the smallest and the largest of them, over all experiments.
func printedRange(t int) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range printedShares(t) {
		low, high = min(low, slices.Min(row[:])), max(high, slices.Max(row[:]))
	}
	return low, high
}

// localityBounds are what a type's share of rack-local maps must lie between, in percent: the source's own range for the short types,
// the oracle and twice the oracle for the long ones (a job near its end holds no choice of maps, and nodes are not drawn at random then).
func localityBounds(t int) (low, high float64) {
	if long(t) {
		l := 100 * rackLocalShare(types[t].maps, workers, replication)
		return l, 2 * l
	}
	return printedRange(t)
}

// all is a figure's mean over E01 to E32.
func all(metric string) x.Quantity {
	var qs []x.Quantity
	for _, b := range blocks {
		qs = append(qs, b.mean(every, metric))
	}
	return x.MeanOf(qs...)
}

// localityJudges hold the simulated study against the oracle: as a whole, which is how the source's means compare with it, and, more
// strictly, block by block. Single cells lie outside in the source as well (type 4: 2.4 % in E08).
func localityJudges() map[string]x.Judge {
	inside := func(types []int, of func(metric string) x.Quantity) x.Judge {
		return perType(types, func(t int) x.Judge {
			low, high := localityBounds(t)
			return x.Within(of(by("rack-local", t, "")), low, high)
		})
	}
	judges := map[string]x.Judge{
		"locality-short": inside(shortTypes, all),
		"locality-long":  inside(longTypes, all),
	}
	for _, b := range blocks {
		of := func(metric string) x.Quantity { return b.mean(every, metric) }
		judges[b.id(0)+"-locality"] = inside(allTypes, of)
		judges[b.id(0)+"-locality-settings"] = perType(allTypes, func(t int) x.Judge { return spread(b, t, printedSpread(t)) })
	}
	return judges
}

// spread holds when the means of a type's share of rack-local maps over a block's experiments lie no more than so many points apart.
func spread(b block, t int, most float64) x.Judge {
	rule := fmt.Sprintf("largest less smallest mean of rack-local/%d over %s to %s: at most %s points", t, b.id(0), b.id(7), x.Number(most))
	return x.Judge{Rule: rule, Of: func(r *x.Runs) x.Judgement {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range rows {
			v := r.Estimate(b.id(i), by("rack-local", t, "")).Mean
			low, high = math.Min(low, v), math.Max(high, v)
		}
		j := figure(high-low, high-low <= most+1e-9)
		j.Ours = x.Number(low) + " to " + x.Number(high) + " %"
		return j
	}}
}

// printedSpread is how far apart, at most, the source's shares of rack-local maps of a type are in one block and queue, in points.
func printedSpread(t int) (most float64) {
	for _, row := range printedShares(t) {
		most = max(most, slices.Max(row[:])-slices.Min(row[:]))
	}
	return most
}
