// Package setting describes the settings of a value: each is a key of a file and a flag of the same name, parsed from text and formatted so that
// it round-trips.
package setting

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Of is one setting of a T.
type Of[T any] struct {
	Name  string
	In    string // section of the file; "": top level
	Value string // what a value looks like, for help; "": yes or no
	Help  string
	Many  bool // may be given several times; Set adds a value then, and "" empties it
	// For names what it applies to: trace formats, controllers; empty: all.
	For []string
	// Set takes one value as typed.
	Set func(of *T, text string) error
	// Get returns the values as they could be typed.
	Get func(of *T) []string
}

// On limits a setting to what it applies to.
func (s Of[T]) On(names ...string) Of[T] {
	s.For = names
	return s
}

// Apply replaces the setting's values.
func (s *Of[T]) Apply(of *T, values []string) error {
	if s.Many {
		values = append([]string{""}, values...)
	}
	for _, v := range values {
		if err := s.Set(of, v); err != nil {
			return err
		}
	}
	return nil
}

// In lifts the settings of a part to the whole, in a section of its file.
func In[T, P any](section string, part func(*T) *P, of []Of[P]) []Of[T] {
	out := make([]Of[T], len(of))
	for i, s := range of {
		out[i] = Of[T]{
			Name: s.Name, In: section, Value: s.Value, Help: s.Help, Many: s.Many, For: s.For,
			Set: func(t *T, text string) error { return s.Set(part(t), text) },
			Get: func(t *T) []string { return s.Get(part(t)) },
		}
	}
	return out
}

// Value is a setting of one value, by how it is read and written; "" is not written.
func Value[T, V any](name, in, value, help string, at func(*T) *V, read func(string) (V, error), write func(V) string) Of[T] {
	return Of[T]{
		Name: name, In: in, Value: value, Help: help,
		Set: func(of *T, text string) error {
			v, err := read(text)
			if err == nil {
				*at(of) = v
			}
			return err
		},
		Get: func(of *T) []string {
			if text := write(*at(of)); text != "" {
				return []string{text}
			}
			return nil
		},
	}
}

// Text is any text that check accepts; nil: all.
func Text[T any](name, in, value, help string, at func(*T) *string, check func(string) error) Of[T] {
	return Value(name, in, value, help, at, func(v string) (string, error) {
		if check != nil {
			return v, check(v)
		}
		return v, nil
	}, func(v string) string { return v })
}

// Texts are texts, given one by one.
func Texts[T any](name, in, value, help string, at func(*T) *[]string) Of[T] {
	return Of[T]{
		Name: name, In: in, Value: value, Help: help, Many: true,
		Set: func(of *T, v string) error {
			p := at(of)
			if v == "" {
				*p = nil
				return nil
			}
			*p = append((*p)[:len(*p):len(*p)], v)
			return nil
		},
		Get: func(of *T) []string { return *at(of) },
	}
}

// List is like Texts, and a value may be a comma-separated list.
func List[T any](name, in, value, help string, at func(*T) *[]string) Of[T] {
	t := Texts(name, in, value, help, at)
	one := t.Set
	t.Set = func(of *T, v string) error {
		for part := range strings.SplitSeq(v, ",") {
			if err := one(of, part); err != nil {
				return err
			}
		}
		return nil
	}
	return t
}

// Number is a whole number from lo to hi.
func Number[T any, N int | int64](name, in, help string, lo, hi N, at func(*T) *N) Of[T] {
	return Value(name, in, "N", help, at, func(v string) (N, error) {
		n, err := Whole(v, int64(lo), int64(hi))
		return N(n), err
	}, func(n N) string { return strconv.FormatInt(int64(n), 10) })
}

// Whole reads a whole number from lo to hi.
func Whole(v string, lo, hi int64) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(v, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", v)
	}
	if n < lo || n > hi {
		return 0, fmt.Errorf("%d is not between %d and %d", n, lo, hi)
	}
	return n, nil
}

// Factor is a number above 0.
func Factor[T any](name, in, help string, at func(*T) *float64) Of[T] {
	return Value(name, in, "FACTOR", help, at, func(v string) (float64, error) {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f > 0 && f <= 1e6) {
			return f, fmt.Errorf("%q is not a factor above 0 and up to a million", v)
		}
		return f, nil
	}, Float)
}

// Float formats a number exactly.
func Float(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Yes is true or false.
func Yes[T any](name, in, help string, at func(*T) *bool) Of[T] {
	return Value(name, in, "", help, at, func(v string) (bool, error) {
		switch v {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
		return false, fmt.Errorf("%q is neither true nor false", v)
	}, strconv.FormatBool)
}

// longestTime keeps sums of times far from overflow.
const longestTime = 100 * 365 * unit.Day

// Duration is a time up to 100 years; a negative one stands for none, and is not written.
func Duration[T any](name, in, help string, at func(*T) *unit.Time) Of[T] {
	return Value(name, in, "TIME", help, at, func(v string) (unit.Time, error) {
		t, err := unit.ParseTime(v)
		if err == nil && (t < 0 || t > longestTime) {
			err = fmt.Errorf("%q is not between 0 and 100 years", v)
		}
		return t, err
	}, Time)
}

// Time formats a time exactly, unlike its String; "": it is negative.
func Time(t unit.Time) string {
	switch {
	case t < 0:
		return ""
	case t%unit.Second == 0:
		return strconv.FormatInt(int64(t/unit.Second), 10) + "s"
	case t%unit.Millisecond == 0:
		return strconv.FormatInt(int64(t/unit.Millisecond), 10) + "ms"
	}
	return strconv.FormatInt(int64(t), 10) + "us"
}

// Share is a share from 0 to 1, or to less than that; it may be given in percent.
func Share[T any](name, in, help string, belowOne bool, at func(*T) *float64) Of[T] {
	return Value(name, in, "SHARE", help, at, func(v string) (float64, error) {
		f, err := Percent(v)
		if err != nil || !(f >= 0 && f <= 1) || (belowOne && f == 1) {
			upper := "1"
			if belowOne {
				upper = "less than 1"
			}
			return f, fmt.Errorf("%q is not a share from 0 to %s; write 0.05 or 5%%", v, upper)
		}
		return f, nil
	}, Float)
}

// Percent reads a number, or one in percent.
func Percent(v string) (float64, error) {
	number, percent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		f /= 100
	}
	return f, err
}

// Amount is an amount of data.
func Amount[T any](name, in, help string, at func(*T) *unit.Bytes) Of[T] {
	return Value(name, in, "BYTES", help, at, func(v string) (unit.Bytes, error) { return positive(v, "") }, writeBytes)
}

// Rate is an amount of data a second.
func Rate[T any](name, in, help string, at func(*T) *float64) Of[T] {
	return Value(name, in, "BYTES", help, at, func(v string) (float64, error) {
		b, err := positive(strings.TrimSuffix(v, "/s"), " a second")
		return float64(b), err
	}, func(f float64) string { return writeBytes(unit.Bytes(math.Round(f))) })
}

func positive(v, per string) (unit.Bytes, error) {
	b, err := unit.ParseBytes(v)
	if err == nil && b < 1 {
		err = fmt.Errorf("%q is not a positive amount of data%s", v, per)
	}
	return b, err
}

// writeBytes is exact, unlike Bytes.String.
func writeBytes(b unit.Bytes) string {
	switch {
	case b == 0:
		return "0"
	case b%unit.GiB == 0:
		return strconv.FormatInt(int64(b/unit.GiB), 10) + "GB"
	case b%unit.MiB == 0:
		return strconv.FormatInt(int64(b/unit.MiB), 10) + "MB"
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// Container is the size of a container: memory,cores.
func Container[T any](name, in, help string, at func(*T) *unit.Resources) Of[T] {
	return Value(name, in, "MEMORY,CORES", help, at, func(v string) (r unit.Resources, err error) {
		m, c, ok := strings.Cut(v, ",")
		mem, err := unit.ParseBytes(m)
		if err != nil || !ok {
			return r, fmt.Errorf("%q is not memory,cores; write 2GB,1", v)
		}
		if r.Cores, err = Whole(strings.TrimSpace(c), 0, 1<<20); err != nil {
			return r, fmt.Errorf("cores: %w", err)
		}
		if r.Mem = int64(mem / unit.MiB); mem > 0 && r.Mem == 0 {
			return r, fmt.Errorf("%q is less than 1 MiB of memory", m)
		}
		return r, nil
	}, func(r unit.Resources) string {
		return writeBytes(unit.Bytes(r.Mem)*unit.MiB) + "," + strconv.FormatInt(r.Cores, 10)
	})
}
