package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	simkube "github.com/yardmaster/yardmaster/sim/kube"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/kube"
)

func (m millis) unit() unit.Time { return unit.Time(m) * unit.Millisecond }

// sizes of nodes and pods, as the live form reads them.
func (c site) sizes() (node, pod unit.Resources, err error) {
	rules, err := kube.NewRules(nil)
	if err != nil {
		return node, pod, err
	}
	requests := map[string]string{"cpu": "1", "memory": "1Gi"}
	p := &kube.Pod{Spec: kube.PodSpec{Containers: []kube.Container{{}}}}
	p.Spec.Containers[0].Resources.Requests = requests
	return rules.Room(map[string]string{"cpu": fmt.Sprint(c.CPU), "memory": fmt.Sprint(2*c.CPU, "Gi"), "pods": "110"}), rules.Size(p), nil
}

// simulated are the cluster and the jobs for a simulator.
func (c site) simulated(jobs []job) (*cluster.Cluster, []*workload.Job, error) {
	room, ask, err := c.sizes()
	if err != nil {
		return nil, nil, err
	}
	to, list := &cluster.Cluster{Racks: []string{"rack"}}, make([]*workload.Job, len(jobs))
	for i := range c.Nodes {
		to.Nodes = append(to.Nodes, cluster.Node{Name: fmt.Sprint("node-", i), Room: room})
	}
	for i, j := range jobs {
		lengths := workload.Lengths{Kind: workload.List}
		for _, l := range j.Lengths {
			lengths.Values = append(lengths.Values, l.unit())
		}
		list[i] = &workload.Job{
			ID: j.Name, Name: j.Name, User: j.Team, Queue: j.Team, Class: j.Class, Submit: j.Submit.unit(),
			Stages: []workload.Stage{{Kind: workload.Other, Tasks: int64(len(j.Lengths)), Ask: ask, Length: lengths}},
		}
		if j.Within > 0 {
			list[i].Deadline = (j.Submit + j.Within).unit()
		}
	}
	return to, list, nil
}

// fresh is the policy that settings name: the one that runs live.
func fresh(settings map[string]string) (func() (policy.Policy, error), error) {
	if text, file := settings[settings["policy"]]; file {
		return all.Read(settings["policy"], []byte(text))
	}
	fresh, _, err := all.Load(all.Policies, settings["policy"])
	return fresh, err
}

// outcome is what a simulation gives.
type outcome struct {
	ends   []unit.Time // by job
	starts []string    // whose pods start, in order
}

func (o *outcome) Job(r *sim.JobRecord) {
	if r.Outcome == sim.Finished {
		o.ends[r.Seq] = r.Finish
	}
}
func (o *outcome) Sample(*sim.Sample) {}

// watched notes whose pods a policy starts.
type watched struct {
	policy.Order
	outcome *outcome
}

func (w watched) Started(e *policy.Event) {
	w.outcome.starts = append(w.outcome.starts, e.Job.ID)
	w.Order.Started(e)
}

// simulate plays jobs, in order of their submission, with the Kubernetes clock.
func simulate(ctx context.Context, to *cluster.Cluster, list []*workload.Job, settings map[string]string, c simkube.Config) (*outcome, error) {
	newPolicy, err := fresh(settings)
	if err != nil {
		return nil, err
	}
	o := &outcome{ends: make([]unit.Time, len(list))}
	c.Cluster, c.Source, c.Sink, c.NoAlone = to, workload.Slice(list).Source(), o, true
	c.NewPolicy = func() (policy.Policy, error) {
		p, err := newPolicy()
		p.Order = watched{p.Order, o}
		return p, err
	}
	_, err = simkube.Run(ctx, c)
	return o, err
}

// timing is that of a cluster, as measured when it has little to do.
type timing struct {
	simkube.Timing
	Created, Next unit.Time // from a job's creation until its first pod is known, and then until its next one is
	Left          unit.Time // from the end of a job's last pod until the job is known to be over
}

// rehearse plays jobs with the Kubernetes clock, and gives their ends.
func (s *system) rehearse(ctx context.Context, c site, jobs []job, t timing) ([]millis, error) {
	to, list, err := c.simulated(jobs)
	if err != nil {
		return nil, err
	}
	o, err := simulate(ctx, to, list, s.settings, simkube.Config{
		Timing: t.Timing, Creation: func(_ *workload.Job, _ int, pod int64) unit.Time { return t.Created + unit.Time(pod)*t.Next },
		Left: func(*workload.Job) unit.Time { return t.Left },
	})
	if err != nil {
		return nil, err
	}
	ends := make([]millis, len(jobs))
	for i, at := range o.ends {
		ends[i] = millis(at / unit.Millisecond)
	}
	return ends, nil
}

// figures of jobs that were created and have ended then: their slowdown, which is the elapsed time over that on the empty cluster, where nothing takes time but the
// pods' work; and the share of jobs that ended after their deadlines.
func figures(c site, jobs []job, created, ends []millis) (experiment.Metrics, error) {
	to, list, err := c.simulated(jobs)
	if err != nil {
		return nil, err
	}
	alone, slow, late := sim.NewAlone(to, sim.Model{}, 1), make([]float64, len(jobs)), 0.0
	for i := range jobs {
		if ends[i] <= created[i] {
			return nil, errors.New(jobs[i].Name + " has not ended")
		}
		slow[i] = (ends[i] - created[i]).duration().Seconds() / alone.Of(list[i], int64(i)).Seconds()
		if ends[i]-created[i] > jobs[i].Within {
			late += 1 / float64(len(jobs))
		}
	}
	return experiment.Metrics{"median": result.Quantile(slow, 0.5), "p95": result.Quantile(slow, 0.95), "mean": result.Mean(slow).Mean, "late": late}, nil
}
