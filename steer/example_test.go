package steer_test

import (
	"fmt"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// A steering policy is a step function: a snapshot goes in; actions and the time until the next sample come out. This one
// raises the priority of jobs that have waited ten minutes.
func Example() {
	impatient := steer.Func(func(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
		for _, j := range seen.Jobs {
			if waited := seen.Now - j.Submitted; !j.Started && j.Priority == 0 && waited >= 10*unit.Minute {
				do = append(do, steer.Action{Kind: steer.SetPriority, Job: j.ID, Value: 5, Why: fmt.Sprint("has waited ", waited)})
			}
		}
		return do, 30 * unit.Second
	})

	do, again := impatient.Step(&steer.Snapshot{
		Now: 15 * unit.Minute,
		Jobs: []steer.Job{
			{ID: "etl", Started: true},
			{ID: "report"},
			{ID: "query", Submitted: 14 * unit.Minute},
		},
	})
	for _, a := range do {
		fmt.Printf("set the priority of %s to %v: %s\n", a.Job, a.Value, a.Why)
	}
	fmt.Println("next sample in", again)
	// Output:
	// set the priority of report to 5: has waited 15 min
	// next sample in 30 s
}
