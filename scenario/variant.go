package scenario

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Variant is a "what if": a scenario plus named changes of its settings, of its cluster, or of its scheduler's queues.
type Variant struct {
	Name    string
	Changes []string // as typed: nodes=+100, root.prod.capacity=70, move user:ana root.adhoc
}

// moveWord starts a change of three words: move user:ana root.adhoc.
const moveWord = "move"

// ParseVariant parses "NAME: CHANGE CHANGE ...". Without a name, the changes are the name.
func ParseVariant(text string) (Variant, error) {
	name, rest, named := strings.Cut(text, ": ")
	if !named {
		name, rest = text, text
	}
	v := Variant{Name: strings.Join(strings.Fields(name), " ")}
	words := strings.Fields(rest)
	for i := 0; i < len(words); i++ {
		if words[i] != moveWord {
			v.Changes = append(v.Changes, words[i])
			continue
		}
		if i+2 >= len(words) {
			return v, fmt.Errorf("variant %q: write move user:ana root.adhoc", v.Name)
		}
		v.Changes = append(v.Changes, strings.Join(words[i:i+3], " "))
		i += 2
	}
	if len(v.Changes) == 0 || v.Name == "" {
		return v, fmt.Errorf("%q has no change: write \"more prod: root.prod.capacity=70 root.batch.capacity=10\"", text)
	}
	_, err := Default().With(v)
	return v, err
}

// String is the variant as it is typed.
func (v Variant) String() string {
	changes := strings.Join(v.Changes, " ")
	if v.Name == changes {
		return changes
	}
	return v.Name + ": " + changes
}

// addTo are the settings to whose values a variant adds; it replaces those of others.
var addTo = []string{"set", "move", "gang", "executors", "lose-node", "lose-rack"}

// With is the scenario with the changes of a variant.
func (s Scenario) With(v Variant) (Scenario, error) {
	s.Variants, s.Label, s.Given = nil, v.Name, slices.Clone(s.Given)
	var order []*Setting
	values := map[string][]string{}
	for _, c := range v.Changes {
		set, value, err := changed(c)
		if err != nil {
			return s, misuse("variant %q: %v", v.Name, err)
		}
		if !slices.Contains(order, set) {
			order = append(order, set)
			if slices.Contains(addTo, set.Name) {
				values[set.Name] = slices.Clone(set.Get(&s))
			}
		} else if !set.Many {
			return s, misuse("variant %q: %s is given twice", v.Name, set.Name)
		}
		values[set.Name] = append(values[set.Name], value)
	}
	for _, set := range order {
		if set.Name == "variant" || set.Name == "seed" || set.Name == "seeds" {
			return s, misuse("variant %q: %s belongs to the whole comparison", v.Name, set.Name)
		}
		list := values[set.Name]
		if set.Name == "set" {
			list = lastOf(list)
		}
		if err := s.Apply(set, list); err != nil {
			return s, misuse("variant %q: %s: %v", v.Name, set.Name, err)
		}
	}
	return s, nil
}

// lastOf drops edits that a later one overrides.
func lastOf(edits []string) (out []string) {
	for i, e := range edits {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(edits[i+1:], func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			out = append(out, e)
		}
	}
	return out
}

// changed is the setting that a change of a variant sets, and its value.
func changed(c string) (*Setting, string, error) {
	name, value, given := strings.Cut(c, "=")
	if words := strings.Fields(c); len(words) == 3 && words[0] == moveWord {
		name, value, given = moveWord, words[1]+"="+words[2], true
	}
	if set, ok := Find(name); ok {
		if !given && set.Value == "" {
			value = "true"
		} else if !given {
			return nil, "", fmt.Errorf("%s has no value: write %s=%s", name, name, set.Value)
		}
		return set, value, nil
	}
	e, err := edit.Parse(c)
	if err != nil {
		return nil, "", err
	}
	if e.Queue == "" {
		capacity, ours := conf.Known(conf.CapacityFile, false, e.Property)
		fair, theirs := conf.Known(conf.FairFile, false, e.Property)
		if !capacity && !fair {
			var names []string
			for i := range Settings {
				names = append(names, Settings[i].Name)
			}
			return nil, "", fmt.Errorf("%s is no setting of a scenario or of a scheduler's file%s", e.Property, suggest.Hint(e.Property, slices.Concat(names, ours, theirs)))
		}
	}
	set, _ := Find("set")
	return set, e.String(), nil
}

// variantSettings are the lists of edits and of variants.
func variantSettings() []Setting {
	return []Setting{
		list("set", "", "PROPERTY=VALUE", "change a setting in the scheduler's file for this run: root.prod.capacity=70, node-locality-delay=40",
			func(s *Scenario) *[]edit.Change { return &s.Edits }, edit.Parse, edit.Change.String),
		list("variant", "", "NAME: CHANGE ...", "in compare: run the scenario with these changes too: \"+100 nodes: nodes=+100\"",
			func(s *Scenario) *[]Variant { return &s.Variants }, ParseVariant, Variant.String),
	}
}

// list is a setting of several parsed values.
func list[V any](name, in, value, help string, field func(*Scenario) *[]V, read func(string) (V, error), write func(V) string) Setting {
	return Setting{
		Name: name, In: in, Value: value, Help: help, Many: true,
		Set: func(s *Scenario, text string) error {
			if text == "" {
				*field(s) = nil
				return nil
			}
			v, err := read(text)
			if err == nil {
				*field(s) = append(slices.Clone(*field(s)), v)
			}
			return err
		},
		Get: func(s *Scenario) (out []string) {
			for _, v := range *field(s) {
				out = append(out, write(v))
			}
			return out
		},
	}
}

// Variant resolves a variant of the scenario. It shares the workload and the cluster if they do not change, so that runs of both can share
// what they read.
func (s *Setup) Variant(v Variant) (*Setup, error) {
	changed, err := s.Scenario.With(v)
	if err != nil {
		return nil, err
	}
	out, err := changed.resolve(s)
	if err != nil {
		return nil, inVariant(v.Name, err)
	}
	return out, nil
}

// inVariant names the variant in an error.
func inVariant(name string, err error) error {
	err = fmt.Errorf("variant %q: %w", name, err)
	if isMisuse(err) {
		return &MisuseError{err}
	}
	return err
}

// same reports whether two scenarios have equal values of all settings that of selects.
func same(a, b *Scenario, of func(*Setting) bool) bool {
	for i := range Settings {
		if set := &Settings[i]; of(set) && !slices.Equal(set.Get(a), set.Get(b)) {
			return false
		}
	}
	return true
}

// ofWorkload selects the settings that the jobs depend on.
func ofWorkload(s *Setting) bool {
	return s.In == "trace" || slices.Contains([]string{"workload", "sample-jobs", "arrivals", "scale-load", "scale-length", "move", "gang", "executors"}, s.Name)
}

func ofCluster(s *Setting) bool {
	return s.Name == "cluster" || s.Name == "nodes" || s.Name == "network"
}

// Touched lists the queues, users and classes that a scenario's edits, moves, gangs and executors are about, as kind and name.
func (s *Setup) Touched() iter.Seq2[string, string] {
	return func(yield func(kind, name string) bool) {
		seen := map[[2]string]bool{}
		allow := func(kind, name string) bool {
			key := [2]string{kind, name}
			fresh := name != "" && name != "root" && !seen[key]
			seen[key] = true
			return !fresh || yield(kind, name)
		}
		for _, e := range s.Scenario.Edits {
			if !allow("queue", e.Queue) {
				return
			}
		}
		for _, m := range slices.Concat(s.Scenario.Moves, s.Scenario.Gangs) {
			if !allow(m.Kind, m.Name) || !allow("queue", m.To) {
				return
			}
		}
		for i := range s.Scenario.Executors {
			if m := &s.Scenario.Executors[i].Who; m.Kind != "job" && !allow(m.Kind, m.Name) {
				return
			}
		}
	}
}
