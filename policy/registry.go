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
	// Gathers, if set, is called by engines whose network has circuits: whether the job's output waits until enough of it has gathered for one.
	Gathers func(j *Job) bool
	// NotModelled lists unsupported settings that were read. They are shown with every result.
	NotModelled []string
}

// Entry registers a policy by name.
type Entry struct {
	Name  string
	Title string // one line for help: what it does
	// Params maps each parameter that New understands to a line of help.
	Params map[string]string
	// New builds a fresh policy. It is called once per run.
	New func(p Params) (Policy, error)
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
	for k := range spec.Params {
		if _, known := e.Params[k]; !known {
			if len(e.Params) == 0 {
				return Policy{}, fmt.Errorf("scheduler %s takes no parameters, not %s", e.Name, k)
			}
			return Policy{}, fmt.Errorf("scheduler %s has no parameter %s: it has %s", e.Name, k,
				strings.Join(slices.Sorted(maps.Keys(e.Params)), ", "))
		}
	}
	p, err := e.New(spec.Params)
	if err != nil {
		return Policy{}, fmt.Errorf("scheduler %s: %w", e.Name, err)
	}
	return p, nil
}
