package yard

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// An application's queue and priority are set over REST, whatever the scheduler. They have no mark.

// readJob reads a knob of an application.
func (y *Yard) readJob(ctx context.Context, k drive.Knob) (drive.Value, error) {
	if k.Kind == steer.SetPriority && !y.capacity() {
		return drive.Value{}, errors.New("the FairScheduler does not go by the priorities of applications")
	}
	a, err := y.c.App(ctx, k.Job)
	switch {
	case errors.Is(err, rest.ErrNotFound): // a ResourceManager that has just started may not know it yet
		return drive.Value{}, gone("the ResourceManager does not know %s", k.Job)
	case err != nil:
		return drive.Value{}, err
	case a.Ended():
		return drive.Value{}, fmt.Errorf("%s: %w", k.Job, drive.ErrEnded)
	case k.Kind == steer.SetPriority && (a.Priority < -1 || a.Priority > y.maxPriority): // -1: not set, which counts as 0
		return drive.Value{}, fmt.Errorf("%s has a priority of %d, which could not be restored: the cluster takes 0 to %d", k.Job, a.Priority, y.maxPriority)
	case k.Kind == steer.SetPriority:
		return y.Value(k, float64(a.Priority)), nil
	}
	if a.Queue == "" {
		return drive.Value{}, fmt.Errorf("the ResourceManager does not report the queue of %s", k.Job)
	}
	v := drive.Value{Text: a.Queue, Set: true}
	if !strings.HasPrefix(v.Text, "root.") { // older versions report the last component
		s, err := y.c.Scheduler(ctx)
		if err != nil {
			return drive.Value{}, err
		}
		q, err := findLeaf(s.Root, a.Queue)
		if err != nil {
			return drive.Value{}, err
		}
		v.Text = q.Path
	}
	return v, nil
}

// writeJob sets a knob of an application. A driver's own value, which has a mark, may only be written to an application in a steered queue, and must not move it to
// another. A priority above the cluster's maximum would be silently capped, and then be taken for
// somebody else's: it is rejected.
func (y *Yard) writeJob(ctx context.Context, k drive.Knob, v drive.Value) (err error) {
	if v.Mark != "" {
		in, err := y.readJob(ctx, drive.Knob{Kind: steer.MoveJob, Job: k.Job})
		if err != nil {
			return err
		}
		for _, queue := range []string{in.Text, v.Text} {
			if !y.may(queue) && (k.Kind == steer.MoveJob || queue == in.Text) {
				return fmt.Errorf("%v: queue %s is not one that is steered: not written", k, queue)
			}
		}
	}
	if k.Kind == steer.MoveJob {
		_, err = y.c.MoveApp(ctx, k.Job, v.Text)
		return outcomeOf(err)
	}
	n, err := strconv.Atoi(v.Text)
	if err != nil || n < 0 || int64(n) > y.maxPriority {
		return fmt.Errorf("%v: %q is not a whole number from 0 to the cluster's maximum of %d (yarn.cluster.max-application-priority): not written", k, v.Text, y.maxPriority)
	}
	_, err = y.c.SetPriority(ctx, k.Job, n)
	return outcomeOf(err)
}

// outcomeOf translates the error of a write for a driver.
func outcomeOf(err error) error {
	var unknown *rest.OutcomeUnknownError
	if errors.As(err, &unknown) || errors.Is(err, rest.ErrFormat) { // a page instead of a response: a gateway may have forwarded the request
		return fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
	}
	return err
}
