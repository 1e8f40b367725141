package deadline

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// watch is an order that records the maps of jobs: how many run, and what the estimator says at each end.
type watch struct {
	policy.Order
	jobs map[string]*track
	last unit.Time

	running       int64
	busy          float64 // slot-seconds of maps
	idle          float64 // of slots without a map while a job is present
	waiting       float64 // seconds in which maps wait
	idleInWaiting float64 // slot-seconds idle meanwhile
}

// track is what is recorded of a job.
type track struct {
	present   bool
	unstarted int64
	steps     []step
	running   deadline.Running
	estimates []estimate
	end       unit.Time
}

// step is how many maps of a job run from then on.
type step struct {
	from unit.Time
	maps int
}

// estimate is when a job is going to end if it has all slots, as estimated then.
type estimate struct{ at, end float64 }

// advance accounts for the time since the last event.
func (w *watch) advance(now unit.Time) {
	d := (now - w.last).Seconds()
	w.last = now
	if d == 0 {
		return
	}
	present, pending := false, int64(0)
	for _, t := range w.jobs {
		present = present || t.present
		pending += t.unstarted
	}
	w.busy += float64(w.running) * d
	if present {
		w.idle += float64(slots-w.running) * d
	}
	if pending > 0 {
		w.waiting += d
		w.idleInWaiting += float64(slots-w.running) * d
	}
}

// Arrived implements policy.Order.
func (w *watch) Arrived(now unit.Time, j *policy.Job) error {
	w.advance(now)
	w.jobs[j.ID] = &track{present: true, unstarted: j.Stages[0].Tasks}
	return w.Order.Arrived(now, j)
}

// Started implements policy.Order.
func (w *watch) Started(e *policy.Event) {
	w.Order.Started(e)
	if e.Stage != 0 {
		return
	}
	w.advance(e.Now)
	t := w.jobs[e.Job.ID]
	t.unstarted--
	w.running++
	t.running.Add(e.Now)
	t.steps = append(t.steps, step{e.Now, t.running.Len()})
}

// Ended implements policy.Order.
func (w *watch) Ended(e *policy.Event) {
	w.Order.Ended(e)
	if e.Stage != 0 {
		return
	}
	w.advance(e.Now)
	t, s := w.jobs[e.Job.ID], &e.Job.Stages[0]
	w.running--
	t.running.Remove(e.Now - e.Held)
	t.steps = append(t.steps, step{e.Now, t.running.Len()})
	mean := float64(s.Worked) / float64(s.Done)
	left := t.running.Left(e.Now, mean, true) + float64(t.unstarted)*mean
	t.estimates = append(t.estimates, estimate{e.Now.Seconds(), (float64(e.Now) + left/slots) / float64(unit.Second)})
}

// Left implements policy.Order.
func (w *watch) Left(now unit.Time, j *policy.Job) {
	w.advance(now)
	w.jobs[j.ID].present, w.jobs[j.ID].end = false, now
	w.Order.Left(now, j)
}

// play runs jobs under a policy.
func play(ctx context.Context, seed uint64, jobs workload.Slice, fresh func() (policy.Policy, error)) (*watch, error) {
	w := &watch{jobs: map[string]*track{}}
	sum, err := run.Play(ctx, &run.Spec{Cluster: cluster.WithSlots(slots, 1, 1, 1), Workload: run.Jobs(jobs), Seed: seed, NoAlone: true, Model: sim.Model{Sample: unit.Hour}, Scheduler: run.Scheduler{
		New: func() (policy.Policy, error) {
			made, err := fresh()
			w.Order, made.Order = made.Order, w
			return made, err
		},
	}})
	if err == nil && sum.Finished != int64(len(jobs)) {
		err = fmt.Errorf("%d of %d jobs finished", sum.Finished, len(jobs))
	}
	return w, err
}

// at is the number of maps of a job that run at a time, in seconds.
func (t *track) at(seconds float64) (maps int) {
	for _, s := range t.steps {
		if s.from.Seconds() > seconds {
			break
		}
		maps = s.maps
	}
	return maps
}

// mean is the mean number of maps that run between two times, and peak the largest.
func (t *track) mean(from, to float64) (mean, peak float64) {
	for i, s := range t.steps {
		begin, end := max(s.from.Seconds(), from), to
		if i+1 < len(t.steps) {
			end = min(t.steps[i+1].from.Seconds(), to)
		}
		if end > begin {
			mean += float64(s.maps) * (end - begin)
			peak = max(peak, float64(s.maps))
		}
	}
	return mean / (to - from), peak
}

// curveStep is the distance between the points of a curve, in seconds.
const curveStep = 100

// figures are the figures of a run of all four jobs with a join goal.
func (w *watch) figures(m x.Metrics, prefix string, joinGoal float64) {
	lastMap := 0.0
	for _, name := range names {
		t := w.jobs[name]
		submit, goal := submits[name], cmp.Or(goals[name], joinGoal)
		took := t.end.Seconds() - submit
		at := prefix + name + "/"
		m[at+"length"], m[at+"ratio"], m[at+"late"], m[at+"met"] = took, took/goal, took-goal, 0
		if took <= goal {
			m[at+"met"] = 1
		}
		_, m[at+"peak"] = t.mean(submit, submit+took)
		lastMap = max(lastMap, t.steps[len(t.steps)-1].from.Seconds())
		for s := float64(curveStep); s <= 6600; s += curveStep {
			mean, _ := t.mean(s, s+curveStep)
			m[fmt.Sprintf("%scurve/%04.0f", at, s)] = mean
		}
	}
	j1 := w.jobs["J1"]
	m[prefix+"J1/early"], _ = j1.mean(100, submits["J2"])
	m[prefix+"J1/at500"], m[prefix+"J1/at5000"] = float64(j1.at(500)), float64(j1.at(5000))
	_, m[prefix+"J2/burst"] = w.jobs["J2"].mean(submits["J2"], submits["J2"]+slots)
	m[prefix+"idle"] = w.idle
	m[prefix+"utilisation"] = w.busy / (slots * lastMap)
	m[prefix+"waiting-utilisation"] = 1 - w.idleInWaiting/(slots*w.waiting)
}

// accuracy are the figures of the estimates of a job that ran alone. They are about maps: off is relative to the end of the last one.
func (t *track) accuracy(m x.Metrics, prefix string) {
	end, whole := t.estimates[len(t.estimates)-1].at, t.end.Seconds()
	m[prefix+"length"], m[prefix+"maps"] = whole, end
	m[prefix+"first"] = t.estimates[0].end/end - 1
	var largest, near, nearJob, last float64
	var halves [2]float64
	early := math.Inf(-1)
	curve := 0
	for i, e := range t.estimates[:len(t.estimates)-1] {
		off, until := e.end/end-1, t.estimates[i+1].at
		for ; float64(curve)*end/20 < until; curve++ {
			if float64(curve)*end/20 >= e.at {
				m[fmt.Sprintf("%scurve/%03d", prefix, 5*curve)] = 100 * off
			}
		}
		size := math.Abs(off)
		largest = max(largest, size)
		if size < 0.05 {
			near += until - e.at
		}
		if math.Abs(e.end/whole-1) < 0.05 {
			nearJob += until - e.at
		}
		if size > 0.10 {
			last = until
		}
		if e.at < end/4 {
			early = max(early, off)
		}
		first := max(0, min(until, end/2)-e.at)
		halves[0] += size * first
		halves[1] += size * (until - e.at - first)
	}
	m[prefix+"largest"], m[prefix+"close"], m[prefix+"close-job"], m[prefix+"early"], m[prefix+"last10"] = largest, near/end, nearJob/whole, early, last/end
	m[prefix+"half1"], m[prefix+"half2"] = halves[0]/(end/2-t.estimates[0].at), halves[1]/(end/2)
}
