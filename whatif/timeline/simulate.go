package timeline

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/executors"
)

// Alone simulates the application of a log alone, on a cluster where all of its executors fit, in ideal time. That has no wait for an AM, and
// does not know how long the driver takes to start: both drivers are ready at the same instant.
func Alone(ctx context.Context, l *Log) (*Comparison, error) {
	r := newRecorder(l.Job.ID)
	if err := new(executors.Plan).Alone(ctx, l.Job, r); err != nil {
		return nil, err
	}
	if err := r.check(l); err != nil {
		return nil, err
	}
	c := &Comparison{
		Log: l, How: "alone, on a cluster where all of its executors fit", AM: -1, Observed: l.observed(l.App.Submitted()),
		Axis: "since the application was submitted, as its log says; both drivers are ready to request executors at the same instant",
	}
	c.Simulated = r.timeline(max(r.up, r.job.Submit) - c.Observed.Ready)
	for i := range c.Simulated.Executors { // the machines are made up
		c.Simulated.Executors[i].Name = fmt.Sprint(i + 1)
	}
	return c, nil
}

// InHistory simulates a whole history by its own scenario. Both count from when the application was
// submitted to the cluster, as the history knows it: its wait for the AM counts.
func InHistory(ctx context.Context, l *Log, setup *scenario.Setup) (*Comparison, error) {
	r := newRecorder(l.Job.ID)
	spec := setup.Runs()[0]
	spec.Seed, spec.Sink = setup.Scenario.Seed, r
	spec.NoAlone = spec.NoAlone || spec.Deadlines.Factor == 0 && len(spec.Deadlines.Classes) == 0
	if _, err := run.Play(ctx, &spec); err != nil {
		return nil, err
	}
	if err := r.check(l); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Job.ID, err)
	}
	seen := r.job.Observed
	if seen == nil || seen.Finish <= r.job.Submit {
		return nil, fmt.Errorf("%s: the history does not say when the application ended", l.Job.ID)
	}
	c := &Comparison{
		Log: l, How: "in its history, under " + spec.Scheduler.Title(), AM: -1,
		Axis:     "since the application was submitted; the log's clock is set such that it ended when the history says",
		Observed: l.observed(l.App.Ended() - int64((seen.Finish-r.job.Submit)/unit.Millisecond)), Simulated: r.timeline(r.job.Submit),
	}
	if r.am >= 0 {
		c.AM = r.am - r.job.Submit
	}
	return c, nil
}
