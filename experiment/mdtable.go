package experiment

import "strings"

// markdown writes a table whose columns are set right where figures says so.
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
