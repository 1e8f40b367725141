package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// FormatError is an unusable response: truncated, of a wrong kind, too large, or not JSON at all.
type FormatError struct {
	Reason string
	Hint   string // what to do about it
	cut    bool
}

func (e *FormatError) Error() string {
	if e.Hint != "" {
		return e.Reason + ": " + e.Hint
	}
	return e.Reason
}

// Is makes errors.Is(err, ErrFormat) true.
func (e *FormatError) Is(target error) bool { return target == ErrFormat }

func malformed(format string, args ...any) error {
	return &FormatError{Reason: fmt.Sprintf(format, args...)}
}

// decodeWhole parses one JSON value, descends along the keys and fills v.
func decodeWhole(data []byte, v any, keys ...string) error {
	x, err := lookUp(data, keys...)
	if err != nil {
		return err
	}
	return fill(x, reflect.ValueOf(v).Elem(), strings.Join(keys, "."))
}

// plainSigns is how many values a response may have whatever its length. Beyond that a value with its name takes at least eight bytes, in
// every response of Hadoop; one that is only brackets would take some sixty times its length in memory.
const plainSigns = 4096

// signs counts what starts values in a JSON text: commas and opening brackets outside of strings.
func signs(data []byte) int {
	n, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n
}

// lookUp parses one JSON value and descends along the keys. A null on the way is an empty response; a missing key is an
// error, for a response of another kind must not pass as an empty one.
func lookUp(data []byte, keys ...string) (any, error) {
	if signs(data) > plainSigns+len(data)/8 {
		return nil, malformed("the answer has more values than its bytes can name")
	}
	var x any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&x); err != nil {
		return nil, jsonError(err, int64(len(data)))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("something follows the JSON value at byte %d", dec.InputOffset())
	}
	for i, k := range keys {
		m, ok := x.(map[string]any)
		if !ok {
			return nil, malformed("wrong in type: %s where an object with %q is expected", kindOf(x), k)
		}
		if x, ok = m[k]; !ok {
			return nil, malformed("the answer has no %q%s", strings.Join(keys[:i+1], "."), keysOf(m))
		}
		if x == nil {
			return nil, nil
		}
	}
	return x, nil
}

// keysOf lists an object's actual keys, for messages.
func keysOf(m map[string]any) string {
	if len(m) == 0 {
		return ", it is empty"
	}
	if len(m) > 1 {
		return ""
	}
	for k := range m {
		return fmt.Sprintf(" but %q", short(k, 60))
	}
	return ""
}

func jsonError(err error, read int64) error {
	var syntax *json.SyntaxError
	cut := &FormatError{Reason: fmt.Sprintf("the answer is cut: it ends in the middle, after %d bytes", read), cut: true}
	var broken *silenceError
	switch {
	case errors.As(err, &broken):
		return err
	case errors.Is(err, io.EOF) && read == 0:
		return malformed("the answer is empty")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return cut
	case errors.As(err, &syntax):
		if strings.HasPrefix(syntax.Error(), "unexpected end") {
			return cut
		}
		return malformed("not JSON: %s at byte %d", syntax.Error(), syntax.Offset)
	}
	return err
}

// field is the target of a JSON name.
type field struct {
	name  string
	index int
	nan   bool // NaN is kept
}

var structs sync.Map // reflect.Type -> []field; a cache, the same for everybody

func fieldsOf(t reflect.Type) []field {
	if f, ok := structs.Load(t); ok {
		return f.([]field)
	}
	var fs []field
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("json"); name != "" && name != "-" {
			fs = append(fs, field{name, i, t.Field(i).Tag.Get("nan") == "keep"})
		}
	}
	structs.Store(t, fs)
	return fs
}

// fill stores a decoded JSON value (with json.Number) in v, with the leniency described in the package comment.
func fill(x any, v reflect.Value, path string) error {
	if x == nil {
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return fillStruct(x, v, path)
	case reflect.Slice:
		return fillSlice(x, v, path)
	case reflect.String:
		s, ok := textOf(x)
		if !ok {
			return wrongKind(x, path, "a text")
		}
		v.SetString(s)
	case reflect.Int64:
		if m, ok := x.(map[string]any); ok && len(m) == 1 { // how Hadoop 2 writes a priority
			for _, x = range m {
			}
		}
		n, ok := wholeOf(x)
		if !ok {
			return wrongKind(x, path, "a whole number")
		}
		v.SetInt(n)
	case reflect.Float64:
		f, ok := floatOf(x)
		if !ok {
			return wrongKind(x, path, "a number")
		}
		v.SetFloat(f)
	case reflect.Bool:
		b, ok := truthOf(x)
		if !ok {
			return wrongKind(x, path, "true or false")
		}
		v.SetBool(b)
	default:
		panic("rest: no rule for a field of kind " + v.Kind().String())
	}
	return nil
}

func fillStruct(x any, v reflect.Value, path string) error {
	switch x := x.(type) {
	case map[string]any:
		for _, f := range fieldsOf(v.Type()) {
			if y, ok := x[f.name]; ok {
				if err := fill(y, v.Field(f.index), join(path, f.name)); err != nil {
					return err
				}
				// Java's NaN and Infinity stand for a division by an empty queue: most fields take them as 0.
				if into := v.Field(f.index); into.Kind() == reflect.Float64 && !f.nan && math.IsNaN(into.Float()) {
					into.SetFloat(0)
				}
			}
		}
		return nil
	case string:
		if strings.TrimSpace(x) == "" { // how some versions write an empty object
			return nil
		}
	case []any:
		fs := fieldsOf(v.Type())
		switch { // the list itself where an object around it is expected, or an object as a list of one
		case len(fs) == 1 && v.Field(fs[0].index).Kind() == reflect.Slice:
			return fill(x, v.Field(fs[0].index), path)
		case len(x) == 1:
			return fill(x[0], v, path)
		case len(x) == 0:
			return nil
		}
	}
	return wrongKind(x, path, "an object")
}

func fillSlice(x any, v reflect.Value, path string) error {
	list, ok := x.([]any)
	if !ok {
		if s, text := x.(string); text && s == "" {
			return nil
		}
		list = []any{x}
	}
	out := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, y := range list {
		if err := fill(y, out.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

func textOf(x any) (string, bool) {
	switch x := x.(type) {
	case string:
		return x, true
	case json.Number:
		return x.String(), true
	case bool:
		return strconv.FormatBool(x), true
	case []any:
		var parts []string
		for _, y := range x {
			s, ok := y.(string)
			if !ok {
				return "", false
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, ","), true
	}
	return "", false
}

func wholeOf(x any) (int64, bool) {
	s, ok := numberText(x)
	if !ok || s == "" {
		return 0, ok
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f >= math.MaxInt64 || f <= math.MinInt64 {
		return 0, false
	}
	return int64(f), true
}

// floatOf treats Infinity as NaN.
func floatOf(x any) (float64, bool) {
	s, ok := numberText(x)
	if !ok || s == "" {
		return 0, ok
	}
	f, err := strconv.ParseFloat(s, 64)
	if math.IsInf(f, 0) {
		return math.NaN(), true
	}
	return f, err == nil
}

func numberText(x any) (string, bool) {
	switch x := x.(type) {
	case json.Number:
		return x.String(), true
	case string:
		return strings.TrimSpace(x), true
	}
	return "", false
}

func truthOf(x any) (value, ok bool) {
	switch x := x.(type) {
	case bool:
		return x, true
	case string:
		switch strings.ToLower(strings.TrimSpace(x)) {
		case "true":
			return true, true
		case "false", "":
			return false, true
		}
	}
	return false, false
}

func wrongKind(x any, path, want string) error {
	return malformed("wrong in type: %s is %s where %s is expected", path, kindOf(x), want)
}

func kindOf(x any) string {
	switch x := x.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the text %q", short(x, 40))
	case json.Number:
		return "the number " + short(x.String(), 40)
	case bool:
		return strconv.FormatBool(x)
	case []any:
		return fmt.Sprintf("a list of %d", len(x))
	}
	return "an object"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// short truncates foreign text to one line of n characters.
func short(s string, n int) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}
