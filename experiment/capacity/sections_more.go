package capacity

import (
	"fmt"
	"math"

	x "github.com/yardmaster/yardmaster/experiment"
	"gonum.org/v1/gonum/stat"
)

// localitySection holds shares of rack-local maps against the oracle.
func localitySection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("locality", workers, replication, replication, workers)
	t := x.Table{Caption: "Rack-local maps, %", Columns: []string{
		"type", "maps", "L(M)", "must lie in", "source: mean", "source: range", "ours: mean", "ours: smallest", "ours: largest", "",
	}}
	c := x.Chart{Title: "Rack-local maps", Unit: "%", Kind: x.Points, Log: true}
	ours, paper, closed := x.Series{Name: "ours, with range"}, x.Series{Name: "source, mean", Paper: true}, x.Series{Name: "L(M)", Paper: true}
	for _, n := range allTypes {
		var sum, least, most float64
		var count int
		least, most = math.Inf(1), math.Inf(-1)
		for _, b := range blocks {
			for _, id := range b.ids() {
				if !r.Has(id) {
					continue
				}
				v := r.Estimate(id, by("rack-local", n, "")).Mean
				sum, count, least, most = sum+v, count+1, math.Min(least, v), math.Max(most, v)
			}
		}
		if count == 0 {
			return s, false
		}
		low, high := localityBounds(n)
		from, to := printedRange(n)
		mean, l := sum/float64(count), 100*rackLocalShare(types[n].maps, workers, replication)
		verdict := "inside"
		if mean < low || mean > high {
			verdict = "outside"
		}
		printed := printedMean(n)
		t.Rows = append(t.Rows, []string{fmt.Sprint(n), fmt.Sprint(types[n].maps), x.Number(l), x.Number(low) + " to " + x.Number(high), x.Number(printed),
			x.Number(from) + " to " + x.Number(to), x.Number(mean), x.Number(least), x.Number(most), verdict})
		c.Categories = append(c.Categories, typed(n))
		ours.Points = append(ours.Points, x.Point{Mean: mean, Lo: least, Hi: most})
		paper.Points = append(paper.Points, x.Point{Mean: printed, Lo: printed, Hi: printed})
		closed.Points = append(closed.Points, x.Point{Mean: l, Lo: l, Hi: l})
	}
	c.Series = []x.Series{ours, paper, closed}
	s.Tables, s.Charts = []x.Table{t}, []x.Chart{c}
	return s, true
}

// printedMean is the mean of a type over all cells that the source prints.
func printedMean(t int) float64 {
	var all []float64
	for _, row := range printedShares(t) {
		all = append(all, row[:]...)
	}
	return stat.Mean(all, nil)
}

// variationSection tells how far execution times vary from run to run.
func variationSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("variation")
	if len(r.Seeds()) < 2 {
		return s, false
	}
	for _, b := range blocks {
		if !r.Has(b.ids()...) {
			continue
		}
		queues := []string{""}
		if b.capacity[0] != b.capacity[1] {
			queues = twoQueues
		} else if b.pattern == interleaved {
			queues = []string{"q1"}
		}
		for _, q := range queues {
			t := x.Table{Caption: b.name + inQueueTitle(q), Columns: append([]string{"type"}, b.ids()...)}
			for _, n := range allTypes {
				row := []string{fmt.Sprint(n)}
				for i := range rows {
					pooled, ofRuns := variation(r, b, i, n, q)
					cell := fmt.Sprintf("%.2f (%.2f)", pooled, ofRuns)
					if p, ok := b.published().Variation[q][n]; ok {
						cell += fmt.Sprintf(" / %g", p[i])
					}
					row = append(row, cell)
				}
				t.Rows = append(t.Rows, row)
			}
			s.Tables = append(s.Tables, t)
		}
	}
	return s, len(s.Tables) > 0
}
