package turn

import (
	"reflect"
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
)

func TestTurnsToAndFro(t *testing.T) {
	p, err := Entry.New(&steer.Setup{Queues: []string{"root.a", "root.b"}, Set: []string{"capacities=30:50", "weight=2:3", "priority=4:7", "queue=root.a:root.b"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := &steer.Snapshot{Jobs: []steer.Job{{ID: "job_1", Queue: "root.a", Priority: 4}}}
	want := [][]steer.Action{
		{steer.SetCapacities("its turn", steer.Share{Queue: "root.a", Value: 50}, steer.Share{Queue: "root.b", Value: 30})},
		{{Kind: steer.SetQueue, Queue: "root.a", Property: "weight", Value: 3, Why: "its turn"}, {Kind: steer.SetQueue, Queue: "root.b", Property: "weight", Value: 3, Why: "its turn"}},
		{{Kind: steer.SetPriority, Job: "job_1", Value: 7, Why: "its turn"}},
		{{Kind: steer.MoveJob, Job: "job_1", Queue: "root.b", Why: "its turn"}},
		{steer.SetCapacities("its turn", steer.Share{Queue: "root.a", Value: 30}, steer.Share{Queue: "root.b", Value: 50})},
	}
	for i := range want {
		if do, again := p.Step(seen); !reflect.DeepEqual(do, want[i]) || again <= 0 {
			t.Errorf("step %d: %+v, want %+v", i, do, want[i])
		}
	}
	for _, set := range []string{"weight=2", "weight=2:much"} {
		if _, err := Entry.New(&steer.Setup{Set: []string{set}}); err == nil {
			t.Errorf("%s is taken", set)
		}
	}
	for _, property := range properties {
		if err := Entry.Needs.Allow(steer.SetQueue, property, amlimit.Limit{}); err != nil {
			t.Error(err)
		}
	}
}
