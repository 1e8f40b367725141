package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Policy is a complete policy: who is next, and where.
type Policy struct {
	Order Order
	Place Place // nil: any node with room
	Timer Timer // nil: no periodic work
	// ByNode: the order depends on the node, so offers must name it.
	ByNode bool
	// Shifted, if set, is called after every event. It reports whether the order has changed by itself since the last call: jobs may start on
	// nodes that they were not offered, or Victims has claims.
	Shifted func() bool
	// Foresee, if set, is called by simulators, before the first job, with the true sizes of jobs: the total time that a job's tasks will work.
	// If an engine does not call it, the policy refuses every job.
	Foresee func(size func(j *Job) unit.Time)
	// Choose, if set, is called before the first job by engines that let the order choose among a job's open stages: before the order proposes a
	// job it sets Offer.Stage, and the engine starts a task of that stage or none. The engine then calls Changed also when a stage of a waiting
	// job opens. If an engine does not call it, a job's Front stage is next.
	Choose func(s Storage)
	// Input, if set, is called by engines that place a job's input: racks for the first replica of its blocks, and for the others. No rack: any.
	// Each entry of first gets an equal part of the input. For locality, only the first replica counts then.
	Input func(j *Job) (first, others []int32)
	// Gathers, if set, is called by engines whose network has circuits: whether the job's output waits until enough of it has gathered for one. It is a
	// hint and no need: without circuits there is nothing to gather for, and no decision of the policy depends on it.
	Gathers func(j *Job) bool
	// Needs declares what cannot be seen from the other fields, such as the racks of the nodes: see Required.
	Needs Needs
	// NotModelled lists unsupported settings that were read. They are shown with every result.
	NotModelled []string
}

// places reports whether the policy chooses nodes for tasks, in its placement or together with their stage.
func (p *Policy) places() bool { return p.Place != nil || p.Choose != nil }

// Entry registers a policy by name.
type Entry struct {
	Name  string
	Title string // one line for help: what it does
	// Params maps each parameter that New understands to a line of help.
	Params map[string]string
	// New builds a fresh policy. It is called once per run.
	New func(p Params) (Policy, error)
	// Place, if set, builds the policy's placement alone, for other orders: ORDER+NAME. The placement must not rely on its own order. PlaceParams
	// are those of Params that it understands.
	Place       func(p Params) (Place, error)
	PlaceParams map[string]string
}

// Params are the parameters of a policy as typed: fair:by=user,weights=a=2.
type Params map[string]string

// Float reads a number.
func (p Params) Float(key string, otherwise float64) (float64, error) {
	s, ok := p[key]
	if !ok {
		return otherwise, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is not a number", key, s)
	}
	return v, nil
}

// Floats reads a list of numbers.
func (p Params) Floats(key, otherwise string) ([]float64, error) {
	s, ok := p[key]
	if !ok {
		s = otherwise
	}
	if s == "" {
		return nil, nil
	}
	var list []float64
	for _, one := range strings.Split(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(one), 64)
		if err != nil || math.IsNaN(v) {
			return nil, fmt.Errorf("%s=%q is not a list of numbers", key, s)
		}
		list = append(list, v)
	}
	return list, nil
}

// Int reads a whole number.
func (p Params) Int(key string, otherwise int) (int, error) {
	s, ok := p[key]
	if !ok {
		return otherwise, nil
	}
	v, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is not a whole number", key, s)
	}
	return v, nil
}

// Choice reads one of several words.
func (p Params) Choice(key string, words ...string) (string, error) {
	s, ok := p[key]
	if !ok {
		return words[0], nil
	}
	if !slices.Contains(words, s) {
		return "", fmt.Errorf("%s=%q: want %s", key, s, strings.Join(words, " or "))
	}
	return s, nil
}

// Spec is a scheduler as typed: NAME or NAME:key=value,key=value.
type Spec struct {
	Name   string
	Params Params
}

// ParseSpec parses a scheduler as typed. A value may be a list: a piece without a key after a comma continues the value before it.
func ParseSpec(s string) (Spec, error) {
	name, rest, _ := strings.Cut(s, ":")
	spec := Spec{Name: strings.TrimSpace(name), Params: Params{}}
	if spec.Name == "" {
		return spec, fmt.Errorf("scheduler %q has no name", s)
	}
	if rest == "" {
		return spec, nil
	}
	last := ""
	for _, kv := range strings.Split(rest, ",") {
		k, v, ok := strings.Cut(kv, "=")
		k = strings.TrimSpace(k)
		if !ok && k != "" && last != "" {
			spec.Params[last] += "," + k
			continue
		}
		if !ok || k == "" {
			return spec, fmt.Errorf("scheduler %q: %q is not key=value", s, kv)
		}
		if _, twice := spec.Params[k]; twice {
			return spec, fmt.Errorf("scheduler %q: %s is given twice", s, k)
		}
		spec.Params[k], last = strings.TrimSpace(v), k
	}
	return spec, nil
}

// Registry is a set of policies by name.
type Registry []Entry

// Find returns the entry of a name.
func (r Registry) Find(name string) (Entry, bool) {
	for _, e := range r {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Names lists the names in registry order.
func (r Registry) Names() []string {
	names := make([]string, len(r))
	for i, e := range r {
		names[i] = e.Name
	}
	return names
}

// New builds a fresh policy from a parsed spec.
func (r Registry) New(spec Spec) (Policy, error) {
	e, ok := r.Find(spec.Name)
	if !ok {
		return Policy{}, fmt.Errorf("no scheduler is named %q: there are %s", spec.Name, strings.Join(r.Names(), ", "))
	}
	if err := spec.check("scheduler", e.Params); err != nil {
		return Policy{}, err
	}
	p, err := e.New(spec.Params)
	if err != nil {
		return Policy{}, fmt.Errorf("scheduler %s: %w", e.Name, err)
	}
	return p, nil
}

// check refuses parameters that are not known.
func (s *Spec) check(kind string, known map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(s.Params)) {
		if _, ok := known[k]; ok {
			continue
		}
		if len(known) == 0 {
			return fmt.Errorf("%s %s takes no parameters, not %s", kind, s.Name, k)
		}
		return fmt.Errorf("%s %s has no parameter %s: it has %s", kind, s.Name, k, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	return nil
}

// Split splits ORDER+PLACEMENT as typed: capacity+delay:node=3s. A plus sign that no policy's name follows belongs to a value or to a file's name; place is
// "" if there is no placement.
func (r Registry) Split(s string) (order, place string) {
	if i := strings.LastIndexByte(s, '+'); i >= 0 {
		name, _, _ := strings.Cut(s[i+1:], ":")
		if _, ok := r.Find(strings.TrimSpace(name)); ok {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// Combine returns fresh with the placement of another policy, as typed; order names fresh in errors. It refuses a policy that has a placement already.
func (r Registry) Combine(order string, fresh func() (Policy, error), place string) (func() (Policy, error), error) {
	spec, err := ParseSpec(place)
	if err != nil {
		return nil, err
	}
	e, _ := r.Find(spec.Name)
	if e.Place == nil {
		var offer []string
		for _, e := range r {
			if e.Place != nil {
				offer = append(offer, e.Name)
			}
		}
		why := "places no tasks"
		if p, err := r.New(Spec{Name: spec.Name}); err == nil && p.places() {
			why = "chooses a job together with its node, so its placement needs its own order"
		}
		return nil, fmt.Errorf("%s+%s: %s %s: want %s", order, place, spec.Name, why, strings.Join(offer, " or "))
	}
	if err := spec.check("placement", e.PlaceParams); err != nil {
		return nil, err
	}
	combined := func() (Policy, error) {
		p, err := fresh()
		if err != nil {
			return p, err
		}
		if p.places() {
			return p, fmt.Errorf("%s+%s: %s chooses nodes for its tasks itself and takes no second placement", order, place, order)
		}
		if p.Place, err = e.Place(spec.Params); err != nil {
			return p, fmt.Errorf("placement %s: %w", e.Name, err)
		}
		return p, nil
	}
	_, err = combined() // so that a wrong pair fails now
	return combined, err
}
