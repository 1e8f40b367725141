package run

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// due are the deadlines of finished jobs, in seconds, and the times alone.
type due struct {
	deadline, alone map[string]float64
}

func (d *due) Job(r *sim.JobRecord) {
	d.deadline[r.Job.ID], d.alone[r.Job.ID] = r.Job.Deadline.Seconds(), r.Alone.Seconds()
}
func (d *due) Sample(*sim.Sample) {}

func TestDeadlines(t *testing.T) {
	job := func(id, class string, submit, deadline unit.Time) *workload.Job {
		return &workload.Job{
			ID: id, Class: class, Submit: submit * unit.Second, Deadline: deadline * unit.Second,
			Stages: []workload.Stage{{Tasks: 24, Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.Constant, A: 10 * unit.Second}}},
		}
	}
	jobs := workload.Slice{job("own", "small", 0, 500), job("classed", "small", 5, 0), job("other", "", 7, 0)}
	classes := map[string]unit.Time{"small": unit.Minute}
	for name, c := range map[string]struct {
		d    Deadlines
		want map[string]float64
	}{
		"none":       {Deadlines{}, map[string]float64{"own": 500, "classed": 0, "other": 0}},
		"factor":     {Deadlines{Factor: 3}, map[string]float64{"own": 500, "classed": 65, "other": 67}},
		"class":      {Deadlines{Classes: classes}, map[string]float64{"own": 500, "classed": 65, "other": 0}},
		"both":       {Deadlines{Factor: 1.5, Classes: classes}, map[string]float64{"own": 500, "classed": 65, "other": 37}},
		"overridden": {Deadlines{Factor: 1.5, Override: true}, map[string]float64{"own": 30, "classed": 35, "other": 37}},
		"class only": {Deadlines{Classes: map[string]unit.Time{"": unit.Minute}, Override: true}, map[string]float64{"own": 500, "classed": 0, "other": 67}},
	} {
		for _, onYARN := range []bool{false, true} {
			s := spec(t, onYARN, 1)
			got := due{map[string]float64{}, map[string]float64{}}
			s.Workload, s.Sink, s.Deadlines = Jobs(jobs), &got, c.d
			if _, err := Play(context.Background(), &s); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got.deadline); d != "" {
				t.Errorf("%s, YARN %v: %s", name, onYARN, d)
			}
			if got.alone["other"] != 20 {
				t.Errorf("alone: %v s, want 20 (two waves on 12 containers)", got.alone["other"])
			}
		}
	}
	if jobs[1].Deadline != 0 {
		t.Error("a shared job was changed")
	}
	s := spec(t, false, 1)
	s.Deadlines = Deadlines{Classes: map[string]unit.Time{"smal": unit.Minute}}
	r, err := Result(context.Background(), s)
	if err != nil || !strings.Contains(strings.Join(r.Assumptions, "\n"), `no job is of class "smal"`) {
		t.Errorf("%v, %v", r.Assumptions, err)
	}
	if s.Deadlines.Factor, s.NoAlone = 2, true; s.Check() == nil {
		t.Error("a factor without times alone is taken")
	}
}

// Two jobs of 480 s of work each on 12 containers, on both clocks: what a result says about sizes, idle time, partitions and estimates.
func TestFiguresOfAPolicy(t *testing.T) {
	job := func(id string, submit unit.Time) *workload.Job {
		return &workload.Job{ID: id, Submit: submit * unit.Second, Stages: []workload.Stage{{Tasks: 48, Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.Constant, A: 10 * unit.Second}}}}
	}
	for _, onYARN := range []bool{false, true} {
		for _, name := range []string{"deadline", "sita:limits=100,shares=0.5,predictor=oracle"} {
			fresh, _, err := all.Load(all.Policies, name)
			if err != nil {
				t.Fatal(err)
			}
			s := spec(t, onYARN, 1)
			s.Workload, s.Deadlines, s.Model.Sample = Jobs(workload.Slice{job("a", 0), job("b", 1000)}), Deadlines{Factor: 2}, unit.Second
			s.Scheduler = Scheduler{Name: name, New: fresh}
			r, err := Result(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			if r.Spread == nil || len(r.Spread.BySize) != 1 || r.Spread.BySize[0].From < 316 || r.Spread.BySize[0].Jobs != 2 {
				t.Errorf("%s: %+v", name, r.Spread)
			}
			if p := r.Idle.Present; p < 80 || p > 200 { // not the time between the two
				t.Errorf("%s: jobs are present for %v s", name, p)
			}
			if name == "deadline" {
				if r.Estimates == nil || r.Estimates.Jobs != 2 || len(r.Estimates.Series) != 2 || r.Deadlines.Met != 2 || r.Partitions != nil {
					t.Errorf("%+v, %+v, %+v", r.Estimates, r.Deadlines, r.Partitions)
				} else if last := r.Estimates.ByLife[8]; !onYARN && last.Absolute > 0.01 {
					t.Errorf("tasks are alike, and the estimate is off by %v", last.Absolute)
				}
				continue
			}
			if p := r.Partitions; r.Estimates != nil || len(p) != 2 || p[0].Nodes != 2 || p[0].Work != 0 || p[1].Work != 1 || !(p[1].Utilisation > 0) {
				t.Errorf("%+v, %+v", p, r.Estimates)
			}
		}
	}
}
