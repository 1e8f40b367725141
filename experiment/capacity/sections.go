package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	x "github.com/yardmaster/yardmaster/experiment"
)

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	var all []x.Section
	if s, ok := answerSection(r); ok {
		all = append(all, s)
	}
	for i := range blocks {
		if r.Has(blocks[i].ids()...) {
			all = append(all, factorialSection(r, blocks[i]))
		}
	}
	for _, one := range []func(*x.Runs) (x.Section, bool){
		closeSection, localitySection, variationSection, delayedSection, pairedSection, ordersSection,
	} {
		if s, ok := one(r); ok {
			all = append(all, s)
		}
	}
	return all
}

func typed(t int) string { return fmt.Sprintf("type %d", t) }

// by is the name of a type's figure, in one queue or in all.
func by(metric string, t int, queue string) string {
	if queue == "" {
		return fmt.Sprintf("%s/%d", metric, t)
	}
	return fmt.Sprintf("%s/%d/%s", metric, t, queue)
}

var twoQueues = []string{"q1", "q2"}

// factors of the design, as column heads.
var factors = []string{"maximum-capacity", "ULF", "MULP"}

// design is a block as the factorial's arithmetic wants it: bit 0 of a cell's place is a maximum-capacity, bit 1 ULF 2, bit 2 MULP 25.
func (b block) design() x.Design {
	cells := make([]string, len(rows))
	for i, r := range rows {
		at := 0
		if r.capped {
			at |= 1
		}
		if r.factor == 2 {
			at |= 2
		}
		if r.percent == 25 {
			at |= 4
		}
		cells[at] = b.id(i)
	}
	return x.Design{Factors: factors, Cells: cells}
}

// measured are the figures whose effects are told, by type.
var measured = []struct{ metric, title string }{
	{"ratio", "Response ratio"}, {"wait", "Waiting time"}, {"exec", "Execution time"}, {"elapsed", "Elapsed time"},
}

// queuesApart are the queues whose figures are told one by one: "" is all together.
func (b block) queuesApart() []string {
	if b.pattern == longFirst && b.capacity[0] != b.capacity[1] {
		return twoQueues
	}
	return []string{""}
}

func factorialSection(r *x.Runs, b block) x.Section {
	d := b.design()
	s := texts().Section("factorial", len(r.Seeds()))
	s.Title += fmt.Sprintf("%s (%s to %s)", b.name, b.id(0), b.id(7))
	s.Text = append(s.Text, b.summary(r, d))
	for _, q := range b.queuesApart() {
		of := ""
		if q != "" {
			of = ", queue " + q[1:] + fmt.Sprintf(" (%.0f %%)", b.capacity[q[1]-'1'])
		}
		for _, m := range measured {
			t := x.Table{Caption: m.title + of + ": effects, % of the mean"}
			for _, n := range allTypes {
				t.Rows = append(t.Rows, effectRow(r, &d, &t, typed(n), by(m.metric, n, q)))
			}
			s.Tables = append(s.Tables, t)
		}
	}
	spans := x.Table{Caption: "Makespan: effects, % of the mean"}
	for i := range b.capacity {
		q := fmt.Sprintf("q%d", i+1)
		spans.Rows = append(spans.Rows, effectRow(r, &d, &spans, fmt.Sprintf("queue %d", i+1), "makespan/"+q))
	}
	s.Tables = append(s.Tables, spans)
	for _, q := range b.queuesApart() {
		s.Charts = append(s.Charts, b.effectsChart(r, &d, q), b.ratioChart(r, q))
	}
	return s
}

func effectRow(r *x.Runs, d *x.Design, t *x.Table, name, metric string) []string {
	effects := d.Effects(r, metric)
	if t.Columns == nil {
		t.Columns = []string{""}
		for _, e := range effects {
			t.Columns = append(t.Columns, e.Name)
		}
		t.Columns = append(t.Columns, "explained by MULP")
	}
	row := []string{name}
	explained := "-"
	for _, e := range effects {
		row = append(row, percentEffect(e))
		if e.Name == factors[2] {
			explained = fmt.Sprintf("%.0f %%", 100*e.Share)
		}
	}
	return append(row, explained)
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

// summary names the settings that matter, from the figures.
func (b block) summary(r *x.Runs, d x.Design) string {
	var parts []string
	for _, g := range []struct{ group, name string }{{"short", "short jobs"}, {"long", "long jobs"}} {
		effects := slices.Clone(d.Effects(r, "ratio/"+g.group))
		slices.SortStableFunc(effects, func(a, b x.Effect) int { return int(math.Copysign(1, b.Share-a.Share)) })
		if len(effects) > 0 {
			e := effects[0]
			parts = append(parts, fmt.Sprintf("the response ratio of %s it is %s (%s %%, %.0f %% of the variation)",
				g.name, e.Name, percentEffect(e), 100*e.Share))
		}
	}
	return "What matters most: for " + strings.Join(parts, "; for ") + "."
}

// shown are the types that charts show: the source's figures 6.1 and 6.2 have the same.
var shown = []int{2, 4, 5, 7}

func (b block) effectsChart(r *x.Runs, d *x.Design, queue string) x.Chart {
	c := x.Chart{Title: "Effects on the response ratio" + inQueueTitle(queue), Unit: "%", Kind: x.Effects}
	for _, n := range shown {
		s := x.Series{Name: typed(n)}
		c.Categories = c.Categories[:0]
		for _, e := range d.Effects(r, by("ratio", n, queue)) {
			c.Categories = append(c.Categories, e.Name)
			s.Points = append(s.Points, x.Point{Mean: 100 * e.Relative.Mean, Lo: 100 * e.Relative.Low, Hi: 100 * e.Relative.High})
		}
		c.Series = append(c.Series, s)
	}
	return c
}

func inQueueTitle(queue string) string {
	if queue == "" {
		return ""
	}
	return ", queue " + queue[1:]
}

// ratioChart shows response ratios beside the source's.
func (b block) ratioChart(r *x.Runs, queue string) x.Chart {
	c := x.Chart{Title: "Response ratio" + inQueueTitle(queue) + ", beside the source's", Kind: x.Points, Log: true, Categories: b.ids()}
	for _, n := range []int{4, 5} {
		ours := x.Series{Name: typed(n)}
		paper := x.Series{Name: typed(n) + ", source", Paper: true}
		for i := range rows {
			ours.Points = append(ours.Points, r.Point(b.id(i), by("ratio", n, queue)))
			v := b.published().Ratio[queue][n][i]
			paper.Points = append(paper.Points, x.Point{Mean: v, Lo: v, Hi: v})
		}
		c.Series = append(c.Series, ours, paper)
	}
	return c
}

func (b block) published() *published { return &paper().Blocks[(b.first-1)/8] }
