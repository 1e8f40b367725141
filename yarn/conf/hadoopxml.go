package conf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits on configuration files. They are far above anything an operator writes by hand and keep a
// damaged or hostile file from exhausting the machine.
const (
	MaxFile     = 16 << 20  // bytes
	MaxDepth    = 64        // nested elements
	MaxElements = 1_000_000 // elements in one file
	maxTag      = 64 << 10  // bytes of one tag: its attributes are all in memory at once
)

// Pos is a position in a file.
type Pos struct {
	File string
	Line int // from 1
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Error is an error at a position in a file.
type Error struct {
	Pos  Pos
	Text string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Text }

// Errorf makes an Error at p.
func (p Pos) Errorf(format string, args ...any) error {
	return &Error{Pos: p, Text: fmt.Sprintf(format, args...)}
}

// Element is one XML element with its position. Names are without namespace.
type Element struct {
	Name     string
	Attrs    []xml.Attr
	Text     string // all character data directly inside, without comments, not trimmed; "" if only space
	Children []*Element
	Line     int // where the start tag begins
	file     *string

	// Offsets in the file: of the whole element, from < of the start tag to after > of the end tag, and of its content.
	Start, End               int
	ContentStart, ContentEnd int
	SelfClosing              bool // written as <name/>
	Plain                    bool // only text, without entities
}

// Pos is the position of the element's start tag.
func (e *Element) Pos() Pos { return Pos{File: *e.file, Line: e.Line} }

// Value is the element's text, trimmed.
func (e *Element) Value() string { return strings.TrimSpace(e.Text) }

// Child is the last child of a name, as in Hadoop; nil: none.
func (e *Element) Child(name string) (found *Element) {
	for _, c := range e.Children {
		if c.Name == name {
			found = c
		}
	}
	return found
}

// Outline is the text of an element without one of its descendants: two files with the same outline differ in nothing else.
func (e *Element) Outline(b *strings.Builder, without *Element) {
	if e == without {
		return
	}
	fmt.Fprintf(b, "<%s %q %q", e.Name, e.Attrs, strings.Join(strings.Fields(e.Text), " "))
	for _, c := range e.Children {
		c.Outline(b, without)
	}
	b.WriteString(">")
}

// Attr is the value of an attribute, trimmed.
func (e *Element) Attr(name string) (value string, ok bool) {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value), true
		}
	}
	return "", false
}

// ReadXML parses a whole XML file into a tree of elements that know their lines. The name is used in errors only.
func ReadXML(r io.Reader, name string) (*Element, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB, the most that is taken for a configuration", name, MaxFile>>20)
	}
	if err := longTag(data, name); err != nil {
		return nil, err
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii", "ascii", "iso-8859-1", "latin1":
			return in, nil // names and numbers are ASCII; other characters occur in descriptions only
		}
		return nil, fmt.Errorf("encoding %q is not read: save the file as UTF-8", charset)
	}
	b := treeBuilder{data: data, file: &name, names: map[string]string{}}
	for {
		line, _ := d.InputPos()
		start := int(d.InputOffset())
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxError(name, line, err)
		}
		if err := b.take(tok, line, start, int(d.InputOffset())); err != nil {
			return nil, err
		}
	}
	if b.root == nil {
		return nil, Pos{name, 1}.Errorf("no XML element found")
	}
	return b.root, nil
}

// longTag rejects a file with an excessively long tag. Comments and the like may be of any length.
func longTag(data []byte, name string) error {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '<')
		if i < 0 {
			return nil
		}
		at += i
		rest := data[at:]
		end, long := []byte(">"), maxTag
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			end, long = []byte("-->"), len(data)
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			end, long = []byte("]]>"), len(data)
		}
		j := bytes.Index(rest, end)
		if j < 0 {
			j = len(rest) - len(end)
		}
		if j > long {
			return Pos{name, 1 + bytes.Count(data[:at], []byte("\n"))}.Errorf("a tag of more than %d KiB", maxTag>>10)
		}
		at += max(j, 0) + len(end)
		if at >= len(data) {
			return nil
		}
	}
}

func syntaxError(name string, line int, err error) error {
	if se, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return Pos{name, se.Line}.Errorf("not well-formed XML: %s", se.Msg)
	}
	return Pos{name, line}.Errorf("not well-formed XML: %s", strings.TrimPrefix(err.Error(), "xml: "))
}

type treeBuilder struct {
	data  []byte
	file  *string
	names map[string]string // one copy of each element name
	root  *Element
	open  []*Element
	text  [][]byte // of each open element, in pieces around comments and children
	count int
}

// take adds a token that stands at data[start:end].
func (b *treeBuilder) take(tok xml.Token, line, start, end int) error {
	pos := Pos{*b.file, line}
	var in *Element
	if n := len(b.open); n > 0 {
		in = b.open[n-1]
	}
	switch t := tok.(type) {
	case xml.StartElement:
		if b.count++; b.count > MaxElements {
			return pos.Errorf("more than %d elements", MaxElements)
		}
		if len(b.open) >= MaxDepth {
			return pos.Errorf("elements are nested more than %d deep", MaxDepth)
		}
		name, ok := b.names[t.Name.Local]
		if !ok {
			name = t.Name.Local
			b.names[name] = name
		}
		e := &Element{Name: name, Line: line, file: b.file, Start: start, ContentStart: end, Plain: true}
		e.SelfClosing = bytes.HasSuffix(b.data[start:end], []byte("/>"))
		if len(t.Attr) > 0 {
			e.Attrs = append(e.Attrs, t.Attr...)
		}
		switch {
		case in != nil:
			in.Children, in.Plain = append(in.Children, e), false
		case b.root != nil:
			return pos.Errorf("<%s> follows the end of <%s>: a file has one outermost element", name, b.root.Name)
		default:
			b.root = e
		}
		b.open = append(b.open, e)
		if len(b.text) < len(b.open) {
			b.text = append(b.text, nil)
		}
		b.text[len(b.open)-1] = b.text[len(b.open)-1][:0]
	case xml.EndElement:
		last := len(b.open) - 1
		if text := b.text[last]; len(bytes.TrimSpace(text)) > 0 {
			in.Text = string(text)
		}
		in.ContentEnd, in.End = start, end
		b.open = b.open[:last]
	case xml.CharData:
		if in != nil {
			b.text[len(b.open)-1] = append(b.text[len(b.open)-1], t...)
			in.Plain = in.Plain && string(t) == string(b.data[start:end])
		}
	default:
		if in != nil {
			in.Plain = false
		}
	}
	return nil
}

// Write writes the element as a file of its own.
func (e *Element) Write(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	var down func(e *Element, indent string)
	down = func(e *Element, indent string) {
		b.WriteString(indent + "<" + e.Name)
		for _, a := range e.Attrs {
			b.WriteString(" " + a.Name.Local + "=\"")
			escape(&b, a.Value)
			b.WriteString("\"")
		}
		switch {
		case len(e.Children) > 0:
			b.WriteString(">\n")
			for _, c := range e.Children {
				down(c, indent+"  ")
			}
			b.WriteString(indent + "</" + e.Name + ">\n")
		case strings.TrimSpace(e.Text) != "":
			b.WriteString(">")
			escape(&b, strings.TrimSpace(e.Text))
			b.WriteString("</" + e.Name + ">\n")
		default:
			b.WriteString("/>\n")
		}
	}
	down(e, "")
	_, err := w.Write(b.Bytes())
	return err
}
