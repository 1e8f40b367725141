package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

// groupJobs is the number of jobs from which on groups are judged: enough for a 95th percentile.
const groupJobs = 20

// kinds of groups, in the order in which they are shown.
var kinds = []struct {
	name, plural string

	of func(*result.Run) []result.Group
}{
	{"queue", "queues", func(r *result.Run) []result.Group { return r.ByQueue }},
	{"user", "users", func(r *result.Run) []result.Group { return r.ByUser }},
	{"class", "classes", func(r *result.Run) []result.Group { return r.ByClass }},
}

// Group compares the jobs of one queue, user or class under every scheduler.
type Group struct {
	Subject
	Jobs []int64 // finished in the first seed, by scheduler
	// Rows are the p95 elapsed time, by which groups are judged, the p95 slowdown, if known, and the share of jobs over 30 minutes.
	Rows    []Row
	Touched []bool // by scheduler: the variant is about this group
	Few     bool   // too few jobs to be judged
}

// serviceLevel is the threshold by which groups are compared: 30 minutes.
const serviceLevel = 2

// groupMetrics are what groups are compared by.
var groupMetrics = []struct {
	metric
	of func(*result.Group) (value float64, known bool)
}{
	{metric{name: "p95 elapsed", unit: Seconds}, func(g *result.Group) (float64, bool) { return g.Elapsed.P95, g.Elapsed.Count > 0 }},
	{metric{name: "p95 slowdown", unit: Ratio}, func(g *result.Group) (float64, bool) { return g.Slowdown.P95, g.Slowdown.Count > 0 }},
	{metric{name: levelName(serviceLevel), unit: Share}, func(g *result.Group) (float64, bool) {
		return result.ShareOver(g.Service, serviceLevel, g.Elapsed.Count), g.Elapsed.Count > 0
	}},
}

// groups compares queues, users and classes. Of each kind, those that a variant touches come first; then those that lose, largest loss first,
// then those that gain, then the others by usage. A kind with one group says no more than the whole does, and neither do classes that are the queues.
func (out *Comparison) groups() []Group {
	var all, queues []Group
	for _, kind := range kinds {
		found := out.groupsOf(kind.name, kind.of)
		touched := slices.ContainsFunc(found, func(g Group) bool { return slices.Contains(g.Touched, true) })
		if (len(found) < 2 || kind.name == "class" && slices.EqualFunc(found, queues, sameGroup)) && !touched {
			continue
		}
		if kind.name == "queue" {
			queues = slices.Clone(found)
		}
		slices.SortStableFunc(found, func(a, b Group) int {
			x, y := a.order(), b.order()
			return slices.Compare(y[:], x[:])
		})
		all = append(all, found...)
	}
	return all
}

func sameGroup(a, b Group) bool {
	return a.Name == b.Name && slices.EqualFunc(a.Rows[0].Cells, b.Rows[0].Cells, func(a, b Cell) bool { return slices.Equal(a.Values, b.Values) })
}

// groupsOf compares the groups of one kind, by usage.
func (out *Comparison) groupsOf(kind string, of func(*result.Run) []result.Group) []Group {
	at := make([][]map[string]*result.Group, len(out.Runs)) // by scheduler, then seed
	var names []string
	known := map[string]bool{}
	for s, runs := range out.Runs {
		for _, r := range runs {
			list := of(r)
			byName := make(map[string]*result.Group, len(list))
			for i := range list {
				byName[list[i].Name] = &list[i]
				if !known[list[i].Name] {
					known[list[i].Name] = true
					names = append(names, list[i].Name)
				}
			}
			at[s] = append(at[s], byName)
		}
	}
	groups := make([]Group, 0, len(names))
	for _, name := range names {
		whole := make([]bool, len(out.Runs)) // all of its jobs finished
		g := Group{Subject: Subject{kind, name}, Touched: make([]bool, len(out.Runs))}
		for s := range out.Runs {
			whole[s] = true
			for i := range out.Runs[s] {
				jobs := int64(0)
				if one := at[s][i][name]; one != nil {
					jobs, whole[s] = one.Elapsed.Count, whole[s] && one.Elapsed.Count == one.Jobs
				}
				if i == 0 {
					g.Jobs = append(g.Jobs, jobs)
				}
				g.Few = g.Few || jobs < groupJobs && !out.empty(s)
			}
			if s < len(out.touched) {
				g.Touched[s] = slices.ContainsFunc(out.touched[s], func(t Subject) bool { return t.covers(g.Subject) })
			}
		}
		if slices.Max(g.Jobs) == 0 {
			continue
		}
		for i := range groupMetrics {
			m := &groupMetrics[i]
			if out.row(m.name) == nil { // slowdowns are unknown
				continue
			}
			row := rowFrom(m.metric, len(out.Runs), len(out.Seeds), func(s, i int) float64 {
				if one := at[s][i][name]; one != nil {
					if v, known := m.of(one); known {
						return v
					}
				}
				return math.NaN()
			})
			out.settleRow(&row, g.Few, whole)
			g.Rows = append(g.Rows, row)
		}
		groups = append(groups, g)
	}
	return groups
}

// settleRow withdraws the judgements that a group's row cannot carry. A group all of whose jobs finished is judged, whatever others left out.
func (out *Comparison) settleRow(row *Row, few bool, whole []bool) {
	if out.alike {
		row.unjudge()
	}
	for s := 1; s < len(row.Cells); s++ {
		c := &row.Cells[s]
		switch {
		case out.apart(s) && !(whole[0] && whole[s]):
			c.forget()
			c.Judgement = Apart
		case few && (c.Judgement == Better || c.Judgement == Worse || c.Judgement == Unjudged):
			c.Judgement = Unclear
		}
	}
}

// order is what groups are sorted by: whether a variant touches it, its largest loss under any scheduler, and its largest gain.
func (g *Group) order() (key [3]float64) {
	if slices.Contains(g.Touched, true) {
		key[0] = 1
	}
	for s := 1; s < len(g.Rows[0].Cells); s++ {
		d := g.Rows[0].differs(s)
		key[1], key[2] = max(key[1], -d), max(key[2], d)
	}
	return key
}

// covers reports whether a subject is a group, or the parent of its queue. Jobs may name a queue by its path or by the path's end.
func (t Subject) covers(g Subject) bool {
	if t.Kind != g.Kind {
		return false
	}
	return t.Name == g.Name || t.Kind == "queue" && (strings.HasSuffix(t.Name, "."+g.Name) || strings.HasPrefix(strings.TrimPrefix(g.Name, "root."), strings.TrimPrefix(t.Name, "root.")+"."))
}

// losers says who loses under a scheduler besides what the variant is about: queues, or else classes, or else users. With many users some look
// worse by chance, so the sentence has their number. "": nobody loses.
func (out *Comparison) losers(s int) string {
	for _, k := range []int{0, 2, 1} {
		kind := kinds[k]
		var worst *Group
		most, lose, all := 0.0, 0, 0
		for i := range out.Groups {
			g := &out.Groups[i]
			if g.Kind != kind.name || g.Touched[s] {
				continue
			}
			all++
			size := -g.Rows[0].differs(s)
			if size > 0 {
				lose++
			}
			if size > most {
				worst, most = g, size
			}
		}
		switch {
		case lose == 1:
			return fmt.Sprintf("%s loses: %s.", worst.Subject, worst.Rows[0].says(s))
		case lose > 1:
			return fmt.Sprintf("%d of %d %s lose, %s most: %s.", lose, all, kind.plural, worst.Name, worst.Rows[0].says(s))
		}
	}
	return ""
}
