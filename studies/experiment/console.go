package experiment

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/internal/term"
)

// Console writes findings for a person at a terminal, or for a pipe.
type Console struct {
	Width int // columns; 0: no wrapping
	Ink   term.Ink
}

// Write writes the findings: one line per check with what the source says and what we found, then the reason, where known.
func (c Console) Write(w io.Writer, f *Findings) {
	for i := range f.Studies {
		if i > 0 {
			fmt.Fprintln(w, "")
		}
		c.study(w, f, &f.Studies[i])
	}
	const named = 5
	for i, fail := range f.Failures {
		if i == named {
			c.labelled(w, "", fmt.Sprintf("And %d other runs failed.", len(f.Failures)-named))
			break
		}
		c.labelled(w, "", c.Ink.Bad("failed: ")+fmt.Sprintf("%s, seed %d: %s", fail.Experiment, fail.Seed, fail.Error))
	}
	if f.Partial {
		c.labelled(w, "", fmt.Sprintf("Partial: %d of %s were done. Each check is judged on the seeds that all of its experiments have.", f.Done, plural(f.Planned, "run")))
	}
}

func (c Console) study(w io.Writer, f *Findings, s *StudyFinding) {
	c.labelled(w, "", c.Ink.Bold(s.Name)+": "+s.Title)
	c.labelled(w, "", fmt.Sprintf("%s, %s", plural(len(s.Experiments), "experiment"), seedsText(f.Seeds)))
	fmt.Fprintln(w, "")
	c.checks(w, s)
	if open := s.unjudged(); len(open) > 0 {
		c.labelled(w, "", "Not judged, because experiments that they need were not run: "+brief(open, 8)+".")
		fmt.Fprintln(w, "")
	}
	c.labelled(w, "", s.Summary())
	if slices.ContainsFunc(s.Checks, func(f CheckFinding) bool { return f.Verdict == Unclear }) {
		c.labelled(w, "", fmt.Sprintf("What is unclear may hold over more seeds: give --seeds %d.", EnoughSeeds))
	}
}

func (c Console) checks(w io.Writer, s *StudyFinding) {
	head := [...]string{"check", "", "verdict", "source", "ours"}
	var widths [len(head)]int
	rows := [][len(head)]string{head}
	var judged []*CheckFinding
	for i := range s.Checks {
		if f := &s.Checks[i]; f.Verdict != NotRun {
			rows = append(rows, [len(head)]string{f.ID, string(f.Strength), f.Outcome(), cell(f.Paper), ours(f)})
			judged = append(judged, f)
		}
	}
	if len(judged) == 0 {
		return
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	const limit = 44 // in a pipe, a longer source text shifts our figures on its own line only
	widths[3] = min(widths[3], limit)
	if c.Width > 0 { // on a terminal, the source's text is narrowed before our figures
		fixed := widths[0] + widths[1] + widths[2] + 4*len(columnGap)
		widths[3] = max(10, min(widths[3], (c.Width-fixed)*2/5))
	}
	fmt.Fprintln(w, c.Ink.Faint(c.row(head, widths)[0]))
	for i, f := range judged {
		for _, line := range c.row(rows[i+1], widths) {
			fmt.Fprintln(w, c.mark(line, f))
		}
		if f.Verdict == Vacuous || f.Verdict == Record && f.Holds {
			continue
		}
		c.labelled(w, "    says: ", f.Text)
		if f.Why != "" {
			c.labelled(w, "    why:  ", f.Why)
		}
	}
	fmt.Fprintln(w)
}

const columnGap = "  "

// Cell is our figure with its notes, for a Markdown table.
func Cell(f CheckFinding) string { return strings.ReplaceAll(plainText(ours(&f)), "|", `\|`) }

// ours is our figure with its notes.
func ours(f *CheckFinding) string {
	s := f.Ours
	if f.Note != "" {
		s += "; " + f.Note
	}
	switch {
	case f.ByConstruction:
		s += " [by construction]"
	case f.Vacuous != "":
		s += " [" + f.Vacuous + "]"
	}
	if f.First != nil {
		s += " [rule revised; the first: " + string(f.First.Verdict) + "]"
	}
	return s
}

// cell keeps an empty cell from collapsing its column.
func cell(s string) string {
	return cmp.Or(s, "-")
}

// row lays out a row; the last two columns wrap.
func (c Console) row(cells [5]string, widths [5]int) []string {
	before := 0
	for _, width := range widths[:3] {
		before += width + len(columnGap)
	}
	columns := [5][]string{cells[:1], cells[1:2], cells[2:3], cells[3:4], cells[4:]}
	if c.Width > 0 {
		columns[3] = wrapped(cells[3], widths[3])
		columns[4] = wrapped(cells[4], max(20, c.Width-before-widths[3]-len(columnGap)))
	}
	var lines []string
	for i := range max(len(columns[3]), len(columns[4])) {
		var line strings.Builder
		for k, column := range columns {
			text := ""
			if i < len(column) {
				text = column[i]
			}
			fmt.Fprintf(&line, "%-*s%s", widths[k], text, columnGap)
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

func wrapped(s string, width int) []string {
	return strings.Split(strings.TrimSuffix(term.Wrap(s, "", width), "\n"), "\n")
}

// mark colours the verdict of a line.
func (c Console) mark(line string, f *CheckFinding) string {
	word := f.Outcome()
	switch {
	case f.Verdict == Miss && f.Strength == A:
		return strings.Replace(line, word, c.Ink.Bad(word), 1)
	case f.Bad():
		return strings.Replace(line, word, c.Ink.Warn(word), 1)
	}
	return line
}

// labelled writes a paragraph beside its label; "": none.
func (c Console) labelled(w io.Writer, label, s string) {
	if c.Width == 0 {
		fmt.Fprintln(w, label+s)
		return
	}
	body := term.Wrap(s, strings.Repeat(" ", len(label)), c.Width)
	fmt.Fprint(w, label+strings.TrimLeft(body, " "))
}
