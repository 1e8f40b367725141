package levels

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

var one = unit.Resources{Mem: 1024, Cores: 1}

// resize gives the queues a cluster of nodes of one container each.
func resize(q *Queues, nodes int) {
	q.Resized(0, policy.Cluster{Nodes: nodes, Room: func(_ int32, slot uint8) unit.Resources { return one.Times(int64(1 - slot)) }})
}

// enter lets a job wait in a queue.
func enter(t *testing.T, q *Queues, index int32, queue int) *policy.Job {
	t.Helper()
	j := &policy.Job{ID: fmt.Sprint("j", index), Index: index, Seq: int64(index), Ask: one}
	j.Want(policy.MapSlot, 1)
	if err := q.Enter(j, queue); err != nil {
		t.Fatal(err)
	}
	return j
}

// proposed lists the jobs that are proposed for a node.
func proposed(q *Queues, node int32) (ids string) {
	q.Ranked(&policy.Offer{Node: &policy.Node{Index: node}}, func(j *policy.Job) policy.Verdict {
		ids += j.ID
		return policy.Pass
	})
	return ids
}

// A single partition is no limit. Each of several is, by its share of the nodes.
func TestWhyByPartition(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   []policy.Reason // of a job in each queue
	}{
		{nil, []policy.Reason{{Queue: "queue 1"}, {Queue: "queue 2", Ahead: 1, Next: [3]string{"j0"}}}},
		{[]float64{0.3}, []policy.Reason{{Limit: "shares", Queue: "queue 1, partition 1", Max: one.Times(3)},
			{Limit: "shares", Queue: "queue 2, partition 2", Max: one.Times(7)}}},
		{[]float64{0.3, 0.5}, []policy.Reason{
			{Limit: "shares", Queue: "queue 1, partition 1", Max: one.Times(3)},
			{Limit: "shares", Queue: "queue 2, partition 2", Max: one.Times(5)},
			{Limit: "shares", Queue: "queue 3, partition 3", Max: one.Times(2)},
		}},
	} {
		q := New(c.shares, false)
		resize(q, 10)
		for i, want := range c.want {
			if got := q.Why(0, enter(t, q, int32(i), i), nil); len(got) != 1 || got[0] != want {
				t.Errorf("shares %v: %+v, want %+v", c.shares, got, want)
			}
		}
	}
}

// With fewer nodes than partitions the last one serves the rest. When nodes come, the jobs that wait move to the partitions of
// their queues.
func TestJobsMoveWhenNodesCome(t *testing.T) {
	q := New([]float64{0.5}, false)
	resize(q, 1)
	enter(t, q, 0, 0)
	enter(t, q, 1, 1)
	if got := proposed(q, 0); got != "j0j1" {
		t.Errorf("the only node: %s", got)
	}
	if q.Shifted() {
		t.Error("jobs have moved, and no node came")
	}
	resize(q, 4)
	for node, want := range []string{"j0", "j0", "j1", "j1"} {
		if got := proposed(q, int32(node)); got != want {
			t.Errorf("node %d: %s, want %s", node, got, want)
		}
	}
	if !q.Shifted() || q.Shifted() {
		t.Error("the move is reported once")
	}
	resize(q, 2) // lost nodes keep their indices
	if got := proposed(q, 3); got != "j1" {
		t.Errorf("node 3 after a loss: %s", got)
	}
}
