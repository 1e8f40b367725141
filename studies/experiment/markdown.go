package experiment

import (
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"plain": plainText, "plural": plural, "seeds": seedsText, "cell": cell, "ours": ours, "stop": func(s string) string { return strings.TrimSuffix(s, ".") },
	"headline": headlineTable, "picture": func(s StudyFinding) bool { return s.Pictured() }, "inShort": inShort, "causes": causes, "checks": checkTables, "fold": folded, "inBrief": inBrief, "table": func(t Table) string { return t.markdown(t.figures) }, "chart": chartTable,
	"groups": func(s StudyFinding) []groupFindings { return s.groups() }, "group": groupTables, "ground": ground,
}).Parse(pageText))

// WriteMarkdown writes the findings as a page for readers who want to know what of a study holds, what does not, and why. command
// regenerates the page; "" omits it. The page has nothing that changes from one run of the same command to the next.
func (f *Findings) WriteMarkdown(w io.Writer, command string) error {
	var notes []string
	if !f.OK() {
		notes = append(notes, "exits 1: checks that must hold miss")
	}
	for i := range f.Studies {
		if takes := f.Studies[i].Takes; takes != "" && f.Studies[i].Whole {
			notes = append(notes, "takes "+takes)
		}
	}
	if command != "" && len(notes) > 0 {
		command += "    # " + strings.Join(notes, "; ")
	}
	shown := *f
	shown.Command = command
	if err := page.Execute(w, &shown); err != nil {
		return fmt.Errorf("writing a page: %w", err)
	}
	return nil
}

func inShort(checks []CheckFinding) Table {
	t := Table{Columns: []string{"strength", "what it means", "holds", "does not", "says nothing", "not judged"}}
	all := tallies(checks)
	for _, of := range []struct {
		strength Strength
		means    string
	}{{A, "follows from the algorithm: must hold"}, {B, "a trend that the source reports"}, {R, "reported, but need not follow: recorded"}} {
		n := all[of.strength]
		t.Rows = append(t.Rows, []string{string(of.strength), of.means, fmt.Sprint(n.pass + n.same), fmt.Sprint(n.miss + n.differ), fmt.Sprint(n.vacuous), fmt.Sprint(n.unclear + n.open)})
	}
	return t
}

// headline are the checks that the source is cited for.
func (s *StudyFinding) headline() (all []*CheckFinding) {
	for _, id := range s.Headline {
		for i := range s.Checks {
			if c := &s.Checks[i]; c.ID == id {
				all = append(all, c)
			}
		}
	}
	return all
}

// headlineTable has a row for each of them; nil: the study names none, or none was judged.
func headlineTable(s StudyFinding) *Table {
	t := &Table{Columns: []string{"check", "the source says", "source", "here", ""}}
	words := map[Verdict]string{Pass: "holds", Miss: "**missed**", Vacuous: "says nothing", Unclear: "unclear", NotRun: "not judged", Record: "holds"}
	for _, c := range s.headline() {
		word := words[c.Verdict]
		if c.Verdict == Record && !c.Holds {
			word = "**missed** (recorded)"
		}
		t.Rows = append(t.Rows, []string{c.ID, c.Text, cell(c.Paper), inBrief(c), word})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// cause is a reason with the checks that do not hold for it.
type cause struct {
	Text   string
	Checks []*CheckFinding
}

// reference is a reason that points at that of another check.
var reference = regexp.MustCompile(`^[Ss]ee (\S+)$`)

// causes groups the checks that do not hold by their reason, and the strongest check first inside one; those that explain most come first.
func causes(s StudyFinding) (all []cause) {
	byID := map[string]*CheckFinding{}
	for i := range s.Checks {
		byID[s.Checks[i].ID] = &s.Checks[i]
	}
	unknown := cause{Text: "No cause is established."}
	for _, strength := range []Strength{A, B, R} {
		for i := range s.Checks {
			c := &s.Checks[i]
			if c.Strength != strength || !c.Bad() {
				continue
			}
			why := c.Why
			if m := reference.FindStringSubmatch(why); m != nil && byID[m[1]] != nil && byID[m[1]].Why != "" {
				why = byID[m[1]].Why
			}
			if why == "" {
				unknown.Checks = append(unknown.Checks, c)
				continue
			}
			text := strings.ToUpper(why[:1]) + strings.TrimSuffix(why[1:], ".") + "."
			at := slices.IndexFunc(all, func(k cause) bool { return k.Text == text })
			if at < 0 {
				at = len(all)
				all = append(all, cause{Text: text})
			}
			all[at].Checks = append(all[at].Checks, c)
		}
	}
	slices.SortStableFunc(all, func(a, b cause) int { return len(b.Checks) - len(a.Checks) })
	if len(unknown.Checks) > 0 {
		all = append(all, unknown)
	}
	return all
}

// inBrief is the beginning of our figure; the table of all checks has the rest.
func inBrief(c *CheckFinding) string { return clip(ours(c), 120) }

// folded opens a part of the page that shows only its title until a reader opens it. A title is HTML, not Markdown.
func folded(title string) string {
	return "<details><summary>" + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(title) + "</summary>\n\n"
}

// checkTables are all checks, and the rules that they are judged by.
func checkTables(s StudyFinding) [2]Table {
	t := Table{Columns: []string{"check", "", "the source says", "source", "here", "verdict"}}
	rules := Table{Columns: []string{"check", "judged by"}}
	for i := range s.Checks {
		c := &s.Checks[i]
		here := ours(c)
		if c.Verdict == NotRun {
			here = "needs " + brief(c.Lacks, 4)
		}
		verdict := c.Outcome()
		if c.Verdict == Miss {
			verdict = "**" + verdict + "**"
		}
		t.Rows = append(t.Rows, []string{c.ID, string(c.Strength), c.Text, c.Paper, here, verdict})
		rules.Rows = append(rules.Rows, []string{c.ID, clip(c.Rule, 240)})
	}
	return [2]Table{t, rules}
}

// chartTable writes a chart's figures as a table: the picture is in the HTML report. Curves are thinned; spans and boxes have a
// table of their own.
func chartTable(c Chart) string {
	if c.Kind == Spans || c.Kind == Boxes {
		return ""
	}
	step := 1
	if c.Kind == Lines {
		step = (len(c.Categories) + curveRows - 1) / curveRows
	}
	title := c.Title
	if c.Unit != "" {
		title += ", " + c.Unit
	}
	t := Table{Caption: title, Columns: []string{""}}
	for _, s := range c.Series {
		t.Columns = append(t.Columns, s.Name)
	}
	for i := max(step, 1) - 1; i < len(c.Categories); i += step {
		row := []string{c.Categories[i]}
		for _, s := range c.Series {
			text := "-"
			if i < len(s.Points) {
				text = s.Points[i].short()
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.markdown(t.figures)
}

// curveRows is the number of rows of a curve on a page.
const curveRows = 16

// groupTables writes the settings and figures of a group's experiments side by side.
func groupTables(all groupFindings) string {
	var b strings.Builder
	para := func(text string) { b.WriteString(plainText(text) + "\n\n") }
	for _, g := range all.chunks() {
		for _, text := range g.about() {
			para(text)
		}
		table := g.table()
		t := Table{}
		for _, c := range table.Columns {
			t.Columns = append(t.Columns, c.Text)
		}
		var notes []string
		for _, row := range table.Rows {
			cells := []string{row[0].Text}
			for _, c := range row[1:] {
				text := strings.TrimSuffix(c.Text+" "+c.Small, " ")
				for _, source := range c.Below {
					text = strings.TrimPrefix(source, besideSource) + " / " + text
				}
				cells = append(cells, text)
			}
			t.Rows = append(t.Rows, cells)
			for _, note := range row[0].Below {
				if !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
		if len(t.Rows) > 0 {
			b.WriteString(t.markdown(func(column int) bool { return column > 0 }))
		}
		for _, note := range notes {
			para("Note on " + note)
		}
	}
	return b.String()
}

// groundList is a list of what the findings rest on.
type groundList struct {
	Title, Lead string
	Items       []string
}

func ground(s StudyFinding) []groundList {
	return slices.DeleteFunc([]groundList{
		{"What was assumed", "The source leaves these open; this is how they are settled here.", s.Assumptions},
		{"What the model was set by", "", s.Calibrated},
		{"Checks that say nothing", "They could not have failed here, or chance decides them, so they count neither as holding nor as missing.", s.vacuous()},
		{"Rules changed after results were seen", "A rule that was fitted to what it judges shows less. This is what it was before, judged on the same runs.", s.revised()},
	}, func(l groundList) bool { return len(l.Items) == 0 })
}

// markdown writes a table; columns for which figures returns true are right-aligned.
func (t *Table) markdown(figures func(column int) bool) string {
	var b strings.Builder
	if t.Caption != "" {
		b.WriteString("**" + plainText(t.Caption) + "**\n\n")
	}
	rule := make([]string, len(t.Columns))
	for i := range rule {
		if rule[i] = "---"; figures(i) {
			rule[i] = "--:"
		}
	}
	for _, row := range append([][]string{t.Columns, rule}, t.Rows...) {
		b.WriteString("|")
		for _, c := range row {
			b.WriteString(" " + strings.ReplaceAll(plainText(c), "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	return b.String() + "\n"
}

// figures reports whether all cells of a column are short figures.
func (t *Table) figures(column int) bool {
	some := false
	for _, row := range t.Rows {
		if column >= len(row) || row[column] == "" || row[column] == "-" {
			continue
		}
		c := strings.TrimLeft(row[column], "+-−<>≤≥≈ ")
		if c == "" || c[0] < '0' || c[0] > '9' || len(c) > 40 {
			return false
		}
		some = true
	}
	return some && column > 0
}

// plainText escapes markup.
func plainText(s string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "\n", " ", "_", `\_`).Replace(s)
}

// clip truncates a long text.
func clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + " …"
	}
	return s
}
