package whatif

import (
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
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

// serviceLevel is the threshold by which groups are compared: 30 minutes.
const serviceLevel = 2

// groupMetrics are what groups are compared by.
var groupMetrics = []struct {
	metric
	of func(*result.Group) (value float64, known bool)
}{
	{metric{name: "p95 elapsed", unit: verdict.Seconds}, func(g *result.Group) (float64, bool) { return g.Elapsed.P95, g.Elapsed.Count > 0 }},
	{metric{name: "p95 slowdown", unit: verdict.Ratio}, func(g *result.Group) (float64, bool) { return g.Slowdown.P95, g.Slowdown.Count > 0 }},
	{metric{name: levelName(serviceLevel), unit: verdict.Share}, func(g *result.Group) (float64, bool) {
		return result.ShareOver(g.Service, serviceLevel, g.Elapsed.Count), g.Elapsed.Count > 0
	}},
}

// groups compares queues, users and classes. Of each kind, those that a variant touches come first; then those that lose, largest loss first,
// then those that gain, then the others by usage. A kind with one group says no more than the whole does, and neither do classes or users that
// are the queues.
func (out *Comparison) groups() []verdict.Group {
	var all, queues []verdict.Group
	for _, kind := range kinds {
		found := out.groupsOf(kind.name, func(s, i int) []result.Group {
			if kind.name == "queue" && out.stay != nil {
				return out.stay[s][i]
			}
			return kind.of(out.Runs[s][i])
		})
		touched := slices.ContainsFunc(found, func(g verdict.Group) bool { return g.Marked() })
		if (len(found) < 2 || kind.name != "queue" && sameGroups(found, queues)) && !touched {
			continue
		}
		if kind.name == "queue" {
			queues = slices.Clone(found)
		}
		slices.SortStableFunc(found, func(a, b verdict.Group) int {
			x, y := groupOrder(&a), groupOrder(&b)
			return slices.Compare(y[:], x[:])
		})
		all = append(all, found...)
	}
	return all
}

// sameGroups reports whether each group of a kind has the jobs of one of another kind, whatever their names.
func sameGroups(some, others []verdict.Group) bool {
	return len(some) == len(others) && !slices.ContainsFunc(some, func(a verdict.Group) bool {
		return !slices.ContainsFunc(others, func(b verdict.Group) bool {
			return slices.EqualFunc(a.Rows, b.Rows, func(x, y verdict.Row) bool {
				return slices.EqualFunc(x.Cells, y.Cells, func(a, b verdict.Cell) bool { return slices.Equal(a.Values, b.Values) })
			}) && slices.Equal(a.Jobs, b.Jobs)
		})
	})
}

// groupsOf compares the groups of one kind, by usage.
func (out *Comparison) groupsOf(kind string, of func(s, seed int) []result.Group) []verdict.Group {
	at := make([][]map[string]*result.Group, len(out.Runs)) // by scheduler, then seed
	var names []string
	known := map[string]bool{}
	for s, runs := range out.Runs {
		for i := range runs {
			list := of(s, i)
			byName := make(map[string]*result.Group, len(list))
			for k := range list {
				byName[list[k].Name] = &list[k]
				if !known[list[k].Name] {
					known[list[k].Name] = true
					names = append(names, list[k].Name)
				}
			}
			at[s] = append(at[s], byName)
		}
	}
	groups := make([]verdict.Group, 0, len(names))
	for _, name := range names {
		whole := make([]bool, len(out.Runs)) // all of its jobs finished
		g := verdict.Group{Subject: verdict.Subject{Kind: kind, Name: name}, Touched: make([]bool, len(out.Runs))}
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
				g.Touched[s] = slices.ContainsFunc(out.touched[s], func(t verdict.Subject) bool { return t.Covers(g.Subject) })
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
			row := m.row(len(out.Runs), len(out.Seeds), func(s, i int) float64 {
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
func (out *Comparison) settleRow(row *verdict.Row, few bool, whole []bool) {
	if out.alike {
		row.Unjudge()
	}
	for s := 1; s < len(row.Cells); s++ {
		c := &row.Cells[s]
		switch {
		case out.apart(s) && !(whole[0] && whole[s]):
			c.SetApart()
		case few && (c.Judgement == verdict.Better || c.Judgement == verdict.Worse):
			c.Judgement = verdict.Unclear
		}
	}
}

// groupOrder is what groups are sorted by: whether a variant touches it, its largest loss under any scheduler, and its largest gain.
func groupOrder(g *verdict.Group) (key [3]float64) {
	if g.Marked() {
		key[0] = 1
	}
	for s := 1; s < len(g.Rows[0].Cells); s++ {
		d := g.Rows[0].Differs(s, 1)
		key[1], key[2] = max(key[1], -d), max(key[2], d)
	}
	return key
}

// others says who else loses and gains under a scheduler, besides what the variant is about: queues, or else classes, or else users. Where
// nobody does, it says how sure that is.
func (out *Comparison) others(a *Answer) (said []string, nobody string) {
	s := a.Scheduler
	var judged []string // kinds
	settled, few := true, ""
	for _, k := range []int{0, 2, 1} {
		kind := kinds[k]
		var of []*verdict.Group
		touched := false
		for i := range out.Groups {
			switch g := &out.Groups[i]; {
			case g.Kind != kind.name:
			case g.Touched[s]:
				touched = true
			case g.Few:
				few = fmt.Sprintf(" with %d jobs or more", groupJobs)
			default:
				of = append(of, g)
				settled = settled && g.Rows[0].Settled(s)
			}
		}
		if len(of) == 0 && !touched {
			continue
		} else if len(of) == 0 { // the users of queues that it touches are these queues once more
			break
		}
		judged = append(judged, kind.name)
		for _, x := range []struct {
			sign      float64
			one, many string
		}{{-1, "loses", "lose"}, {1, "gains", "gain"}} {
			var most *verdict.Group
			n, largest := 0, 0.0
			for _, g := range of {
				size := x.sign * g.Rows[0].Differs(s, len(of))
				if size > 0 {
					n++
				}
				if size > largest {
					most, largest = g, size
				}
			}
			if n == 0 {
				continue
			}
			text := a.claim(most.Subject, x.sign > 0, []*verdict.Row{&most.Rows[0]})
			if n == 1 {
				said = append(said, fmt.Sprintf("%s %s: %s.", most.Subject, x.one, text))
			} else {
				said = append(said, fmt.Sprintf("%d of %d %s %s, %s most: %s.", n, len(of), kind.plural, x.many, most.Name, text))
			}
		}
		if len(said) > 0 {
			return said, ""
		}
		if touched {
			break
		}
	}
	other := ""
	if len(a.Touched) > 0 {
		other = "other "
	}
	switch {
	case len(judged) == 0:
		return nil, ""
	case settled:
		return nil, fmt.Sprintf("no %s%s loses or gains noticeably.", other, orList(judged)+few)
	}
	return nil, fmt.Sprintf("of no %s%s can it be told that it loses or gains.", other, orList(judged)+few)
}
