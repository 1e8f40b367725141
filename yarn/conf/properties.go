package conf

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
)

// Property is one setting of a Hadoop configuration file.
type Property struct {
	Name  string
	Value string // with ${variables} substituted, trimmed
	Raw   string // as written; "" if it is blank. In an ACL, a leading blank matters
	Final bool
	Pos   Pos // of <property>
}

// String is the setting as a person would quote it: NAME = VALUE (FILE:LINE).
func (p *Property) String() string {
	return fmt.Sprintf("%s = %s (%s)", p.Name, shorten(p.Value), p.Pos)
}

// Properties is the content of a file in the form <configuration><property><name/><value/>.
type Properties struct {
	File   string
	List   []*Property // in file order, one entry per name
	byName map[string]*Property
	grown  int // bytes that ${variables} have added
	Remarks
}

// Get returns a setting, or nil.
func (p *Properties) Get(name string) *Property { return p.byName[name] }

// Hadoop's limit on substitutions in one value.
const maxSubstitutions = 20

// maxGrowth bounds what ${variables} add to the values of a file, in total.
const maxGrowth = 1 << 20

// ReadProperties parses a Hadoop configuration file. The last value of a name wins, unless an earlier one is
// final; both cases give a warning.
func ReadProperties(r io.Reader, name string) (*Properties, error) {
	root, err := ReadXML(r, name)
	if err != nil {
		return nil, err
	}
	if root.Name != "configuration" {
		return nil, root.Pos().Errorf("the outermost element is <%s>; a Hadoop configuration starts with <configuration>", root.Name)
	}
	p := &Properties{File: name, byName: map[string]*Property{}}
	if err := p.collect(root); err != nil {
		return nil, err
	}
	for _, x := range p.List {
		if err := p.substitute(x); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Remarks are a reader's messages about a file.
type Remarks struct {
	Warnings    []string // about the file itself: duplicate settings, queues that are not in the tree, unknown names
	NotModelled []string // known settings that are ignored throughout this project
}

func (r *Remarks) warn(pos Pos, format string, args ...any) {
	r.Warnings = note(r.Warnings, pos.String()+": "+fmt.Sprintf(format, args...))
}

func (r *Remarks) notModelled(p *Property) {
	r.NotModelled = note(r.NotModelled, p.String()+" is not modelled")
}

// unknown warns of a setting that is not in the table under its name without prefixes.
func (r *Remarks) unknown(p *Property, name string, table settings) {
	if len(r.Warnings) <= maxNotes { // finding a suggestion takes time
		r.warn(p.Pos, "%s is not a known setting%s", shorten(p.Name), didYouMean(name, table.names()))
	}
}

// maxNotes bounds each list of warnings: nobody reads more, and a damaged file could cause millions.
const maxNotes = 1000

func note(list []string, text string) []string {
	switch {
	case len(list) < maxNotes:
		return append(list, text)
	case len(list) == maxNotes:
		return append(list, fmt.Sprintf("more than %d such lines: the rest is left out", maxNotes))
	}
	return list
}

func (p *Properties) collect(root *Element) error {
	for _, e := range root.Children {
		switch e.Name {
		case "property":
			x, err := p.property(e)
			if err != nil {
				return err
			}
			if x != nil {
				p.add(x)
			}
		case "configuration": // Hadoop flattens nested ones
			if err := p.collect(e); err != nil {
				return err
			}
		case "include":
			return e.Pos().Errorf("<include> is not followed: put the included file's properties into this one")
		default:
			p.warn(e.Pos(), "<%s> is not a property and has no meaning here", e.Name)
		}
	}
	return nil
}

func (p *Properties) property(e *Element) (*Property, error) {
	x := &Property{Pos: e.Pos()}
	hasValue := false
	x.Name, _ = e.Attr("name")
	if v, ok := e.Attr("value"); ok {
		x.Value, x.Raw, hasValue = v, v, true
	}
	if v, ok := e.Attr("final"); ok {
		x.Final = v == "true"
	}
	for _, c := range e.Children {
		switch c.Name {
		case "name":
			x.Name = c.Value()
		case "value":
			x.Value, x.Raw, hasValue = c.Value(), c.Text, true
		case "final":
			x.Final = c.Value() == "true"
		case "description", "source", "tag":
		default:
			if len(c.Children) > 0 || c.Name == "property" {
				return nil, c.Pos().Errorf("<%s> inside <property> of line %d: is a </property> missing?", c.Name, e.Line)
			}
			p.warn(c.Pos(), "<%s> inside <property> has no meaning", c.Name)
		}
	}
	if x.Name == "" {
		return nil, x.Pos.Errorf("a <property> without <name>")
	}
	if !hasValue {
		p.warn(x.Pos, "%s has no <value> and is left out", x.Name)
		return nil, nil
	}
	return x, nil
}

func (p *Properties) add(x *Property) {
	old := p.byName[x.Name]
	if old == nil {
		p.byName[x.Name] = x
		p.List = append(p.List, x)
		return
	}
	if old.Final {
		p.warn(x.Pos, "%s is final since line %d: the value %q is not taken", x.Name, old.Pos.Line, shorten(x.Value))
		return
	}
	p.warn(x.Pos, "%s is given twice: %q of line %d is replaced by %q", x.Name, shorten(old.Value), old.Pos.Line, shorten(x.Value))
	*old = *x
}

// substitute replaces ${name} by the values of other properties, from the left, as Hadoop does. What is not set in the
// file (environment, Java properties) stays as it is.
func (p *Properties) substitute(x *Property) error {
	from := 0
	warned := false
	for n := 0; ; n++ {
		at, end := findVariable(x.Value, from)
		if at < 0 {
			return nil
		}
		name := x.Value[at+2 : end]
		v := p.byName[name]
		if v == nil {
			if !warned {
				p.warn(x.Pos, "%s: ${%s} is not set in this file and stays as it is", x.Name, shorten(name))
				warned = true
			}
			from = end + 1
			n--
			continue
		}
		if n >= maxSubstitutions {
			return x.Pos.Errorf("%s: more than %d ${variables} to put in; does one name itself?", x.Name, maxSubstitutions)
		}
		if p.grown += len(v.Value); p.grown > maxGrowth {
			return x.Pos.Errorf("%s: this file grows by more than %d bytes when its ${variables} are put in", x.Name, maxGrowth)
		}
		x.Value = x.Value[:at] + v.Value + x.Value[end+1:]
	}
}

// findVariable finds the next ${name} at or after from; names contain no space, $ or }.
func findVariable(s string, from int) (at, end int) {
	for from < len(s) {
		i := strings.Index(s[from:], "${")
		if i < 0 {
			break
		}
		at = from + i
		j := strings.IndexAny(s[at+2:], "}$ ")
		if j > 0 && s[at+2+j] == '}' {
			return at, at + 2 + j
		}
		from = at + 2
	}
	return -1, -1
}

// shorten truncates a quoted value to a line.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 60 {
		s = string(r[:57]) + "..."
	}
	return s
}

// didYouMean is "; did you mean X?" for the known name nearest to what was written, or "".
func didYouMean(written string, known []string) string {
	if best, ok := suggest.Closest(written, known); ok {
		return "; did you mean " + best + "?"
	}
	return ""
}

// near reports whether written is probably a typo for name.
func near(written, name string) bool {
	_, ok := suggest.Closest(written, []string{name})
	return ok
}

// WriteProperties writes settings as a Hadoop configuration file, by name.
func WriteProperties(w io.Writer, list []Property) error {
	slices.SortStableFunc(list, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n")
	for _, p := range list {
		b.WriteString("  <property><name>") // one line each: such files are edited by people and by sed
		escape(&b, p.Name)
		b.WriteString("</name><value>")
		escape(&b, p.Value)
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func escape(b *bytes.Buffer, s string) { _ = xml.EscapeText(b, []byte(s)) } // writing to a buffer does not fail
