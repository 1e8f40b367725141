package term

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Clean makes untrusted text, such as a server's, safe to print: control characters and characters that change the reading
// order are escaped (\u001b, \u202e). In JSON these escapes are equivalent to the originals. Line breaks and tabs stay.
func Clean(s string) string { return string(clean([]byte(s), false)) }

// Screen is a terminal: everything written to it is cleaned first. With ink on, the ink's own sequences pass. It is safe for
// concurrent use.
type Screen struct {
	w    io.Writer
	ink  bool
	mu   sync.Mutex
	held []byte // an incomplete UTF-8 sequence
}

// NewScreen makes a screen of w, on which the ink is used.
func NewScreen(w io.Writer, ink Ink) *Screen { return &Screen{w: w, ink: ink.on} }

func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := p
	if len(s.held) > 0 {
		text = append(s.held, p...)
	}
	end := len(text)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			end = i
		}
	}
	s.held = bytes.Clone(text[end:])
	if _, err := s.w.Write(clean(text[:end], s.ink)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func clean(text []byte, ink bool) []byte {
	var out []byte
	kept := 0 // text up to here is in out
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == '\x1b' && ink && inked(text[i:]) > 0:
			n = inked(text[i:])
		case r == utf8.RuneError && n == 1:
			out = append(append(out, text[kept:i]...), "\ufffd"...)
			kept = i + n
		case harmful(r):
			out = fmt.Appendf(append(out, text[kept:i]...), "\\u%04x", r)
			kept = i + n
		}
		i += n
	}
	if kept == 0 {
		return text
	}
	return append(out, text[kept:]...)
}

// harmful says whether a terminal does more with a character than print it: control characters (C0 and C1), bidirectional
// controls, and separators that some take for line breaks.
func harmful(r rune) bool {
	return r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// inked is the length of the ink's sequence at the start of the text, or 0.
func inked(text []byte) int {
	for _, code := range []string{"0", "1", "2", "31", "33"} {
		if seq := "\x1b[" + code + "m"; bytes.HasPrefix(text, []byte(seq)) {
			return len(seq)
		}
	}
	return 0
}

// Lengths of names that are shown. One that is quoted fits into a line of 80 columns, so that no terminal breaks it.
const (
	maxName   = 120
	maxQuoted = 60
)

// Name makes a name that others chose, such as an application's or a user's, part of a sentence for people: one line, shortened,
// and quoted unless all of its characters are plain and visible, so that it can neither start a line of its own nor pass as our
// words. Wrap does not break it.
func Name(s string) string {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || r == utf8.RuneError || strings.ContainsRune(" \"()`\\", r)
	}
	if s = start(s, maxName); !strings.ContainsFunc(s, odd) {
		return s
	}
	return strings.ReplaceAll(strconv.Quote(start(s, maxQuoted)), " ", string(noBreak))
}

// start is the start of a text, with an ellipsis if it is longer than n characters.
func start(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "..."
		}
	}
	return s
}

// Line makes a text one line: line breaks are escaped.
func Line(s string) string {
	return strings.NewReplacer("\r", `\r`, "\n", `\n`, string(noBreak), " ").Replace(s)
}
