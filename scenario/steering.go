package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Steering says which policy changes settings while jobs run, and with which delays.
type Steering struct {
	Policies []string // of steer/all, or NoSteering; empty: no steering
	Queue    string   // full paths, separated by commas; "": the only one
	Delay    string   // AutoDelay, FairFile, AtOnce or a time
	Sense    unit.Time
	Bounds   steer.Bounds
	PerHour  int      // max changes in any hour
	Set      []string // settings of the policies, each as name=value
}

// NoSteering stands for a scheduler that is not steered, beside others that are.
const NoSteering = "none"

// Delays until a change of the share is in force.
const (
	AutoDelay = "auto"      // as the scheduler has it
	FairFile  = "fair-file" // the FairScheduler's: its file is polled
	AtOnce    = "at-once"   // the CapacityScheduler's
)

func nobodySteers() Steering {
	return Steering{Delay: AutoDelay, Sense: unit.Second, Bounds: steer.DefaultBounds(), PerHour: steer.PerHour}
}

// steeringSettings are the keys under "steering:".
func steeringSettings() []Setting {
	policies := setting.Texts("steer", "steering", "POLICY", "let a policy change settings of the scheduler while jobs run (\"yardmaster yarn policies\" lists them), or "+NoSteering+"; compare runs each scheduler under each",
		func(s *Scenario) *[]string { return &s.Steering.Policies })
	add := policies.Set
	policies.Set = func(s *Scenario, v string) error {
		names := append([]string{NoSteering}, s.Known.Steering.Names()...)
		if v != "" && !slices.Contains(names, v) {
			return fmt.Errorf("there is no steering policy %q%s: want one of %s", v, suggest.Hint(v, names), strings.Join(names, ", "))
		}
		return add(s, v)
	}
	set := setting.Texts("steer-set", "steering", "NAME=VALUE", "settings of the policy, separated by commas: slots=yes,idle-above=20 (\"yardmaster yarn policies\" lists them)",
		func(s *Scenario) *[]string { return &s.Steering.Set })
	one := set.Set
	set.Set = func(s *Scenario, v string) error {
		var pairs []string
		for part := range strings.SplitSeq(v, ",") {
			name, value, ok := strings.Cut(part, "=")
			switch {
			case v == "":
				return one(s, v)
			case !ok && part != "" && len(pairs) > 0: // of a list: limits=10,20
				pairs[len(pairs)-1] += "," + part
			case !ok || name == "" || value == "":
				return fmt.Errorf("%q is not NAME=VALUE", part)
			default:
				pairs = append(pairs, part)
			}
		}
		for _, pair := range pairs {
			if err := one(s, pair); err != nil {
				return err
			}
		}
		return nil
	}
	return []Setting{
		policies,
		setting.Value("steer-queue", "steering", "QUEUE", "the queue to steer; needed if there are several. For a policy of several queues: all of them in order, separated by commas",
			func(s *Scenario) *string { return &s.Steering.Queue },
			func(v string) (string, error) {
				names := strings.Split(v, ",")
				for i, name := range names {
					if name = strings.TrimSpace(name); name != "" {
						names[i] = queues.FullName(name)
					} else if v != "" {
						return v, fmt.Errorf("%q has an empty name", v)
					}
				}
				return strings.Join(names, ","), nil
			}, func(v string) string { return v }),
		setting.Value("steer-delay", "steering", "DELAY",
			"until a change is in force: fair-file (polled every 10 s, read once it is 5 s old), at-once, a time, or auto: as the scheduler has it",
			func(s *Scenario) *string { return &s.Steering.Delay }, func(v string) (string, error) {
				if v == AutoDelay || v == FairFile || v == AtOnce {
					return v, nil
				}
				t, err := unit.ParseTime(v)
				if err != nil || t < 0 || t > unit.Day {
					return v, fmt.Errorf("%q is neither %s, %s, %s nor a time up to a day", v, AutoDelay, FairFile, AtOnce)
				}
				return setting.Time(t), nil
			}, func(v string) string { return v }),
		setting.Duration("steer-sense", "steering", "sensor age: how old the policy's samples are", func(s *Scenario) *unit.Time { return &s.Steering.Sense }),
		setting.Share("steer-min", "steering", "min share; 0: the one found at the start (with --steer-until-empty: one AM's)", false,
			func(s *Scenario) *float64 { return &s.Steering.Bounds.Min }),
		setting.Share("steer-max", "steering", "max share", false, func(s *Scenario) *float64 { return &s.Steering.Bounds.Max }),
		setting.Yes("steer-until-empty", "steering", "steer the present batch until the queue is empty, not later jobs", func(s *Scenario) *bool { return &s.Steering.Bounds.UntilEmpty }),
		setting.Duration("steer-spacing", "steering", "min time between two changes, if more than the scheduler needs", func(s *Scenario) *unit.Time { return &s.Steering.Bounds.Spacing }),
		setting.Number("steer-per-hour", "steering", "max changes an hour, moves of jobs excepted", 1, 1_000_000, func(s *Scenario) *int { return &s.Steering.PerHour }),
		set,
	}
}

// noQueueError says that a scheduler lacks a queue that is to be steered.
type noQueueError struct{ error }

// resolveSteering combines each scheduler with each steering policy. A scheduler without the queues of a policy of several, beside others, is not steered: so
// the configuration as it is can be compared with one that has queues for a policy.
func (s *Scenario) resolveSteering(out *Setup) error {
	st := &s.Steering
	if len(st.Policies) == 0 {
		return s.without("steering", "steer", "steering: add --steer cbtws (or another policy)")
	}
	var all []run.Scheduler
	var missing error
	steered := slices.Equal(st.Policies, []string{NoSteering})
	for _, p := range out.Schedulers {
		for _, name := range st.Policies {
			one := p
			if name != NoSteering {
				var err error
				one.Steer, err = st.rehearsal(p, s.Known.Steering.Find(name))
				switch lacks := (noQueueError{}); {
				case errors.As(err, &lacks) && len(out.Schedulers) > 1 && strings.Contains(st.Queue, ","):
					missing = err
					continue
				case err != nil:
					return err
				}
				steered = true
			}
			all = append(all, one)
		}
	}
	if out.Schedulers = all; !steered {
		return missing
	}
	return nil
}

// rehearsal adapts a steering policy to a scheduler.
func (st *Steering) rehearsal(p run.Scheduler, policy *steer.Entry) (*steer.Rehearsal, error) {
	limit, minimum, leaves, err := p.Publishes()
	if err != nil {
		return nil, err
	}
	if limit.Property == "" && policy.Needs.AMLimit {
		return nil, misuse("--steer moves the AM share, and %s has none: give a fair-scheduler.xml or a capacity-scheduler.xml", p.Name)
	}
	out := &steer.Rehearsal{Name: policy.Name, Delays: steer.AtOnce(), Bounds: st.Bounds, Property: limit.Property, Needs: policy.Needs}
	if limit.Property != "" && !limit.AtOnce {
		out.Delays = steer.FairFile()
	}
	if out.Queues, err = st.queuesOf(p.Name, limit, leaves); err != nil {
		return nil, err
	}
	if len(out.Queues) > 1 && !policy.Several {
		return nil, misuse("--steer-queue: %s steers one queue in a rehearsal, not %d", policy.Name, len(out.Queues))
	}
	out.Queue, out.Bounds.Queues = out.Queues[0], out.Queues
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
	out.Delays.Sense, out.Delays.Spacing, out.Delays.PerHour = st.Sense, st.Bounds.Spacing, st.PerHour
	if out.Delays.Poll > 0 {
		out.Delays.Spacing = max(st.Bounds.Spacing, steer.FileSpacing) // as yarn steer has it
	}
	setup := steer.Setup{Queue: out.Queue, Queues: out.Queues, Limit: limit, Minimum: minimum, Bounds: st.Bounds, Set: st.Set}
	out.New = func(seed uint64) (steer.Steerer, error) {
		su := setup
		su.Seed = seed
		return policy.Build(&su)
	}
	_, err = out.New(0)
	var wrong *steer.SettingError
	switch {
	case errors.As(err, &wrong):
		hint := ""
		if names := policy.ParamNames(); !slices.Contains(names, wrong.Name) {
			hint = suggest.Hint(wrong.Name, names)
		}
		return nil, misuse("--steer-set: %v%s", err, hint)
	case err != nil:
		return nil, &MisuseError{fmt.Errorf("--steer: %w", err)}
	}
	return out, nil
}

// queuesOf are the steered queues. Those of a FairScheduler, or of a policy without a file, may come with their first jobs.
func (st *Steering) queuesOf(scheduler string, limit amlimit.Limit, leaves []string) ([]string, error) {
	list := strings.Join(leaves, ", ")
	names := strings.Split(st.Queue, ",")
	for i, name := range names {
		switch {
		case limit.Property == "" && len(leaves) == 0: // it has no queues: the names are those of the jobs
			names[i] = cmp.Or(strings.TrimPrefix(name, "root."), "default")
		case name == "" && len(leaves) > 1:
			return nil, misuse("--steer: %s has several queues: choose one with --steer-queue: %s", scheduler, list)
		case name == "" && len(leaves) == 1:
			names[i] = leaves[0]
		case name == "":
			names[i] = queues.FullName("default")
		case limit == amlimit.Capacity && len(leaves) > 0 && !slices.Contains(leaves, name):
			return nil, &MisuseError{noQueueError{fmt.Errorf("--steer-queue: queue %s is not in %s: its queues are %s", name, scheduler, list)}}
		}
	}
	return names, nil
}

// steeringAssumptions lists the assumptions about sensors and actuators.
func (s *Setup) steeringAssumptions() []string {
	var out []string
	for _, p := range s.Schedulers {
		if p.Steer == nil {
			continue
		}
		line := fmt.Sprintf("steering: samples are %v old; %s", p.Steer.Delays.Sense, delayText(p.Steer.Delays))
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return nil
	}
	if slices.ContainsFunc(s.Schedulers, func(p run.Scheduler) bool { return p.Steer != nil && p.Steer.Needs.Sizes }) {
		out = append(out, "steering: jobs have tags with their input and their true size, in vcore-seconds, as if their users knew it")
	}
	if s.NewWorker != nil {
		worker, _ := s.NewWorker() // it has been made once before
		if _, ok := worker.(sim.Idler); ok {
			return append(out, "steering: idle processors are those of the model of the tasks, as far as the queue has headroom; waiting for a disk is not idle")
		}
	}
	return append(out, "steering: a processor counts as idle while no task holds it, as far as the queue has headroom")
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
