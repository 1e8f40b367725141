package synth

import (
	"errors"
	"hash/fnv"
	"io"
	"slices"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Jitter is by how much the submissions of a history move in a perturbed replay, either way: two minutes, or less where the history is short.
// More would smooth the bursts that people wait in.
func Jitter(span unit.Time) unit.Time { return min(2*unit.Minute, max(span/48, unit.Second)) }

// trade is the time within which jobs change places, in jitters: an hour for two minutes.
const trade = 30

// Jittered is a perturbed replay of a history: its submissions move by up to within, either way, and jobs of the same user and class within an
// hour change places. So other jobs meet, while the load of every hour, its bursts and everybody's work remain. How a job moves depends on the
// seed and on its ID, so variants of a workload move alike. Jobs that have a deadline keep their time until it. Seed 0 leaves the workload as it is.
func Jittered(of workload.Source, within unit.Time, seed uint64) workload.Source {
	if seed == 0 {
		return of
	}
	return &jittered{Source: of, within: within, seed: seed, held: heap.Heap[workload.Held]{Before: workload.Held.Before}}
}

// jittered reads the jobs of an hour together, and holds those that one of a later hour may still precede.
type jittered struct {
	workload.Source
	within unit.Time
	seed   uint64
	next   *workload.Job // the first of the next hour
	held   heap.Heap[workload.Held]
	read   int64
	ended  bool
}

func (j *jittered) Next() (*workload.Job, error) {
	for !j.ended && (len(j.held.Items) == 0 || j.next == nil || j.held.Items[0].Job.Submit > j.next.Submit-j.within) {
		if err := j.fill(); err != nil {
			return nil, err
		}
	}
	if len(j.held.Items) == 0 {
		return nil, io.EOF
	}
	return j.held.Pop().Job, nil
}

// fill reads the jobs of an hour, lets them change places, and moves them.
func (j *jittered) fill() error {
	var hour []*workload.Job
	for {
		if j.next != nil {
			if len(hour) > 0 && j.next.Submit/(trade*j.within) != hour[0].Submit/(trade*j.within) {
				break
			}
			hour = append(hour, j.next)
		}
		var err error
		if j.next, err = j.Source.Next(); errors.Is(err, io.EOF) {
			j.ended = true
			break
		} else if err != nil {
			return err
		}
	}
	like := map[[2]string][]*workload.Job{}
	for _, job := range hour {
		key := [2]string{job.User, job.Class}
		like[key] = append(like[key], job)
	}
	for key, jobs := range like {
		like[key] = slices.SortedStableFunc(slices.Values(jobs), func(a, b *workload.Job) int {
			if j.uniform(a, 1) < j.uniform(b, 1) {
				return -1
			}
			return 1
		})
	}
	for _, job := range hour {
		key := [2]string{job.User, job.Class}
		j.held.Push(workload.Held{Job: j.move(job, like[key][0]), N: j.read})
		like[key] = like[key][1:]
		j.read++
	}
	return nil
}

// uniform draws from [0,1) for a job.
func (j *jittered) uniform(job *workload.Job, what uint64) float64 {
	id := fnv.New64a()
	_, _ = io.WriteString(id, job.ID)
	return workload.Uniform01(workload.Seed(j.seed, what), id.Sum64())
}

// move is the work of one job, submitted in place of another and at another time.
func (j *jittered) move(at, work *workload.Job) *workload.Job {
	by := unit.Time(float64(j.within) * (2*j.uniform(at, 0) - 1))
	if at.Submit+by < 0 { // reflected, as nothing is before the start
		by = -2*at.Submit - by
	}
	job := *work // jobs are shared
	job.ID, job.Queue, job.Submit, job.Observed = at.ID, at.Queue, at.Submit+min(by, workload.MaxSubmit-at.Submit), nil
	if job.Deadline > 0 {
		job.Deadline += job.Submit - work.Submit
	}
	return &job
}

// Close closes the workload, if it can be closed.
func (j *jittered) Close() error {
	if c, ok := j.Source.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
