package spark

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// scan walks one line of JSON without decoding what nobody asks for. It reads valid JSON as encoding/json does; of anything
// else it reads what it can and is bad afterwards. It never reads beyond the line and always ends.
type scan struct {
	b   []byte
	i   int
	bad bool
}

// class says what a byte means while a value is skipped.
var class = func() (c [256]byte) {
	c['"'], c['{'], c['['], c['}'], c[']'] = 1, 2, 2, 3, 3
	return c
}()

func (s *scan) fail() {
	s.bad, s.i = true, len(s.b)
}

// peek skips white space and returns the next byte; 0 at the end.
func (s *scan) peek() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
		s.i++
	}
	return 0
}

// enter steps into an object ('{') or array ('['). It skips anything else and is false for it.
func (s *scan) enter(c byte) bool {
	if s.peek() != c {
		s.skip()
		return false
	}
	s.i++
	return true
}

// more says whether an object or array, which ends with c, has another element, and steps out if not.
func (s *scan) more(c byte) bool {
	next := s.peek()
	if next == ',' {
		s.i++
		next = s.peek()
	}
	switch next {
	case 0:
		s.fail()
		return false
	case c:
		s.i++
		return false
	}
	return true
}

// key reads the name of the next member.
func (s *scan) key() []byte {
	if s.peek() != '"' {
		s.fail()
		return nil
	}
	k := s.raw()
	if s.peek() != ':' {
		s.fail()
		return nil
	}
	s.i++
	if bytes.IndexByte(k, '\\') >= 0 {
		return []byte(unescape(k))
	}
	return k
}

// raw reads a string as it is written, without its quotes.
func (s *scan) raw() []byte {
	from := s.i + 1
	s.i = s.endOfString(from)
	if s.bad {
		return nil
	}
	return s.b[from : s.i-1]
}

// endOfString is the position after the quote that ends a string.
func (s *scan) endOfString(from int) int {
	for i := from; i < len(s.b); {
		n := bytes.IndexByte(s.b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for i-1-slashes >= from && s.b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	s.fail()
	return len(s.b)
}

// skip passes over one value.
func (s *scan) skip() {
	switch c := s.peek(); class[c] {
	case 1:
		s.i = s.endOfString(s.i + 1)
	case 2:
		s.skipNested()
	case 3:
		s.fail()
	default:
		from := s.i
		for s.i < len(s.b) && class[s.b[s.i]] == 0 && s.b[s.i] != ',' && s.b[s.i] != ':' {
			s.i++
		}
		if s.i == from {
			s.fail()
		}
	}
}

func (s *scan) skipNested() {
	b, depth := s.b, 0
	for i := s.i; i < len(b); i++ {
		switch class[b[i]] {
		case 1:
			if i = s.endOfString(i+1) - 1; s.bad {
				return
			}
		case 2:
			depth++
		case 3:
			if depth--; depth == 0 {
				s.i = i + 1
				return
			}
		}
	}
	s.fail()
}

// bytes reads a string that the caller does not keep; nil for any other value.
func (s *scan) bytes() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	b := s.raw()
	if bytes.IndexByte(b, '\\') >= 0 || !utf8.Valid(b) {
		return []byte(unescape(b))
	}
	return b
}

// text reads a string, of which it keeps the first most bytes.
func (s *scan) text(most int) string {
	b := s.bytes()
	if len(b) > most {
		for b = b[:most]; len(b) > 0 && !utf8.Valid(b); {
			b = b[:len(b)-1]
		}
	}
	return string(b)
}

// unescape decodes what is between the quotes of a string.
func unescape(b []byte) (text string) {
	quoted := make([]byte, 0, len(b)+2)
	quoted = append(append(append(quoted, '"'), b...), '"')
	if json.Unmarshal(quoted, &text) != nil {
		return ""
	}
	return text
}

// int reads a whole number, bare or in quotes, truncated if it has a fraction; 0 for anything else.
func (s *scan) int() int64 {
	c := s.peek()
	if c == '"' {
		return number(s.raw())
	}
	from := s.i
	s.skip()
	return number(s.b[from:s.i])
}

func number(b []byte) int64 {
	const most, longest = 1 << 62, 40
	if b = bytes.TrimSpace(b); len(b) > longest {
		return 0
	}
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil && n > -most && n < most {
		return n
	}
	if v, err := strconv.ParseFloat(string(b), 64); err == nil && v > -most && v < most {
		return int64(v)
	}
	return 0
}

// bool reads true, or anything else as false.
func (s *scan) bool() bool {
	c := s.peek()
	s.skip()
	return c == 't'
}

// ints reads an array of whole numbers, of which it keeps the first most.
func (s *scan) ints(most int) (list []int) {
	if !s.enter('[') {
		return nil
	}
	for s.more(']') {
		if v := s.int(); len(list) < most {
			list = append(list, int(v))
		}
	}
	return list
}
