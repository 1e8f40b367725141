package capacity

import (
	"fmt"
	"math"
	"strconv"

	"github.com/yardmaster/yardmaster/studies/experiment"
)

func experiments() []experiment.Experiment {
	all := sensitivityExperiments()
	for _, v := range validations() {
		all = append(all, v.experiment())
	}
	for _, b := range blocks {
		all = append(all, b.experiments()...)
	}
	return append(append(all, avoidExperiments()...), orderExperiments()...)
}

// sensitivityRuns are S01 to S16.
var sensitivityRuns = func() [16]sensitivityRun {
	half, uneven, thirds, one := []float64{50, 50}, []float64{90, 10}, []float64{33, 33, 33}, []float64{100}
	return [16]sensitivityRun{
		{"two queues 50/50", settings{capacity: half}, 1},
		{"two queues 90/10", settings{capacity: uneven}, 1},
		{"three queues", settings{capacity: thirds}, 1},
		{"50/50 with a maximum-capacity", settings{capacity: half, capped: true}, 1},
		{"90/10 with a maximum-capacity", settings{capacity: uneven, capped: true}, 1},
		{"one queue, four TeraSorts, MULP 100", settings{capacity: one}, 1},
		{"one queue, four TeraSorts, MULP 25", settings{capacity: one, percent: 25}, 1},
		{"one queue, four TeraSorts, MULP 25, five reduces a job", settings{capacity: one, percent: 25}, 5},
		{"50/50, ULF 2", settings{capacity: half, factor: 2}, 1},
		{"90/10, two reduces a job", settings{capacity: uneven}, 2},
		{"90/10, ULF 2, two reduces a job", settings{capacity: uneven, factor: 2}, 2},
		{"50/50 with priorities", settings{capacity: half, priority: true}, 1},
		{"50/50, maximum-system-jobs 2", settings{capacity: half, systemJobs: 2}, 1},
		{"50/50, maximum-system-jobs 4", settings{capacity: half, systemJobs: 4}, 1},
		{"50/50, at most 100 active tasks", settings{capacity: half, activeTasks: 100, activeOfOne: 80}, 1},
		{"50/50, at most 160 active tasks", settings{capacity: half, activeTasks: 160, activeOfOne: 80}, 1},
	}
}()

type sensitivityRun struct {
	title   string
	s       settings
	reduces int64 // per job
}

// sensitivitySetup is the set-up of the i-th of them.
func sensitivitySetup(i int) setup {
	l := &sensitivityRuns[i]
	p := setup{on: sensitivityCluster, settings: l.s}
	if len(l.s.capacity) == 1 {
		p.jobs = fourTeraSorts(l.reduces)
	} else {
		p.jobs = threePrograms(len(l.s.capacity), l.reduces, l.s.priority)
	}
	return p
}

// sensitivityExperiments change one setting at a time on five real nodes.
func sensitivityExperiments() []experiment.Experiment {
	all := make([]experiment.Experiment, len(sensitivityRuns))
	for i, l := range sensitivityRuns {
		p := sensitivitySetup(i)
		work := "Sort, TeraSort and WordCount in each queue, 5 GB each, 1 s apart"
		if len(l.s.capacity) == 1 {
			work = "four TeraSorts of 5 GB, one a user, at once"
		}
		e := &all[i]
		e.ID, e.Group, e.Title, e.Run = fmt.Sprintf("S%02d", i+1), "sensitivity, five real nodes", l.title, p.run
		e.Setup = append(p.on.pairs(), experiment.Pair{Name: "work", Value: work + "; reduces a job: " + strconv.FormatInt(l.reduces, 10)})
		e.Setup = append(e.Setup, l.s.pairs()...)
		for q, v := range paper().Sensitivity[i] {
			if !math.IsNaN(v) {
				name := strconv.Itoa(q + 1)
				e.Reported = append(e.Reported, experiment.Reported{
					Metric: "makespan/q" + name, What: "Makespan, queue " + name, Unit: "s", Paper: v,
				})
			}
		}
	}
	return all
}

// validationRun is one of the V experiments.
type validationRun struct {
	name, title string
	slots       int64 // reduce slots per node
	s           settings
}

// validations are V1-* with one reduce slot per node and V2-* with two.
func validations() []validationRun {
	half := []float64{50, 50}
	var all []validationRun
	for slots := int64(1); slots <= 2; slots++ {
		all = append(all,
			validationRun{"Q1", "one queue, two users", slots, settings{capacity: []float64{100}}},
			validationRun{"Q2", "two queues 50/50", slots, settings{capacity: half}},
			validationRun{"MAXCAP", "50/50, maximum-capacity 50 %", slots, settings{capacity: half, capped: true}},
			validationRun{"MULP", "50/50, MULP 50", slots, settings{capacity: half, percent: 50}},
			validationRun{"MSJ", "50/50, maximum-system-jobs 2", slots, settings{capacity: half, systemJobs: 2}})
	}
	return all
}

func (v validationRun) setup() setup {
	p := setup{on: validationCluster(v.slots), settings: v.s}
	p.jobs, p.then = validation(len(v.s.capacity))
	return p
}

func (v validationRun) experiment() experiment.Experiment {
	p := v.setup()
	e := experiment.Experiment{
		ID: fmt.Sprintf("V%d-%s", v.slots, v.name), Group: "validation, four real nodes", Title: v.title, Run: p.run,
		Setup: append(append(p.on.pairs(), experiment.Pair{
			Name: "work",
			Value: "users 1 and 2 in queue 1, 3 and 4 in queue 2: TeraSort of 2 GB (users 2 and 4: 5 s later), Sort of 1 GB " +
				"when it is done",
		}), v.s.pairs()...),
		Reported: []experiment.Reported{{Metric: "stragglers", What: "Slow maps in a run", Paper: paper().Stragglers[v.name][v.slots-1] / 10,
			Note: "real; the source counts ten runs together"}},
	}
	if runs, ok := paper().Paired[e.ID]; ok {
		for i, job := range validationJobs {
			e.Reported = append(e.Reported, experiment.Reported{Metric: "paired/" + job, What: "Runs in which " + job + "'s reduce shared its node",
				Unit: "%", Paper: 10 * float64(runs.Real[i]), Note: fmt.Sprintf("real; the source's simulator: %d %%", 10*runs.Simulated[i])})
		}
	}
	return e
}

// setup is the set-up of one row.
func (b block) setup(i int) setup {
	return setup{on: studyCluster, settings: b.settings(i), jobs: mix(b.pattern)}
}

// experiments are the eight of a block.
func (b block) experiments() []experiment.Experiment {
	all := make([]experiment.Experiment, len(rows))
	for i := range rows {
		p := b.setup(i)
		e := &all[i]
		e.ID, e.Group, e.Run, e.Reported = b.ID(i), b.Name, p.run, b.reported(i)
		e.Title = b.Name + ", " + rows[i].String()
		work := experiment.Pair{Name: "work", Value: "100 jobs of seven types, " + string(b.pattern)}
		e.Setup = append(append(p.on.pairs(), work), p.settings.pairs()...)
	}
	return all
}

// String names a combination of the factorial.
func (r row) String() string {
	s := "no maximum"
	if r.capped {
		s = "capped"
	}
	return fmt.Sprintf("%s, ULF %g, MULP %g", s, r.factor, r.percent)
}

// pairs describes the machines for the page.
func (m machines) pairs() []experiment.Pair {
	d := m.model().Machine.Disk
	return []experiment.Pair{
		{Name: "machines", Value: fmt.Sprintf("%d of %d cores at %.1f GHz, %d map and %d reduce slots",
			m.nodes, m.cores, m.hertz/1e9, m.mapSlots, m.reduceSlots)},
		{Name: "disk", Value: fmt.Sprintf("%.0f MiB/s read, %.0f MiB/s written", d.Read/(1<<20), d.Write/(1<<20))},
		{Name: "network", Value: "one switch, 1 Gbit/s a node"},
	}
}
