package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// errStop ends a list whose consumer has stopped.
var errStop = errors.New("no more wanted")

// budget is a reader that fails if more than allowed was read since the last grant.
type budget struct {
	r           io.Reader
	left, each  int64 // until the next grant
	total, read int64
}

func (b *budget) Read(p []byte) (int, error) {
	room := min(b.left, b.total-b.read)
	if room <= 0 {
		if b.total <= b.read {
			return 0, malformed("the answer is larger than %v", unit.Bytes(b.total))
		}
		return 0, malformed("one element of the answer is larger than %v", unit.Bytes(b.each))
	}
	if int64(len(p)) > room {
		p = p[:room]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	b.read += int64(n)
	return n, err
}

func (b *budget) grant() { b.left = b.each }

// decodeList hands over the elements of the list under the keys, one at a time. The rest of the response is read to its
// end, because a response that is truncated after the list may lack elements.
func decodeList[T any](r io.Reader, each, total int64, keys []string, yield func(T) error) error {
	b := &budget{r: r, each: each, left: each, total: total}
	dec := json.NewDecoder(b)
	dec.UseNumber()
	l := lister[T]{dec, b, keys, yield}
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
		return jsonError(err, b.read)
	}
	return err
}

type lister[T any] struct {
	dec   *json.Decoder
	b     *budget
	keys  []string
	yield func(T) error
}

// descend reads the value at depth i of the keys.
func (l *lister[T]) descend(i int) error {
	l.b.grant()
	t, err := l.dec.Token()
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
	for l.dec.More() {
		l.b.grant()
		t, err := l.dec.Token()
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
	for l.dec.More() {
		l.b.grant()
		var x any
		if err := l.dec.Decode(&x); err != nil {
			return err
		}
		if err := l.hand(x, path); err != nil {
			return err
		}
	}
	_, err := l.dec.Token()
	return err
}

// single reads the members of an object, whose opening brace was read, as the only element.
func (l *lister[T]) single(path string) error {
	m := map[string]any{}
	for l.dec.More() {
		t, err := l.dec.Token()
		if err != nil {
			return err
		}
		var x any
		if err := l.dec.Decode(&x); err != nil {
			return err
		}
		name, _ := t.(string)
		m[name] = x
	}
	if _, err := l.dec.Token(); err != nil {
		return err
	}
	if len(m) == 0 {
		return nil
	}
	return l.hand(m, path)
}

func (l *lister[T]) hand(x any, path string) error {
	if x == nil {
		return nil
	}
	var v T
	if err := fill(x, reflect.ValueOf(&v).Elem(), path+"[]"); err != nil {
		return err
	}
	return l.yield(v)
}

// skip skips one value.
func (l *lister[T]) skip() error {
	for depth := 0; ; {
		l.b.grant()
		t, err := l.dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > 1000 {
				return malformed("the answer is nested more than 1000 deep")
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
