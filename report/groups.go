package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

const (
	maxGroupRows = 400 // of one table
	maxGroupRuns = 12  // schedulers in one table
)

// groupTable shows the figures of queues, users or classes: a line each, sortable by any column.
type groupTable struct {
	ID, Title string
	Of        string // "queue"
	Total     int
	Note      string // how many there are and what was left out
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
	value       func(line []*result.Group) (float64, Unit)
}

type groupLine struct {
	Name  string
	Cells []groupCell
}

type groupCell struct {
	Text, Key string
	Gap       bool
}

func groupTables(runs []Run, names []string) []groupTable {
	var out []groupTable
	for _, k := range []struct {
		id, title, of string
		groups        func(*result.Run) []result.Group
	}{
		{"by-queue", "By queue", "queue", func(r *result.Run) []result.Group { return r.ByQueue }},
		{"by-user", "By user", "user", func(r *result.Run) []result.Group { return r.ByUser }},
		{"by-class", "By class", "class", func(r *result.Run) []result.Group { return r.ByClass }},
	} {
		t := newGroupTable(runs, names, k.groups)
		if t.Total == 0 || (t.Total == 1 && t.Lines[0].Name == "(none)") {
			continue
		}
		if k.of == "class" && len(out) > 0 && out[0].Of == "queue" && t.repeats(out[0]) {
			continue // where each queue has its class, one table suffices
		}
		t.ID, t.Title, t.Of = k.id, k.title, k.of
		out = append(out, t)
	}
	return out
}

// repeats says whether a table has the same lines as another.
func (t groupTable) repeats(other groupTable) bool {
	return slices.EqualFunc(t.Lines, other.Lines, func(a, b groupLine) bool { return a.Name == b.Name && slices.Equal(a.Cells, b.Cells) })
}

func newGroupTable(runs []Run, names []string, groups func(*result.Run) []result.Group) groupTable {
	shown := min(len(runs), maxGroupRuns)
	var t groupTable
	lines := map[string][]*result.Group{}
	var order []string
	for r, run := range runs[:shown] {
		if run.Result == nil {
			continue
		}
		all := groups(run.Result)
		for i := range all {
			if lines[all[i].Name] == nil {
				lines[all[i].Name] = make([]*result.Group, shown)
				order = append(order, all[i].Name)
			}
			lines[all[i].Name][r] = &all[i]
		}
	}
	hours := func(name string) float64 {
		h, _ := ofFirst(func(g *result.Group) float64 { return g.ContainerHours }, Ratio)(lines[name])
		return h
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(hours(b), hours(a)), cmp.Compare(a, b)) })
	t.Total = len(order)
	var notes []string
	if t.Total > 1 {
		notes = append(notes, commas(int64(t.Total))+" in all")
	}
	if t.Total > maxGroupRows {
		notes = append(notes, fmt.Sprintf("the largest %d are listed", maxGroupRows))
		order = order[:maxGroupRows]
	}
	if len(runs) > shown {
		notes = append(notes, fmt.Sprintf("under the first %d of %d schedulers", shown, len(runs)))
	}
	t.Note = strings.Join(notes, ", ")
	t.columns(names[:shown], runs)
	for _, name := range order {
		name = cmp.Or(name, "(none)")
		t.Lines = append(t.Lines, groupLine{Name: name})
	}
	for from := 0; from < len(t.Columns); { // the columns of one metric
		to := from + 1
		for ; to < len(t.Columns) && !t.Columns[to].Gap; to++ {
		}
		var times []float64
		for _, c := range t.Columns[from:to] {
			for _, name := range order {
				if v, u := c.value(lines[name]); u == Seconds {
					times = append(times, v)
				}
			}
		}
		seconds := column(times, Seconds)
		for _, c := range t.Columns[from:to] {
			for i, name := range order {
				v, u := c.value(lines[name])
				cell := groupCell{figure(v, u), key(v), c.Gap}
				if u == Seconds {
					cell.Text = seconds(v)
				}
				t.Lines[i].Cells = append(t.Lines[i].Cells, cell)
			}
		}
		from = to
	}
	return t
}

// columns chooses the columns: many figures of one scheduler, a few of several side by side.
func (t *groupTable) columns(names []string, runs []Run) {
	t.Heads = []groupHead{{"", 3, false}}
	t.Columns = []groupColumn{
		{Label: "jobs", value: ofFirst(func(g *result.Group) float64 { return float64(g.Jobs) }, Count)},
		{Label: "tasks", value: ofFirst(func(g *result.Group) float64 { return float64(g.Tasks) }, Count)},
		{Label: "container h", Sorted: true, value: ofFirst(func(g *result.Group) float64 { return g.ContainerHours }, Ratio)},
	}
	wait := func(g *result.Group) result.Stats { return g.Wait }
	elapsed := func(g *result.Group) result.Stats { return g.Elapsed }
	slowdown := func(g *result.Group) result.Stats { return g.Slowdown }
	mean := func(s result.Stats) float64 { return s.Mean }
	median := func(s result.Stats) float64 { return s.Median }
	p95 := func(s result.Stats) float64 { return s.P95 }
	p99 := func(s result.Stats) float64 { return s.P99 }
	type quantile struct {
		label string
		of    func(result.Stats) float64
	}
	if len(names) == 1 {
		for _, m := range []struct {
			title string
			stats func(*result.Group) result.Stats
			unit  Unit
			of    []quantile
		}{
			{"wait", wait, Seconds, []quantile{{"mean", mean}, {"median", median}, {"p95", p95}, {"p99", p99}}},
			{"elapsed", elapsed, Seconds, []quantile{{"median", median}, {"p95", p95}}},
			{"slowdown", slowdown, Ratio, []quantile{{"mean", mean}, {"median", median}, {"p95", p95}}},
		} {
			t.Heads = append(t.Heads, groupHead{m.title, len(m.of), true})
			for i, q := range m.of {
				t.Columns = append(t.Columns, groupColumn{Label: q.label, Gap: i == 0, value: statOf(0, m.stats, q.of, m.unit)})
			}
		}
		return
	}
	type metric struct {
		title string
		stats func(*result.Group) result.Stats
		of    func(result.Stats) float64
		unit  Unit
	}
	metrics := []metric{
		{"median wait", wait, median, Seconds},
		{"p95 wait", wait, p95, Seconds},
		{"p95 slowdown", slowdown, p95, Ratio},
	}
	if len(names) > 3 {
		metrics = metrics[1:]
	}
	for _, m := range metrics {
		t.Heads = append(t.Heads, groupHead{m.title, len(names), true})
		for r, name := range names {
			t.Columns = append(t.Columns, groupColumn{
				Label: name, Full: runs[r].Name, Hue: r%8 + 1, Gap: r == 0, value: statOf(r, m.stats, m.of, m.unit),
			})
		}
	}
}

// ofFirst reads scheduler-independent values from the first run that has the group.
func ofFirst(of func(*result.Group) float64, u Unit) func([]*result.Group) (float64, Unit) {
	return func(line []*result.Group) (float64, Unit) {
		for _, g := range line {
			if g != nil {
				return of(g), u
			}
		}
		return nan, u
	}
}

func statOf(r int, stats func(*result.Group) result.Stats, of func(result.Stats) float64, u Unit) func([]*result.Group) (float64, Unit) {
	return func(line []*result.Group) (float64, Unit) {
		if line[r] == nil {
			return nan, u
		}
		s := stats(line[r])
		return stat(s, of(s)), u
	}
}
