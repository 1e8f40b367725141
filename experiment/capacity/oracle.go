package capacity

import (
	"math"
	"slices"
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

// printedSpread is how far apart, at most, the source's shares of rack-local maps of a type are in one block and queue, in points.
func printedSpread(t int) (most float64) {
	for _, row := range printedShares(t) {
		most = max(most, slices.Max(row[:])-slices.Min(row[:]))
	}
	return most
}
