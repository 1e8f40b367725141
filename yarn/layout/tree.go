// Package layout makes the queues that a policy needs on a ResourceManager, and takes them back. The queues are one change with the driver's own journal: it
// is open for as long as they are there, and taking them back is a recovery.
package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/queues"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// tree is a ResourceManager whose only knob is the queues that a plan makes beside one.
type tree struct {
	client  *rest.Client
	cluster string // prefix of its queues' identities
	plan    *queues.Plan
	tell    func(format string, args ...any)
	where   string // the journal, for messages
	changed func() // called when somebody else has changed the queues; nil: nobody

	moved   int
	removed bool
	cuts    int // applications whose texts were cut, as said so far
}

var _ drive.Engine = (*tree)(nil)

func (t *tree) knob() drive.Knob {
	return drive.Knob{Kind: steer.SetQueue, Queue: t.plan.Queue, Property: drive.Layout}
}

// value is the knob's value with the new queues. It has the whole plan, so that it can be taken back without anything else.
func (t *tree) value() (drive.Value, error) {
	text, err := json.Marshal(t.plan)
	return drive.Value{Text: string(text), Set: true, Number: float64(len(t.plan.Levels))}, err
}

// Identity implements drive.Scheme.
func (t *tree) Identity() string { return t.cluster + t.plan.Queue }

// Value implements drive.Scheme.
func (t *tree) Value(drive.Knob, float64) drive.Value { return drive.Value{} }

// Spacing implements drive.Scheme.
func (t *tree) Spacing(drive.Knob) time.Duration { return 0 }

// Snapshot implements drive.Engine. Nothing here asks for one.
func (t *tree) Snapshot(context.Context) (steer.Snapshot, error) {
	return steer.Snapshot{}, errors.ErrUnsupported
}

// Read implements drive.Engine. That somebody else has changed the queues is an error: they are left as they are, and so is the journal.
func (t *tree) Read(ctx context.Context, _ drive.Knob) (drive.Value, error) {
	state, _, err := t.state(ctx)
	if err != nil || state == queues.Original {
		return drive.Value{}, err
	}
	return t.value()
}

func (t *tree) state(ctx context.Context) (queues.State, *conf.Properties, error) {
	now, err := t.client.SchedulerConf(ctx)
	if err != nil {
		return 0, nil, err
	}
	state, diffs := t.plan.AdoptACLs(now).Compare(now)
	if state == queues.Changed {
		err = t.changedError(diffs)
		if t.changed != nil {
			t.changed()
		}
	}
	return state, now, err
}

func (t *tree) changedError(diffs []string) error {
	if len(diffs) == 0 {
		diffs = []string{"the state of the new queues"}
	}
	return fmt.Errorf("somebody else has changed these settings since, so they are left as they are: %s. The old values are in %s", strings.Join(diffs, "; "), t.where)
}

// InForce implements drive.Engine: a changed configuration is in force when it is accepted.
func (t *tree) InForce(ctx context.Context, k drive.Knob, v drive.Value) (bool, error) {
	now, err := t.Read(ctx, k)
	return err == nil && drive.Same(k, now, v), err
}

// Write implements drive.Engine: it makes the queues, or moves their applications back and removes them.
func (t *tree) Write(ctx context.Context, _ drive.Knob, v drive.Value) error {
	if v.Set {
		return t.send(ctx, t.plan.Change())
	}
	if err := t.evacuate(ctx); err != nil {
		return err
	}
	state, now, err := t.state(ctx)
	if err == nil && state != queues.Stopped { // in the meantime
		err = t.changedError(nil)
	}
	if err == nil {
		err = t.send(ctx, t.plan.AdoptACLs(now).Remove(now))
	}
	if err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
		t.removed = true
	}
	return err
}

func (t *tree) send(ctx context.Context, c rest.SchedulerChange) error {
	_, err := t.client.ChangeScheduler(ctx, c)
	var unknown *rest.OutcomeUnknownError
	if errors.As(err, &unknown) || errors.Is(err, rest.ErrFormat) {
		return fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
	}
	return err
}

// evacuate moves applications from the new queues back and stops the queues.
func (t *tree) evacuate(ctx context.Context) error {
	state, _, err := t.state(ctx)
	if err != nil {
		return err
	}
	stopped := state == queues.Stopped
	for {
		left, failed := t.moveBack(ctx)
		if left == 0 && failed == nil && !stopped {
			if failed = t.send(ctx, t.plan.Stop()); failed != nil && !errors.Is(failed, drive.ErrOutcomeUnknown) {
				return failed
			}
			stopped = failed == nil
			continue // one may have come in the meantime
		}
		states := ""
		if left == 0 && failed == nil {
			if states, failed = t.running(ctx); states == "" && failed == nil {
				return nil
			}
		}
		if (live.WallClock{}).Wait(ctx, 500*time.Millisecond) != nil {
			return errors.Join(fmt.Errorf("%d applications are still in the new queues%s: run this again later", left, states), failed)
		}
	}
}

// moveBack moves the applications of the new queues, and counts those that remain.
func (t *tree) moveBack(ctx context.Context) (left int, failed error) {
	defer func() { t.client.SayCuts(&t.cuts, t.tell) }()
	for a, err := range t.client.Apps(ctx, rest.AppFilter{States: []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}}) {
		if err != nil {
			return left, err
		}
		// Before 3.3 an application has only the last part of the name, which no other queue has.
		if !slices.ContainsFunc(t.plan.Levels, func(l string) bool { return a.Queue == l || a.Queue == l[strings.LastIndexByte(l, '.')+1:] }) {
			continue
		}
		if _, err := t.client.MoveApp(ctx, a.ID, t.plan.Queue); err != nil {
			left++
			failed = err
			continue
		}
		t.tell("%s: %s -> %s", term.Name(a.ID), term.Name(a.Queue), t.plan.Queue)
		t.moved++
	}
	return left, failed
}

// running names the new queues that have not stopped yet.
func (t *tree) running(ctx context.Context) (states string, err error) {
	s, err := t.client.Scheduler(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range append([]string{t.plan.Parent}, t.plan.Levels...) {
		if q := s.Root.Find(name); q != nil && q.State != "STOPPED" {
			states += fmt.Sprintf(", %s is %s", name, q.State)
		}
	}
	return states, nil
}
