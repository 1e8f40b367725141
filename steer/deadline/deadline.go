package deadline

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is the policy's registry entry.
var Entry = steer.Entry{
	Name: "deadline", Title: "completion-time goals: containers to the jobs that need them to meet the deadlines in their tags", Several: true,
	Params: params,
	Needs:  steer.Needs{Priority: true, Queue: true, Properties: []string{steer.Capacities, maximum}, Maps: true, Pending: true},
	New:    func(s *steer.Setup) (steer.Steerer, error) { return newSteerer(s) },
}

var params = []steer.Param{
	{Name: "mode", Value: "max|min", Default: "max", Help: "max: give everything away; min: no job gets more than it needs (needs slot queues)"},
	{Name: "min-samples", Value: "N", Default: "1", Help: "finished tasks that make an estimate"},
	{Name: "nodata-cap", Value: "N", Default: "0", Help: "containers for a job without estimate; 0: any number"},
	{Name: "missed-share", Value: "SHARE", Default: defaultShare, Help: "share of the containers for jobs that have missed their goals or have no estimate, together, while other users wait"},
	{Name: "tail-guard", Value: "yes|no", Default: "yes", Help: "aim at the goal less the mean length of a task and the sampling interval: the last tasks end after the estimate does"},
	{Name: "clamp", Value: "yes|no", Default: "yes", Help: "a task that runs longer than the mean is about to end; no: it counts negative"},
	{Name: "round", Value: "up|nearest|down", Default: "up", Help: "how needs become containers in min mode"},
	{Name: "priority", Value: "N", Default: "10", Help: "highest priority to set"},
	{Name: "interval", Value: "TIME", Default: "5s", Help: "sampling interval"},
}

const (
	maximum      = "maximum-capacity"
	defaultShare = "0.5" // of jobs that have missed their goals or have no estimate
)

// steerer is the policy.
type steerer struct {
	set      deadline.Settings
	interval unit.Time
	highest  int // priority
	reached  bool
	intake   string
	slots    []string // none: priorities

	meters   map[string]*meter // by job
	now      unit.Time
	order    []string        // the jobs by priority, highest first
	room     unit.Resources  // max that the slots together were seen to have room for
	wrote    []target        // by slot, as last written; nil: nothing
	reserved bool            // the last slot has taken the capacity of the others
	waiting  map[string]bool // users
	knobs    [3]refusals     // by steer.Kind: priorities, moves, queues
	fallen   bool
	said     []slog.Attr
}

// refusals are what a scheduler has not done.
type refusals struct {
	row   int       // in a row
	due   unit.Time // no further attempt before
	asked int       // at the last sample, and not refused since
	made  bool      // once
}

var (
	_ steer.Explainer = (*steerer)(nil)
	_ steer.Corrector = (*steerer)(nil)
)

func newSteerer(s *steer.Setup) (*steerer, error) {
	d := &steerer{interval: 5 * unit.Second, highest: 10, meters: map[string]*meter{}}
	own := policy.Params{"tail-guard": "yes", "missed-share": defaultShare}
	err := s.Each(func(name, value string) error { return d.setting(name, value, own) })
	if err != nil {
		return nil, err
	}
	if d.set, err = deadline.Parse(own); err != nil {
		return nil, err
	}
	queues := s.Queues
	if len(queues) == 0 {
		queues = []string{s.Queue}
	}
	d.intake, d.slots = queues[0], slices.Clone(queues[1:])
	for _, q := range d.slots {
		if parent := steer.Parent(d.slots[0]); steer.Parent(q) != parent || steer.SamePath(q, d.intake) {
			return nil, fmt.Errorf("deadline: %s is not a slot beside %s: after the intake, name all queues of one parent", q, d.slots[0])
		}
	}
	if d.set.Min && len(d.slots) < 2 {
		return nil, errors.New("deadline: mode=min needs an intake queue and at least two slot queues (\"yarn prepare --policy deadline\" makes them): priorities set no upper limit")
	}
	return d, nil
}

func (d *steerer) setting(name, value string, own policy.Params) (err error) {
	switch name {
	case "interval":
		if d.interval, err = unit.ParseTime(value); err != nil || d.interval < unit.Second || d.interval > unit.Hour {
			return fmt.Errorf("interval: %q is not a time from a second to an hour", value)
		}
		return nil
	case "priority":
		if d.highest, err = strconv.Atoi(value); err != nil || d.highest < 1 || d.highest > 1000 {
			return fmt.Errorf("priority: %q is not a whole number from 1 to 1000", value)
		}
		return nil
	}
	if !slices.ContainsFunc(params, func(p steer.Param) bool { return p.Name == name }) {
		return fmt.Errorf("there is no setting %q", name)
	}
	own[name] = value
	_, err = deadline.Parse(policy.Params{name: value})
	return err
}

// job is a job at one sample.
type job struct {
	*steer.Job
	*meter
	claim         deadline.Claim
	current, next int   // the slot where it is, and should be; -1: the intake
	seat          int   // the slot where it is, or on its way to
	turn          int   // which of its user's jobs it is
	target        int64 // containers that it should have
	note          string
}

// Step implements steer.Steerer.
func (d *steerer) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	for i := range d.knobs {
		if k := &d.knobs[i]; k.asked > 0 {
			*k = refusals{made: true}
		}
	}
	d.now = seen.Now
	goals, strays, bad := d.look(seen)
	slices.SortStableFunc(goals, func(a, b *job) int { return a.claim.Compare(&b.claim, d.now) })
	by := "slots"
	// Slots are given up for good if moves or capacities were refused from the start.
	d.fallen = d.fallen || slices.ContainsFunc(d.knobs[steer.MoveJob:], func(r refusals) bool { return !r.made && r.row >= 3 })
	if len(d.slots) > 0 && !d.fallen {
		placed := d.place(goals, strays)
		do = d.divide(seen, placed)
	} else {
		by = "priorities"
		do = d.prioritise(seen, goals, strays)
	}
	do = append(do, d.moves(slices.Concat(goals, strays))...)
	for i := range do {
		d.knobs[do[i].Kind].asked++
	}
	d.explain(by, goals, bad, do)
	return do, d.interval
}

// look samples the jobs in the queues: those with goals; those without that are in a slot, or have a priority from us; and those whose goals count as none.
func (d *steerer) look(seen *steer.Snapshot) (goals, strays []*job, bad []string) {
	there := make(map[string]*meter, len(d.meters))
	var all []*job
	for i := range seen.Jobs {
		j := &job{Job: &seen.Jobs[i], next: -1}
		j.current = slices.IndexFunc(d.slots, func(q string) bool { return steer.SamePath(q, j.Queue) })
		if j.current < 0 && !steer.SamePath(j.Queue, d.intake) {
			continue
		}
		if j.meter = d.meters[j.ID]; j.meter == nil || j.tags != j.Tags {
			j.meter = &meter{tags: j.Tags}
			j.goal, j.bad = goalOf(j.Tags, j.Submitted)
		}
		if there[j.ID], all = j.meter, append(all, j); j.goal == unit.Never {
			j.none = j.bad
			continue
		}
		j.sample(j.Job, d.now, d.now-j.Submitted <= 3*d.interval)
		j.claim = j.meter.claim(j.Job, d.now, d.interval, &d.set)
		j.none = j.unreachable(d.now, d.interval, seen.Total)
	}
	d.meters = there
	d.await(all)
	for _, j := range all {
		if j.none != "" {
			bad = append(bad, j.ID+": "+j.none)
		}
		switch {
		case j.goal != unit.Never && j.none == "":
			goals = append(goals, j)
		case j.current >= 0 || j.touched:
			strays = append(strays, j)
		}
	}
	return goals, strays, bad
}

// NotMade implements steer.Corrector: what was refused is tried again with backoff, up to an hour. A job that cannot be moved does not keep the
// others where they are.
func (d *steerer) NotMade(a steer.Action) {
	if int(a.Kind) >= len(d.knobs) {
		return
	}
	m, k := d.meters[a.Job], &d.knobs[a.Kind]
	switch {
	case a.Kind == steer.SetQueue:
		d.undo(a)
	case a.Kind == steer.MoveJob && m != nil:
		m.moved = 0
		m.tries++
		m.due = d.now + steer.Backoff(d.interval, m.tries)
	}
	if k.asked = max(k.asked-1, 0); a.Kind == steer.MoveJob && k.asked > 0 {
		return
	}
	if k.asked = 0; k.due <= d.now {
		k.row++
		k.due = d.now + steer.Backoff(d.interval, k.row)
	}
}

// undo forgets a change of a queue that was not made.
func (d *steerer) undo(a steer.Action) {
	q := slices.Index(d.slots, a.Queue)
	switch {
	case d.wrote == nil:
	case q >= 0 && a.Value >= 100:
		d.wrote[q].max = 0
	case q >= 0:
		d.wrote[q].max = -1
	default:
		d.reserved = false
		for q := range d.wrote {
			d.wrote[q].share = unknown
		}
	}
}

// unknown is no number of containers.
const unknown = -2

// may reports whether knobs of a kind may be changed now.
func (d *steerer) may(kind steer.Kind) bool { return d.now >= d.knobs[kind].due }

// Explain implements steer.Explainer.
func (d *steerer) Explain() []slog.Attr { return d.said }

// maxSaid is how many jobs and changes are described.
const maxSaid = 20

func (d *steerer) explain(by string, goals []*job, bad []string, do []steer.Action) {
	d.said = []slog.Attr{slog.String("by", by), slog.Int("goals", len(goals))}
	var why []string
	decision := "wait"
	for _, a := range do[:min(len(do), maxSaid)] {
		decision, why = "set", append(why, a.Why)
	}
	if len(d.slots) > 0 && by == "priorities" {
		why = append(why, "the scheduler refuses moves or capacities: priorities instead")
	}
	for kind, name := range []string{"priorities", "moves", "properties of queues"} {
		if !d.may(steer.Kind(kind)) {
			why = append(why, fmt.Sprintf("%s were refused: next attempt in %v", name, d.knobs[kind].due-d.now))
		}
	}
	noted := 0
	for i, j := range goals {
		if i < maxSaid {
			d.said = append(d.said, slog.Attr{Key: j.ID, Value: slog.GroupValue(j.facts(d.now)...)})
		}
		if j.note != "" {
			if noted++; noted <= maxSaid {
				why = append(why, j.ID+" "+j.note)
			}
		}
	}
	if noted > maxSaid {
		why = append(why, fmt.Sprintf("%d more jobs are left as they are", noted-maxSaid))
	}
	if len(bad) > 0 {
		why = append(why, fmt.Sprintf("%d without a usable goal: %s", len(bad), strings.Join(bad[:min(len(bad), 3)], "; ")))
	}
	if len(why) == 0 {
		why = []string{"nothing to change"}
	}
	d.said = append(d.said, slog.String("decision", decision), slog.String("why", strings.Join(why, "; ")))
}

// facts describe a job: its state, the time to its goal, the work left in container-seconds, how many containers it has, waits for, needs and should have, and how
// late it will be with what it has. Times are in seconds.
func (j *job) facts(now unit.Time) []slog.Attr {
	c := &j.claim
	tenth := func(name string, x float64) slog.Attr { return slog.Float64(name, math.Round(10*x)/10) }
	out := []slog.Attr{slog.String("state", strings.ReplaceAll(j.state(now).String(), " ", "-")), tenth("goal", (c.Goal - now).Seconds()), slog.Int64("runs", c.Running)}
	if c.Estimated {
		out = append(out, slog.Int64("waits", c.Unstarted), tenth("left", c.Left/1e6), tenth("needs", c.Need(now, c.Aim)+float64(c.Running)))
		if c.Running > 0 {
			out = append(out, tenth("late", (float64(now-c.Goal)+c.Left/float64(c.Running))/1e6))
		}
	}
	return append(out, slog.Int64("target", j.target))
}

func (j *job) state(now unit.Time) deadline.State {
	return deadline.StateOf(now, j.claim.Goal, j.claim.Estimated)
}

// why is the reason for a change, in a few words.
func (j *job) why(now unit.Time) string {
	c := &j.claim
	left := (c.Goal - now).Seconds()
	switch j.state(now) {
	case deadline.Missed:
		return fmt.Sprintf("its goal passed %.0f s ago", math.Abs(left))
	case deadline.NoData:
		return fmt.Sprintf("%.0f s to its goal, no task has finished", left)
	}
	return fmt.Sprintf("%.0f s to its goal, %.0f container-seconds left: it needs %.1f containers and has %d", left, c.Left/1e6, c.Need(now, c.Aim)+float64(c.Running), c.Running)
}
