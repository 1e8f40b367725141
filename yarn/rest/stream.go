package rest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
)

// errStop ends a list whose consumer has stopped.
var errStop = errors.New("no more wanted")

// maxValue is how many bytes a value of a list may take that is not a list or an object itself.
const maxValue = 4 * maxText

// decodeList hands over the elements of the list under the keys, one at a time, and reports those that were cut. An element of
// more than each bytes is left out. The rest of the response is read to its end, because a response that is truncated after the
// list may lack elements.
func decodeList[T any](r io.Reader, each, total int64, keys []string, yield func(T) error, report func(Cut)) error {
	c := &cutter{r: r, keep: maxText, most: total}
	source := bufio.NewReaderSize(c, maxText)
	b := &input.Bounded{R: source, Left: maxValue, Err: malformed("one value of the answer is larger than %v", unit.Bytes(maxValue))}
	dec := json.NewDecoder(b)
	dec.UseNumber()
	l := lister[T]{dec: dec, b: b, source: source, cutter: c, each: each, keys: keys, yield: yield, report: report}
	err := l.descend(0)
	if err == nil {
		if _, after := dec.Token(); !errors.Is(after, io.EOF) {
			if after == nil {
				after = malformed("something follows the JSON value at byte %d", dec.InputOffset())
			}
			err = after
		}
	}
	if err != nil && !errors.Is(err, errStop) {
		return jsonError(err, c.read)
	}
	return err
}

type lister[T any] struct {
	dec    *json.Decoder
	b      *input.Bounded // of one value: see maxValue
	source *bufio.Reader  // of b
	cutter *cutter
	each   int64 // max bytes of an element
	keys   []string
	yield  func(T) error
	report func(Cut)

	start int64 // of the element
	cut   Cut   // in it
}

// token reads the next token.
func (l *lister[T]) token() (json.Token, error) {
	l.b.Left = maxValue
	return l.dec.Token()
}

// descend reads the value at depth i of the keys.
func (l *lister[T]) descend(i int) error {
	t, err := l.token()
	if err != nil {
		return err
	}
	path := strings.Join(l.keys[:i], ".")
	switch t {
	case nil:
		return nil
	case json.Delim('['):
		if i < len(l.keys)-1 {
			return malformed("wrong in type: %s is a list where an object is expected", cmp.Or(path, "the answer"))
		}
		return l.elements(path)
	case json.Delim('{'):
		if i == len(l.keys) {
			return l.single(path)
		}
		return l.object(i)
	}
	if s, ok := t.(string); ok && strings.TrimSpace(s) == "" && i > 0 {
		return nil
	}
	return wrongKind(t, cmp.Or(path, "the answer"), "an object or a list")
}

// object looks for keys[i]; its absence means an empty list, but not at the top: there it is another kind of response.
func (l *lister[T]) object(i int) error {
	found := false
	other := map[string]any{}
	for l.more() {
		t, err := l.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if i == 0 && len(l.keys) == 2 && name == l.keys[1] { // the list without the object around it
			found = true
			if err := l.descend(2); err != nil {
				return err
			}
			continue
		}
		if name != l.keys[i] {
			if len(other) < 2 {
				other[name] = nil
			}
			if err := l.skip(); err != nil {
				return err
			}
			continue
		}
		found = true
		if err := l.descend(i + 1); err != nil {
			return err
		}
	}
	if _, err := l.dec.Token(); err != nil {
		return err
	}
	if !found && i == 0 && len(other) > 0 {
		return malformed("the answer has no %q%s", l.keys[0], keysOf(other))
	}
	return nil
}

func (l *lister[T]) elements(path string) error {
	for l.more() {
		l.begin()
		x, err := l.element()
		if err == nil {
			err = l.hand(x, path)
		}
		if err != nil {
			return err
		}
	}
	_, err := l.token()
	return err
}

// element reads an element: in one go if it is small, for that is twice as fast.
func (l *lister[T]) element() (x any, err error) {
	if !near(l.dec, l.source) {
		return l.value("", 1)
	}
	l.b.Left = maxValue
	err = l.dec.Decode(&x)
	return x, err
}

// single reads the members of an object, whose opening brace was read, as the only element.
func (l *lister[T]) single(path string) error {
	l.begin()
	m, err := l.members(2)
	if err != nil || len(m) == 0 {
		return err
	}
	return l.hand(m, path)
}

func (l *lister[T]) begin() {
	l.cutter.takeCut(l.dec.InputOffset()) // what was cut before it is not its own
	l.start, l.cut = l.dec.InputOffset(), Cut{}
}

// more says whether the list or object goes on.
func (l *lister[T]) more() bool {
	l.b.Left = maxValue
	return l.dec.More()
}

// large says whether the element takes more than it may. From there on it is read without being kept.
func (l *lister[T]) large() bool { return l.dec.InputOffset()-l.start > l.each }

// value reads a value, which is under a name; depth is how many lists and objects of the element are open around it, the list of
// elements among them.
func (l *lister[T]) value(name string, depth int) (any, error) {
	t, err := l.token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, tooDeep()
	}
	switch t {
	case json.Delim('{'):
		return l.members(depth + 1)
	case json.Delim('['):
		list := []any{}
		for l.more() {
			x, err := l.value(name, depth+1)
			if err != nil {
				return nil, err
			}
			if !l.large() {
				list = append(list, x)
			}
		}
		_, err = l.token()
		return list, err
	}
	if n := l.cutter.takeCut(l.dec.InputOffset()); n > l.cut.Bytes {
		l.cut.Field, l.cut.Bytes = name, n
	}
	return t, nil
}

// members reads the members of an object, whose opening brace was read.
func (l *lister[T]) members(depth int) (map[string]any, error) {
	m := map[string]any{}
	for l.more() {
		t, err := l.token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		x, err := l.value(name, depth)
		if err != nil {
			return nil, err
		}
		if !l.large() || depth == 2 && (name == "id" || name == "user") { // which name an element that is left out
			m[name] = x
		}
	}
	_, err := l.token()
	return m, err
}

func (l *lister[T]) hand(x any, path string) error {
	if x == nil {
		return nil
	}
	if size := l.dec.InputOffset() - l.start; size > l.each {
		l.cut.Bytes, l.cut.LeftOut = size, true
	}
	if l.cut.Bytes > 0 {
		if m, ok := x.(map[string]any); ok {
			l.cut.ID, _ = m["id"].(string)
			l.cut.User, _ = m["user"].(string)
		}
		if l.report(l.cut); l.cut.LeftOut {
			return nil
		}
	}
	var v T
	if err := fill(x, reflect.ValueOf(&v).Elem(), path+"[]"); err != nil {
		return err
	}
	return l.yield(v)
}

// maxDepth is how deep values may be nested.
const maxDepth = 1000

func tooDeep() error { return malformed("the answer is nested more than %d deep", maxDepth) }

// skip skips one value.
func (l *lister[T]) skip() error {
	for depth := 0; ; {
		t, err := l.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return tooDeep()
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
