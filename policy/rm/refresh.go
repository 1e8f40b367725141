package rm

import "github.com/yardmaster/yardmaster/unit"

// Refresh makes a scheduler recompute its limits, as after a change of the cluster: a node without room joins and leaves. Index is one that no node has.
func Refresh(s Scheduler, index int32, now unit.Time) {
	n := &Node{Index: index}
	s.NodeAdded(n, now)
	s.NodeRemoved(n, now)
}
