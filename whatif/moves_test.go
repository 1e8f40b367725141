package whatif

import (
	"context"
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// A variant that moves a user touches the queue that the user leaves; and queues are judged by the jobs that stay in them: a user with long jobs
// who comes to a queue makes nobody there slower by being counted.
func TestMovedJobsAreNotCounted(t *testing.T) {
	var jobs, moved workload.Slice
	for i := range 300 {
		j := &workload.Job{ID: fmt.Sprint(i), User: "ann", Queue: "root.a", Submit: unit.Time(i) * unit.Minute}
		j.Stages = []workload.Stage{{Tasks: 1, Ask: cluster.Unit, Length: workload.Fixed(10 * unit.Second)}}
		switch i % 3 {
		case 1:
			j.User, j.Queue = "bob", "root.b"
		case 2: // long ones
			j.User, j.Queue, j.Stages[0].Length = "eve", "root.b", workload.Fixed(unit.Hour)
		}
		jobs = append(jobs, j)
		if j.User == "eve" {
			other := *j
			other.Queue = "root.a"
			j = &other
		}
		moved = append(moved, j)
	}
	p := plan(t, random, 3, "fifo", "fifo")
	p.Variants[0].Workload, p.Variants[1].Workload = run.Jobs(jobs), run.Jobs(moved)
	p.Variants[1].Name, p.Touched = "move eve", [][]verdict.Subject{nil, {{Kind: "user", Name: "eve"}, {Kind: "queue", Name: "root.a"}}}
	c, err := Compare(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if want := "move eve: the same figures throughout as fifo."; c.Answers[0].Text != want { // fifo knows no queues
		t.Error(c.Answers[0].Text)
	}
	queues := 0
	for _, g := range c.Groups {
		if g.Kind != "queue" {
			continue
		}
		queues++
		if !g.Touched[1] || g.Jobs[0] != 100 || g.Jobs[1] != 100 || g.Rows[0].Cells[0].Mean > 3600 || g.Rows[0].Cells[1].Judgement != verdict.Same {
			t.Errorf("%s: %v, %v jobs, %+v", g.Subject, g.Touched, g.Jobs, g.Rows[0])
		}
	}
	if queues != 2 {
		t.Errorf("%d queues", queues)
	}
}
