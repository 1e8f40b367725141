package result

import (
	"math"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// figures are one finished job's values, in seconds. An undefined ratio is NaN.
type figures struct{ wait, run, elapsed, slowdown, response float64 }

// figuresOf uses integer times, so that a job without a wait has a response ratio of exactly 1.
func figuresOf(r *sim.JobRecord) figures {
	if r.Outcome != sim.Finished {
		return figures{slowdown: math.NaN(), response: math.NaN()}
	}
	submit, start := r.Job.Submit, r.Start
	if start < 0 { // it needed no container, so it waited for none
		start = submit
	}
	elapsed, run := r.Finish-submit, r.Finish-start
	return figures{
		wait:     (start - submit).Seconds(),
		run:      run.Seconds(),
		elapsed:  elapsed.Seconds(),
		slowdown: ratio(elapsed, r.Alone),
		response: ratio(elapsed, run),
	}
}

// ratio is a/b; 0/0 is 1, anything else over 0 is undefined.
func ratio(a, b unit.Time) float64 {
	switch {
	case b > 0:
		return float64(a) / float64(b)
	case a == 0:
		return 1
	}
	return math.NaN()
}

// RowOf converts a record into a row of jobs.parquet. What did not happen or is undefined is -1.
func RowOf(r *sim.JobRecord) JobRow {
	queue, user, class := names(r)
	row := JobRow{
		ID: r.Job.ID, Name: r.Job.Name, User: user, Queue: queue, Class: class,
		Outcome: r.Outcome.String(), Reason: r.Reason, Priority: int64(r.Job.Priority), Tasks: r.Job.Tasks(),
		Submit: r.Job.Submit.Seconds(), Start: -1, Finish: -1,
		Wait: -1, Run: -1, Elapsed: -1, Alone: r.Alone.Seconds(), Slowdown: -1, ResponseRatio: -1,
		ContainerTime: r.Service.Seconds(), Lost: r.Lost,
		NodeLocal: r.Near[policy.NodeLocal], RackLocal: r.Near[policy.RackLocal], OffRack: r.Near[policy.OffRack],
	}
	if r.Start >= 0 {
		row.Start = r.Start.Seconds()
		row.Wait = (r.Start - r.Job.Submit).Seconds()
	}
	if r.Finish >= 0 {
		row.Finish = r.Finish.Seconds()
	}
	if r.Outcome != sim.Finished {
		return row
	}
	f := figuresOf(r)
	row.Wait, row.Run, row.Elapsed = f.wait, f.run, f.elapsed
	if !math.IsNaN(f.slowdown) {
		row.Slowdown = round(f.slowdown)
	}
	if !math.IsNaN(f.response) {
		row.ResponseRatio = round(f.response)
	}
	return row
}
