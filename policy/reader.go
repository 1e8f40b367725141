package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Reader reads the parameters of a policy and keeps the first error.
type Reader struct {
	Params
	Err error
}

// Keep keeps the first error.
func (r *Reader) Keep(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Choice reads one of several words.
func (r *Reader) Choice(key string, words ...string) string {
	v, err := r.Params.Choice(key, words...)
	r.Keep(err)
	return v
}

// Second reads whether a parameter is the second of two words; the first is the default.
func (r *Reader) Second(key, otherwise, word string) bool {
	return r.Choice(key, otherwise, word) == word
}

// Float reads a number.
func (r *Reader) Float(key string, otherwise float64) float64 {
	v, err := r.Params.Float(key, otherwise)
	r.Keep(err)
	return v
}

// Int reads a whole number.
func (r *Reader) Int(key string, otherwise int) int {
	v, err := r.Params.Int(key, otherwise)
	r.Keep(err)
	return v
}

// Between reads a number between two others.
func (r *Reader) Between(key string, otherwise, low, high float64) float64 {
	v, err := r.Params.Float(key, otherwise)
	r.Keep(err)
	if err == nil && !(v >= low && v <= high) {
		r.Keep(fmt.Errorf("%s=%v: want a number from %v to %v", key, v, low, high))
	}
	return v
}

// Named is a number with a name.
type Named struct {
	Name  string
	Value float64
}

// Above0 is the smallest number above 0, as the minimum of a table.
const Above0 = math.SmallestNonzeroFloat64

// Table reads name:number;name:number, or the same with equals signs. Each number must be finite and at least low; example shows what to write.
func (r *Reader) Table(key string, low float64, example string) (list []Named) {
	text := r.Params[key]
	if text == "" {
		return nil
	}
	for _, part := range strings.Split(text, ";") {
		i := strings.LastIndexAny(part, ":=")
		if i <= 0 {
			r.Keep(fmt.Errorf("%s=%q: %q is not name:number; write %s", key, text, part, example))
			return nil
		}
		name := strings.TrimSpace(part[:i])
		v, err := strconv.ParseFloat(strings.TrimSpace(part[i+1:]), 64)
		switch {
		case err == nil && v >= low && !math.IsInf(v, 1):
		case low == Above0:
			r.Keep(fmt.Errorf("%s=%q: %q of %s is not a number above 0; write %s", key, text, part[i+1:], name, example))
		default:
			r.Keep(fmt.Errorf("%s=%q: %q of %s is not a number from %v; write %s", key, text, part[i+1:], name, low, example))
		}
		if slices.ContainsFunc(list, func(n Named) bool { return n.Name == name }) {
			r.Keep(fmt.Errorf("%s=%q: %s is named twice", key, text, name))
		}
		list = append(list, Named{name, v})
	}
	return list
}

// Share reads a number between 0 and 1.
func (r *Reader) Share(key string, otherwise float64) float64 {
	v, err := r.Params.Float(key, otherwise)
	r.Keep(err)
	if err == nil && !(v >= 0 && v <= 1) {
		r.Keep(fmt.Errorf("%s=%v is not between 0 and 1", key, v))
	}
	return v
}

// Bytes reads a size.
func (r *Reader) Bytes(key string, otherwise float64) float64 {
	text, ok := r.Params[key]
	if !ok {
		return otherwise
	}
	v, err := unit.ParseBytes(text)
	if err != nil || v <= 0 {
		r.Keep(fmt.Errorf("%s=%q is not a size", key, text))
	}
	return float64(v)
}

// Time reads a time.
func (r *Reader) Time(key string, otherwise unit.Time) unit.Time {
	text, ok := r.Params[key]
	if !ok {
		return otherwise
	}
	v, err := unit.ParseTime(text)
	if err != nil || v <= 0 || v > unit.Day {
		r.Keep(fmt.Errorf("%s=%q: want a time of at most a day, such as 1s", key, text))
	}
	return v
}
