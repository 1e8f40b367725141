// Package aging is a steering policy for job priorities: it raises the priority of a job for every period that the job has waited, and restores it
// once the job runs. So no job starves behind a stream of jobs with a higher priority.
//
//	priority = its own + step * floor(time waited / after), at most max
//
// It works with schedulers that honour priorities: fifo and capacity in the simulator, the Capacity Scheduler of a real ResourceManager.
package aging

import (
	"fmt"
	"log/slog"
	"strconv"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is the policy's registry entry.
var Entry = steer.Entry{
	Name: "aging", Title: "raises the priority of jobs that wait too long, and restores it when they run",
	Params: []steer.Param{
		{Name: "after", Value: "TIME", Default: "600s", Help: "a job's priority is raised each time it has waited this long"},
		{Name: "step", Value: "N", Default: "1", Help: "step of a raise"},
		{Name: "max", Value: "N", Default: "10", Help: "max priority"},
		{Name: "interval", Value: "TIME", Default: "10s", Help: "sampling interval"},
	},
	Needs: steer.Needs{Priority: true},
	New:   func(s *steer.Setup) (steer.Steerer, error) { return newAging(s) },
}

type aging struct {
	queue           string
	after, interval unit.Time
	step, max       int
	raised          map[string]raise // by job
	now, due        unit.Time        // the last sample; no raise before due
	refused         int              // times in a row that raises were not made
	said            []slog.Attr
}

// raise is the original priority of a job, and the highest that was asked for.
type raise struct{ own, asked int }

var (
	_ steer.Explainer = (*aging)(nil)
	_ steer.Corrector = (*aging)(nil)
)

func newAging(s *steer.Setup) (*aging, error) {
	a := &aging{queue: s.Queue, after: 600 * unit.Second, interval: 10 * unit.Second, step: 1, max: 10, raised: map[string]raise{}}
	return a, s.Each(a.set)
}

func (a *aging) set(name, value string) (err error) {
	var n int
	var t unit.Time
	switch name {
	case "after", "interval":
		if t, err = unit.ParseTime(value); err != nil || t < unit.Second || t > unit.Day {
			return fmt.Errorf("%s: %q is not a time from a second to a day", name, value)
		}
	case "step", "max":
		if n, err = strconv.Atoi(value); err != nil || n < 1 || n > 1000 {
			return fmt.Errorf("%s: %q is not a whole number from 1 to 1000", name, value)
		}
	default:
		return fmt.Errorf("there is no setting %q", name)
	}
	switch name {
	case "after":
		a.after = t
	case "interval":
		a.interval = t
	case "step":
		a.step = n
	case "max":
		a.max = n
	}
	return nil
}

// Step implements steer.Steerer.
func (a *aging) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	if a.now >= a.due && a.due > 0 { // the raises of the last sample were made
		a.refused, a.due = 0, 0
	}
	a.now = seen.Now
	there := make(map[string]bool, len(seen.Jobs))
	for i := range seen.Jobs {
		j := &seen.Jobs[i]
		if j.Queue != a.queue {
			continue
		}
		there[j.ID] = true
		r, raised := a.raised[j.ID]
		ours := raised && j.Priority >= r.own && j.Priority <= r.asked // otherwise somebody else has set it
		switch {
		case j.Started && raised:
			delete(a.raised, j.ID)
			if ours && j.Priority != r.own {
				do = append(do, action(j, r.own, "it runs"))
			}
		case !j.Started && seen.Now >= a.due:
			if !ours {
				r.own = j.Priority
			}
			waited := seen.Now - j.Submitted
			want := max(r.own, min(r.own+a.step*int(min(waited/a.after, unit.Time(a.max))), a.max))
			if want > j.Priority {
				a.raised[j.ID] = raise{r.own, want}
				do = append(do, action(j, want, fmt.Sprintf("it has waited %v", waited)))
			}
		}
	}
	for id := range a.raised {
		if !there[id] {
			delete(a.raised, id)
		}
	}
	decision, why := "wait", fmt.Sprintf("nothing to change; %d above their own priority", len(a.raised))
	if len(do) > 0 {
		decision, why = "set", fmt.Sprintf("%d to change", len(do))
	}
	a.said = []slog.Attr{slog.Int("jobs", len(there)), slog.Int("raised", len(a.raised)), slog.String("decision", decision), slog.String("why", why)}
	return do, a.interval
}

func action(j *steer.Job, priority int, why string) steer.Action {
	return steer.Action{Kind: steer.SetPriority, Job: j.ID, Value: float64(priority), Why: why}
}

// Explain implements steer.Explainer.
func (a *aging) Explain() []slog.Attr { return a.said }

// NotMade implements steer.Corrector: raises are retried with backoff, up to an hour.
func (a *aging) NotMade(steer.Action) {
	if a.due <= a.now {
		a.refused++
		a.due = a.now + steer.Backoff(a.interval, a.refused)
	}
}
