package yard

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// node is an element of an XML file with its position, in bytes.
type node struct {
	name       string
	attrs      []xml.Attr
	start, end int // from < of the start tag to after > of the end tag
	from, to   int // content between the tags
	self       bool
	text       string // character data directly inside
	plain      bool   // only text, without entities
	kids       []*node
}

// parse finds the positions of all elements. Whether the file is well-formed is checked elsewhere.
func parse(data []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	top := &node{}
	open := []*node{top}
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
			n := &node{name: t.Name.Local, attrs: t.Copy().Attr, start: at, from: end, plain: true}
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

func (n *node) attr(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

func (n *node) child(name string) *node { // the last of that name, as in Hadoop
	var found *node
	for _, k := range n.kids {
		if k.name == name {
			found = k
		}
	}
	return found
}

// place is the position of a setting in a file, or where it would be inserted.
type place struct {
	in    *node // the parent element
	elem  *node // nil: absent
	value *node // whose text is the value
}

// raw is the value as the file spells it.
func (p *place) raw() string { return strings.TrimSpace(p.value.text) }

// property finds a property of a Hadoop configuration: the last one of its name, unless an earlier one is final.
func property(root *node, key string) (*place, error) {
	p := &place{in: root}
	final := false
	var err error
	var walk func(n *node)
	walk = func(n *node) {
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
			p.elem, p.value = k, value
			if c := k.child("final"); k.attr("final") == "true" || c != nil && strings.TrimSpace(c.text) == "true" {
				final = true
			}
		}
	}
	walk(root)
	return p, err
}

// EditProperties sets properties in the content of a Hadoop configuration file. Every other byte is preserved.
func EditProperties(data []byte, set []conf.Property) ([]byte, error) {
	for _, x := range set {
		if strings.ContainsAny(x.Name, "<>&\r\n") {
			return nil, fmt.Errorf("%q is no name to be written", x.Name)
		}
		root, err := parse(data)
		if err != nil {
			return nil, err
		}
		p, err := property(root, x.Name)
		if err == nil {
			data, err = p.set(data, x.Value, func(v string) string { return propertyElement(x.Name, v) })
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
	}
	return data, nil
}

func propertyElement(name, value string) string {
	return "<property><name>" + name + "</name><value>" + value + "</value></property>"
}

// queueElement finds an element of a queue, given by its path, in an allocation file.
func queueElement(root *node, path, name string) (*place, error) {
	at := []*node{root}
	for _, q := range queuesOf(root) {
		if strings.EqualFold(q.attr("name"), "root") {
			at = []*node{q}
		}
	}
	parts := strings.Split(path, ".")
	for _, part := range parts[1:] {
		var next []*node
		for _, n := range at {
			for _, q := range queuesOf(n) {
				if q.attr("name") == part {
					next = append(next, q)
				}
			}
		}
		at = next
	}
	if len(at) == 0 || len(parts) < 2 || parts[0] != "root" {
		return nil, gone("queue %s is not in the file: add <queue name=%q/> where it belongs, so that it can have a share of its own", path, parts[len(parts)-1])
	}
	p := &place{in: at[len(at)-1]}
	for _, n := range at {
		if x := n.child(name); x != nil {
			p.in, p.elem, p.value = n, x, x
		}
	}
	return p, nil
}

func queuesOf(n *node) (list []*node) {
	for _, k := range n.kids {
		if k.name == "queue" || k.name == "pool" {
			list = append(list, k)
		}
	}
	return list
}

// set changes the value, or inserts the element if there is none. element makes the element with a value in it. Nothing else changes.
func (p *place) set(data []byte, value string, element func(value string) string) ([]byte, error) {
	if value == "" || strings.ContainsAny(value, "<>&\r\n") {
		return nil, fmt.Errorf("%q is no value to be written", value)
	}
	if p.elem == nil {
		return p.insert(data, element(value)), nil
	}
	v := p.value
	if !v.plain || p.raw() == "" {
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
func (p *place) insert(data []byte, elem string) []byte {
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

// remove removes the element: all that insert has added, and nothing more.
func (p *place) remove(data []byte) []byte {
	n, e := p.in, p.elem
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

// outline is the text of an element without one of its descendants: two files with the same outline differ in nothing else.
func (n *node) outline(b *strings.Builder, without *node) {
	if n == without {
		return
	}
	fmt.Fprintf(b, "<%s %q %q", n.name, n.attrs, strings.Join(strings.Fields(n.text), " "))
	for _, k := range n.kids {
		k.outline(b, without)
	}
	b.WriteString(">")
}
