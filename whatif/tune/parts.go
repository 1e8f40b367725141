package tune

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Part is a stretch of history on which settings are tried, in one replay. The same seed for all settings means that they differ
// in nothing else.
type Part struct {
	Name string // of the stretch; its replays share it
	// Run runs the part with changed settings.
	Run  func(ctx context.Context, changes []edit.Change) (*result.Run, error)
	base *result.Run // under the present settings
}

// History is a history in parts: those that are searched, those on which candidates may be rejected, and those that only the
// answer sees, once.
type History struct {
	// Search has the days as they were, the busiest one first, then perturbed replays of them: submissions move by up to half an
	// hour. So the first part, the first Days parts and all parts are tests of growing size.
	Search []*Part
	Days   int
	// Validation is other days, or other replays of the days searched where there are too few.
	Validation   []*Part
	Confirmation []*Part
	// Repeated: the history is too short to keep a part of it from the search. It is confirmed on replays that nothing saw.
	Repeated bool
}

// Replays of each day: in the search and the validation, and to confirm the answer.
const (
	replays          = 3
	confirmedReplays = 5
)

const maxSpan = 400 // days of history

// Divide cuts the history of a scenario into days. The last third of them confirms the answer, unless there are others to do
// that; a fifth of them, before those, are the validation. A history of less than three days is cut into thirds, if every queue
// has jobs enough in each of them.
func Divide(setup *scenario.Setup, others []*scenario.Setup) (*History, error) {
	jobs, err := read(setup)
	if err != nil {
		return nil, err
	}
	first := jobs[0].Submit
	span := jobs[len(jobs)-1].Submit - first + 1
	long, n := unit.Day, max(1, int((span+unit.Day*3/4)/unit.Day)) // less than a quarter of a day belongs to the day before
	if n > maxSpan {
		return nil, fmt.Errorf("workload %s has %d days: at most %d are supported", setup.Workload.Title, n, maxSpan)
	}
	h, name, confirm, validate := &History{}, "day %d", n/3, n/5
	switch {
	case len(others) > 0:
		confirm = 0
	case n < 3:
		if long, n, confirm, name = span/3+1, 3, 1, "third %d"; !enough(jobs, first, long) {
			long, n, confirm, h.Repeated = span, 1, 0, true
		}
	}
	cut := make([]workload.Slice, n)
	for _, j := range jobs {
		k := min(int((j.Submit-first)/long), n-1)
		cut[k] = append(cut[k], j)
	}
	var days, validation, confirmation []*day
	most := 0.0
	for k, list := range cut {
		if len(list) == 0 {
			continue
		}
		d := newDay(setup, fmt.Sprintf(name, k+1), list, first+unit.Time(k)*long)
		if n == 1 {
			d.name = "the whole history"
		}
		switch w := work(list); {
		case k >= n-confirm:
			confirmation = append(confirmation, d)
		case k >= n-confirm-validate:
			validation = append(validation, d)
		case w > most:
			most = w
			days = slices.Insert(days, 0, d)
		default:
			days = append(days, d)
		}
	}
	for _, o := range others {
		list, err := read(o)
		if err != nil {
			return nil, err
		}
		confirmation = append(confirmation, newDay(o, o.Workload.Title, list, list[0].Submit))
	}
	h.Days, h.Search = len(days), replayed(days, 0, replays)
	if h.Validation = replayed(validation, 0, replays); len(validation) == 0 {
		h.Validation = replayed(days, replays, replays)
	}
	if h.Confirmation = replayed(confirmation, 0, confirmedReplays); h.Repeated {
		h.Confirmation = replayed(days, 2*replays, confirmedReplays)
	}
	return h, nil
}

// enough reports whether every queue has jobs enough in each third of a history for a 95th percentile.
func enough(jobs workload.Slice, first, third unit.Time) bool {
	count := map[string]*[3]int{}
	for _, j := range jobs {
		if count[j.Queue] == nil {
			count[j.Queue] = &[3]int{}
		}
		count[j.Queue][min(int((j.Submit-first)/third), 2)]++
	}
	for _, n := range count {
		if slices.Min(n[:]) < goal.MinJobs {
			return false
		}
	}
	return true
}

// day is a stretch of history to be replayed.
type day struct {
	name  string
	setup *scenario.Setup
	jobs  workload.Slice
}

// newDay makes a day of jobs, which start at a time.
func newDay(setup *scenario.Setup, name string, jobs workload.Slice, start unit.Time) *day {
	d := &day{name: name, setup: setup, jobs: make(workload.Slice, len(jobs))}
	for i, j := range jobs {
		c := *j
		if c.Submit -= start; c.Deadline > 0 {
			c.Deadline = max(1, c.Deadline-start)
		}
		d.jobs[i] = &c
	}
	return d
}

// replayed are replays of days, from a number on: all days in the first one, then in the next. Replay 0 is the history itself.
func replayed(days []*day, from, n int) (parts []*Part) {
	for k := range n {
		for _, d := range days {
			parts = append(parts, d.part(uint64(from+k))) //nolint:gosec // small
		}
	}
	return parts
}

func (d *day) part(replay uint64) *Part {
	var once sync.Once
	var alone *sim.Alone
	within := synth.Jitter(d.jobs[len(d.jobs)-1].Submit - d.jobs[0].Submit)
	jobs := run.Jobs(d.jobs)
	if replay > 0 {
		jobs.Open = func(uint64) (workload.Source, error) { return synth.Jittered(d.jobs.Source(), within, replay), nil }
	}
	return &Part{Name: d.name, Run: func(ctx context.Context, changes []edit.Change) (*result.Run, error) {
		with, err := d.setup.Variant(scenario.Variant{Name: "candidate", Changes: words(changes)})
		if err != nil {
			return nil, err
		}
		s := with.Runs()[0]
		s.Workload, s.Seed = jobs, d.setup.Scenario.Seed+replay
		once.Do(func() { alone = sim.NewAlone(d.setup.Cluster, d.setup.Model, s.Seed) })
		s.Alone = alone
		got, err := run.Result(ctx, s)
		if err != nil {
			return nil, err
		}
		return got.Run, ctx.Err()
	}}
}

// words are changes as they are typed.
func words(changes []edit.Change) []string {
	list := make([]string, len(changes))
	for i, c := range changes {
		list[i] = c.String()
	}
	return list
}

// work is the container-time that jobs need, in seconds.
func work(jobs workload.Slice) (sum float64) {
	for _, j := range jobs {
		sum += j.Work()
	}
	return sum
}

// Whole is all of a scenario's history as one part.
func Whole(setup *scenario.Setup) (*Part, error) {
	jobs, err := read(setup)
	if err != nil {
		return nil, err
	}
	return newDay(setup, setup.Workload.Title, jobs, jobs[0].Submit).part(0), nil
}

func read(setup *scenario.Setup) (workload.Slice, error) {
	jobs, err := setup.Workload.Read(setup.Scenario.Seed)
	if err == nil && len(jobs) == 0 {
		err = fmt.Errorf("workload %s holds no jobs: there is nothing to run", setup.Workload.Title)
	}
	return jobs, err
}
