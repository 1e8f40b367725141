package capacity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
					pooled, ofRuns := variation(r, b.id(i), strconv.Itoa(n), q)
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

// answerSection puts the three settings side by side, each alone, for short and for long jobs.
func answerSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("answer")
	alone := []struct {
		name string
		row  int
	}{{"defaults", 0}, {"maximum-capacity", 1}, {"ULF 2", 2}, {"MULP 25", 3}, {"maximum-capacity and MULP 25", 5}}
	for _, group := range []string{"long", "short"} {
		c := x.Chart{Title: "Elapsed time of " + group + " jobs, mean", Unit: "s", Kind: x.Bars}
		t := x.Table{Caption: c.Title + ", s", Columns: []string{"jobs come"}}
		for _, a := range alone {
			c.Series = append(c.Series, x.Series{Name: a.name})
			t.Columns = append(t.Columns, a.name)
		}
		for _, b := range blocks {
			var needs []string
			for _, a := range alone {
				needs = append(needs, b.id(a.row))
			}
			if !r.Has(needs...) {
				continue
			}
			c.Categories = append(c.Categories, b.name)
			row := []string{b.name}
			for i, a := range alone {
				c.Series[i].Points = append(c.Series[i].Points, r.Point(b.id(a.row), "elapsed/"+group))
				row = append(row, x.Interval(r.Estimate(b.id(a.row), "elapsed/"+group)))
			}
			t.Rows = append(t.Rows, row)
		}
		if len(t.Rows) == 0 {
			return s, false
		}
		// Short jobs are the question: their chart comes first.
		s.Charts = append([]x.Chart{c}, s.Charts...)
		s.Tables = append([]x.Table{t}, s.Tables...)
	}
	return s, true
}

// closeSection tells how far our figures are from the source's, table by table.
func closeSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("close")
	t := x.Table{Caption: "Relative errors", Columns: []string{"figures", "number", "median error", "within 10 %", "within 40 %", "furthest"}}
	recorded := map[string]bool{}
	for _, b := range unequal {
		for _, i := range []int{0, 2, 3, 6} { // without a maximum-capacity
			recorded[b.id(i)] = true
		}
	}
	all := experiments()
	for _, g := range []struct {
		name, prefix, metric string
		recorded             bool
	}{
		{"makespans, S01 to S16", "S", "makespan/", false},
		{"makespans, E01 to E32", "E", "makespan/", false},
		{"response ratios, E01 to E32", "E", "ratio/", false},
		{"rack-local maps, E01 to E32", "E", "rack-local/", false},
		{"makespans, unequal queues without a maximum", "E", "makespan/", true},
		{"response ratios, unequal queues without a maximum", "E", "ratio/", true},
	} {
		var errs []float64
		furthest, at := -1.0, ""
		for i := range all {
			e := &all[i]
			if !strings.HasPrefix(e.ID, g.prefix) || len(e.ID) != 3 || recorded[e.ID] != g.recorded || !r.Has(e.ID) {
				continue
			}
			for _, cell := range e.Reported {
				if !strings.HasPrefix(cell.Metric, g.metric) {
					continue
				}
				ours := r.Estimate(e.ID, cell.Metric).Mean
				off := math.Abs(ours/cell.Paper - 1)
				if errs = append(errs, off); off > furthest {
					furthest, at = off, fmt.Sprintf("%s %s: %s, here %s", e.ID, cell.What, x.Number(cell.Paper), x.Number(ours))
				}
			}
		}
		if len(errs) == 0 {
			continue
		}
		slices.Sort(errs)
		within := func(bound float64) string {
			n, _ := slices.BinarySearch(errs, bound)
			return fmt.Sprintf("%d %%", 100*n/len(errs))
		}
		t.Rows = append(t.Rows, []string{g.name, fmt.Sprint(len(errs)), fmt.Sprintf("%.0f %%", 100*errs[len(errs)/2]), within(0.1), within(0.4), at})
	}
	s.Tables = []x.Table{t}
	return s, len(t.Rows) > 0
}

// ordersSection shows which reading of the order of queues gives what.
func ordersSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("orders")
	waits := x.Table{Caption: "Mean waiting time of short jobs, s", Columns: []string{"", "queue", "as written"}}
	spans := x.Table{Caption: "Makespan, s", Columns: []string{"", "queue", "as written"}}
	letters := []string{""}
	for i := range orders {
		letters = append(letters, orders[i].letter)
		waits.Columns = append(waits.Columns, orders[i].name)
		spans.Columns = append(spans.Columns, orders[i].name)
	}
	spans.Columns = append(spans.Columns, "source")
	found := false
	for _, b := range unequal {
		for i, id := range b.ids() {
			for q := range b.capacity {
				name, label := fmt.Sprintf("q%d", q+1), fmt.Sprintf("%d (%.0f %%)", q+1, b.capacity[q])
				wait, span := []string{id, label}, []string{id, label}
				for _, letter := range letters {
					found = found || letter != "" && r.Has(id+letter)
					wait = append(wait, x.Interval(r.Estimate(id+letter, "wait/short/"+name)))
					span = append(span, x.Interval(r.Estimate(id+letter, "makespan/"+name)))
				}
				spans.Rows = append(spans.Rows, append(span, x.Number(b.published().Makespan[name][i])))
				if b.pattern != separate || q < 2 {
					waits.Rows = append(waits.Rows, wait)
				}
			}
		}
	}
	s.Tables = []x.Table{waits, spans}
	return s, found
}
