package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// trace is what happened in one run: every job with every completed task, in order of arrival.
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

// Task records a task that ended. The source's figures do not count attempts whose work was lost.
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

// Job records a finished job.
func (r *recorder) Job(j *sim.JobRecord) {
	if j.Outcome != sim.Finished {
		r.refused = append(r.refused, j.Job.ID+": "+j.Outcome.String()+" "+j.Reason)
		return
	}
	r.of(j.Job, j.Seq).finish = j.Finish
}

// Sample is a no-op.
func (r *recorder) Sample(*sim.Sample) {}

// trace sorts what was collected.
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

// The times of a job, as the source defines them. Execution is elapsed minus waiting, not map plus reduce: those overlap.

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

// metrics are the figures of one run. Times are in seconds, shares in percent.
//
//	makespan/q1             when the queue's last job finished, from instant 0
//	wait, exec, elapsed, map, reduce, ratio
//	  wait/5, wait/5/q1     means over the jobs of a class (a type, or a program), in all queues or in one
//	  wait/short            of all short jobs of the mix, or all long ones
//	  wait/q1/Sort          of one job, by its ID; of the mix exec only
//	rack-local/5, .../q1    share of maps without a copy of their block on the node, mean over jobs

// delayed, delayed/5, ... jobs that met delayed map execution: count; by class, share of the jobs
// paired/ID, paired       whether a reduce of the job shared its node with another job's; their share of all jobs
// at-once/q1              maximum number of the queue's jobs executing at one time
// occupancy               mean time that a map holds its slot
// stragglers              maps that took more than twice the median of their job's
func (tr *trace) metrics() experiment.Metrics {
	m := means{}
	out := experiment.Metrics{}
	paired, delayed := tr.paired(), tr.delayed()
	var pairs, delays float64
	for _, p := range tr.jobs {
		queue := p.job.Queue
		groups := []string{p.job.Class}
		t, ofMix := typeOf(p.job)
		if ofMix {
			groups = append(groups, map[bool]string{true: "long", false: "short"}[long(t)])
		}
		for name, v := range map[string]float64{
			"wait":       p.waiting().Seconds(),
			"exec":       p.execution().Seconds(),
			"elapsed":    p.elapsed().Seconds(),
			"map":        p.mapTime().Seconds(),
			"reduce":     p.reduceTime().Seconds(),
			"ratio":      p.responseRatio(),
			"rack-local": 100 * p.rackLocal(),
			"delayed":    100 * one(delayed[p]),
		} {
			for _, group := range groups {
				m.add(name+"/"+group, v)
				m.add(name+"/"+group+"/"+queue, v)
			}
			if name == "exec" || !ofMix { // a hundred jobs with eight figures each would be too many
				out[name+"/"+p.job.ID] = v
			}
		}
		if !ofMix {
			out["paired/"+p.job.ID] = 100 * one(paired[p])
		}
		pairs += one(paired[p])
		delays += one(delayed[p])
		out["makespan/"+queue] = math.Max(out["makespan/"+queue], p.finish.Seconds())
		out["makespan"] = math.Max(out["makespan"], p.finish.Seconds())
		if name := "at-once/" + queue; out[name] == 0 {
			out[name] = float64(tr.atOnce(queue))
		}
		for _, task := range p.maps {
			m.add("occupancy", (task.end - task.start).Seconds())
			m.add("occupancy/"+p.job.Class, (task.end - task.start).Seconds())
		}
		for _, task := range p.reduces {
			name := "reduce-alone"
			if paired[p] {
				name = "reduce-paired"
			}
			m.add(name, (task.end - task.start).Seconds())
		}
	}
	out["delayed"] = delays
	out["paired"] = 100 * pairs / float64(len(tr.jobs))
	out["stragglers"] = float64(tr.stragglers())
	for name, values := range m {
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		out[name] = sum / float64(len(values))
	}
	return out
}

// means gathers values by name. Jobs come in order, so sums do not depend on map iteration order.
type means map[string][]float64

func (m means) add(name string, v float64) { m[name] = append(m[name], v) }

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
