package yard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

const setQueue = steer.SetQueue

// actuator is one way to turn the knob of a queue, which is given by its path.
type actuator interface {
	describe() string
	check(ctx context.Context) error // why it will not work
	read(ctx context.Context, queue string) (drive.Value, error)
	// write may refuse to write over a value other than the one that was read before, if that is known.
	write(ctx context.Context, queue string, was *drive.Value, v drive.Value) error
	spacing() time.Duration
}

// noActuator says why there is none.
type noActuator struct{ why error }

func (n noActuator) describe() string                                  { return "cannot be set: " + n.why.Error() }
func (n noActuator) check(context.Context) error                       { return n.why }
func (n noActuator) read(context.Context, string) (drive.Value, error) { return drive.Value{}, n.why }
func (n noActuator) spacing() time.Duration                            { return 0 }
func (n noActuator) write(context.Context, string, *drive.Value, drive.Value) error {
	return n.why
}

// Value is what to write for a number: as many decimals as it has, up to twelve digits; of a priority none, and no more than the cluster's maximum.
func (y *Yard) Value(k drive.Knob, number float64) drive.Value {
	if k.Kind == steer.SetPriority {
		number = math.Round(min(max(number, 0), float64(y.maxPriority)))
	}
	return drive.Value{Text: formatShare(number), Set: true, Number: number}
}

func formatShare(x float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		short = x
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// queueOf is the path of a knob's queue; other knobs are not there.
func (y *Yard) queueOf(k drive.Knob) (string, error) {
	if k.Kind != setQueue || k.Property != y.limit.Property {
		return "", fmt.Errorf("knob %q is not there: the one of this scheduler is %s of a queue", k.Property, y.limit.Property)
	}
	if k.Queue != y.path && "root."+k.Queue != y.path {
		return "", fmt.Errorf("queue %s is not the one that is steered: that is %s", k.Queue, y.path)
	}
	return y.path, nil
}

// Read tells how the knob is configured at present: not inherited, as the configuration spells it.
func (y *Yard) Read(ctx context.Context, k drive.Knob) (drive.Value, error) {
	if k.Kind != setQueue {
		return y.readJob(ctx, k)
	}
	queue, err := y.queueOf(k)
	if err == nil && y.o.Absent {
		var s *rest.Scheduler
		if s, err = y.c.Scheduler(ctx); err == nil {
			_, err = findLeaf(s.Root, y.path)
		}
	}
	if err != nil {
		return drive.Value{}, err
	}
	v, err := y.act.read(ctx, queue)
	if err == nil {
		y.remember(&v)
	}
	return v, err
}

// remember keeps what the knob was when it was last read or written; nil: it is not known.
func (y *Yard) remember(v *drive.Value) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.was = v
}

// Write changes the knob, or takes its setting out of the configuration. In a file, what somebody else has set since Read is not written over.
// A driver's own value, which has a mark, is not written where what it replaces could not be put back.
func (y *Yard) Write(ctx context.Context, k drive.Knob, v drive.Value) error {
	if k.Kind != setQueue {
		return y.writeJob(ctx, k, v)
	}
	queue, err := y.queueOf(k)
	if err != nil {
		return err
	}
	if !y.writable(v) {
		return fmt.Errorf("%s of %s: %q is no share: not written", k.Property, queue, v.Text)
	}
	y.mu.Lock()
	was := y.was
	y.mu.Unlock()
	if v.Mark != "" && was != nil && !y.writable(*was) {
		return fmt.Errorf("%s of %s is %q: not changed, because that could not be put back: set it to a share first", k.Property, queue, was.Text)
	}
	err = y.act.write(ctx, queue, was, v)
	switch {
	case err == nil:
		y.remember(&v)
	case errors.Is(err, drive.ErrFate):
		y.remember(nil)
	}
	return err
}

// writable tells whether Write takes a value, which may come from a journal. What a text means inside a file is for the file's edit to judge: a
// variable is a share there, too.
func (y *Yard) writable(v drive.Value) bool {
	x := v.Number
	if !v.Set {
		return true
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || x > 1e6 || x < 0 && (x != -1 || y.capacity()) {
		return false
	}
	_, overREST := y.act.(*restActuator)
	return !overREST || means(v.Text, x)
}

// means tells whether a text reads as a number to Java, and as this one.
func means(text string, number float64) bool {
	x, err := strconv.ParseFloat(strings.TrimRight(text, "fFdD"), 64)
	return err == nil && near(x, number)
}

// Spacing is the least time between two writes: the FairScheduler does not read a file that is younger than five seconds.
func (y *Yard) Spacing(k drive.Knob) time.Duration {
	if k.Kind != setQueue {
		return 0
	}
	return y.act.spacing()
}

// InForce tells whether the scheduler goes by a value. The FairScheduler shows it only while applications wait for their AMs; at other times a
// value counts once the file is so old that it must have been read. Applications that maxRunningApps keeps back wait as well, and the limit shown
// then stays an old one for as long as they do: one that disagrees only delays.
func (y *Yard) InForce(ctx context.Context, k drive.Knob, v drive.Value) (bool, error) {
	if k.Kind != setQueue {
		now, err := y.readJob(ctx, k)
		return err == nil && drive.Same(k, now, v), err
	}
	queue, err := y.queueOf(k)
	if err != nil {
		return false, err
	}
	if !v.Set || !means(v.Text, v.Number) { // what holds then, or what a variable stands for, may have changed since
		now, err := y.act.read(ctx, queue)
		if err != nil || now.Set != v.Set || now.Set && now.Text != v.Text {
			return false, err
		}
		v.Number = now.Number
	}
	s, err := y.c.Scheduler(ctx)
	if err != nil {
		return false, err
	}
	q, err := findLeaf(s.Root, y.path)
	if err != nil {
		return false, err
	}
	if y.capacity() {
		return y.capacityInForce(ctx, q, s.Root, v.Number)
	}
	if y.fair == nil {
		return fresh(q) && agrees(q, v.Number), nil
	}
	file, err := y.fair.look(y.path)
	if err != nil {
		return false, err
	}
	switch {
	case !near(file.number, v.Number) || !file.taken && file.age < youngest:
		return false, nil
	case fresh(q) && v.Number >= 0:
		return agrees(q, v.Number) || file.age >= shownBy, nil
	}
	return file.taken || file.age >= reloadedBy, nil
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
		return false, errors.New("the ResourceManager does not tell the queue's limit for masters")
	}
	return math.Abs(float64(q.AMLimit.Memory)-share*float64(base.Mem)) <= float64(y.least.Mem)+1, nil
}

// near allows for single precision.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// restActuator changes the CapacityScheduler's settings by REST. Only an administrator may.
type restActuator struct{ y *Yard }

func (r *restActuator) describe() string            { return "set over REST (scheduler-conf)" }
func (r *restActuator) check(context.Context) error { return nil } // reading needs the same rights
func (r *restActuator) spacing() time.Duration      { return 0 }

func (r *restActuator) read(ctx context.Context, queue string) (drive.Value, error) {
	p, err := r.y.c.SchedulerConf(ctx)
	if err != nil {
		return drive.Value{}, err
	}
	v, err := readPercent(p, queue)
	v.Mark = text(p, conf.Prefix+queue+"."+markName, "")
	return v, err
}

// markName is a setting of a queue that the CapacityScheduler keeps and does not know: a place for the mark.
const markName = "yardmaster.journal"

// write sends the value and its mark as one change; an empty one takes the setting out.
func (r *restActuator) write(ctx context.Context, queue string, _ *drive.Value, v drive.Value) error {
	s := []rest.Setting{{Name: steer.CapacityAM.Property}, {Name: markName, Value: v.Mark}}
	if v.Set {
		s[0].Value = v.Text
	}
	_, err := r.y.c.ChangeScheduler(ctx, rest.SchedulerChange{Update: []rest.QueueChange{{Queue: queue, Settings: s}}})
	return fateOf(err)
}

// Actuator is the way by which the knob is turned: one of Actuators but auto, or "none".
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
