// Package term formats the command's output on a terminal: a progress line, colour, tables. None of it appears
// when the output is a file or a pipe, and no colour when NO_COLOR is set (https://no-color.org).
package term

import (
	"os"
	"strconv"

	"golang.org/x/term"
)

// IsTerminal says whether f is a terminal.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// Columns is the width of f, and whether it is known: the variable COLUMNS if it is set, else the
// terminal's width. A file or a pipe has no width of its own.
func Columns(f *os.File) (columns int, known bool) {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return max(n, narrowest), true
	}
	if n, ok := size(f); ok {
		return max(n, narrowest), true
	}
	return 0, false
}

// narrowest is the minimum width, so that text is not laid out letter by letter.
const narrowest = 20

// Width is Columns, or 80 if unknown.
func Width(f *os.File) int {
	if n, known := Columns(f); known {
		return n
	}
	return 80
}

// size is the width of a terminal.
func size(f *os.File) (int, bool) {
	if f == nil {
		return 0, false
	}
	w, _, err := term.GetSize(int(f.Fd()))
	return w, err == nil && w > 0
}

// Ink colours text, or leaves it alone.
type Ink struct{ on bool }

// InkFor is the ink for what is written to f.
func InkFor(f *os.File) Ink {
	_, no := os.LookupEnv("NO_COLOR")
	return Ink{on: !no && os.Getenv("TERM") != "dumb" && IsTerminal(f)}
}

// Bold makes text stand out.
func (i Ink) Bold(s string) string { return i.wrap("1", s) }

// Faint dims text.
func (i Ink) Faint(s string) string { return i.wrap("2", s) }

// Bad marks an error.
func (i Ink) Bad(s string) string { return i.wrap("31", s) }

// Warn marks a warning.
func (i Ink) Warn(s string) string { return i.wrap("33", s) }

func (i Ink) wrap(code, s string) string {
	if !i.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
