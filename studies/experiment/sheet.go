package experiment

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/report"
)

// WriteReport writes the findings as one HTML file with charts. command regenerates it; "" omits it.
func (f *Findings) WriteReport(w io.Writer, command string) error {
	s := report.Sheet{
		Title: "Reproduction", Partial: f.Partial, Version: f.Version, Seeds: f.Seeds, Commands: []string{command},
		Size: fmt.Sprintf("%s of %s", plural(f.Done, "run"), seedsText(f.Seeds)),
	}
	for _, fail := range f.Failures {
		what, _, _ := strings.Cut(fail.Error, "\n")
		s.Notices = append(s.Notices, fmt.Sprintf("%s failed with seed %d: %s", fail.Experiment, fail.Seed, what))
	}
	one := len(f.Studies) == 1
	for i := range f.Studies {
		study := &f.Studies[i]
		if one {
			s.Title, s.Subtitle, s.Headline = study.Title, study.Source, study.Summary()
			if study.About != "" {
				s.Parts = append(s.Parts, report.SheetPart{Text: []string{study.About}})
			}
		} else {
			s.Parts = append(s.Parts, report.SheetPart{Title: study.Title, Note: study.Source, Top: true, Text: []string{study.About, study.Summary()}})
		}
		s.Parts = append(s.Parts, study.parts()...)
		label := func(what string) string {
			if one {
				return what
			}
			return what + " in " + study.Name
		}
		s.Lists = append(s.Lists,
			report.SheetList{Label: label("assumed"), Items: study.Assumptions},
			report.SheetList{Label: label("the model was set by"), Items: study.Calibrated},
			report.SheetList{Label: label("checks that say nothing"), Items: study.vacuous()},
			report.SheetList{Label: label("rules changed after results were seen"), Items: study.revised()})
	}
	return report.WriteSheet(w, s)
}

// parts are the parts of a study: its checks, its own sections, and its figures beside the source's.
func (s *StudyFinding) parts() []report.SheetPart {
	parts := []report.SheetPart{s.checksPart()}
	if open := s.unjudged(); len(open) > 0 {
		parts[0].Legend += " Not judged, because experiments that they need were not run: " + brief(open, 8) + "."
	}
	for i := range s.Sections {
		part := sectionPart(&s.Sections[i])
		parts = append(parts, part)
		if len(part.Charts) == 0 || len(part.Tables) < 3 {
			continue
		}
		// The charts show the result; the figures are for reference.
		parts[len(parts)-1].Tables = nil
		parts = append(parts, report.SheetPart{Title: "Figures", Note: plural(len(part.Tables), "table"), Folded: true, Tables: part.Tables})
	}
	parts = append(parts, report.SheetPart{
		Title: "Figures beside the source's",
		Text:  []string{"Ours with half the width of its 95 % interval; below it what the source prints."},
	})
	for _, g := range s.groups() {
		parts = append(parts, g.part())
	}
	return parts
}

func (s *StudyFinding) checksPart() report.SheetPart {
	t := report.SheetTable{Cards: true, Columns: []report.SheetColumn{
		{Text: "check"}, {Text: ""}, {Text: "verdict"}, {Text: "the source says", Wide: true}, {Text: "source", Wide: true}, {Text: "ours", Wide: true},
	}}
	for i := range s.Checks {
		c := &s.Checks[i]
		if c.Verdict == NotRun {
			continue
		}
		mark := report.Good
		switch {
		case c.Bad() && c.Strength != R:
			mark = report.Bad
		case c.Strength == R || c.Verdict == Vacuous:
			mark = report.Strong
		}
		our := report.SheetCell{Text: c.Ours, Fold: []string{"judged by: " + clip(c.Rule, 600), "experiments: " + strings.Join(c.Needs, ", ")}}
		if c.Note != "" {
			our.Below = append(our.Below, c.Note)
		}
		if len(c.Parts) > listed {
			for k := range c.Parts {
				p := &c.Parts[k]
				text := strings.TrimPrefix(p.Label+": "+p.Ours, ": ")
				if !p.Holds {
					text += " (does not hold)"
				}
				our.Fold = append(our.Fold, text)
			}
		}
		says := report.SheetCell{Text: c.Text}
		if c.Why != "" {
			says.Below = []string{"Why: " + c.Why}
		}
		if c.First != nil {
			our.Below = append(our.Below, c.first())
		}
		if c.Vacuous != "" {
			our.Below = append(our.Below, "says nothing: "+c.Vacuous)
		}
		tags := "holds " + string(c.Strength)
		switch {
		case c.Verdict == Vacuous:
			tags = string(c.Strength)
		case c.Bad():
			tags = "bad " + string(c.Strength)
		}
		t.Tags = append(t.Tags, tags)
		t.Rows = append(t.Rows, []report.SheetCell{
			{Text: c.ID}, {Text: string(c.Strength)}, {Text: c.Outcome(), Mark: mark}, says, {Text: cell(c.Paper)}, our,
		})
	}
	if len(t.Rows) > 5 {
		t.Filters = []report.SheetFilter{
			{Label: "all"}, {Label: "what does not hold", Tag: "bad"}, {Label: "what holds", Tag: "holds"},
			{Label: "A: must hold", Tag: "A"}, {Label: "B: trends", Tag: "B"}, {Label: "R: recorded", Tag: "R"},
		}
	}
	return report.SheetPart{
		Title: "Checks", Tables: []report.SheetTable{t},
		Legend: "A follows from the algorithm and must hold; B is a trend that the source reports; R is reported but need not follow, and is recorded. " +
			"Intervals are 95 % over seeds, paired by seed where two experiments are compared; a direction whose interval holds the other way too is missed.",
	}
}

func sectionPart(s *Section) report.SheetPart {
	p := report.SheetPart{Title: s.Title, Text: s.Text}
	for i := range s.Tables {
		t := &s.Tables[i]
		out := report.SheetTable{Caption: t.Caption}
		for k, c := range t.Columns {
			out.Columns = append(out.Columns, report.SheetColumn{Text: c, Figures: t.figures(k)})
		}
		for _, row := range t.Rows {
			var cells []report.SheetCell
			for _, text := range row {
				cells = append(cells, report.SheetCell{Text: text})
			}
			out.Rows = append(out.Rows, cells)
		}
		p.Tables = append(p.Tables, out)
	}
	for i := range s.Charts {
		c := &s.Charts[i]
		chart := report.SheetChart{Title: c.Title, Unit: c.Unit, Kind: string(c.Kind), Log: c.Log, Categories: c.Categories}
		for _, series := range c.Series {
			out := report.SheetSeries{Name: series.Name, Paper: series.Paper}
			for _, v := range series.Points {
				out.Points = append(out.Points, report.SheetPoint{v.Mean, v.Lo, v.Hi})
			}
			for _, r := range series.Reach {
				out.Reach = append(out.Reach, report.SheetPoint{r.Mean, r.Lo, r.Hi})
			}
			chart.Series = append(chart.Series, out)
		}
		p.Charts = append(p.Charts, chart)
	}
	return p
}

// part is a group's settings and figures.
func (g *groupFindings) part() report.SheetPart {
	p := report.SheetPart{Title: g.Name, Folded: true}
	if n := len(g.Experiments); n > 1 {
		p.Note = fmt.Sprintf("%s to %s", g.Experiments[0].ID, g.Experiments[n-1].ID)
	} else {
		p.Note = g.Experiments[0].ID
	}
	for _, some := range g.chunks() {
		if len(p.Tables) == 0 {
			p.Text = some.about()
		}
		if table := some.table(); len(table.Rows) > 0 {
			p.Tables = append(p.Tables, table)
		}
	}
	return p
}

// besideSource stands before a figure of the source.
const besideSource = "source "

// table lists experiments side by side: their settings, then their figures with the source's below.
func (g *groupFindings) table() (t report.SheetTable) {
	_, names, apart := g.setup()
	t.Columns = []report.SheetColumn{{Text: ""}}
	for _, e := range g.Experiments {
		t.Columns = append(t.Columns, report.SheetColumn{Text: e.ID, Figures: true})
	}
	for i, name := range names {
		row := []report.SheetCell{{Text: name}}
		for _, v := range apart[i] {
			row = append(row, report.SheetCell{Text: v, Mark: report.Strong})
		}
		t.Rows = append(t.Rows, row)
	}
	for _, r := range g.reported() {
		row := []report.SheetCell{{Text: r.What, Below: r.Notes}}
		for _, c := range r.Cells {
			out := report.SheetCell{}
			if c != nil {
				mean, half, _ := strings.Cut(c.Ours.short(), " ± ")
				if out.Text = mean; half != "" {
					out.Small = "± " + half
				}
				if !math.IsNaN(float64(c.Paper)) {
					out.Below = []string{besideSource + printed(c.Paper)}
				}
			}
			row = append(row, out)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
