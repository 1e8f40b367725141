package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/unit"
)

const noBreak = '\u00a0'

// Wrap breaks a paragraph into lines of at most width columns, each after indent. A number stays on the line of its unit.
func Wrap(s, indent string, width int) string {
	var out strings.Builder
	col := 0
	for i, word := range strings.FieldsFunc(unit.NoBreak(s), func(r rune) bool { return unicode.IsSpace(r) && r != noBreak }) {
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
		out.WriteString(strings.ReplaceAll(word, string(noBreak), " "))
		col += n
	}
	out.WriteByte('\n')
	return out.String()
}

// Sentence is a sentence with its line end, wrapped to a number of columns; 0: one line.
func Sentence(s string, columns int) string {
	if columns > 0 {
		return Wrap(s, "", columns)
	}
	return Line(s) + "\n"
}

// Command breaks a command into lines that a shell still reads as one. Every line starts with indent.
func Command(s, indent string, width int) string {
	if len(indent)+utf8.RuneCountInString(s) <= width {
		return indent + s + "\n"
	}
	const bound = "\x00" // replaces the blank between a flag and its value, which stay together
	words := strings.Fields(s)
	for i, w := range words[:len(words)-1] {
		end := " "
		if strings.HasPrefix(w, "-") && !strings.HasPrefix(words[i+1], "-") {
			end = bound
		}
		words[i] += end
	}
	lines := strings.Split(strings.TrimSuffix(Wrap(strings.Join(words, ""), indent+"    ", width-len(" \\")), "\n"), "\n")
	lines[0] = strings.TrimPrefix(lines[0], "    ")
	return strings.ReplaceAll(strings.Join(lines, " \\\n"), bound, " ") + "\n"
}

// Flow lays out a text of paragraphs. Lines that begin with a blank, such as those of a list, stay separate, and what does not fit
// continues below the last column of the line.
func Flow(text string, width int) string {
	var out strings.Builder
	var para []string
	end := func() {
		if len(para) > 0 {
			out.WriteString(Wrap(strings.Join(para, " "), "", width))
			para = nil
		}
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
			end()
			out.WriteByte('\n')
		case line[0] == ' ':
			end()
			out.WriteString(hang(line, width))
		default:
			para = append(para, line)
		}
	}
	end()
	return out.String()
}

// hang wraps a list item with a hanging indent, below the text that follows its name.
func hang(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line + "\n"
	}
	body := strings.TrimLeft(line, " ")
	at := len(line) - len(body)
	name, about, ok := strings.Cut(body, " ")
	if !ok {
		return line + "\n"
	}
	about = strings.TrimLeft(about, " ")
	column := len(line) - len(about)
	wrapped := Wrap(about, strings.Repeat(" ", column), width)
	return strings.Repeat(" ", at) + name + wrapped[at+len(name):]
}
