package study

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

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

func (t *times) addResult(file string, p *Phase) error {
	rows, err := result.OpenJobs(file)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // it was only read
	one := map[string]float64{}
	from, to := -1.0, 0.0
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
		t.queueOf[name] = short(r.Queue)
		one[name] = r.Finish - r.Submit
		if from < 0 || r.Submit < from {
			from = r.Submit
		}
		to = max(to, r.Finish)
	}
	t.add(one, to-from)
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
	one := map[string]float64{}
	from, to := -1.0, 0.0
	for _, j := range all {
		name, ok := p.Names[j.ID]
		if !ok || j.Observed == nil {
			return nil, fmt.Errorf("the import has job %s, which the study does not know, or not its times", j.ID)
		}
		t.queueOf[name] = short(j.Queue)
		submit, finish := j.Submit.Seconds(), j.Observed.Finish.Seconds()
		one[name] = finish - submit
		if from < 0 || submit < from {
			from = submit
		}
		to = max(to, finish)
	}
	t.add(one, to-from)
	return t, nil
}

func short(queue string) string {
	for i := len(queue) - 1; i >= 0; i-- {
		if queue[i] == '.' {
			return queue[i+1:]
		}
	}
	return queue
}
