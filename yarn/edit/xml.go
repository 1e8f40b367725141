package edit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Node is an element of an XML file with its position, in bytes.
type Node struct {
	name       string
	attrs      []xml.Attr
	start, end int // from < of the start tag to after > of the end tag
	from, to   int // content between the tags
	self       bool
	text       string // character data directly inside
	plain      bool   // only text, without entities
	kids       []*Node
}

// ParseXML finds the positions of all elements. Whether the file is well-formed is checked elsewhere.
func ParseXML(data []byte) (*Node, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	top := &Node{}
	open := []*Node{top}
	text := [][]byte{nil} // of each open element, in pieces around comments and children
	for {
		at := int(d.InputOffset())
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		in := open[len(open)-1]
		switch t := tok.(type) {
		case xml.StartElement:
			n := &Node{name: t.Name.Local, attrs: t.Copy().Attr, start: at, from: end, plain: true}
			n.self = bytes.HasSuffix(data[at:end], []byte("/>"))
			in.kids, in.plain = append(in.kids, n), false
			open = append(open, n)
			if len(text) < len(open) {
				text = append(text, nil)
			}
			text[len(open)-1] = text[len(open)-1][:0]
		case xml.EndElement:
			if len(open) == 1 {
				return nil, errors.New("an end tag without a start tag")
			}
			in.to, in.end = at, end
			open = open[:len(open)-1]
			in.text = string(text[len(open)])
		case xml.CharData:
			text[len(open)-1] = append(text[len(open)-1], t...)
			in.plain = in.plain && string(t) == string(data[at:end])
		default:
			in.plain = false
		}
	}
	if len(open) != 1 || len(top.kids) != 1 {
		return nil, errors.New("not one outermost element")
	}
	return top.kids[0], nil
}

func (n *Node) attr(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

func (n *Node) child(name string) *Node { // the last of that name, as in Hadoop
	var found *Node
	for _, k := range n.kids {
		if k.name == name {
			found = k
		}
	}
	return found
}

// Place is the position of a setting in a file, or where it would be inserted.
type Place struct {
	in    *Node // the parent element
	Elem  *Node // nil: absent
	value *Node // whose text is the value
}

// Raw is the value as the file spells it.
func (p *Place) Raw() string { return strings.TrimSpace(p.value.text) }

// FindProperty finds a property of a Hadoop configuration: the last one of its name, unless an earlier one is final.
func FindProperty(root *Node, key string) (*Place, error) {
	p := &Place{in: root}
	final := false
	var err error
	var walk func(n *Node)
	walk = func(n *Node) {
		for _, k := range n.kids {
			if k.name == "configuration" {
				walk(k)
			}
			if k.name != "property" || final {
				continue
			}
			name, value := k.attr("name"), k.child("value")
			if c := k.child("name"); c != nil {
				name = strings.TrimSpace(c.text)
			}
			if name != key {
				continue
			}
			if value == nil {
				if k.attr("value") != "" {
					err = fmt.Errorf("%s is given by attributes: write it as <property><name>...</name><value>...</value></property>", key)
				}
				continue
			}
			p.Elem, p.value = k, value
			if c := k.child("final"); k.attr("final") == "true" || c != nil && strings.TrimSpace(c.text) == "true" {
				final = true
			}
		}
	}
	walk(root)
	return p, err
}

// Properties sets properties in the content of a Hadoop configuration file. Every other byte is preserved.
func Properties(data []byte, set []conf.Property) ([]byte, error) {
	for _, x := range set {
		if strings.ContainsAny(x.Name, "<>&\r\n") {
			return nil, fmt.Errorf("%q is no name to be written", x.Name)
		}
		root, err := ParseXML(data)
		if err != nil {
			return nil, err
		}
		p, err := FindProperty(root, x.Name)
		if err == nil {
			data, err = p.Set(data, x.Value, func(v string) string { return PropertyElement(x.Name, v) })
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
	}
	return data, nil
}

// PropertyElement is the text of a property.
func PropertyElement(name, value string) string {
	return "<property><name>" + name + "</name><value>" + value + "</value></property>"
}

// FindElement finds an element of a queue, given by its path, in an allocation file.
func FindElement(root *Node, path, name string) (*Place, error) {
	at := []*Node{root}
	for _, q := range queuesOf(root) {
		if strings.EqualFold(q.attr("name"), "root") {
			at = []*Node{q}
		}
	}
	parts := strings.Split(path, ".")
	for _, part := range parts[1:] {
		var next []*Node
		for _, n := range at {
			for _, q := range queuesOf(n) {
				if q.attr("name") == part {
					next = append(next, q)
				}
			}
		}
		at = next
	}
	if len(at) == 0 || parts[0] != "root" {
		return nil, &NoQueueError{Queue: path}
	}
	p := &Place{in: at[len(at)-1]}
	for _, n := range at {
		if x := n.child(name); x != nil {
			p.in, p.Elem, p.value = n, x, x
		}
	}
	return p, nil
}

// NoQueueError says that a file does not name a queue.
type NoQueueError struct{ Queue string }

func (e *NoQueueError) Error() string {
	return fmt.Sprintf("queue %s is not in the file: add <queue name=%q/> where it belongs, so that it can have a share of its own",
		e.Queue, e.Queue[strings.LastIndexByte(e.Queue, '.')+1:])
}

func queuesOf(n *Node) (list []*Node) {
	for _, k := range n.kids {
		if k.name == "queue" || k.name == "pool" {
			list = append(list, k)
		}
	}
	return list
}

// Nothing reports whether the parent element is written as <configuration/>.
func (p *Place) Nothing() bool { return p.in.self }

// Set changes the value, or inserts the element if there is none. element makes the element with a value in it. Nothing else changes.
func (p *Place) Set(data []byte, value string, element func(value string) string) ([]byte, error) {
	if value == "" || strings.ContainsAny(value, "<>&\r\n") {
		return nil, fmt.Errorf("%q is no value to be written", value)
	}
	if p.Elem == nil {
		return p.insert(data, element(value)), nil
	}
	v := p.value
	if !v.plain || p.Raw() == "" {
		return nil, fmt.Errorf("<%s> has something other than a plain value in it: write it plainly", v.name)
	}
	body := data[v.from:v.to]
	from := v.from + len(body) - len(bytes.TrimLeft(body, " \t\r\n"))
	to := v.to - (len(body) - len(bytes.TrimRight(body, " \t\r\n")))
	return splice(data, from, to, value), nil
}

// selfEnd marks an element that was inserted into one written as <queue .../>, so that this can be undone.
const selfEnd = " >"

// insert inserts an element as the last child of another: on a line of its own if the end tag has one.
func (p *Place) insert(data []byte, elem string) []byte {
	n := p.in
	if n.self {
		elem = strings.TrimSuffix(elem, ">") + selfEnd
		return splice(data, n.end-len("/>"), n.end, ">"+elem+"</"+n.name+">")
	}
	if indent, eol, ok := line(data, n.to); ok {
		return splice(data, n.to-len(indent), n.to-len(indent), indent+"  "+elem+eol)
	}
	return splice(data, n.to, n.to, elem)
}

// Remove removes the element: all that insert has added, and nothing more.
func (p *Place) Remove(data []byte) []byte {
	n, e := p.in, p.Elem
	if e == nil {
		return data
	}
	if e.start == n.from && e.end == n.to && bytes.HasSuffix(data[e.start:e.end], []byte(selfEnd)) {
		return splice(data, n.from-len(">"), n.end, "/>")
	}
	if before, eol, ok := line(data, e.start); ok && bytes.HasPrefix(data[e.end:], []byte(eol)) {
		next := e.end + len(eol)
		if indent, _, ok := line(data, n.to); ok && n.to-len(indent) == next && before == indent+"  " {
			return splice(data, e.start-len(before), next, "")
		}
	}
	return splice(data, e.start, e.end, "")
}

// line is the whitespace before a position if there is nothing else before it on its line, and how the line before it ends.
func line(data []byte, at int) (indent, eol string, ok bool) {
	i := bytes.LastIndexByte(data[:at], '\n')
	if i < 0 || len(bytes.Trim(data[i+1:at], " \t")) > 0 {
		return "", "", false
	}
	eol = "\n"
	if i > 0 && data[i-1] == '\r' {
		eol = "\r\n"
	}
	return string(data[i+1 : at]), eol, true
}

func splice(data []byte, from, to int, with string) []byte {
	out := make([]byte, 0, len(data)+len(with))
	out = append(out, data[:from]...)
	out = append(out, with...)
	return append(out, data[to:]...)
}

// Outline is the text of an element without one of its descendants: two files with the same outline differ in nothing else.
func (n *Node) Outline(b *strings.Builder, without *Node) {
	if n == without {
		return
	}
	fmt.Fprintf(b, "<%s %q %q", n.name, n.attrs, strings.Join(strings.Fields(n.text), " "))
	for _, k := range n.kids {
		k.Outline(b, without)
	}
	b.WriteString(">")
}
