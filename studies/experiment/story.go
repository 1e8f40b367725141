package experiment

import (
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// Story makes a study's sections from a template that is nearly Markdown:
//
//	## Title of a section
//	Paragraphs with an empty line between them.
//	**Caption of a table**
//	| column | column |
//	| cell | cell |
//	!bars|s|log|Title of a chart: its kind, unit, "log" or nothing
//	|  | series | *series of the source's |
//	| category | point | point |
//
// A point is its mean, or mean, low and high; for boxes also the ends of the whiskers. The template has the functions below besides own.
// Tables without rows, charts without categories and sections with neither are left out.
func Story(text string, r *Runs, own template.FuncMap) []Section {
	t := template.New("sections").Funcs(template.FuncMap{
		"seeds": func() int { return len(r.seeds) }, "has": func(ids ...string) bool { return r.Has(ids...) }, "list": func(words ...string) []string { return words },
		"mean": func(id, metric string) float64 { return r.Point(id, metric).Mean }, "interval": func(id, metric string) string { return Interval(r.Estimate(id, metric)) },
		// changed is the change from a figure to another, each "experiment figure", with its interval.
		"changed": func(from, to string) string {
			a, b, _ := strings.Cut(from, " ")
			c, d, _ := strings.Cut(to, " ")
			j := Changes(Of(a, b), Of(c, d), -1, 1).Of(r)
			if at := strings.Index(j.Ours, ", "); at >= 0 {
				return j.Ours[at+2:]
			}
			return j.Ours
		},
		"point": func(id, metric string) string { return r.Point(id, metric).String() }, "number": Number, "cat": func(words ...string) string { return strings.Join(words, "") },
	}).Funcs(own)
	var b strings.Builder
	if err := template.Must(t.Parse(text)).Execute(&b, nil); err != nil {
		panic("experiment: " + err.Error())
	}
	var all []Section
	var rows func(cells []string)
	open := false // a paragraph
	for line := range strings.SplitSeq(b.String(), "\n") {
		s := &Section{}
		if len(all) > 0 {
			s = &all[len(all)-1]
		}
		paragraph := false
		switch kind, rest := line[:min(1, len(line))], line[min(1, len(line)):]; {
		case line == "":
		case strings.HasPrefix(line, "## "):
			all = append(all, Section{Title: line[3:]})
		case strings.HasPrefix(line, "**"):
			s.Tables = append(s.Tables, Table{Caption: strings.Trim(line, "*")})
			rows = s.Tables[len(s.Tables)-1].add
		case kind == "!":
			f := strings.SplitN(rest, "|", 4)
			s.Charts = append(s.Charts, Chart{Kind: ChartKind(f[0]), Unit: f[1], Log: f[2] != "", Title: f[3]})
			rows = s.Charts[len(s.Charts)-1].add
		case kind == "|":
			rows(strings.Split(strings.TrimSuffix(strings.TrimPrefix(rest, " "), " |"), " | "))
		case open:
			s.Text[len(s.Text)-1] += " " + line
			paragraph = true
		default:
			s.Text = append(s.Text, line)
			paragraph = true
		}
		open = paragraph
	}
	for i := range all {
		all[i].Tables = slices.DeleteFunc(all[i].Tables, func(t Table) bool { return len(t.Rows) == 0 })
		all[i].Charts = slices.DeleteFunc(all[i].Charts, func(c Chart) bool { return len(c.Categories) == 0 })
	}
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Tables)+len(s.Charts) == 0 })
}

func (t *Table) add(cells []string) {
	if t.Columns == nil {
		t.Columns = cells
		return
	}
	t.Rows = append(t.Rows, cells)
}

func (c *Chart) add(cells []string) {
	if c.Series == nil {
		for _, name := range cells[1:] {
			c.Series = append(c.Series, Series{Name: strings.TrimPrefix(name, "*"), Paper: strings.HasPrefix(name, "*")})
		}
		return
	}
	c.Categories = append(c.Categories, cells[0])
	for i, cell := range cells[1:] {
		v := make([]float64, 0, 5)
		for word := range strings.FieldsSeq(cell) {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				panic("experiment: " + err.Error())
			}
			v = append(v, x)
		}
		if len(v) == 1 {
			v = append(v, v[0], v[0])
		}
		s := &c.Series[i]
		if s.Points = append(s.Points, Point{v[0], v[1], v[2]}); len(v) > 3 {
			s.Reach = append(s.Reach, Point{v[0], v[3], v[4]})
		}
	}
}

// String writes a point as Story reads it.
func (p Point) String() string {
	words := make([]string, 3)
	for i, v := range []float64{p.Mean, p.Lo, p.Hi} {
		words[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(words, " ")
}
