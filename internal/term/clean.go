package term

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Clean makes text of others, such as a server's, safe to show: what a terminal would take for a command, and what would change the order in
// which the line is read, is spelled out (\u001b, \u202e). In JSON these escapes mean the same as what they stand for. Line breaks and tabs stay.
func Clean(s string) string { return string(clean([]byte(s), false)) }

// Screen is what a person reads: everything that is written to it is cleaned first. With ink on, the ink's own sequences pass. It may be used from
// several goroutines.
type Screen struct {
	w    io.Writer
	ink  bool
	mu   sync.Mutex
	held []byte // the beginning of a character whose end has not come yet
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

// harmful tells whether a terminal does more with a character than to show it: control characters, those of C1 among them, marks that turn the
// direction of reading, and separators that some take for line breaks.
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
