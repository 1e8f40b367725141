package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// replay is a run of jobs of which all is known: predictions from any instant of it can be compared with what comes.
type replay struct {
	jobs       map[int64]sim.JobRecord // by number
	containers map[int64][]yarn.ContainerRecord
	n, left    int64 // jobs to wait for: the first n
	stop       func()
}

// replayed plays jobs on a view's cluster until the first n have left. Some are left if that takes too long.
func replayed(ctx context.Context, v *View, jobs workload.Slice, n int, seed uint64) (*replay, error) {
	in, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p := &replay{jobs: map[int64]sim.JobRecord{}, containers: map[int64][]yarn.ContainerRecord{}, n: int64(n), left: int64(n), stop: func() { stop(errDone) }}
	spec := run.Spec{Cluster: v.Cluster, Scheduler: v.Scheduler, Timing: &v.Timing, NoAlone: true, Seed: seed, Workload: run.Jobs(jobs), Sink: p,
		Containers: func(r *yarn.ContainerRecord) { p.containers[r.Seq] = append(p.containers[r.Seq], *r) }}
	spec.Model.Sample = unit.Hour
	stopAfter(&spec, new(atomic.Int64), p.stop)
	if _, err := run.Play(in, &spec); err != nil && !errors.Is(err, errDone) {
		return nil, err
	}
	for _, list := range p.containers {
		slices.SortStableFunc(list, func(a, b yarn.ContainerRecord) int { return cmp.Compare(a.Allocated, b.Allocated) })
	}
	return p, context.Cause(ctx)
}

func (p *replay) Job(r *sim.JobRecord) {
	p.jobs[r.Seq] = *r
	if r.Seq < p.n {
		p.left--
	}
	if p.left == 0 {
		p.stop()
	}
}

func (*replay) Sample(*sim.Sample) {}

// viewAt is what a ResourceManager would have shown at an instant, and the numbers of the applications' jobs.
func (p *replay) viewAt(now unit.Time, v View) (*View, []int64) {
	v.Now, v.Apps, v.Notes, v.Used, v.unread = now, nil, nil, nil, 0
	var seqs []int64
	for seq, r := range p.jobs {
		if r.Job.Submit+v.Timing.SubmitToAdded <= now && r.Finish > now {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	for _, seq := range seqs {
		v.Apps = append(v.Apps, p.appAt(now, p.jobs[seq].Job, p.containers[seq], &v.Timing))
	}
	return &v, seqs
}

func (p *replay) appAt(now unit.Time, j *workload.Job, list []yarn.ContainerRecord, t *yarn.Timing) App {
	a := App{ID: j.ID, Name: j.Name, User: j.User, Queue: j.Queue, Priority: j.Priority, Submitted: j.Submit, AM: j.AM, Unmanaged: j.AM.IsZero()}
	a.Up = a.Unmanaged && j.Submit+t.SubmitToAdded+t.UnmanagedStart <= now
	got, done := make([]int64, len(j.Stages)), make([]int64, len(j.Stages))
	for _, c := range list {
		if c.Allocated > now {
			break
		}
		held := c.Freed < 0 || c.Freed > now
		until := c.Freed
		if held {
			until = now
			a.Held = append(a.Held, Container{AM: c.Stage == policy.AMStage, Priority: c.Priority, Node: c.Node, Size: c.Size, Since: c.Allocated})
		}
		a.Service += (until - c.Allocated).Seconds() * float64(c.Size.Mem)
		if c.Stage >= 0 && (held || !c.Killed) {
			got[c.Stage]++
			if c.Ended >= 0 && c.Ended <= now {
				done[c.Stage]++
			}
		}
		if c.Stage == policy.AMStage {
			a.Up = c.Allocated+t.AMStart <= now
		}
	}
	if !a.Up && !a.Unmanaged && len(a.Held) == 0 {
		a.Asks = []rm.Ask{{Place: rm.Anywhere, Count: 1, Size: j.AM}}
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		priority, open := int32(i+1), a.Up
		if am.IsMapReduce(j) {
			priority = []int32{20, 10}[min(i, 1)]
		}
		for _, e := range s.After {
			open = open && float64(done[e.From]) >= e.SlowStart*float64(j.Stages[e.From].Tasks)
		}
		if n := s.Tasks - got[i]; open && n > 0 {
			a.Asks = append(a.Asks, rm.Ask{Priority: priority, Place: rm.Anywhere, Count: n, Size: s.Ask})
		}
	}
	return a
}

// stopAfter stops a simulation when it and earlier ones have had more than maxEvents events.
func stopAfter(spec *run.Spec, earlier *atomic.Int64, stop func()) {
	spec.Progress = func(p sim.Progress) {
		if earlier.Load()+p.Events > maxEvents {
			stop()
		}
	}
}
