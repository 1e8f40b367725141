package tune

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Part is a stretch of history on which settings are tried. The same seed for all of them means that they differ in nothing else.
type Part struct {
	Name string
	// Run runs the part with changed settings.
	Run  func(ctx context.Context, changes []edit.Change) (*result.Run, error)
	base *result.Run // under the present settings
	// quiet: only the bounds count here, not the goal.
	quiet bool
}

// History is a history in parts. The days are searched and the held-out ones are not.
type History struct {
	Busy []*Part // the busiest hours of the busiest day, which comes first; none: the day is hardly longer
	// Quiet is a quarter of their jobs. A limit that nobody feels where the queues are full is the only thing that holds a queue back where they are not:
	// settings that break a bound on other days mostly break it here.
	Quiet   []*Part
	Days    []*Part
	HeldOut []*Part
	Whole   bool // too short for days: cut into thirds
}

const (
	busyHours = 4
	maxSpan   = 400 // days of history
)

// Divide cuts the history of a scenario into days. The last third is held out, unless there are others: a history of less than three days is
// cut into three parts then.
func Divide(setup *scenario.Setup, others []*scenario.Setup) (*History, error) {
	jobs, err := read(setup)
	if err != nil {
		return nil, err
	}
	first := jobs[0].Submit
	span := jobs[len(jobs)-1].Submit - first + 1
	long, n := unit.Day, max(1, int((span+unit.Day/4)/unit.Day)) // less than a quarter of a day belongs to the day before
	h := &History{}
	switch {
	case n > maxSpan:
		return nil, fmt.Errorf("workload %s has %d days: at most %d are supported", setup.Workload.Title, n, maxSpan)
	case len(others) == 0 && n < 3:
		long, n, h.Whole = span/3+1, 3, true
	}
	cut := make([]workload.Slice, n)
	for _, j := range jobs {
		k := min(int((j.Submit-first)/long), n-1)
		cut[k] = append(cut[k], j)
	}
	held, most := n/3, 0.0
	if len(others) > 0 {
		held = 0
	}
	for k, day := range cut {
		if len(day) == 0 {
			continue
		}
		name := fmt.Sprintf("day %d", k+1)
		if h.Whole {
			name = fmt.Sprintf("part %d of 3", k+1)
		}
		part := newPart(setup, name, day, first+unit.Time(k)*long)
		switch w := work(day); {
		case k >= n-held:
			h.HeldOut = append(h.HeldOut, part)
		case w > most:
			most = w
			h.Busy, h.Quiet = busiest(setup, name, day)
			h.Days = slices.Insert(h.Days, 0, part)
		default:
			h.Days = append(h.Days, part)
		}
	}
	for _, o := range others {
		part, err := Whole(o)
		if err != nil {
			return nil, err
		}
		h.HeldOut = append(h.HeldOut, part)
	}
	if len(h.Days) == 0 || len(h.HeldOut) == 0 {
		return nil, fmt.Errorf("workload %s has no jobs to search with and others to confirm with: give --hold-out, or a longer history", setup.Workload.Title)
	}
	return h, nil
}

// newPart makes a part of jobs, which start at a time.
func newPart(setup *scenario.Setup, name string, jobs workload.Slice, start unit.Time) *Part {
	shifted := make(workload.Slice, len(jobs))
	for i, j := range jobs {
		c := *j
		if c.Submit -= start; c.Deadline > 0 {
			c.Deadline = max(1, c.Deadline-start)
		}
		shifted[i] = &c
	}
	var once sync.Once
	var alone *sim.Alone
	return &Part{Name: name, Run: func(ctx context.Context, changes []edit.Change) (*result.Run, error) {
		with, err := setup.Variant(scenario.Variant{Name: "candidate", Changes: words(changes)})
		if err != nil {
			return nil, err
		}
		s := with.Runs()[0]
		s.Workload, s.Seed = run.Jobs(shifted), setup.Scenario.Seed
		once.Do(func() { alone = sim.NewAlone(setup.Cluster, setup.Model, s.Seed) })
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

// busiest is the part of a day with most work submitted, and that part with a quarter of its jobs. The day is it all if it is hardly longer.
func busiest(setup *scenario.Setup, day string, jobs workload.Slice) (busy, quiet []*Part) {
	first, last, most := jobs[0].Submit, jobs[len(jobs)-1].Submit, -1.0
	at := func(t unit.Time) int {
		return sort.Search(len(jobs), func(i int) bool { return jobs[i].Submit >= t })
	}
	name, start, within := day, first, jobs
	if last-first >= (2*busyHours-1)*unit.Hour {
		for hour := first; hour <= last-(busyHours-1)*unit.Hour; hour += unit.Hour {
			list := jobs[at(hour):at(hour+busyHours*unit.Hour)]
			if w := work(list); w > most {
				most, start, within = w, hour, list
			}
		}
		name = fmt.Sprintf("the busiest %d hours of %s", busyHours, day)
		busy = []*Part{newPart(setup, name, within, start)}
	}
	seen := map[string]int{}
	few := slices.DeleteFunc(slices.Clone(within), func(j *workload.Job) bool {
		seen[j.Queue]++
		return seen[j.Queue]%4 != 1
	})
	part := newPart(setup, name+", every fourth job", few, start)
	part.quiet = true
	return busy, []*Part{part}
}

// work is the container-time that jobs need, in seconds.
func work(jobs workload.Slice) (sum float64) {
	for _, j := range jobs {
		for i := range j.Stages {
			st := &j.Stages[i]
			const sampled = 16 // tasks: more would not change which hours are busy
			n := min(st.Tasks, sampled)
			for k := range n {
				sum += st.Length.Draw(k*st.Tasks/n, 1).Seconds() * float64(st.Tasks) / float64(n)
			}
		}
	}
	return sum
}

// Whole is all of a scenario's history as one part.
func Whole(setup *scenario.Setup) (*Part, error) {
	jobs, err := read(setup)
	if err != nil {
		return nil, err
	}
	return newPart(setup, setup.Workload.Title, jobs, jobs[0].Submit), nil
}

func read(setup *scenario.Setup) (workload.Slice, error) {
	jobs, err := setup.Workload.Read(setup.Scenario.Seed)
	if err == nil && len(jobs) == 0 {
		err = fmt.Errorf("workload %s holds no jobs: there is nothing to run", setup.Workload.Title)
	}
	return jobs, err
}
