package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
)

// Steering says who moves the share of application masters while jobs run, and with which delays.
type Steering struct {
	Policies []string // of marp.Names, or NoSteering; none: nobody
	Queue    string   // full path
	Delay    string   // AutoDelay, FairFile, AtOnce or a time
	Sense    unit.Time
	Set      []string // settings of the policies, each as name=value
}

// NoSteering stands for a scheduler that is left alone, beside others that are not.
const NoSteering = "none"

// How long a change of the share takes to be in force.
const (
	AutoDelay = "auto"      // as the scheduler has it
	FairFile  = "fair-file" // the FairScheduler's: its file is polled
	AtOnce    = "at-once"   // the CapacityScheduler's
)

func nobodySteers() Steering {
	return Steering{Queue: "root.default", Delay: AutoDelay, Sense: unit.Second}
}

// steeringSettings are the keys under "steering:".
func steeringSettings() []Setting {
	names := append([]string{NoSteering}, marp.Names()...)
	who := texts("steer", "steering", "POLICY", "let a policy move the share of application masters while jobs run: "+strings.Join(marp.Names(), ", ")+", or "+NoSteering+"; compare plays each scheduler under each",
		func(s *Scenario) *[]string { return &s.Steering.Policies })
	add := who.Set
	who.Set = func(s *Scenario, v string) error {
		if v != "" && !slices.Contains(names, v) {
			return fmt.Errorf("there is no steering policy %q%s: want one of %s", v, suggest.Hint(v, names), strings.Join(names, ", "))
		}
		return add(s, v)
	}
	set := list("steer-set", "steering", "NAME=VALUE", "settings of the policy, with commas between: slots=yes,idle-above=20 (docs/scenarios.md)",
		func(s *Scenario) *[]string { return &s.Steering.Set })
	many := set.Set
	set.Set = func(s *Scenario, v string) error {
		for _, one := range strings.Split(v, ",") {
			if name, value, ok := strings.Cut(one, "="); v != "" && (!ok || name == "" || value == "") {
				return fmt.Errorf("%q is not NAME=VALUE", one)
			}
		}
		return many(s, v)
	}
	return []Setting{
		who,
		{
			Name: "steer-queue", In: "steering", Value: "QUEUE", Help: "the one queue that is watched and set",
			Set: func(s *Scenario, v string) error { s.Steering.Queue = fair.FullName(v); return nil },
			Get: func(s *Scenario) []string { return []string{s.Steering.Queue} },
		},
		{
			Name: "steer-delay", In: "steering", Value: "DELAY",
			Help: "until a change is in force: fair-file (polled every 10 s, read once it is 5 s old), at-once, a time, or auto: as the scheduler has it",
			Set: func(s *Scenario, v string) error {
				if v != AutoDelay && v != FairFile && v != AtOnce {
					t, err := unit.ParseTime(v)
					if err != nil || t < 0 || t > unit.Day {
						return fmt.Errorf("%q is neither %s, %s, %s nor a time up to a day", v, AutoDelay, FairFile, AtOnce)
					}
					v = formatTime(t)
				}
				s.Steering.Delay = v
				return nil
			},
			Get: func(s *Scenario) []string { return []string{s.Steering.Delay} },
		},
		duration("steer-sense", "steering", "age of what the policy sees", func(s *Scenario) *unit.Time { return &s.Steering.Sense }),
		set,
	}
}

// Steer is a steering policy for a scheduler, ready to be made afresh.
type Steer struct {
	Name   string // of marp.Names
	Queue  string
	Delays steer.Delays
	New    func(seed uint64) (marp.Controller, error)
}

// resolveSteering puts each scheduler under each steering policy.
func (s *Scenario) resolveSteering(out *Setup) error {
	st := &s.Steering
	if len(st.Policies) == 0 {
		for _, name := range []string{"steer-queue", "steer-delay", "steer-sense", "steer-set"} {
			if slices.Contains(s.Given, name) {
				return misuse("--%s belongs to steering: add --steer cbtws (or another policy), or leave it out", name)
			}
		}
		return nil
	}
	var all []NamedPolicy
	for _, p := range out.Policies {
		for _, name := range st.Policies {
			one := p
			if name != NoSteering {
				var err error
				if one.Steer, err = st.on(p, name); err != nil {
					return err
				}
			}
			all = append(all, one)
		}
	}
	out.Policies = all
	return nil
}

// on fits a steering policy to a scheduler.
func (st *Steering) on(p NamedPolicy, name string) (*Steer, error) {
	rule, least, err := p.rule()
	if err != nil {
		return nil, err
	}
	settings := marp.Defaults(name, st.Queue)
	out := &Steer{Name: name, Queue: st.Queue}
	switch rule {
	case marp.Fair:
		settings = settings.On(rule)
		settings.Least = unit.Resources{} // sizes are shown as they are given
		out.Delays = steer.FairFile()
	case marp.Capacity:
		settings = settings.On(rule)
		if !least.IsZero() {
			settings.Least = least
		}
		out.Delays = steer.AtOnce()
	default:
		return nil, misuse("--steer moves the share of application masters, and %s has none: give a fair-scheduler.xml or a capacity-scheduler.xml", p.Name)
	}
	switch st.Delay {
	case AutoDelay:
	case FairFile:
		out.Delays = steer.FairFile()
	case AtOnce:
		out.Delays = steer.AtOnce()
	default:
		t, err := unit.ParseTime(st.Delay)
		if err != nil {
			return nil, &MisuseError{fmt.Errorf("steer-delay: %w", err)}
		}
		out.Delays = steer.Delays{Queue: t}
	}
	if out.Delays.Sense = st.Sense; out.Delays.Poll > 0 {
		out.Delays.Spacing = steer.FileSpacing // as yarn steer has it
	}
	for _, pair := range st.Set {
		key, value, _ := strings.Cut(pair, "=")
		if err := setOne(&settings, name, key, value); err != nil {
			return nil, misuse("--steer-set: %v", err)
		}
	}
	if err := settings.Check(name); err != nil {
		return nil, &MisuseError{fmt.Errorf("steer-set: %w", err)}
	}
	own := slices.ContainsFunc(st.Set, func(pair string) bool { return strings.HasPrefix(pair, "seed=") })
	out.New = func(seed uint64) (marp.Controller, error) {
		s := settings
		if !own {
			s.Seed = seed
		}
		return marp.New(name, s)
	}
	return out, nil
}

// noRule is that of schedulers without a share of masters.
const noRule = marp.Rule(255)

// rule is how a scheduler lets masters start; least is its smallest container, where it has one.
func (p *NamedPolicy) rule() (r marp.Rule, least unit.Resources, err error) {
	if p.RM != nil {
		made, err := p.RM()
		if err != nil {
			return noRule, least, err
		}
		if _, ok := made.(*capacityrm.Scheduler); ok {
			return marp.Capacity, made.Minimum(), nil
		}
		return marp.Fair, made.Minimum(), nil
	}
	made, err := p.New()
	if err != nil {
		return noRule, least, err
	}
	switch made.Order.(type) {
	case *fair.Tree:
		return marp.Fair, least, nil
	case *capacity.Order:
		return marp.Capacity, least, nil
	}
	return noRule, least, nil
}

// Settings of a controller that a live one is told by flags of their own.
func setOne(s *marp.Settings, controller, name, value string) (err error) {
	switch name {
	case "min":
		s.Min, err = strconv.ParseFloat(value, 64)
	case "max":
		s.Max, err = strconv.ParseFloat(value, 64)
	case "service":
		switch value {
		case "yes", "true", "on":
			*s = s.AsService()
		case "no", "false", "off":
			s.Service = false
		default:
			return fmt.Errorf("service: %q is neither yes nor no", value)
		}
	default:
		err = s.Set(controller, name, value)
		if err != nil && !slices.ContainsFunc(marp.Params(), func(p marp.Param) bool { return p.Name == name }) {
			return fmt.Errorf("%w%s", err, suggest.Hint(name, steerNames()))
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not a number", name, value)
	}
	return nil
}

// steerNames lists the settings of steering policies.
func steerNames() []string {
	names := []string{"min", "max", "service"}
	for _, p := range marp.Params() {
		names = append(names, p.Name)
	}
	return names
}

// steeringAssumptions says what is taken for granted about sensors and actuators.
func (s *Setup) steeringAssumptions() []string {
	var out []string
	for _, p := range s.Policies {
		if p.Steer == nil {
			continue
		}
		line := fmt.Sprintf("steering: what is seen is %v old; %s", p.Steer.Delays.Sense, delayText(p.Steer.Delays))
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return nil
	}
	if s.NewWorker != nil {
		if _, ok := s.NewWorker().(sim.Idler); ok {
			return append(out, "steering: idle processors are those of the model of the tasks; waiting for a disk is not idle")
		}
	}
	return append(out, "steering: a processor counts as idle while no task holds it; masters take none")
}

func delayText(d steer.Delays) string {
	switch {
	case d.Poll > 0:
		return fmt.Sprintf("a change of the share is in force when the scheduler's file is polled, every %v, and more than %v old; it is changed every %v at most", d.Poll, d.Age, d.Spacing)
	case d.Queue > 0:
		return fmt.Sprintf("a change of the share is in force %v later", d.Queue)
	}
	return "a change of the share is in force at once"
}
