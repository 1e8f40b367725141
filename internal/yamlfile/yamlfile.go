// Package yamlfile reads small YAML files strictly, with precise errors: file, line, column, the line itself and
// a suggestion. It is the only package that uses the YAML library.
//
// A file becomes a tree of Nodes: mappings, lists and scalars, each with its position. Scalars stay text; the caller
// types them, so that "600x6/30", 90s and 128MB need no quotes. Anchors, aliases, tags and merge keys are
// refused: a file should be explicit.
package yamlfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxSize is the maximum file size.
const MaxSize = 8 << 20

// Errors of valid YAML.
const (
	tooDeep  = "is nested too deep; no file needs more than five levels"
	notPlain = "uses an anchor, alias, tag or merge key, which are not taken here; write the value out"
)

// Shape is what a Node is.
type Shape uint8

// Shapes.
const (
	Empty Shape = iota // nothing after the key
	Scalar
	List
	Mapping
)

func (s Shape) String() string { return [...]string{"nothing", "a value", "a list", "a mapping"}[s] }

// Node is one value of a file.
type Node struct {
	Shape  Shape
	Text   string  // of a Scalar
	Items  []*Node // of a List
	Fields []Field // of a Mapping, in the order of the file

	line, col int
	file      *file
}

// Field is one key of a mapping and its value.
type Field struct {
	Key   string
	Value *Node
	at    *Node // position of the key
}

type file struct {
	name, text string
}

// Error is an error at a position of a file.
type Error struct {
	File      string
	Line, Col int
	Msg       string
	Excerpt   string // the line and a caret under the column; may be empty
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
	if e.Excerpt != "" {
		s += "\n" + e.Excerpt
	}
	return s
}

// Open reads a file.
func Open(path string) (*Node, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return Parse(path, data)
}

// Parse reads a file that is in memory. An empty file is an Empty node.
func Parse(name string, data []byte) (root *Node, err error) {
	if len(data) > MaxSize {
		return nil, &Error{File: name, Line: 1, Col: 1, Msg: fmt.Sprintf("is larger than %d MiB, which no scenario or cluster file should be", MaxSize>>20)}
	}
	f := &file{name: name, text: string(data)}
	defer func() {
		// The library parses untrusted files; a panic in it is an unreadable file.
		if r := recover(); r != nil {
			root, err = nil, &Error{File: name, Line: 1, Col: 1, Msg: "cannot be read as YAML"}
		}
	}()
	tokens, err := f.scan()
	if err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, f.syntax(err)
	}
	root = &Node{Shape: Empty, line: 1, col: 1, file: f}
	bodies := 0
	for _, doc := range tree.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		if bodies++; bodies > 1 {
			return nil, f.at(doc.Body).Errorf("holds a second document; one file describes one thing")
		}
		if root, err = f.convert(doc.Body, 0); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// syntax converts the library's error.
func (f *file) syntax(err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		n := &Node{file: f, line: 1, col: 1}
		if tk := e.GetToken(); tk != nil && tk.Position != nil {
			n.line, n.col = tk.Position.Line, tk.Position.Column
		}
		return n.Errorf("not YAML: %s", e.GetMessage())
	}
	return &Error{File: f.name, Line: 1, Col: 1, Msg: "not YAML: " + err.Error()}
}

func (f *file) at(n ast.Node) *Node {
	out := &Node{file: f, line: 1, col: 1}
	if n == nil {
		return out
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		out.line, out.col = tk.Position.Line, tk.Position.Column
	}
	return out
}

func (f *file) convert(n ast.Node, depth int) (*Node, error) {
	out := f.at(n)
	if depth > maxDepth {
		return nil, out.Errorf(tooDeep)
	}
	switch v := n.(type) {
	case nil, *ast.NullNode:
		return out, nil
	case *ast.MappingNode:
		out.Shape = Mapping
		if len(v.Values) > 0 { // a block mapping's own token is its first colon
			first := f.at(v.Values[0].Key)
			if !v.IsFlowStyle {
				out.line, out.col = first.line, first.col
			}
		}
		return out, f.fields(out, v.Values, depth)
	case *ast.MappingValueNode:
		out.Shape = Mapping
		first := f.at(v.Key)
		out.line, out.col = first.line, first.col
		return out, f.fields(out, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out.Shape = List
		for _, item := range v.Values {
			c, err := f.convert(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, c)
		}
		return out, nil
	case *ast.StringNode:
		out.Shape, out.Text = Scalar, v.Value
		return out, nil
	case *ast.LiteralNode:
		out.Shape, out.Text = Scalar, v.Value.Value
		return out, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.Shape, out.Text = Scalar, n.GetToken().Value
		return out, nil
	case *ast.CommentGroupNode:
		return out, nil
	}
	return nil, out.Errorf(notPlain)
}

func (f *file) fields(out *Node, values []*ast.MappingValueNode, depth int) error {
	seen := map[string]int{}
	for _, mv := range values {
		key, err := f.convert(mv.Key, depth+1)
		if err != nil {
			return err
		}
		if key.Shape != Scalar {
			return key.Errorf("a key must be a plain word")
		}
		if line, twice := seen[key.Text]; twice {
			return key.Errorf("%q is given twice; the first is on line %d", key.Text, line)
		}
		seen[key.Text] = key.line
		value, err := f.convert(mv.Value, depth+1)
		if err != nil {
			return err
		}
		if value.Shape == Empty {
			value.line, value.col = key.line, key.col
		}
		out.Fields = append(out.Fields, Field{Key: key.Text, Value: value, at: key})
	}
	return nil
}
