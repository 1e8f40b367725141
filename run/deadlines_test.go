package run

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
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
