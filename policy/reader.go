package policy

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
)

// Reader reads the parameters of a policy and keeps the first error.
type Reader struct {
	Of  Params
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
	v, err := r.Of.Choice(key, words...)
	r.Keep(err)
	return v
}

// Share reads a number between 0 and 1.
func (r *Reader) Share(key string, otherwise float64) float64 {
	v, err := r.Of.Float(key, otherwise)
	r.Keep(err)
	if err == nil && !(v >= 0 && v <= 1) {
		r.Keep(fmt.Errorf("%s=%v is not between 0 and 1", key, v))
	}
	return v
}

// Bytes reads a size.
func (r *Reader) Bytes(key string, otherwise float64) float64 {
	text, ok := r.Of[key]
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
	text, ok := r.Of[key]
	if !ok {
		return otherwise
	}
	v, err := unit.ParseTime(text)
	if err != nil || v <= 0 || v > unit.Day {
		r.Keep(fmt.Errorf("%s=%q: want a time of at most a day, such as 1s", key, text))
	}
	return v
}
