package experiment

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// WriteMarkdown writes the findings as a page for people who want to know what of a study holds, what does not, and why. command is
// what makes the page again; "" leaves it out. The page has nothing that changes from one run of the same command to the next.
func (f *Findings) WriteMarkdown(w io.Writer, command string) error {
	out := bufio.NewWriter(w)
	m := &markdown{w: out}
	for i := range f.Studies {
		if i > 0 {
			m.p("")
		}
		m.study(f, &f.Studies[i], command)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing a page: %w", err)
	}
	return nil
}

// markdown writes lines; what goes wrong is told by Flush.
type markdown struct{ w *bufio.Writer }

func (m *markdown) p(format string, args ...any) { _, _ = fmt.Fprintf(m.w, format+"\n", args...) }

// para writes a paragraph and the empty line that ends it.
func (m *markdown) para(text string) { m.p("%s\n", plainText(text)) }

func (m *markdown) study(f *Findings, s *StudyFinding, command string) {
	m.p("# %s\n", plainText(s.Title))
	m.p("<!-- Written by yardmaster reproduce --markdown: change the study, not this page. -->")
	m.p("<!-- %s fingerprint: %s -->\n", s.Name, s.Fingerprint)
	if f.Partial || !s.Whole {
		m.para("**This page is of a part of the study only.**")
	}
	m.para(s.Source)
	if s.About != "" {
		m.para(s.About)
	}
	if command != "" {
		if !f.OK() {
			command += "    # exits 1: checks that must hold miss"
		}
		m.p("```sh\n%s\n```\n", command)
	}
	m.para(fmt.Sprintf("%s, %s. Intervals are 95 %% (Student's t over seeds, paired by seed where two experiments are compared); "+
		"[how to read the verdicts](../reproducing.md).", plural(len(s.Experiments), "experiment"), seedsText(f.Seeds)))
	m.short(s)
	m.disagreements(s)
	m.checks(s)
	for i := range s.Sections {
		m.section(&s.Sections[i])
	}
	m.figures(s)
	m.ground(s)
}

// short is the count of verdicts.
func (m *markdown) short(s *StudyFinding) {
	m.p("## In short\n")
	t := Table{Columns: []string{"strength", "what it means", "holds", "does not", "not judged"}}
	all := tallies(s.Checks)
	for _, of := range []struct {
		strength Strength
		means    string
	}{{A, "follows from the algorithm: must hold"}, {B, "a trend that the source reports"}, {R, "reported, but need not follow: recorded"}} {
		n := all[of.strength]
		t.Rows = append(t.Rows, []string{string(of.strength), of.means, fmt.Sprint(n.pass + n.same), fmt.Sprint(n.miss + n.differ), fmt.Sprint(n.open)})
	}
	m.table(&t)
}

// disagreements tells what does not hold, and why.
func (m *markdown) disagreements(s *StudyFinding) {
	m.p("## What does not hold, and why\n")
	none := true
	for _, strength := range []Strength{A, B, R} {
		for i := range s.Checks {
			c := &s.Checks[i]
			if c.Strength != strength || !c.Bad() {
				continue
			}
			none = false
			m.p("- **%s** (%s, %s). %s.", plainText(c.ID), c.Strength, c.Outcome(), plainText(strings.TrimSuffix(c.Text, ".")))
			m.p("  Source: %s. Here: %s.", plainText(cell(c.Paper)), plainText(ours(c)))
			if c.Why != "" {
				m.p("  *Why:* %s", plainText(c.Why))
			}
		}
	}
	if none {
		m.p("Every check that was judged holds.")
	}
	m.p("")
}

func (m *markdown) checks(s *StudyFinding) {
	m.p("## All checks\n")
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
	m.table(&t)
	m.p("<details><summary>The rule that each check is judged by</summary>\n")
	m.table(&rules)
	m.p("</details>\n")
}

func (m *markdown) section(s *Section) {
	m.p("## %s\n", plainText(s.Title))
	for _, text := range s.Text {
		m.para(text)
	}
	for i := range s.Tables {
		m.table(&s.Tables[i])
	}
	for i := range s.Charts {
		m.chart(&s.Charts[i])
	}
}

// chart writes a chart's figures as a table: the picture is in the HTML report. Of curves some rows are enough; spans and boxes have a
// table of their own.
func (m *markdown) chart(c *Chart) {
	if c.Kind == Spans || c.Kind == Boxes {
		return
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
	m.table(&t)
}

// curveRows is how many rows of a curve a page shows.
const curveRows = 16

// figures puts the source's figures beside ours, group by group.
func (m *markdown) figures(s *StudyFinding) {
	m.p("## Figures beside the source's\n")
	m.para("Each cell has the source's figure, then ours with half the width of its interval.")
	for _, g := range s.groups() {
		m.p("### %s\n", plainText(g.Name))
		folded := len(g.Experiments) > 2*abreast
		if folded {
			m.p("<details><summary>%s</summary>\n", plural(len(g.Experiments), "experiment"))
		}
		for _, part := range g.chunks() {
			m.group(&part)
		}
		if folded {
			m.p("</details>\n")
		}
	}
}

// group writes the settings and figures of experiments side by side.
func (m *markdown) group(g *groupFindings) {
	shared, names, apart := g.setup()
	var texts []string
	for _, p := range shared {
		texts = append(texts, p.Name+": "+p.Value)
	}
	if len(texts) > 0 {
		m.para(strings.Join(texts, "; ") + ".")
	}
	t := Table{Columns: []string{""}}
	for _, e := range g.Experiments {
		t.Columns = append(t.Columns, e.ID)
	}
	if len(names) == 0 {
		m.para(g.titles())
	}
	for i, name := range names {
		t.Rows = append(t.Rows, append([]string{name}, apart[i]...))
	}
	var notes []string
	for _, row := range g.reported() {
		cells := []string{row.What}
		for _, r := range row.Cells {
			cells = append(cells, r.beside())
		}
		t.Rows = append(t.Rows, cells)
		for _, note := range row.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	if len(t.Rows) > 0 {
		m.tableSet(&t, func(column int) bool { return column > 0 })
	}
	for _, note := range notes {
		m.para("Note on " + note)
	}
}

// beside is the source's figure beside ours.
func (r *ReportedFinding) beside() string {
	switch {
	case r == nil:
		return ""
	case math.IsNaN(float64(r.Paper)):
		return r.Ours.short()
	}
	return printed(r.Paper) + " / " + r.Ours.short()
}

// ground is what all this rests on.
func (m *markdown) ground(s *StudyFinding) {
	list := func(title, lead string, items []string) {
		if len(items) == 0 {
			return
		}
		m.p("## %s\n", title)
		if lead != "" {
			m.para(lead)
		}
		for _, item := range items {
			m.p("- %s", plainText(item))
		}
		m.p("")
	}
	list("What was assumed", "The source leaves these open; this is how they are settled here.", s.Assumptions)
	list("What the model was set by", "", s.Calibrated)
	list("Met by construction", "These checks follow from numbers that the model was set by, so that holding shows nothing.", s.built())
	list("Rules changed after results were seen", "A rule that was fitted to what it judges shows less. This is what it was before, judged on the same runs.", s.revised())
}
