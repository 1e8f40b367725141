package study

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

// times are the times of jobs, s, by name; means where several runs were added.
type times struct {
	job, queue map[string]float64 // sums over runs; of a queue: means of its jobs
	makespan   float64
	n          float64
	queueOf    map[string]string
}

func newTimes() *times {
	return &times{job: map[string]float64{}, queue: map[string]float64{}, queueOf: map[string]string{}}
}

// add counts one run.
func (t *times) add(one map[string]float64, makespan float64) {
	jobs := map[string]float64{}
	for name, s := range one {
		t.job[name] += s
		jobs[t.queueOf[name]]++
	}
	for name, s := range one {
		t.queue[t.queueOf[name]] += s / jobs[t.queueOf[name]]
	}
	t.makespan += makespan
	t.n++
}

func (t *times) of(name string) float64    { return t.job[name] / t.n }
func (t *times) mean(queue string) float64 { return t.queue[queue] / t.n }
func (t *times) span() float64             { return t.makespan / t.n }

// oneRun is the times of the jobs of one run, and its length.
type oneRun struct {
	times    map[string]float64
	from, to float64
}

func (o *oneRun) add(t *times, name, queue string, submit, finish float64) {
	if len(o.times) == 0 {
		o.times, o.from = map[string]float64{}, submit
	}
	t.queueOf[name], o.times[name] = short(queue), finish-submit
	o.from, o.to = min(o.from, submit), max(o.to, finish)
}

func (t *times) addResult(file string, p *Phase) error {
	rows, err := result.OpenJobs(file)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // it was only read
	var one oneRun
	for {
		r, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name, ok := p.Names[r.ID]
		if !ok || r.Finish < 0 {
			return fmt.Errorf("job %s did not end in the simulation, or did not run on the cluster", r.ID)
		}
		one.add(t, name, r.Queue, r.Submit, r.Finish)
	}
	t.add(one.times, one.to-one.from)
	return nil
}

// measured has what the cluster did, as the import tells it.
func measured(run string, p *Phase) (*times, error) {
	r, err := jobfile.Open(filepath.Join(imported(run, p.Name), "jobs.parquet"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	all, err := workload.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t := newTimes()
	var one oneRun
	for _, j := range all {
		name, ok := p.Names[j.ID]
		if !ok || j.Observed == nil {
			return nil, fmt.Errorf("the import has job %s, which the study does not know, or not its times", j.ID)
		}
		one.add(t, name, j.Queue, j.Submit.Seconds(), j.Observed.Finish.Seconds())
	}
	t.add(one.times, one.to-one.from)
	return t, nil
}

func short(queue string) string { return queue[strings.LastIndexByte(queue, '.')+1:] }
