package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// ParseXML reads a scheduler's file, with the positions of all elements.
func ParseXML(data []byte) (*conf.Element, error) {
	return conf.ReadXML(bytes.NewReader(data), "the file")
}

func attr(e *conf.Element, name string) string {
	value, _ := e.Attr(name)
	return value
}

// Place is the position of a setting in a file, or where it would be inserted.
type Place struct {
	in    *conf.Element // the parent element
	Elem  *conf.Element // nil: absent
	value *conf.Element // whose text is the value
}

// Raw is the value as the file spells it.
func (p *Place) Raw() string { return p.value.Value() }

// FindProperty finds a property of a Hadoop configuration: the last one of its name, unless an earlier one is final.
func FindProperty(root *conf.Element, key string) (*Place, error) {
	p := &Place{in: root}
	final := false
	var err error
	var walk func(n *conf.Element)
	walk = func(n *conf.Element) {
		for _, k := range n.Children {
			if k.Name == "configuration" {
				walk(k)
			}
			if k.Name != "property" || final {
				continue
			}
			name, value := attr(k, "name"), k.Child("value")
			if c := k.Child("name"); c != nil {
				name = c.Value()
			}
			if name != key {
				continue
			}
			if value == nil {
				if attr(k, "value") != "" {
					err = fmt.Errorf("%s is given by attributes: write it as <property><name>...</name><value>...</value></property>", key)
				}
				continue
			}
			p.Elem, p.value = k, value
			if c := k.Child("final"); attr(k, "final") == "true" || c != nil && c.Value() == "true" {
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
func FindElement(root *conf.Element, path, name string) (*Place, error) {
	at := []*conf.Element{root}
	for _, q := range queuesOf(root) {
		if strings.EqualFold(attr(q, "name"), "root") {
			at = []*conf.Element{q}
		}
	}
	parts := strings.Split(path, ".")
	for _, part := range parts[1:] {
		var next []*conf.Element
		for _, n := range at {
			for _, q := range queuesOf(n) {
				if attr(q, "name") == part {
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
		if x := n.Child(name); x != nil {
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

func queuesOf(n *conf.Element) (list []*conf.Element) {
	for _, k := range n.Children {
		if k.Name == "queue" || k.Name == "pool" {
			list = append(list, k)
		}
	}
	return list
}

// Nothing reports whether the parent element is written as <configuration/>.
func (p *Place) Nothing() bool { return p.in.SelfClosing }

// Set changes the value, or inserts the element if there is none. element makes the element with a value in it. Nothing else changes.
func (p *Place) Set(data []byte, value string, element func(value string) string) ([]byte, error) {
	if value == "" || strings.ContainsAny(value, "<>&\r\n") {
		return nil, fmt.Errorf("%q is no value to be written", value)
	}
	if p.Elem == nil {
		return p.insert(data, element(value)), nil
	}
	v := p.value
	if !v.Plain || p.Raw() == "" {
		return nil, fmt.Errorf("<%s> has something other than a plain value in it: write it plainly", v.Name)
	}
	body := data[v.ContentStart:v.ContentEnd]
	from := v.ContentStart + len(body) - len(bytes.TrimLeft(body, " \t\r\n"))
	to := v.ContentEnd - (len(body) - len(bytes.TrimRight(body, " \t\r\n")))
	return splice(data, from, to, value), nil
}

// selfEnd marks an element that was inserted into one written as <queue .../>, so that this can be undone.
const selfEnd = " >"

// insert inserts an element as the last child of another: on a line of its own if the end tag has one.
func (p *Place) insert(data []byte, elem string) []byte {
	n := p.in
	if n.SelfClosing {
		elem = strings.TrimSuffix(elem, ">") + selfEnd
		return splice(data, n.End-len("/>"), n.End, ">"+elem+"</"+n.Name+">")
	}
	if indent, eol, ok := line(data, n.ContentEnd); ok {
		return splice(data, n.ContentEnd-len(indent), n.ContentEnd-len(indent), indent+"  "+elem+eol)
	}
	return splice(data, n.ContentEnd, n.ContentEnd, elem)
}

// Remove removes the element: all that insert has added, and nothing more.
func (p *Place) Remove(data []byte) []byte {
	n, e := p.in, p.Elem
	if e == nil {
		return data
	}
	if e.Start == n.ContentStart && e.End == n.ContentEnd && bytes.HasSuffix(data[e.Start:e.End], []byte(selfEnd)) {
		return splice(data, n.ContentStart-len(">"), n.End, "/>")
	}
	if before, eol, ok := line(data, e.Start); ok && bytes.HasPrefix(data[e.End:], []byte(eol)) {
		next := e.End + len(eol)
		if indent, _, ok := line(data, n.ContentEnd); ok && n.ContentEnd-len(indent) == next && before == indent+"  " {
			return splice(data, e.Start-len(before), next, "")
		}
	}
	return splice(data, e.Start, e.End, "")
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
