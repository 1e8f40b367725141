package yard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

const setQueue = steer.SetQueue

// actuator is one way to set a knob of a queue, given by its path.
type actuator interface {
	describe() string
	check(ctx context.Context) error // says why it will not work
	read(ctx context.Context, k drive.Knob) (drive.Value, error)
	// write may refuse to overwrite a value other than the one read before, if that is known.
	write(ctx context.Context, k drive.Knob, was *drive.Value, v drive.Value) error
	spacing() time.Duration
}

// noActuator says why there is none.
type noActuator struct{ why error }

func (n noActuator) describe() string            { return "cannot be set: " + n.why.Error() }
func (n noActuator) check(context.Context) error { return n.why }
func (n noActuator) spacing() time.Duration      { return 0 }
func (n noActuator) read(context.Context, drive.Knob) (drive.Value, error) {
	return drive.Value{}, n.why
}
func (n noActuator) write(context.Context, drive.Knob, *drive.Value, drive.Value) error {
	return n.why
}

// Value formats a number for writing: up to twelve significant digits; for a priority no decimals, and no more than the cluster's maximum.
func (y *Yard) Value(k drive.Knob, number float64) drive.Value {
	if k.Kind == steer.SetPriority {
		number = math.Round(min(max(number, 0), float64(y.maxPriority)))
	}
	v := drive.Value{Text: formatShare(number), Set: true, Number: number}
	switch {
	case k.Kind != setQueue || !y.capacity():
	case k.Property == "weight":
		v.Text += "w"
	case k.Property == "state":
		v.Number = math.Round(min(max(number, 0), 1))
		v.Text = states[int(v.Number)]
	}
	return v
}

func formatShare(x float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		short = x
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// queueOf resolves the path of a knob's queue; knobs of another scheduler or queue are an error.
func (y *Yard) queueOf(k drive.Knob) (drive.Knob, error) {
	if k.IsTogether() {
		return k, y.ownSettings(k)
	}
	if _, known := y.properties()[k.Property]; k.Kind != setQueue || !known {
		return k, fmt.Errorf("knob %q is not there: those of this scheduler are %s", k.Property, strings.Join(slices.Sorted(maps.Keys(y.properties())), ", "))
	}
	for _, path := range y.paths {
		own := path
		if k.Property == steer.Capacities {
			own = steer.Parent(path)
		}
		if steer.SamePath(k.Queue, own) {
			k.Queue = own
			return k, nil
		}
	}
	return k, fmt.Errorf("queue %s is not one that is steered: %s", k.Queue, strings.Join(y.paths, ", "))
}

// Read returns the configured value of the knob: not inherited, as the configuration spells it.
func (y *Yard) Read(ctx context.Context, k drive.Knob) (drive.Value, error) {
	if k.Kind != setQueue {
		return y.readJob(ctx, k)
	}
	k, err := y.queueOf(k)
	if err == nil && y.o.Absent && !k.IsTogether() {
		var s *rest.Scheduler
		if s, err = y.c.Scheduler(ctx); err == nil {
			_, err = findQueue(s.Root, k)
		}
	}
	if err != nil {
		return drive.Value{}, err
	}
	v, err := y.act.read(ctx, k)
	if err == nil {
		y.remember(k, &v)
	}
	return v, err
}

// remember records a knob's value when it was last read or written; nil: unknown.
func (y *Yard) remember(k drive.Knob, v *drive.Value) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.was[k] = v
}

// Write changes the knob, or removes its setting from the configuration. In a file, it does not overwrite what somebody else has set since Read.
// A driver's own value, which has a mark, is not written if what it replaces could not be restored.
func (y *Yard) Write(ctx context.Context, k drive.Knob, v drive.Value) error {
	if k.Kind != setQueue {
		return y.writeJob(ctx, k, v)
	}
	k, err := y.queueOf(k)
	if err != nil {
		return err
	}
	if !y.writable(k, v) {
		return fmt.Errorf("%s of %s: %q is no share: not written", k.Property, k.Queue, v.Text)
	}
	y.mu.Lock()
	was := y.was[k]
	y.mu.Unlock()
	if k.Property == steer.Capacities {
		if was, err = y.ownCapacities(ctx, k, was, v); err != nil {
			return err
		}
	}
	if v.Mark != "" && was != nil && !y.writable(k, *was) {
		return fmt.Errorf("%s of %s is %q: not changed, because that could not be put back: set it to a share first", k.Property, k.Queue, was.Text)
	}
	err = y.act.write(ctx, k, was, v)
	switch {
	case err == nil:
		y.remember(k, &v)
	case errors.Is(err, drive.ErrOutcomeUnknown):
		y.remember(k, nil)
	}
	return err
}

// ownCapacities is the configured value. It fails if a driver's own value would change the capacity of a queue that is not steered.
func (y *Yard) ownCapacities(ctx context.Context, k drive.Knob, was *drive.Value, v drive.Value) (*drive.Value, error) {
	if was == nil {
		now, err := y.act.read(ctx, k)
		if err != nil {
			return nil, err
		}
		was = &now
	}
	changed, err := changedCapacities(was, v)
	for name := range changed {
		if v.Mark != "" && !y.may(k.Queue+"."+name) {
			err = errors.Join(err, fmt.Errorf("queue %s.%s is not one that is steered: %s", k.Queue, name, strings.Join(y.paths, ", ")))
		}
	}
	return was, err
}

// changedCapacities are the capacities that differ, by the last component of the queue's name.
func changedCapacities(was *drive.Value, v drive.Value) (map[string]string, error) {
	old, _, err := was.Shares()
	list, texts, err2 := v.Shares()
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	changed := map[string]string{}
	for i, s := range list {
		if !slices.Contains(old, s) {
			changed[s.Queue] = texts[i]
		}
	}
	return changed, nil
}

// writable reports whether Write accepts a value, which may come from a journal. In a file, the file's edit validates the text: a
// variable is a share there, too.
func (y *Yard) writable(k drive.Knob, v drive.Value) bool {
	x := v.Number
	if !v.Set {
		return true
	}
	if k.Property == steer.Capacities {
		_, _, err := v.Shares()
		return err == nil
	}
	if k.IsTogether() {
		_, err := k.Settings(v)
		return err == nil
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || x > 1e6 && k.Property == y.limit.Property || x > math.MaxInt32 || x < 0 && (x != -1 || y.capacity()) {
		return false
	}
	_, overREST := y.act.(*restActuator)
	return !overREST && k.Property == y.limit.Property || y.means(k, v.Text, x)
}

// means reports whether Java parses a text as this number.
func (y *Yard) means(k drive.Knob, text string, number float64) bool {
	if k.Property == y.limit.Property {
		text = strings.TrimRight(text, "fFdD")
	}
	x, err := parseSetting(!y.capacity(), k.Property, text)
	return err == nil && near(x, number)
}

// Spacing is the min time between two writes: the FairScheduler does not reload a file that is younger than five seconds.
func (y *Yard) Spacing(k drive.Knob) time.Duration {
	if k.Kind != setQueue {
		return 0
	}
	return y.act.spacing()
}

// InForce reports whether the scheduler uses a value. The FairScheduler shows it only while applications wait for their AMs; at other times a
// value counts once the file is so old that it must have been reloaded. Applications held back by maxRunningApps wait as well, and the limit shown
// then stays an old one for as long as they do: one that disagrees only delays.
func (y *Yard) InForce(ctx context.Context, k drive.Knob, v drive.Value) (bool, error) {
	if k.Kind != setQueue {
		now, err := y.readJob(ctx, k)
		return err == nil && drive.Same(k, now, v), err
	}
	k, err := y.queueOf(k)
	if err != nil {
		return false, err
	}
	if k.IsTogether() {
		return y.settingsInForce(ctx, k, v)
	}
	if k.Property != steer.Capacities && (!v.Set || !y.means(k, v.Text, v.Number)) { // the inherited value, or a variable's, may have changed since
		now, err := y.act.read(ctx, k)
		if err != nil || now.Set != v.Set || now.Set && now.Text != v.Text {
			return false, err
		}
		v.Number = now.Number
	}
	s, err := y.c.Scheduler(ctx)
	if err != nil {
		return false, err
	}
	q, err := findQueue(s.Root, k)
	if err != nil {
		return false, err
	}
	if k.Property == steer.Capacities {
		return capacitiesInForce(q, v)
	}
	if shown := y.properties()[k.Property].shown; y.capacity() && shown != nil {
		return near(shown(q), v.Number), nil
	}
	if y.capacity() {
		return y.capacityInForce(ctx, q, s.Root, v.Number)
	}
	if y.fair == nil {
		return fresh(q) && agrees(q, v.Number), nil
	}
	file, err := y.fair.look(k)
	if err != nil {
		return false, err
	}
	switch {
	case !near(file.number, v.Number) || !file.taken && file.age < youngest:
		return false, nil
	case k.Property == y.limit.Property && fresh(q) && v.Number >= 0:
		return agrees(q, v.Number) || file.age >= shownBy, nil
	}
	return file.taken || file.age >= reloadedBy, nil
}

// findQueue finds the queue of a knob, in any state.
func findQueue(root *rest.Queue, k drive.Knob) (*rest.Queue, error) {
	if k.Property != steer.Capacities {
		return findLeaf(root, k.Queue)
	}
	for q := range tree(root) {
		if q.Path == k.Queue && !q.Leaf() {
			return q, nil
		}
	}
	return nil, gone("queue %s is not there, or has no queues in it", k.Queue)
}

func capacitiesInForce(parent *rest.Queue, v drive.Value) (bool, error) {
	list, _, err := v.Shares()
	if err != nil {
		return false, err
	}
	for _, s := range list {
		if !slices.ContainsFunc(parent.Children, func(q *rest.Queue) bool { return lastPart(q.Path) == s.Queue && near(q.Capacity, s.Value) }) {
			return false, nil
		}
	}
	return true, nil
}

func (y *Yard) capacityInForce(ctx context.Context, q, root *rest.Queue, share float64) (bool, error) {
	if p, ok := toldPercent(q); ok {
		return near(p, share), nil
	}
	m, err := y.c.Metrics(ctx)
	if err != nil {
		return false, err
	}
	base := capacityOf(q, root, unit.Resources{Mem: m.TotalMB, Cores: m.TotalVirtualCores})
	if base.Mem <= 0 {
		return false, errors.New("the ResourceManager does not report the queue's AM limit")
	}
	return math.Abs(float64(q.AMLimit.Memory)-share*float64(base.Mem)) <= float64(y.minAllocation.Mem)+1, nil
}

// near allows for single precision.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// restActuator changes the CapacityScheduler's settings over REST. Only an administrator may.
type restActuator struct{ y *Yard }

func (r *restActuator) describe() string            { return "set over REST (scheduler-conf)" }
func (r *restActuator) check(context.Context) error { return nil } // reading needs the same permissions
func (r *restActuator) spacing() time.Duration      { return 0 }

func (r *restActuator) read(ctx context.Context, k drive.Knob) (drive.Value, error) {
	p, err := r.y.c.SchedulerConf(ctx)
	if err != nil {
		return drive.Value{}, err
	}
	var v drive.Value
	if k.IsTogether() {
		return readTogether(p, k.Unset())
	}
	if k.Property == steer.Capacities {
		v, err = readCapacities(p, k.Queue, func(queue string) (drive.Value, error) { return readProperty(p, queue, "capacity") })
	} else {
		v, err = readProperty(p, k.Queue, k.Property)
	}
	v.Mark = text(p, conf.Prefix+k.Queue+"."+markOf(k.Property), "")
	return v, err
}

// markName is a queue setting that the CapacityScheduler stores and ignores: it holds the mark.
const markName = "yardmaster.journal"

func markOf(property string) string {
	if property == amlimit.Capacity.Property {
		return markName
	}
	return markName + "." + property
}

// write sends the value and its mark as one change; an empty value removes the setting.
func (r *restActuator) write(ctx context.Context, k drive.Knob, was *drive.Value, v drive.Value) error {
	mark := rest.Setting{Name: markOf(k.Property), Value: v.Mark}
	var change rest.SchedulerChange
	if list, err := k.Settings(v); k.IsTogether() {
		if err != nil {
			return err
		}
		change = Change(list, v.Mark)
	} else if k.Property == steer.Capacities {
		changed, err := changedCapacities(was, v)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			change.Update = append(change.Update, rest.QueueChange{Queue: k.Queue + "." + name, Settings: []rest.Setting{{Name: "capacity", Value: changed[name]}}})
		}
		change.Update = append(change.Update, rest.QueueChange{Queue: k.Queue, Settings: []rest.Setting{mark}})
	} else {
		s := rest.Setting{Name: configured(k.Property)}
		if v.Set {
			s.Value = v.Text
		}
		change.Update = []rest.QueueChange{{Queue: k.Queue, Settings: []rest.Setting{s, mark}}}
	}
	_, err := r.y.c.ChangeScheduler(ctx, change)
	return outcomeOf(err)
}

// Actuator is how the knob is set: one of Actuators but auto, or "none".
func (y *Yard) Actuator() string {
	switch y.act.(type) {
	case *restActuator:
		return REST
	case *capacityFile:
		return CapacityFile
	case *fairFile:
		return FairFile
	}
	return "none"
}
