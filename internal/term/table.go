package term

import (
	"strings"
	"unicode/utf8"
)

// Table is an aligned table without borders: the first columns to the left, figures to the right. (Forty lines of our own:
// the table libraries bring several modules for boxes that are not wanted here.)
type Table struct {
	Head []string
	Rows [][]string
	Left int // columns that are aligned to the left; 0: one
	Ink  Ink
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// gap is what stands between two columns.
const gap = "  "

// String draws the table. Every line ends with a line break, none with a blank.
func (t *Table) String() string {
	var widths []int
	measure := func(cells []string) {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	measure(t.Head)
	for _, r := range t.Rows {
		measure(r)
	}
	total := -len(gap)
	for _, w := range widths {
		total += w + len(gap)
	}
	var out strings.Builder
	line := func(s string) { out.WriteString(s + "\n") }
	if len(t.Head) > 0 {
		line(t.Ink.Faint(t.line(t.Head, widths)))
		line(t.Ink.Faint(strings.Repeat("-", max(total, 0))))
	}
	for _, r := range t.Rows {
		line(t.line(r, widths))
	}
	return out.String()
}

func (t *Table) line(cells []string, widths []int) string {
	parts := make([]string, len(cells))
	for i, c := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if i < max(t.Left, 1) {
			parts[i] = c + pad
		} else {
			parts[i] = pad + c
		}
	}
	return strings.TrimRight(strings.Join(parts, gap), " ")
}

// Wrap breaks a paragraph into lines of at most width columns, each after indent.
func Wrap(s, indent string, width int) string {
	var out strings.Builder
	col := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			out.WriteString(indent)
			col = len(indent)
		case col+1+n > width:
			out.WriteString("\n" + indent)
			col = len(indent)
		default:
			out.WriteByte(' ')
			col++
		}
		out.WriteString(word)
		col += n
	}
	out.WriteByte('\n')
	return out.String()
}
