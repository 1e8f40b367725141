package experiment

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// groupFindings are the experiments of a group, which are shown side by side.
type groupFindings struct {
	Name        string
	Experiments []*ExperimentFinding
}

// groups are the groups of a study's experiments, in order of appearance.
func (s *StudyFinding) groups() []groupFindings {
	var out []groupFindings
	for i := range s.Experiments {
		e := &s.Experiments[i]
		at := slices.IndexFunc(out, func(g groupFindings) bool { return g.Name == e.Group })
		if at < 0 {
			at = len(out)
			out = append(out, groupFindings{Name: e.Group})
		}
		out[at].Experiments = append(out[at].Experiments, e)
	}
	return out
}

// abreast is how many experiments stand side by side in a table that a person can still read.
const abreast = 8

func (g *groupFindings) chunks() []groupFindings {
	var out []groupFindings
	for some := range slices.Chunk(g.Experiments, abreast) {
		out = append(out, groupFindings{Name: g.Name, Experiments: some})
	}
	return out
}

// Folded says whether there are so many that they are shown on demand.
func (g groupFindings) Folded() bool { return len(g.Experiments) > 2*abreast }

// about are the settings that all experiments share and, where no setting tells them apart, their titles.
func (g *groupFindings) about() (text []string) {
	shared, names, _ := g.setup()
	var pairs, titles []string
	for _, p := range shared {
		pairs = append(pairs, p.Name+": "+p.Value)
	}
	if len(pairs) > 0 {
		text = append(text, strings.Join(pairs, "; ")+".")
	}
	for _, e := range g.Experiments {
		titles = append(titles, e.ID+" "+e.Title)
	}
	if len(names) == 0 {
		text = append(text, strings.Join(titles, "; ")+".")
	}
	return text
}

// reportedRow is one figure in all experiments of a group; nil where the source prints none.
type reportedRow struct {
	What  string
	Cells []*ReportedFinding
	Notes []string
}

// reported puts the figures that the source prints side by side.
func (g *groupFindings) reported() []reportedRow {
	var rows []reportedRow
	for k, e := range g.Experiments {
		for i := range e.Reported {
			r := &e.Reported[i]
			what := r.What
			if r.Unit != "" {
				what += ", " + r.Unit
			}
			at := slices.IndexFunc(rows, func(row reportedRow) bool { return row.What == what })
			if at < 0 {
				at = len(rows)
				rows = append(rows, reportedRow{What: what, Cells: make([]*ReportedFinding, len(g.Experiments))})
			}
			rows[at].Cells[k] = r
			if r.Note != "" {
				rows[at].Notes = append(rows[at].Notes, e.ID+": "+r.Note)
			}
		}
	}
	return rows
}

// setup are the settings of a group: those that all experiments share, and those that tell them apart, by experiment.
func (g *groupFindings) setup() (shared []Pair, names []string, apart [][]string) {
	var order []string
	values := map[string][]string{}
	for k, e := range g.Experiments {
		for _, p := range e.Setup {
			if values[p.Name] == nil {
				order = append(order, p.Name)
				values[p.Name] = make([]string, len(g.Experiments))
			}
			values[p.Name][k] = p.Value
		}
	}
	for _, name := range order {
		row := values[name]
		if len(g.Experiments) > 1 && slices.ContainsFunc(row, func(v string) bool { return v != row[0] }) {
			names, apart = append(names, name), append(apart, row)
		} else {
			shared = append(shared, Pair{name, row[0]})
		}
	}
	return shared, names, apart
}

// short writes a point with half the width of its interval: "1190 ± 12". A width that is nothing in the places shown is left out.
func (p Point) short() string {
	if math.IsNaN(p.Mean) {
		return "-"
	}
	half := like((p.Hi-p.Lo)/2, p.Mean)
	if strings.Trim(half, "0.") == "" {
		return Number(p.Mean)
	}
	return Number(p.Mean) + " ± " + half
}

// like writes a half width with as many places after the point as its mean has.
func like(half, mean float64) string {
	switch a := math.Abs(mean); {
	case a >= 99.95:
		return strconv.FormatFloat(half, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(half, 'f', 1, 64)
	case a >= 0.0995:
		return strconv.FormatFloat(half, 'f', 2, 64)
	}
	return Number(half)
}

// printed is a figure of the source as it prints it.
func printed(v Float) string { return strconv.FormatFloat(float64(v), 'f', -1, 64) }
