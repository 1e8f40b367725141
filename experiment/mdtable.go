package experiment

import "strings"

// table writes a table. Columns of figures are set right.
func (m *markdown) table(t *Table) { m.tableSet(t, t.figures) }

// tableSet writes a table whose columns are set right where figures says so.
func (m *markdown) tableSet(t *Table, figures func(column int) bool) {
	if t.Caption != "" {
		m.para("**" + t.Caption + "**")
	}
	line := func(cells []string) {
		text := make([]string, len(cells))
		for i, c := range cells {
			text[i] = strings.ReplaceAll(plainText(c), "|", `\|`)
		}
		m.p("| %s |", strings.Join(text, " | "))
	}
	line(t.Columns)
	rule := make([]string, len(t.Columns))
	for i := range rule {
		if rule[i] = "---"; figures(i) {
			rule[i] = "--:"
		}
	}
	line(rule)
	for _, row := range t.Rows {
		line(row)
	}
	m.p("")
}

// figures says whether all cells of a column are short figures.
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

// plainText keeps text from being read as markup.
func plainText(s string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "\n", " ", "_", `\_`).Replace(s)
}

// clip shortens a text that nobody reads to its end.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " …"
	}
	return s
}
