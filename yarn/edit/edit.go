// Package edit changes settings in a scheduler's file, a capacity-scheduler.xml or a fair-scheduler.xml: every other byte stays as it is,
// and the result is one that a ResourceManager would take.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Change sets one setting of a queue, or of the scheduler as a whole.
type Change struct {
	Queue    string // its full path; "": the scheduler as a whole
	Property string // as in the file: capacity, node-locality-delay, maxResources
	Value    string // "": the setting is removed
}

// String is the change as it is typed: root.prod.capacity=70.
func (c Change) String() string { return c.name() + "=" + c.Value }

func (c Change) name() string {
	if c.Queue == "" {
		return c.Property
	}
	return c.Queue + "." + c.Property
}

// key is the name in a capacity-scheduler.xml.
func (c Change) key() string { return conf.Prefix + c.name() }

// Parse parses a change as it is typed. Names with dots are split at the longest known setting of a queue. Nothing after the equals sign removes the setting.
func Parse(word string) (Change, error) {
	name, value, ok := strings.Cut(word, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok || name == "":
		return Change{}, fmt.Errorf("%q is no change of a setting: write root.prod.capacity=70", word)
	case strings.ContainsAny(name+value, "<>&\r\n\t"):
		return Change{}, fmt.Errorf("%q has a character that cannot be written to a scheduler's file", word)
	case name != "root" && !strings.HasPrefix(name, "root."):
		return Change{Property: strings.TrimPrefix(name, conf.Prefix), Value: value}, nil
	}
	at := strings.LastIndexByte(name, '.')
	for i := range name {
		if name[i] != '.' {
			continue
		}
		if known, _ := conf.Known(conf.CapacityFile, true, name[i+1:]); known {
			at = i
			break
		}
	}
	if at < 0 || at == len(name)-1 {
		return Change{}, fmt.Errorf("%q names no setting of the queue: write root.prod.capacity=70", word)
	}
	return Change{Queue: name[:at], Property: name[at+1:], Value: value}, nil
}

// Apply makes the new content of a scheduler's file; name is for messages. Unknown queues and settings are refused with a suggestion,
// capacities that do not add up with the values that would.
func Apply(name string, file []byte, changes []Change) ([]byte, error) {
	kind := conf.Detect(file)
	var queues []string
	var tree *conf.Capacity
	switch kind {
	case conf.CapacityFile:
		var err error
		if tree, err = conf.ReadCapacity(bytes.NewReader(file), name); err != nil {
			return nil, err
		}
		tree.Root.Walk(func(q *conf.Queue) { queues = append(queues, q.Path) })
	case conf.FairFile:
		c, err := conf.ReadFair(bytes.NewReader(file), name)
		if err != nil {
			return nil, err
		}
		c.Root.Walk(func(q *conf.FairQueue) { queues = append(queues, q.Name) })
	default:
		return nil, fmt.Errorf("%s is neither a capacity-scheduler.xml nor a fair-scheduler.xml: it has no queues to change", name)
	}
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.name()] {
			return nil, fmt.Errorf("%s is set twice", c.name())
		}
		seen[c.name()] = true
		if c.Queue != "" && !slices.Contains(queues, c.Queue) {
			return nil, fmt.Errorf("%s has no queue %s%s", name, c.Queue, suggest.Hint(c.Queue, queues))
		}
		if known, names := conf.Known(kind, c.Queue != "", c.Property); !known {
			return nil, fmt.Errorf("%s is no setting of %s%s", c.Property, owner(c.Queue), suggest.Hint(c.Property, names))
		}
	}
	if tree != nil {
		if err := checkTree(tree, changes); err != nil {
			return nil, err
		}
	}
	out, err := Write(file, changes)
	if err != nil {
		return nil, err
	}
	if kind == conf.FairFile {
		_, err = conf.ReadFair(bytes.NewReader(out), name)
	} else {
		_, err = conf.ReadCapacity(bytes.NewReader(out), name)
	}
	if err != nil {
		return nil, fmt.Errorf("with %s: %w", Words(changes), err)
	}
	return out, nil
}

// Write makes the new content without a look at what it means. An empty value removes the setting.
func Write(file []byte, changes []Change) (out []byte, err error) {
	kind := conf.Detect(file)
	out = file
	for _, c := range changes {
		if out, err = c.apply(kind, out); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
	}
	return out, nil
}

// Words lists changes in one line.
func Words(changes []Change) string {
	var words []string
	for _, c := range changes {
		words = append(words, c.String())
	}
	return strings.Join(words, " ")
}

func owner(queue string) string {
	if queue == "" {
		return "the scheduler as a whole"
	}
	return "queue " + queue
}

func (c Change) apply(kind conf.Kind, file []byte) ([]byte, error) {
	if c.Value == "" {
		p, err := c.place(kind, file)
		if err != nil {
			return nil, err
		}
		return p.Remove(file), nil
	}
	if kind != conf.FairFile {
		return Properties(file, []conf.Property{{Name: c.key(), Value: c.Value}})
	}
	p, err := c.place(kind, file)
	if err != nil {
		return nil, err
	}
	return p.Set(file, c.Value, func(v string) string { return "<" + c.Property + ">" + v + "</" + c.Property + ">" })
}

// place finds the setting in a file.
func (c Change) place(kind conf.Kind, file []byte) (*Place, error) {
	root, err := ParseXML(file)
	switch {
	case err != nil:
		return nil, err
	case kind != conf.FairFile:
		return FindProperty(root, c.key())
	case c.Queue != "":
		return FindElement(root, c.Queue, c.Property)
	}
	e := root.Child(c.Property)
	return &Place{in: root, Elem: e, value: e}, nil
}

// Value reads a setting as the file spells it; set is false if the file does not have it.
func Value(file []byte, queue, property string) (value string, set bool, err error) {
	p, err := Change{Queue: queue, Property: property}.place(conf.Detect(file), file)
	if missing := (*NoQueueError)(nil); errors.As(err, &missing) {
		return "", false, nil
	}
	if err != nil || p.Elem == nil {
		return "", false, err
	}
	return p.Raw(), true, nil
}

// checkTree refuses settings of leaves on parents, and percentages that do not add up to 100, with those that would.
func checkTree(tree *conf.Capacity, changes []Change) (err error) {
	set := map[string]float64{} // capacities in percent, by queue
	for _, c := range changes {
		if v, bad := strconv.ParseFloat(c.Value, 64); bad == nil && c.Property == "capacity" {
			set[c.Queue] = v
		}
	}
	tree.Root.Walk(func(q *conf.Queue) {
		if err != nil || q.Leaf() {
			return
		}
		for _, c := range changes {
			if c.Queue == q.Path && conf.LeafOnly(c.Property) {
				err = fmt.Errorf("%s has no effect on the parent queue %s: set it on its leaves", c.Property, q.Path)
				return
			}
		}
		err = checkSum(q, set)
	})
	return err
}

func checkSum(parent *conf.Queue, set map[string]float64) error {
	sum, given := 0.0, 0.0
	var others []*conf.Queue
	for _, q := range parent.Children {
		v, changed := set[q.Path]
		switch {
		case q.Capacity.Kind != conf.Percent:
			return nil
		case changed:
			given += v
		default:
			v = float64(q.Capacity.Value)
			others = append(others, q)
		}
		sum += v
	}
	if len(others) == len(parent.Children) || math.Abs(sum-100) < 0.05 {
		return nil
	}
	text := fmt.Sprintf("the capacities below %s add up to %s, not to 100", parent.Path, percent(sum))
	if rest := sum - given; rest <= 0 || given >= 100 {
		return fmt.Errorf("%s: give all of them", text)
	}
	// The last one takes what rounding leaves.
	left := 100 - given
	var names, values, words []string
	for i, q := range others {
		v := math.Round(10*float64(q.Capacity.Value)*(100-given)/(sum-given)) / 10
		if i == len(others)-1 {
			v = left
		}
		left -= v
		names, values = append(names, q.Path), append(values, percent(v))
		words = append(words, q.Path+".capacity="+percent(v))
	}
	return fmt.Errorf("%s: scale %s to %s? Add %s", text, and(names), and(values), strings.Join(words, " "))
}

func percent(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

func and(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return words[0]
}
