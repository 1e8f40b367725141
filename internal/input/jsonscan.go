package input

import (
	"fmt"
	"io"
	"strings"
)

// fill reads more data; false at the end or on an error, which is kept in j.err.
func (j *JSON) fill() bool {
	j.pos, j.end = 0, 0
	for range 100 {
		if j.err != nil {
			return false
		}
		j.end, j.err = j.r.Read(j.buf)
		if j.end > 0 {
			return true
		}
	}
	j.err = io.ErrNoProgress
	return false
}

// next takes one byte; it returns io.EOF itself at the end.
func (j *JSON) next() (byte, error) {
	if j.pos == j.end && !j.fill() {
		return 0, j.err
	}
	c := j.buf[j.pos]
	j.pos++
	return c, nil
}

// peek skips white space and returns the next byte without consuming it; it returns io.EOF itself at the end.
func (j *JSON) peek() (byte, error) {
	for n := 0; ; {
		if j.pos == j.end && !j.fill() {
			return 0, j.err
		}
		if j.atStart {
			j.atStart = false
			if err := j.byteOrderMark(); err != nil {
				return 0, err
			}
			continue
		}
		for _, c := range j.buf[j.pos:j.end] {
			switch c {
			case '\n':
				j.line++
			case ' ', '\t', '\r':
			default:
				return c, nil
			}
			j.pos++
			n++
		}
		if n > MaxJSONToken {
			return 0, j.Errorf("more than %d bytes of white space: refused", MaxJSONToken)
		}
	}
}

// byteOrderMark skips the mark that some editors put in front of UTF-8.
func (j *JSON) byteOrderMark() error {
	if j.buf[j.pos] != 0xef {
		return nil
	}
	for _, want := range []byte("\xef\xbb\xbf") {
		if c, err := j.next(); err != nil || c != want {
			return j.Errorf("this is not JSON: it begins with binary data")
		}
	}
	return nil
}

// scanString scans a string; keep leaves what is between the quotes in tok.
func (j *JSON) scanString(keep bool) error {
	j.pos++
	j.tok, j.escapes = j.tok[:0], false
	size := 0
	for {
		if j.pos == j.end && !j.fill() {
			return j.cut(j.err)
		}
		part := j.buf[j.pos:j.end]
		n := 0
		for n < len(part) && part[n] >= ' ' && part[n] != '"' && part[n] != '\\' {
			n++
		}
		if size += n; size > MaxJSONToken {
			return j.Errorf("%stext of more than %d bytes: refused", j.member(), MaxJSONToken)
		}
		if keep {
			j.tok = append(j.tok, part[:n]...)
		}
		j.pos += n
		if n == len(part) {
			continue
		}
		j.pos++
		switch c := part[n]; c {
		case '"':
			return nil
		case '\\':
			if err := j.scanEscape(keep); err != nil {
				return err
			}
			size += 2
		default:
			return j.Errorf("%s%s inside text: is a quote missing?", j.member(), show(c))
		}
	}
}

// scanEscape scans what follows a backslash.
func (j *JSON) scanEscape(keep bool) error {
	j.escapes = true
	c, err := j.next()
	if err != nil {
		return j.cut(err)
	}
	if !strings.ContainsRune(`"\/bfnrtu`, rune(c)) {
		return j.Errorf("%s\\ before %s inside text", j.member(), show(c))
	}
	if keep {
		j.tok = append(j.tok, '\\', c)
	}
	if c != 'u' {
		return nil
	}
	for range 4 {
		if c, err = j.next(); err != nil {
			return j.cut(err)
		}
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return j.Errorf("%s%s after \\u inside text", j.member(), show(c))
		}
		if keep {
			j.tok = append(j.tok, c)
		}
	}
	return nil
}

// scanNumber scans a number and leaves it in tok.
func (j *JSON) scanNumber() error {
	j.tok = j.tok[:0]
	for {
		if j.pos == j.end && !j.fill() {
			if j.err != io.EOF { //nolint:errorlint // readers return io.EOF itself
				return j.cut(j.err)
			}
			break
		}
		part := j.buf[j.pos:j.end]
		n := 0
		for n < len(part) && numberByte[part[n]] {
			n++
		}
		j.tok = append(j.tok, part[:n]...)
		j.pos += n
		if len(j.tok) > MaxJSONToken {
			return j.Errorf("%sa number of more than %d bytes: refused", j.member(), MaxJSONToken)
		}
		if n < len(part) {
			break
		}
	}
	if !validNumber(j.tok) {
		return j.Errorf("%s%s is not a number", j.member(), quote(j.tok))
	}
	return nil
}

var numberByte = func() (is [256]bool) {
	for _, c := range []byte("+-.0123456789eE") {
		is[c] = true
	}
	return is
}()

// validNumber says whether b is a number by JSON's grammar: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func validNumber(b []byte) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case !digits():
		return false
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(b)
}

func (j *JSON) literal(word string) error {
	for _, want := range []byte(word) {
		c, err := j.next()
		if err != nil {
			return j.cut(err)
		}
		if c != want {
			return j.Errorf("%s%s where %q should be", j.member(), show(c), word)
		}
	}
	return nil
}

// begins says whether a value can begin with c.
func (j *JSON) begins(c byte) error {
	if strings.IndexByte(`{["-0123456789tfn`, c) < 0 {
		return j.Errorf("%s%s where a value should begin", j.member(), show(c))
	}
	return nil
}

// cut explains why there is no more data in the middle of something.
func (j *JSON) cut(err error) error {
	switch {
	case err == io.EOF: //nolint:errorlint // readers return io.EOF itself
		return j.Errorf("the data ends inside a value; the file is cut off: %w", io.ErrUnexpectedEOF)
	case err == j.err && strings.Contains(err.Error(), j.name): //nolint:errorlint // the reader's own error, which names the file
		return fmt.Errorf("line %d, record %d: %w", j.line, j.record, err)
	case err == j.err: //nolint:errorlint // as above
		return j.Errorf("%w", err)
	}
	return err
}

// show formats a byte of input for an error.
func show(c byte) string {
	if c < ' ' || c >= 0x7f {
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return fmt.Sprintf("%q", string(rune(c)))
}

// quote formats a token for an error, truncated.
func quote(b []byte) string {
	const maxShown = 40
	if len(b) > maxShown {
		return fmt.Sprintf("%q...", b[:maxShown])
	}
	return fmt.Sprintf("%q", b)
}
