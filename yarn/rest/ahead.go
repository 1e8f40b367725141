package rest

import (
	"bufio"
	"encoding/json"
	"io"
)

// bracket finds the end of a list or an object in what is written to it, which may start with a comma and blanks.
type bracket struct {
	size           int
	depth, deepest int
	inText         bool
	escape         bool // the last byte was a backslash in a text
	ended, scalar  bool // it ended; it is neither list nor object
}

func (s *bracket) Write(p []byte) (int, error) {
	for _, b := range p {
		s.size++
		switch {
		case s.escape:
			s.escape = false
		case s.inText:
			s.inText, s.escape = b != '"', b == '\\'
		case b == '{' || b == '[':
			s.depth++
			s.deepest = max(s.deepest, s.depth)
		case b == '}' || b == ']':
			if s.depth--; s.depth <= 0 {
				s.ended = true
				return len(p), nil
			}
		case s.depth > 0:
			s.inText = b == '"'
		case b != ',' && b > ' ':
			s.scalar = true
			return len(p), nil
		}
	}
	return len(p), nil
}

// near says whether the next element can be decoded in one go: it is too small for a text in it to have been cut, and not nested
// too deep. It reads no more than the decoder would.
func near(dec *json.Decoder, source *bufio.Reader) bool {
	var s bracket
	_, _ = io.Copy(&s, dec.Buffered())
	for seen := 0; !s.ended; { // the source holds maxText, then fails
		if _, err := source.Peek(seen + 1); err != nil || s.scalar { // an error will recur
			return false
		}
		p, _ := source.Peek(source.Buffered())
		_, _ = s.Write(p[seen:])
		seen = len(p)
	}
	return s.size < maxText && s.deepest < maxDepth
}
