package capacity

import (
	"fmt"
	"strings"

	x "github.com/yardmaster/yardmaster/experiment"
	"gonum.org/v1/gonum/stat"
)

func delayedSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("delayed")
	t := x.Table{Caption: "Jobs that met it, in a run (mean over seeds)",
		Columns: []string{"experiment", "jobs", "runs with it", "of type 3, %", "of type 4, %"}}
	list := []string{"S01", "S03", "S04", "V1-Q2", "V1-MAXCAP", "V2-Q2", "V2-MAXCAP"}
	for _, b := range blocks {
		list = append(list, b.ids()...)
	}
	list = append(list, "V1-Q2s", "V1-MAXCAPs", "V2-Q2s", "V2-MAXCAPs")
	for i := range orders {
		for _, b := range orders[i].blocks {
			for _, id := range b.ids() {
				list = append(list, id+orders[i].letter)
			}
		}
	}
	for _, id := range list {
		if !r.Has(id) {
			continue
		}
		var with int
		for _, v := range r.Values(id, "delayed") {
			if v > 0 {
				with++
			}
		}
		if with == 0 && strings.HasPrefix(id, "E") && id != "E01" {
			continue // said in the text
		}
		row := []string{id, x.Interval(r.Estimate(id, "delayed")), fmt.Sprintf("%d of %d", with, len(r.Seeds()))}
		for _, n := range []int{3, 4} {
			cell := "-"
			if strings.HasPrefix(id, "E") {
				cell = x.Interval(r.Estimate(id, by("delayed", n, "")))
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []x.Table{t}
	if ids := []string{"E01", "E02", "E03", "E01s", "E02s", "E03s"}; r.Has(ids...) {
		ratios := x.Table{Caption: "What it does to response ratios", Columns: []string{"", "E01", "E02 (capped)", "E03 (ULF 2)"}}
		for _, n := range []int{3, 4} {
			printed := blocks[0].published().Ratio[""][n]
			ratios.Rows = append(ratios.Rows, []string{typed(n) + ", source", x.Number(printed[0]), x.Number(printed[1]), x.Number(printed[2])})
			for k, name := range []string{", as written", ", sorted once a heartbeat"} {
				row := []string{typed(n) + name}
				for _, id := range ids[3*k : 3*k+3] {
					row = append(row, x.Interval(r.Estimate(id, by("ratio", n, ""))))
				}
				ratios.Rows = append(ratios.Rows, row)
			}
		}
		s.Tables = append(s.Tables, ratios)
	}
	return s, len(t.Rows) > 0
}

// pairedSection counts isolated and paired reduces as the source's tables 5.2 and 5.3 do.
func pairedSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("paired")
	t := x.Table{Caption: "Alone - paired", Columns: append(append([]string{"experiment", ""}, validationJobs[:]...), "paired")}
	for _, id := range []string{"V2-Q2", "V2-MAXCAP", "V2-MULP", "V2-MSJ"} {
		if !r.Has(id) {
			continue
		}
		line := func(who string, paired [8]int, of int) {
			row, sum := []string{id, who}, 0
			for _, n := range paired {
				row, sum = append(row, fmt.Sprintf("%d-%d", of-n, n)), sum+n
			}
			t.Rows = append(t.Rows, append(row, fmt.Sprintf("%.1f %%", 100*float64(sum)/float64(8*of))))
		}
		line("real cluster", paper().Paired[id].Real, 10)
		line("source's simulator", paper().Paired[id].Simulated, 10)
		var ours [8]int
		for i, job := range validationJobs {
			for _, v := range r.Values(id, "paired/"+job) {
				if v > 0 {
					ours[i]++
				}
			}
		}
		line("ours", ours, len(r.Seeds()))
		if e := id + "a"; r.Has(e) {
			t.Rows = append(t.Rows, []string{id, "ours, reduces avoid busy nodes", "", "", "", "", "", "", "", "", x.Number(r.Estimate(e, "paired").Mean) + " %"})
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	byPairs := x.Table{Caption: "Four TeraSorts (S06: MULP 100, S07: MULP 25): makespan by how many of their reduces shared a node, s",
		Columns: []string{"", "none: they avoid busy nodes", "two", "all four", "source"}}
	for i, id := range []string{"S06", "S07"} {
		if !r.Has(id, id+"a") {
			continue
		}
		row := []string{id, x.Interval(r.Estimate(id+"a", "makespan"))}
		spans, shares := r.Values(id, "makespan"), r.Values(id, "paired")
		for _, share := range []float64{50, 100} {
			var at []float64
			for k, v := range shares {
				if v == share {
					at = append(at, spans[k])
				}
			}
			cell := "-"
			if len(at) > 0 {
				cell = fmt.Sprintf("%s in %d runs", x.Number(stat.Mean(at, nil)), len(at))
			}
			row = append(row, cell)
		}
		byPairs.Rows = append(byPairs.Rows, append(row, x.Number(paper().Sensitivity[5+i][0])))
	}
	if len(byPairs.Rows) > 0 {
		s.Tables = append(s.Tables, byPairs)
	}
	if r.Has("S07") {
		s.Text = append(s.Text, fmt.Sprintf("In S07 a reduce of 5 GB takes %s s alone and %s s paired (source: about 14 and "+
			"28 minutes).",
			x.Interval(r.Estimate("S07", "reduce-alone")), x.Interval(r.Estimate("S07", "reduce-paired"))))
	}
	return s, len(t.Rows)+len(byPairs.Rows) > 0
}
