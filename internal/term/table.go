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
	// Width is the number of columns of the terminal; 0: unlimited. In a wider table, a last column of text is wrapped, and
	// figures continue in a second table below, with the first column repeated. A column without a heading stays with the one before it.
	Width int
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// gap is what stands between two columns.
const gap = "  "

// String draws the table. Every line ends with a line break, none with a blank. A cell is one line, whatever is in it.
func (t *Table) String() string {
	for _, r := range append(t.Rows, t.Head) {
		for i := range r {
			r[i] = Line(r[i])
		}
	}
	widths := t.widths()
	if t.Width > 0 && sum(widths) > t.Width {
		if t.Left >= len(widths) {
			return t.wrapped(widths)
		}
		if parts := t.split(widths); len(parts) > 1 {
			drawn := make([]string, len(parts))
			for i := range parts {
				drawn[i] = parts[i].draw(parts[i].widths())
			}
			return strings.Join(drawn, "\n")
		}
	}
	return t.draw(widths)
}

func (t *Table) draw(widths []int) string {
	var out strings.Builder
	line := func(s string) { out.WriteString(s + "\n") }
	if len(t.Head) > 0 {
		line(t.Ink.Faint(t.line(t.Head, widths)))
		line(t.Ink.Faint(strings.Repeat("-", max(sum(widths), 0))))
	}
	for _, r := range t.Rows {
		line(t.line(r, widths))
	}
	return out.String()
}

func (t *Table) widths() []int {
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
		if len(r) == 1 && len(widths) > 1 {
			continue // it stands alone in its line
		}
		measure(r)
	}
	return widths
}

// sum is the width of a table.
func sum(widths []int) int {
	total := -len(gap)
	for _, w := range widths {
		total += w + len(gap)
	}
	return total
}

// wrapped draws a table of text whose last column is broken between words.
func (t *Table) wrapped(widths []int) string {
	last := len(widths) - 1
	before := sum(widths[:last]) + len(gap)
	room := t.Width - before
	if last == 0 || room < narrowest {
		return t.draw(widths)
	}
	narrow := Table{Head: t.Head, Left: t.Left, Ink: t.Ink}
	for _, r := range t.Rows {
		if len(r) <= last {
			narrow.Add(r...)
			continue
		}
		for i, text := range strings.Split(strings.TrimSuffix(Wrap(r[last], "", room), "\n"), "\n") {
			row := make([]string, last+1)
			if i == 0 {
				copy(row, r[:last])
			}
			row[last] = text
			narrow.Add(row...)
		}
	}
	return narrow.draw(narrow.widths())
}

// split distributes the columns of figures over tables that fit.
func (t *Table) split(widths []int) []Table {
	heads := max(t.Left, 1)
	var parts []Table
	for from := heads; from < len(widths); {
		to, width := from, sum(widths[:heads])
		for to < len(widths) {
			end, more := to+1, width+len(gap)+widths[to]
			for end < len(widths) && end < len(t.Head) && t.Head[end] == "" {
				more += len(gap) + widths[end]
				end++
			}
			if more > t.Width && to > from {
				break
			}
			to, width = end, more
		}
		pick := func(cells []string) []string {
			if len(cells) <= heads {
				return cells
			}
			return append(append([]string{}, cells[:heads]...), cells[min(from, len(cells)):min(to, len(cells))]...)
		}
		part := Table{Head: pick(t.Head), Left: t.Left, Ink: t.Ink}
		for _, r := range t.Rows {
			part.Add(pick(r)...)
		}
		parts = append(parts, part)
		from = to
	}
	return parts
}

func (t *Table) line(cells []string, widths []int) string {
	parts := make([]string, len(cells))
	for i, c := range cells {
		pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(c)))
		if i < max(t.Left, 1) {
			parts[i] = c + pad
		} else {
			parts[i] = pad + c
		}
	}
	return strings.TrimRight(strings.Join(parts, gap), " ")
}
