package yard

import (
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// AMs of all queues hold their vcores and hardly use them.
func TestIdleByAllocation(t *testing.T) {
	am := func(n int64) steer.Queue { return steer.Queue{AMs: unit.Resources{Cores: n}} }
	s := steer.Snapshot{Total: unit.Resources{Cores: 16}, Used: unit.Resources{Cores: 10}, Queues: []steer.Queue{am(0), am(4), am(2)}}
	if idle, _, err := (allocation{}).idle(t.Context(), &s, nil); err != nil || idle != 0.75 {
		t.Errorf("idle %v, %v", idle, err)
	}
	s.Queues = append(s.Queues, am(20)) // unmanaged
	if idle, _, err := (allocation{}).idle(t.Context(), &s, nil); err != nil || idle != 1 {
		t.Errorf("idle %v, %v", idle, err)
	}
}
