package marp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	x "github.com/yardmaster/yardmaster/experiment"
	control "github.com/yardmaster/yardmaster/steer/marp"
)

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	var all []x.Section
	for _, one := range []struct {
		name  string
		needs string // "": it looks itself
		fill  func(r *x.Runs, s *x.Section)
	}{
		{"results", "", resultSection}, {"gantt", "", ganttSection}, {"curves", "E10", curveSection}, {"disk", "E12", diskSection}, {"sweep", "E4", sweepSection},
		{"delay", "E13", delaySection}, {"sensitivity", "E20", sensitivitySection}, {"processors", "E21", processorSection}, {"balance", "E22", balanceSection},
	} {
		s := texts().Section(one.name)
		if one.needs == "" || r.Has(one.needs) {
			one.fill(r, &s)
		}
		if len(s.Tables)+len(s.Charts) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func seconds(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.1f", v)
}

// boxes are the statistics of each variant's batch times in an experiment.
func boxes(r *x.Runs, e string) map[string]*box {
	all := map[string]*box{}
	for _, name := range compared {
		b := boxOf(r.Values(e, "makespan/"+name))
		all[name] = &b
	}
	return all
}

// resultSection is the three benchmarks beside the source's tables.
func resultSection(r *x.Runs, s *x.Section) {
	s.Text[0] = fmt.Sprintf(s.Text[0], len(r.Seeds()))
	gainChart := x.Chart{Title: "Improvement over PRJ, means", Unit: "%", Kind: x.Effects}
	for _, b := range benches() {
		e := b.experiment
		if !r.Has(e) {
			continue
		}
		all := boxes(r, e)
		s.Tables = append(s.Tables, boxTable(b, all), gainTable(b, all), oursTable(b, all))
		s.Charts = append(s.Charts, boxChart(b, all))
		ours, theirs := x.Series{Name: b.name}, x.Series{Name: b.name + ", source", Paper: true}
		gainChart.Categories = nil
		for _, name := range steered {
			gainChart.Categories = append(gainChart.Categories, title(name))
			j := x.Changes(x.Of(e, "makespan/prj"), x.Of(e, "makespan/"+name), -1, 1).Of(r)
			ours.Points = append(ours.Points, x.Point{Mean: -100 * j.Value, Lo: -100 * j.Hi, Hi: -100 * j.Lo})
			v := paper().Gains[e][name][0]
			theirs.Points = append(theirs.Points, x.Point{Mean: v, Lo: v, Hi: v})
		}
		gainChart.Series = append(gainChart.Series, ours, theirs)
	}
	if len(s.Tables) > 0 {
		s.Charts = append(s.Charts, gainChart)
	}
}

// boxTable is a benchmark's box plots, the source's beside ours.
func boxTable(b *bench, all map[string]*box) x.Table {
	t := x.Table{Caption: fmt.Sprintf("%s %s: batch times, s", b.experiment, b.title), Columns: []string{""}}
	rows := []string{"lower quartile", "upper quartile", "IQR", "lower extreme", "upper extreme", "median", "mean ± 95 %", "outliers"}
	for _, row := range rows {
		t.Rows = append(t.Rows, []string{row})
	}
	for _, name := range sourceNames {
		o, p := all[name], paper().Tables[b.experiment][name]
		t.Columns = append(t.Columns, title(name), "source")
		for i, cell := range [][2]string{
			{seconds(o.lower), seconds(p.Lower)}, {seconds(o.upper), seconds(p.Upper)}, {seconds(o.iqr()), seconds(p.IQR)}, {seconds(o.lowExtreme), seconds(p.LowExtreme)},
			{seconds(o.highExtreme), seconds(p.HighExtreme)}, {seconds(o.median), seconds(p.Median)},
			{seconds(o.mean.Mean) + " ± " + seconds(o.mean.Half()), seconds(p.Mean) + " ± " + fmt.Sprint(p.Half)}, {o.outlierText(), p.Outliers},
		} {
			t.Rows[i] = append(t.Rows[i], cell[0], cell[1])
		}
	}
	return t
}

func gainTable(b *bench, all map[string]*box) x.Table {
	t := x.Table{Caption: fmt.Sprintf("%s %s: improvement over PRJ, %%", b.experiment, b.title), Columns: []string{""}}
	for _, row := range gainNames {
		t.Rows = append(t.Rows, []string{row})
	}
	for _, name := range append(slices.Clone(steered), "ahead", "kalman-mem") {
		t.Columns = append(t.Columns, title(name))
		paper, known := paper().Gains[b.experiment][name]
		if known {
			t.Columns = append(t.Columns, "source")
		}
		for i, g := range gains(all["prj"], all[name]) {
			t.Rows[i] = append(t.Rows[i], fmt.Sprintf("%.1f", 100*g))
			if known {
				t.Rows[i] = append(t.Rows[i], fmt.Sprintf("%.1f", paper[i]))
			}
		}
	}
	return t
}

// oursTable is what the source did not measure.
func oursTable(b *bench, all map[string]*box) x.Table {
	t := x.Table{Caption: fmt.Sprintf("%s %s: not in the source; batch times, s", b.experiment, b.title), Columns: []string{"", "mean ± 95 %", "median", "extremes", "against PRJ, %"}}
	for _, name := range ours {
		o := all[name]
		t.Rows = append(t.Rows, []string{
			title(name), seconds(o.mean.Mean) + " ± " + seconds(o.mean.Half()), seconds(o.median), seconds(o.lowExtreme) + " to " + seconds(o.highExtreme),
			fmt.Sprintf("%+.1f", 100*(o.mean.Mean/all["prj"].mean.Mean-1)),
		})
	}
	return t
}

// boxChart shows box plots, ours and the source's.
func boxChart(b *bench, all map[string]*box) x.Chart {
	c := x.Chart{Title: b.title + ": batch times", Unit: "s", Kind: x.Boxes}
	ours, theirs := x.Series{Name: "ours"}, x.Series{Name: "source"}
	for _, name := range compared {
		o := all[name]
		c.Categories = append(c.Categories, title(name))
		ours.Points = append(ours.Points, x.Point{Mean: o.median, Lo: o.lower, Hi: o.upper})
		ours.Reach = append(ours.Reach, x.Point{Mean: o.median, Lo: o.lowExtreme, Hi: o.highExtreme})
		p, ok := paper().Tables[b.experiment][name]
		if !ok {
			nan := math.NaN()
			p = published{Median: nan, Lower: nan, Upper: nan, LowExtreme: nan, HighExtreme: nan}
		}
		theirs.Points = append(theirs.Points, x.Point{Mean: p.Median, Lo: p.Lower, Hi: p.Upper})
		theirs.Reach = append(theirs.Reach, x.Point{Mean: p.Median, Lo: p.LowExtreme, Hi: p.HighExtreme})
	}
	c.Series = []x.Series{ours, theirs}
	return c
}

// ganttSection shows when jobs ran, and the share, with the first seed.
func ganttSection(r *x.Runs, s *x.Section) {
	value := func(e, metric string) float64 {
		if vs := r.Values(e, metric); len(vs) > 0 {
			return vs[0]
		}
		return math.NaN()
	}
	for _, k := range [][2]string{{"E5", "cbt"}, {"E18", "cbtws"}, {"E18", "cbtwat"}} {
		e, name := k[0], k[1]
		if !r.Has(e) {
			continue
		}
		c := x.Chart{Title: title(name), Unit: "s", Kind: x.Spans}
		t := x.Table{Caption: title(name) + ", seconds from the start of the clients", Columns: []string{"job", "start", "50 %", "end"}}
		bars := x.Series{Name: "jobs"}
		for i := range six {
			at := fmt.Sprintf("gantt/%s/%d/", name, i+1)
			p := x.Point{Mean: value(e, at+"half"), Lo: value(e, at+"start"), Hi: value(e, at+"end")}
			c.Categories = append(c.Categories, fmt.Sprint("job ", i+1))
			bars.Points = append(bars.Points, p)
			t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), seconds(p.Lo), seconds(p.Mean), seconds(p.Hi)})
		}
		c.Series = []x.Series{bars}
		s.Charts = append(s.Charts, c, firstCurve(r, e, "share/"+name, title(name)+": share in force", ""))
		s.Tables = append(s.Tables, t)
	}
}

func firstCurve(r *x.Runs, e, metric, title, unit string) x.Chart {
	c := x.Chart{Title: title, Unit: unit, Kind: x.Lines}
	line := x.Series{Name: "share"}
	for _, name := range r.Metrics(e) {
		if at, ok := strings.CutPrefix(name, metric+"/"); ok {
			if v := r.Values(e, name)[0]; !math.IsNaN(v) {
				c.Categories = append(c.Categories, strings.TrimLeft(at, "0"))
				line.Points = append(line.Points, x.Point{Mean: v, Lo: v, Hi: v})
			}
		}
	}
	c.Series = []x.Series{line}
	return c
}

// meanCurves are means over seeds, as long as half of the seeds are still at work.
func meanCurves(r *x.Runs, e, metric, heading, unit string, names []string) x.Chart {
	c := x.Chart{Title: heading, Unit: unit, Kind: x.Lines}
	values := map[string]map[string]x.Point{}
	for _, name := range names {
		values[name] = map[string]x.Point{}
		for _, m := range r.Metrics(e) {
			at, ok := strings.CutPrefix(m, metric+name+"/")
			if !ok {
				continue
			}
			if est := r.Estimate(e, m); 2*est.N >= len(r.Seeds()) {
				values[name][at] = x.Point{Mean: est.Mean, Lo: est.Mean, Hi: est.Mean}
				if !slices.Contains(c.Categories, at) {
					c.Categories = append(c.Categories, at)
				}
			}
		}
	}
	slices.Sort(c.Categories)
	for _, name := range names {
		line := x.Series{Name: title(name)}
		for _, at := range c.Categories {
			p, ok := values[name][at]
			if !ok {
				p = x.Point{Mean: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
			}
			line.Points = append(line.Points, p)
		}
		c.Series = append(c.Series, line)
	}
	for i, at := range c.Categories {
		c.Categories[i] = strings.TrimLeft(at, "0")
	}
	return c
}

func curveSection(r *x.Runs, s *x.Section) {
	s.Charts = []x.Chart{meanCurves(r, "E10", "curve/", "Progress of a running job in 10 s", "points", sourceNames)}
}

func diskSection(r *x.Runs, s *x.Section) {
	s.Charts = []x.Chart{meanCurves(r, "E12", "disk-curve/", "On the disk", "GB", sourceNames)}
}

func sweepSection(r *x.Runs, s *x.Section) {
	for _, n := range sweepCounts {
		c := x.Chart{Title: fmt.Sprintf("%d jobs", n), Unit: "s", Kind: x.Points}
		line := x.Series{Name: "batch time"}
		for _, v := range control.Sweep() {
			c.Categories = append(c.Categories, fmt.Sprintf("%.1f", v.Value))
			line.Points = append(line.Points, r.Point("E4", "makespan/"+sweepName(n, v.Value)))
		}
		c.Series = []x.Series{line}
		s.Charts = append(s.Charts, c)
	}
}

func delaySection(r *x.Runs, s *x.Section) {
	t := x.Table{Caption: "CBT: batch times, s", Columns: []string{"", "PRJ", "with the delay", "without", "without, and 15 s instead of 30 after an increase", "saved, points of PRJ", "source's estimate",
		"on a disk that takes no time: with the delay", "without"}}
	estimate := map[string]string{"E7": "19.2", "E8": "16.3", "E9": "17.6"}
	for _, b := range benches() {
		v := func(name string) float64 { return r.Estimate("E13", "makespan/"+b.short+"/"+name).Mean }
		t.Rows = append(t.Rows, []string{b.title, seconds(v("prj")), seconds(v("cbt")), seconds(v("zero")), seconds(v("zero-15")),
			fmt.Sprintf("%.1f", 100*(v("cbt")-v("zero"))/v("prj")), estimate[b.experiment], seconds(v("fast-cbt")), seconds(v("fast-zero"))})
	}
	s.Tables = []x.Table{t}
}

func sensitivitySection(r *x.Runs, s *x.Section) {
	t := x.Table{Caption: "Change of the mean batch time, % (halved, doubled)", Columns: []string{"parameter", "value: halved, doubled"}}
	for _, c := range steered {
		t.Columns = append(t.Columns, title(c))
	}
	for _, p := range parameters() {
		row := []string{p.name, p.values}
		for _, c := range steered {
			if !slices.Contains(p.of, c) {
				row = append(row, "-")
				continue
			}
			var cells []string
			for _, way := range []string{"half", "double"} {
				j := x.Changes(span("E20", c), span("E20", c+"/"+p.name+"/"+way), -1, 1).Of(r)
				cells = append(cells, fmt.Sprintf("%+.1f", 100*j.Value))
			}
			row = append(row, strings.Join(cells, ", "))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []x.Table{t}
}

func processorSection(r *x.Runs, s *x.Section) {
	for _, kind := range [][2]string{{"plain", "as they are"}, {"long", "reduces compute for so long that PRJ takes as long as the source's"}} {
		t := x.Table{Caption: "Batch times, s (against PRJ, %): " + kind[1], Columns: []string{"", "PRJ"}}
		names := append(slices.Clone(steered), "ahead")
		for _, name := range names {
			t.Columns = append(t.Columns, title(name))
		}
		for _, b := range benches() {
			prj := r.Estimate("E21", "makespan/"+b.short+"/"+kind[0]+"/prj").Mean
			row := []string{b.name, seconds(prj)}
			for _, name := range names {
				v := r.Estimate("E21", "makespan/"+b.short+"/"+kind[0]+"/"+name).Mean
				row = append(row, fmt.Sprintf("%.1f (%+.1f)", v, 100*(v/prj-1)))
			}
			t.Rows = append(t.Rows, row)
		}
		s.Tables = append(s.Tables, t)
	}
}
