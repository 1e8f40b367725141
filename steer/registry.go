package steer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry registers a steering policy by name.
type Entry struct {
	Name   string
	Title  string // one line for help: what it does
	Params []Param
	Needs  Needs
	// Several says that one policy steers all queues of a Setup. Otherwise each queue gets its own.
	Several bool
	// New makes a fresh policy: one per run, and another one after a live driver has lost sight of its scheduler. An invalid setting
	// is a *SettingError.
	New func(*Setup) (Steerer, error)
}

// Param is a setting of a policy, as a person types it.
type Param struct {
	Name    string
	Value   string // what is typed: SHARE, PERCENT, TIME, N, MIB, yes|no, or the words to choose from
	Default string
	Help    string
}

// Needs are what a policy requires of an engine beyond its queue and the jobs there. An engine without it refuses the policy at the start, and a live
// driver changes no knob that is not declared here.
type Needs struct {
	AMLimit    bool     // an adjustable AM share of the queue
	Properties []string // other properties of the queue, by the scheduler's names
	Priority   bool     // the priorities of jobs
	Queue      bool     // the queues of jobs
	Maps       bool     // map progress of each job, for which an engine may have to query every job
	Sizes      bool     // tags with the sizes of jobs, which a rehearsal makes from the workload
	Pending    bool     // how many containers each job waits for; the same
}

// Allow says why a knob of an engine with an AM limit may not be changed.
func (n *Needs) Allow(kind Kind, property string, limit amlimit.Limit) error {
	switch {
	case kind == SetQueue && (n.AMLimit && property == limit.Property || slices.Contains(n.Properties, property)), kind == SetPriority && n.Priority, kind == MoveJob && n.Queue:
		return nil
	}
	return errors.New("the policy has not declared that it changes this: it is not done")
}

// Setup is what a policy is made from: the engine's properties and a person's settings.
type Setup struct {
	Queue   string         // the queue to steer
	Queues  []string       // of an Entry with Several: all of them
	Limit   amlimit.Limit  // zero: the engine has none
	Minimum unit.Resources // the scheduler's minimum allocation
	Bounds  Bounds
	Seed    uint64
	Observe bool     // its actions are not carried out
	Set     []string // settings, each as NAME=VALUE; the last one of a name wins
}

// Each passes the settings to set, one by one. An error of set is returned as a *SettingError.
func (s *Setup) Each(set func(name, value string) error) error {
	for _, pair := range s.Set {
		name, value, _ := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if err := set(name, strings.TrimSpace(value)); err != nil {
			return &SettingError{Name: name, Err: err}
		}
	}
	return nil
}

// Bounds are a person's limits for a policy, live and in a rehearsal.
type Bounds struct {
	Min        float64 // min value; 0: the one found (until empty: what one job needs)
	Max        float64 // max value
	UntilEmpty bool    // steer the present batch, not a service
	Spacing    unit.Time
	Queues     []string // whose properties and jobs may be touched, and to which jobs may be moved; nil: all
}

// Has reports whether a queue may be touched.
func (b *Bounds) Has(queue string) bool {
	return b.Queues == nil || slices.ContainsFunc(b.Queues, func(q string) bool { return SamePath(q, queue) })
}

// DefaultBounds are the bounds if none are set.
func DefaultBounds() Bounds { return Bounds{Max: 0.9} }

// SettingError says what is wrong with a setting.
type SettingError struct {
	Name string
	Err  error
}

func (e *SettingError) Error() string { return e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// Registry is a set of steering policies by name.
type Registry []Entry

// Find returns the entry of a name; nil: unknown.
func (r Registry) Find(name string) *Entry {
	if i := slices.IndexFunc(r, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return &r[i]
	}
	return nil
}

// Names lists the names in registry order.
func (r Registry) Names() []string {
	names := make([]string, len(r))
	for i, e := range r {
		names[i] = e.Name
	}
	return names
}

// New makes the named policy, if the engine meets its needs.
func (r Registry) New(name string, s *Setup) (Steerer, error) {
	e := r.Find(name)
	if e == nil {
		return nil, fmt.Errorf("there is no steering policy %q: want one of %s", name, strings.Join(r.Names(), ", "))
	}
	return e.Build(s)
}

// Build makes the policy, if the engine meets its needs.
func (e *Entry) Build(s *Setup) (Steerer, error) {
	if e.Needs.AMLimit && s.Limit.Property == "" {
		return nil, fmt.Errorf("%s moves the AM share, and this scheduler has none", e.Name)
	}
	if e.Several || len(s.Queues) < 2 {
		return e.New(s)
	}
	return newEach(e, s)
}

// ParamNames lists the settings.
func (e *Entry) ParamNames() []string {
	names := make([]string, len(e.Params))
	for i, p := range e.Params {
		names[i] = p.Name
	}
	return names
}

// Rehearsal is a steering policy for a simulated scheduler, from which fresh instances can be made.
type Rehearsal struct {
	Name, Queue string
	Queues      []string // of an Entry with Several: all of them, in the order given
	Property    string   // of the queue: its share for AMs; "": it has none
	Delays      Delays
	Bounds      Bounds
	Needs       Needs
	New         func(seed uint64) (Steerer, error)
}

// QueueNames lists the steered queues.
func (r *Rehearsal) QueueNames() string { return cmp.Or(strings.Join(r.Queues, ", "), r.Queue) }
