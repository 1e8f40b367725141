package yamlfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/unit"
)

// Where is the node's position as FILE:LINE.
func (n *Node) Where() string { return fmt.Sprintf("%s:%d", n.file.name, n.line) }

// Errorf is an error at the node's position.
func (n *Node) Errorf(format string, args ...any) error {
	return &Error{File: n.file.name, Line: n.line, Col: n.col, Msg: fmt.Sprintf(format, args...), Excerpt: n.excerpt()}
}

// excerpt shows the node's line with a caret under its column.
func (n *Node) excerpt() string {
	line, rest := "", n.file.text
	for range n.line {
		line, rest, _ = strings.Cut(rest, "\n")
	}
	line = strings.TrimRight(strings.ReplaceAll(line, "\t", " "), "\r")
	if line == "" || len(line) > 160 || !printable(line) {
		return ""
	}
	number := strconv.Itoa(n.line)
	col := min(max(n.col, 1), len([]rune(line))+1)
	return "  " + number + " | " + line + "\n  " + strings.Repeat(" ", len(number)) + " | " + strings.Repeat(" ", col-1) + "^"
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
}

// Keys are the valid keys of a mapping, each with the reader of its value.
type Keys map[string]func(*Node) error

// Read reads every value of a mapping. An unknown key is an error that suggests the nearest one.
// order lists the keys for the message; it must hold every key of keys.
func (n *Node) Read(what string, order []string, keys Keys) error {
	if n.Shape == Empty {
		return nil
	}
	if n.Shape != Mapping {
		return n.Errorf("%s should be a mapping with %s, not %s", what, strings.Join(order, ", "), n.Shape)
	}
	for _, f := range n.Fields {
		take, ok := keys[f.Key]
		if !ok {
			if c, near := suggest.Closest(f.Key, order); near {
				return f.at.Errorf("%s has no key %q; did you mean %q?", what, f.Key, c)
			}
			return f.at.Errorf("%s has no key %q; it has %s", what, f.Key, strings.Join(order, ", "))
		}
		if err := take(f.Value); err != nil {
			return err
		}
	}
	return nil
}

// Has says whether a mapping has a key.
func (n *Node) Has(key string) bool {
	return slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Key == key })
}

// Value returns a scalar's text.
func (n *Node) Value() (string, error) {
	switch n.Shape {
	case Scalar:
		return n.Text, nil
	case Empty:
		return "", n.Errorf("a value is missing after the key")
	}
	return "", n.Errorf("should be one value, not %s", n.Shape)
}

// Values returns one value or a list of values.
func (n *Node) Values() ([]*Node, error) {
	if n.Shape != List {
		_, err := n.Value()
		return []*Node{n}, err
	}
	for _, item := range n.Items {
		if _, err := item.Value(); err != nil {
			return nil, err
		}
	}
	return n.Items, nil
}

// Value adapts a reader of a scalar's text.
func Value(read func(n *Node, text string) error) func(*Node) error {
	return func(n *Node) error {
		text, err := n.Value()
		if err != nil {
			return err
		}
		return read(n, text)
	}
}

// Str reads a text into p.
func Str(p *string) func(*Node) error {
	return Value(func(_ *Node, text string) error {
		*p = text
		return nil
	})
}

// Strs reads a text or a list of texts into p.
func Strs(p *[]string) func(*Node) error {
	return func(n *Node) error {
		values, err := n.Values()
		if err != nil {
			return err
		}
		for _, v := range values {
			*p = append(*p, v.Text)
		}
		return nil
	}
}

// Int reads a whole number between lo and hi into p.
func Int(p *int64, lo, hi int64) func(*Node) error {
	return Value(func(n *Node, s string) error {
		v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
		if err != nil {
			return n.Errorf("%q is not a whole number", s)
		}
		if v < lo || v > hi {
			return n.Errorf("%d is not between %d and %d", v, lo, hi)
		}
		*p = v
		return nil
	})
}

// Mem reads an amount of memory into p, in MiB. A bare number counts MiB, as YARN's settings do.
func Mem(p *int64) func(*Node) error {
	return Value(func(n *Node, s string) error {
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			if v < 0 {
				return n.Errorf("%d MiB is negative", v)
			}
			*p = v
			return nil
		}
		b, err := unit.ParseBytes(s)
		if err != nil {
			return n.Errorf("%v", err)
		}
		*p = int64(b / unit.MiB)
		return nil
	})
}
