package capacity

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"gonum.org/v1/gonum/stat"

	x "github.com/yardmaster/yardmaster/studies/experiment"
)

//go:embed sections.tmpl
var story string

// measure is a figure whose effects are reported by type.
type measure struct{ Metric, Title string }

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	return x.Story(story, r, template.FuncMap{
		"blocks": func() []block { return blocks[:] }, "unequal": func() []block { return unequal }, "hasAll": func(b block) bool { return r.Has(b.IDs()...) }, "types": func() []int { return allTypes },
		"alone": func() []int { return []int{0, 1, 2, 3, 5} }, // rows: no setting, each alone, and the two that the source recommends
		"by":    by, "inQueue": inQueueTitle, "workers": func() int { return workers }, "copies": func() int { return replication },
		"measured": func() []measure {
			return []measure{{"ratio", "Response ratio"}, {"wait", "Waiting time"}, {"exec", "Execution time"}, {"elapsed", "Elapsed time"}}
		},
		"effectNames": func() (names []string) {
			for _, e := range blocks[0].effects(r, "makespan") {
				names = append(names, e.Name)
			}
			return names
		},
		"effect": func(b block, metric string, i int) string {
			e := b.effects(r, metric)[i].Relative
			return x.Point{Mean: 100 * e.Mean, Lo: 100 * e.Low, Hi: 100 * e.High}.String()
		},
		"effects": func(b block, metric string) string { return effectCells(b.effects(r, metric)) },
		"strongest": func(b block, metric string) string {
			e := slices.MaxFunc(b.effects(r, metric), func(a, b x.Effect) int { return int(math.Copysign(1, a.Share-b.Share)) })
			return fmt.Sprintf("%s (%s %%, %.0f %% of the variation)", e.Name, percentEffect(e), 100*e.Share)
		},
		"close": func(name, prefix, metric string, recorded bool) string {
			return closeness(r, name, prefix, metric, recorded)
		},
		"localities": func() []locality { return localities(r) },
		"varies": func(b block, row, t int, queue string) string {
			pooled, ofRuns := variation(r, b.ID(row), strconv.Itoa(t), queue)
			cell := fmt.Sprintf("%.2f (%.2f)", pooled, ofRuns)
			if p, ok := b.published().Variation[queue][t]; ok {
				cell += fmt.Sprintf(" / %g", p[row])
			}
			return cell
		},
		"counted": func() []string { return counted(r) }, "met": func(id string) int { return positive(r, id, "delayed") }, "ofMix": func(id string) bool { return id[0] == 'E' },
		"first3": func(t string) []float64 { row := blocks[0].published().Ratio[""][int(number(t))]; return row[:3] },
		"paired": func(id string) []string { return paired(r, id) },
		"byPairs": func(id string, share float64) string {
			var at []float64
			for k, v := range r.Values(id, "paired") {
				if v == share {
					at = append(at, r.Values(id, "makespan")[k])
				}
			}
			if len(at) == 0 {
				return "-"
			}
			return fmt.Sprintf("%s in %d runs", x.Number(stat.Mean(at, nil)), len(at))
		},
		"sensitivity": func(i int) float64 { return paper().Sensitivity[5+i][0] },
		"orders":      func() []string { return []string{orders[0].name, orders[1].name, orders[2].name} },
		"otherOrders": func() bool {
			return slices.ContainsFunc(orders, func(o order) bool {
				return slices.ContainsFunc(slices.Concat(unequal[0].IDs(), unequal[1].IDs()), func(id string) bool { return r.Has(id + o.letter) })
			})
		},
	})
}

// by is the name of a type's figure, in one queue or in all.
func by(metric string, t int, queue string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s/%d/%s", metric, t, queue), "/")
}

func inQueueTitle(queue string) string {
	if queue == "" {
		return ""
	}
	return ", queue " + queue[1:]
}

// design is a block as a factorial design: bit 0 of a cell's index is a maximum-capacity, bit 1 ULF 2, bit 2 MULP 25.
func (b block) design() x.Design {
	cells := make([]string, len(rows))
	for i, r := range rows {
		at := 0
		for bit, second := range []bool{r.capped, r.factor == 2, r.percent == 25} {
			if second {
				at |= 1 << bit
			}
		}
		cells[at] = b.ID(i)
	}
	return x.Design{Factors: []string{"maximum-capacity", "ULF", "MULP"}, Cells: cells}
}

func (b block) effects(r *x.Runs, metric string) []x.Effect {
	d := b.design()
	return d.Effects(r, metric)
}

func effectCells(effects []x.Effect) string {
	var row []string
	for _, e := range effects {
		row = append(row, percentEffect(e))
	}
	return strings.Join(append(row, fmt.Sprintf("%.0f %%", 100*effects[2].Share)), " | ")
}

func percentEffect(e x.Effect) string {
	if e.Relative.N == 0 {
		return "-"
	}
	s := fmt.Sprintf("%+.1f", 100*e.Relative.Mean)
	if math.Abs(e.Relative.Mean) < 0.0005 {
		s = "0.0"
	}
	if e.Relative.Known {
		s += fmt.Sprintf(" ± %.1f", 100*e.Relative.Half())
	}
	return s
}

// QueuesApart are the queues whose figures are listed separately: "" is all together. QueuesVaried are those of the source's variation.
func (b block) QueuesApart() []string {
	if b.pattern == longFirst && b.capacity[0] != b.capacity[1] {
		return []string{"q1", "q2"}
	}
	return []string{""}
}

func (b block) QueuesVaried() []string {
	switch {
	case b.capacity[0] != b.capacity[1]:
		return []string{"q1", "q2"}
	case b.pattern == interleaved:
		return []string{"q1"}
	}
	return []string{""}
}

// Queues are the numbers of the queues, ShortQueues of those with short jobs.
func (b block) Queues() (all []int) {
	for i := range b.capacity {
		all = append(all, i+1)
	}
	return all
}

func (b block) ShortQueues() []int { return b.Queues()[:2] }

// Share is a queue with its capacity; Queue the same in a caption.
func (b block) Share(q int) string { return fmt.Sprintf("%d (%.0f %%)", q, b.capacity[q-1]) }

func (b block) Queue(q string) string {
	if q == "" {
		return ""
	}
	return ", queue " + b.Share(int(q[1]-'0'))
}

// Printed is a response ratio of the source, Makespan one of its makespans.
func (b block) Printed(queue string, t, row int) float64 { return b.published().Ratio[queue][t][row] }
func (b block) Makespan(q, row int) float64 {
	return b.published().Makespan[fmt.Sprintf("q%d", q)][row]
}

func (b block) published() *published { return &paper().Blocks[(b.first-1)/8] }

// closeness is a row with the deviation of our figures from the source's in a part of its tables.
func closeness(r *x.Runs, name, prefix, metric string, recorded bool) string {
	var errs []float64
	furthest, at := -1.0, ""
	for _, e := range experiments() {
		open := len(e.ID) == 3 && prefix == "E" && slices.ContainsFunc(unequal, func(b block) bool { return slices.Contains([]string{b.ID(0), b.ID(2), b.ID(3), b.ID(6)}, e.ID) })
		if !strings.HasPrefix(e.ID, prefix) || len(e.ID) != 3 || open != recorded || !r.Has(e.ID) {
			continue
		}
		for _, cell := range e.Reported {
			if !strings.HasPrefix(cell.Metric, metric) {
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
		return ""
	}
	slices.Sort(errs)
	within := func(bound float64) int {
		n, _ := slices.BinarySearch(errs, bound)
		return 100 * n / len(errs)
	}
	return fmt.Sprintf("| %s | %d | %.0f %% | %d %% | %d %% | %s |\n", name, len(errs), 100*errs[len(errs)/2], within(0.1), within(0.4), at)
}

// locality is a type's share of rack-local maps, in percent.
type locality struct {
	Type                                               int
	Maps                                               int64
	L, Low, High, Printed, From, To, Mean, Least, Most float64 // the closed form, the bounds, the source's mean and range, ours
}

// Inside reports whether the mean lies within the bounds.
func (l locality) Inside() bool { return l.Mean >= l.Low && l.Mean <= l.High }

// localities are those of all types; none where nothing was run.
func localities(r *x.Runs) (all []locality) {
	for _, t := range allTypes {
		var ours, printed []float64
		for _, b := range blocks {
			for _, id := range b.IDs() {
				if r.Has(id) {
					ours = append(ours, r.Estimate(id, by("rack-local", t, "")).Mean)
				}
			}
		}
		if len(ours) == 0 {
			return nil
		}
		for _, row := range printedShares(t) {
			printed = append(printed, row[:]...)
		}
		l := locality{Type: t, Maps: types[t].maps, L: 100 * rackLocalShare(types[t].maps, workers, replication), Printed: stat.Mean(printed, nil), Least: slices.Min(ours), Most: slices.Max(ours)}
		for _, v := range ours {
			l.Mean += v
		}
		l.Mean /= float64(len(ours))
		l.Low, l.High = localityBounds(t)
		l.From, l.To = printedRange(t)
		all = append(all, l)
	}
	return all
}

// counted are the experiments whose delayed jobs are listed: of E02 to E32 and their other orders, only those that have some.
func counted(r *x.Runs) []string {
	list := []string{"S01", "S03", "S04", "V1-Q2", "V1-MAXCAP", "V2-Q2", "V2-MAXCAP"}
	for _, b := range blocks {
		list = append(list, b.IDs()...)
	}
	list = append(list, "V1-Q2s", "V1-MAXCAPs", "V2-Q2s", "V2-MAXCAPs")
	for _, o := range orders {
		for _, b := range o.blocks {
			for _, id := range b.IDs() {
				list = append(list, id+o.letter)
			}
		}
	}
	return slices.DeleteFunc(list, func(id string) bool {
		return !r.Has(id) || id[0] == 'E' && id != "E01" && positive(r, id, "delayed") == 0
	})
}

// positive counts the seeds whose figure is above 0.
func positive(r *x.Runs, id, metric string) (n int) {
	for _, v := range r.Values(id, metric) {
		if v > 0 {
			n++
		}
	}
	return n
}

// paired are the rows of a validation's isolated and paired reduces, as the source's tables 5.2 and 5.3 count them.
func paired(r *x.Runs, id string) []string {
	line := func(who string, paired [8]int, of int) string {
		row, sum := "| "+id+" | "+who+" | ", 0
		for _, n := range paired {
			row, sum = row+fmt.Sprintf("%d-%d | ", of-n, n), sum+n
		}
		return row + fmt.Sprintf("%.1f %% |", 100*float64(sum)/float64(8*of))
	}
	var ours [8]int
	for i, job := range validationJobs {
		ours[i] = positive(r, id, "paired/"+job)
	}
	p := paper().Paired[id]
	return []string{line("real cluster", p.Real, 10), line("source's simulator", p.Simulated, 10), line("ours", ours, len(r.Seeds()))}
}
