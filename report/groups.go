package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

const (
	maxGroupRows = 400 // of one table
	maxGroupRuns = 12  // schedulers in one table
)

// groupTable shows the figures of queues, users or classes: a line each, sortable by any column.
type groupTable struct {
	ID, Title string
	Of        string // "queue"
	Note      string // how many there are and what was left out
	First     int    // lines shown at first; 0: the default of the page
	Heads     []groupHead
	Columns   []groupColumn
	Lines     []groupLine
}

// groupHead spans the columns of one metric.
type groupHead struct {
	Title string
	Span  int
	Gap   bool // starts a new metric: some space before it
}

type groupColumn struct {
	Label, Full string
	Hue         int // of a scheduler's colour; 0 for none
	Gap         bool
	Sorted      bool
}

type groupLine struct {
	Name, Note string
	Touched    bool
	Cells      []groupCell
}

type groupCell struct {
	compareCell
	Gap bool
}

// groupTables are those of a single run.
func groupTables(r *result.Run) []groupTable {
	if r == nil {
		return nil
	}
	var out []groupTable
	for _, k := range []struct {
		of     string
		groups []result.Group
	}{{"queue", r.ByQueue}, {"user", r.ByUser}, {"class", r.ByClass}} {
		t := newGroupTable(k.of, len(k.groups))
		t.fill(k.groups[:min(len(k.groups), maxGroupRows)])
		if len(t.Lines) == 0 || (len(t.Lines) == 1 && t.Lines[0].Name == "(none)") {
			continue
		}
		if k.of == "class" && len(out) > 0 && out[0].Of == "queue" && t.repeats(out[0]) {
			continue // where each queue has its class, one table suffices
		}
		out = append(out, t)
	}
	return out
}

func newGroupTable(of string, total int) groupTable {
	t := groupTable{ID: "by-" + of, Title: "By " + of, Of: of}
	var notes []string
	if total > 1 {
		notes = append(notes, unit.Number(int64(total))+" in all")
	}
	if total > maxGroupRows {
		notes = append(notes, fmt.Sprintf("the first %d are listed", maxGroupRows))
	}
	t.Note = strings.Join(notes, ", ")
	return t
}

// Marked reports whether a variant is about some of the lines.
func (t groupTable) Marked() bool {
	return slices.ContainsFunc(t.Lines, func(l groupLine) bool { return l.Touched })
}

// repeats says whether a table has the same lines as another.
func (t groupTable) repeats(other groupTable) bool {
	return slices.EqualFunc(t.Lines, other.Lines, func(a, b groupLine) bool { return a.Name == b.Name && slices.Equal(a.Cells, b.Cells) })
}

// fill adds the figures of a single run, a column each.
func (t *groupTable) fill(groups []result.Group) {
	for _, g := range groups {
		t.Lines = append(t.Lines, groupLine{Name: cmp.Or(g.Name, "(none)")})
	}
	add := func(label string, u verdict.Unit, gap bool, write func(float64) string, of func(*result.Group) float64) {
		t.Columns = append(t.Columns, groupColumn{Label: label, Gap: gap, Sorted: label == "container h"})
		for i := range groups {
			v := of(&groups[i])
			cell := groupCell{compareCell{Value: figure(v, u), Key: key(v), First: true}, gap}
			if write != nil {
				cell.Value = write(v)
			}
			t.Lines[i].Cells = append(t.Lines[i].Cells, cell)
		}
	}
	t.Heads = []groupHead{{"", 3, false}}
	add("jobs", verdict.Count, false, nil, func(g *result.Group) float64 { return float64(g.Jobs) })
	add("tasks", verdict.Count, false, nil, func(g *result.Group) float64 { return float64(g.Tasks) })
	add("container h", verdict.Ratio, false, nil, func(g *result.Group) float64 { return g.ContainerHours })
	quantiles := map[string]func(result.Stats) float64{
		"mean": func(s result.Stats) float64 { return s.Mean }, "median": func(s result.Stats) float64 { return s.Median },
		"p95": func(s result.Stats) float64 { return s.P95 }, "p99": func(s result.Stats) float64 { return s.P99 },
	}
	for _, m := range []struct {
		title  string
		unit   verdict.Unit
		stats  func(*result.Group) result.Stats
		labels []string
	}{
		{"wait", verdict.Seconds, func(g *result.Group) result.Stats { return g.Wait }, []string{"mean", "median", "p95", "p99"}},
		{"elapsed", verdict.Seconds, func(g *result.Group) result.Stats { return g.Elapsed }, []string{"median", "p95"}},
		{"slowdown", verdict.Ratio, func(g *result.Group) result.Stats { return g.Slowdown }, []string{"mean", "median", "p95"}},
	} {
		t.Heads = append(t.Heads, groupHead{m.title, len(m.labels), true})
		of := func(label string) func(*result.Group) float64 {
			return func(g *result.Group) float64 { s := m.stats(g); return stat(s, quantiles[label](s)) }
		}
		var values []float64
		for _, label := range m.labels {
			for i := range groups {
				values = append(values, of(label)(&groups[i]))
			}
		}
		for i, label := range m.labels {
			add(label, m.unit, i == 0, column(values, m.unit), of(label))
		}
	}
}

// changeTables compare groups before and after: for each metric, the first run's figure and those of the others, with their change. With many
// runs there is room for the first metric only.
func changeTables(groups []verdict.Group, runs []head) []groupTable {
	shown := runs[:min(len(runs), maxGroupRuns)]
	var out []groupTable
	for kind := range verdict.ByKind(groups) {
		t := newGroupTable(kind[0].Kind, len(kind))
		t.First = firstChanges
		metrics := len(kind[0].Rows)
		if n := len(shown); n > 2 {
			metrics = min(metrics, max(1, 5-n))
		}
		t.Heads, t.Columns = []groupHead{{"", 1, false}}, []groupColumn{{Label: "jobs"}}
		lines := kind[:min(len(kind), maxGroupRows)]
		for _, l := range lines {
			jobs := unit.Number(l.Jobs[0])
			for _, n := range l.Jobs[1:] {
				if n != l.Jobs[0] {
					jobs = unit.Number(slices.Min(l.Jobs)) + "–" + unit.Number(slices.Max(l.Jobs))
				}
			}
			line := groupLine{Name: cmp.Or(l.Name, "(none)"), Touched: l.Marked(), Cells: []groupCell{{compareCell{Value: jobs, Key: key(float64(l.Jobs[0])), First: true}, false}}}
			if l.Few {
				line.Note = "few jobs"
			}
			t.Lines = append(t.Lines, line)
		}
		for m := range metrics {
			t.Heads = append(t.Heads, groupHead{kind[0].Rows[m].Metric, len(shown), true})
			for r, h := range shown {
				t.Columns = append(t.Columns, groupColumn{Label: h.Name, Full: h.Full, Hue: h.Hue, Gap: r == 0})
			}
			var values []float64
			for _, l := range lines {
				for _, c := range l.Rows[m].Cells[:len(shown)] {
					values = append(values, c.Mean)
				}
			}
			write := column(values, kind[0].Rows[m].Unit)
			for i, l := range lines {
				for r, c := range compareCells(l.Rows[m], write)[:len(shown)] {
					t.Lines[i].Cells = append(t.Lines[i].Cells, groupCell{c, r == 0})
				}
			}
		}
		out = append(out, t)
	}
	return out
}

// firstChanges is the number of lines of a comparison of groups that the page shows at first.
const firstChanges = 5
