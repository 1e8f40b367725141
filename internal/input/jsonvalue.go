package input

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Text reads a string.
func (j *JSON) Text() (string, error) {
	c, err := j.value('"', "text")
	if err != nil || c == 'n' {
		return "", err
	}
	if err := j.scanString(true); err != nil {
		return "", err
	}
	b, err := j.decoded()
	if err != nil {
		return "", err
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

// Fields read the members of an object by their names. Others are skipped.
type Fields map[string]func() error

// Read reads a member, for Object.
func (f Fields) Read(name []byte) error {
	if read := f[string(name)]; read != nil {
		return read()
	}
	return nil
}

// TextTo reads a string into s.
func (j *JSON) TextTo(s *string) func() error {
	return func() (err error) { *s, err = j.Text(); return err }
}

// IntTo reads a whole number from lo to hi into v; null is 0.
func (j *JSON) IntTo(v *int64, lo, hi int64) func() error {
	return func() (err error) { *v, _, err = j.Int(lo, hi); return err }
}

// ArrayTo reads an array of at most limit elements.
func (j *JSON) ArrayTo(limit int, element func(i int) error) func() error {
	return func() error { return j.Array(limit, element) }
}

// Float reads a number, also in quotes, as Hadoop's readers do. It is false for null.
func (j *JSON) Float() (float64, bool, error) {
	ok, err := j.number()
	if err != nil || !ok {
		return 0, false, err
	}
	v, err := strconv.ParseFloat(string(j.tok), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false, j.Errorf("%s%s is not a number", j.member(), quote(j.tok))
	}
	return v, true, nil
}

// Int reads a whole number from lo to hi, also in quotes. It is false for null.
func (j *JSON) Int(lo, hi int64) (int64, bool, error) {
	ok, err := j.number()
	if err != nil || !ok {
		return 0, false, err
	}
	v, err := strconv.ParseInt(string(j.tok), 10, 64)
	if err != nil { // 1e3, 5.0: still whole?
		f, ferr := strconv.ParseFloat(string(j.tok), 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, false, j.Errorf("%s%s is not a whole number from %d to %d", j.member(), quote(j.tok), lo, hi)
		}
		v = int64(f)
	}
	if v < lo || v > hi {
		return 0, false, j.Errorf("%s%d is not between %d and %d", j.member(), v, lo, hi)
	}
	return v, true, nil
}

// Number reads a number as it is written, for names that happen to be numbers; "" for null.
func (j *JSON) Number() (string, error) {
	ok, err := j.number()
	if err != nil || !ok {
		return "", err
	}
	return string(j.tok), nil
}

// number puts the digits of a number, bare or in quotes, into tok.
func (j *JSON) number() (bool, error) {
	c, err := j.value('0', "a number")
	switch {
	case err != nil || c == 'n':
		return false, err
	case c != '"':
		return true, j.scanNumber()
	}
	if err := j.scanString(true); err != nil {
		return false, err
	}
	j.tok = append(j.tok[:0], bytes.TrimSpace(j.tok)...)
	if !validNumber(j.tok) {
		return false, j.Errorf("%s%s is not a number", j.member(), quote(j.tok))
	}
	return true, nil
}

// decoded is the string that was scanned.
func (j *JSON) decoded() ([]byte, error) {
	if !j.escapes {
		return j.tok, nil
	}
	var s string
	if err := json.Unmarshal([]byte(`"`+string(j.tok)+`"`), &s); err != nil {
		return nil, j.Errorf("%stext: %v", j.member(), err)
	}
	return []byte(s), nil
}
