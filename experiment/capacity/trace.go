package capacity

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// trace is what happened in one run: every job with every task that was done, in order of arrival.
type trace struct {
	jobs    []*played
	refused []string
}

// played is one job of a trace.
type played struct {
	job           *workload.Job
	seq           int64
	finish        unit.Time
	maps, reduces []task // by start, then by number
}

type task struct {
	number     int64
	node       string
	near       policy.Near
	start, end unit.Time
}

type recorder struct {
	bySeq   map[int64]*played
	refused []string
}

var _ sim.TaskSink = (*recorder)(nil)

func newRecorder() *recorder { return &recorder{bySeq: map[int64]*played{}} }

func (r *recorder) of(j *workload.Job, seq int64) *played {
	p := r.bySeq[seq]
	if p == nil {
		p = &played{job: j, seq: seq}
		r.bySeq[seq] = p
	}
	return p
}

// Task takes a task that ended. Attempts whose work was not done are none of the source's figures.
func (r *recorder) Task(t *sim.TaskRecord) {
	if t.Why != policy.Done || t.Stage < 0 {
		return
	}
	p := r.of(t.Job, t.Seq)
	done := task{number: t.Number, node: t.Node, near: t.Near, start: t.Start, end: t.End}
	if t.Job.Stages[t.Stage].Kind == workload.Map {
		p.maps = append(p.maps, done)
	} else {
		p.reduces = append(p.reduces, done)
	}
}

// Job takes a job that is gone.
func (r *recorder) Job(j *sim.JobRecord) {
	if j.Outcome != sim.Finished {
		r.refused = append(r.refused, j.Job.ID+": "+j.Outcome.String()+" "+j.Reason)
		return
	}
	r.of(j.Job, j.Seq).finish = j.Finish
}

// Sample is not used.
func (r *recorder) Sample(*sim.Sample) {}

// trace puts what was collected in order.
func (r *recorder) trace() *trace {
	t := &trace{refused: r.refused}
	for _, p := range r.bySeq {
		byStart := func(a, b task) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.number, b.number)) }
		slices.SortFunc(p.maps, byStart)
		slices.SortFunc(p.reduces, byStart)
		t.jobs = append(t.jobs, p)
	}
	slices.SortFunc(t.jobs, func(a, b *played) int { return cmp.Compare(a.seq, b.seq) })
	return t
}

// The times of a job, as the source defines them. Execution is elapsed less waiting, not map plus reduce: those overlap.

func (p *played) waiting() unit.Time   { return p.maps[0].start - p.job.Submit }
func (p *played) elapsed() unit.Time   { return p.finish - p.job.Submit }
func (p *played) execution() unit.Time { return p.elapsed() - p.waiting() }
func (p *played) mapTime() unit.Time   { return lastEnd(p.maps) - p.maps[0].start }

func (p *played) reduceTime() unit.Time {
	if len(p.reduces) == 0 {
		return 0
	}
	return lastEnd(p.reduces) - p.reduces[0].start
}

// responseRatio is elapsed over execution: 1 without waiting.
func (p *played) responseRatio() float64 { return p.elapsed().Seconds() / p.execution().Seconds() }

// rackLocal is the share of the maps that did not run on a node with a copy of their block. There is one rack.
func (p *played) rackLocal() float64 {
	var far int
	for _, m := range p.maps {
		if m.near != policy.NodeLocal {
			far++
		}
	}
	return float64(far) / float64(len(p.maps))
}

func lastEnd(tasks []task) unit.Time {
	var last unit.Time
	for _, t := range tasks {
		last = max(last, t.end)
	}
	return last
}
