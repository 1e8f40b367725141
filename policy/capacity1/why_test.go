package capacity1

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// A refused node has the setting, and how many opportunities the job has skipped.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		params policy.Params
		slot   uint8
		near   policy.Near
		want   policy.Reason
	}{
		{policy.Params{}, mapSlots, policy.OffRack, policy.Reason{Limit: "off-switch", Count: 1, MaxCount: 4}},
		{policy.Params{"off-switch": "missed"}, mapSlots, policy.OffRack, policy.Reason{Limit: "off-switch", Count: 1, MaxCount: 2}},
		{policy.Params{"rack-delay": "3"}, mapSlots, policy.OffRack, policy.Reason{Limit: "rack-delay", Count: 1, MaxCount: 3}},
		{policy.Params{"node-delay": "3"}, mapSlots, policy.RackLocal, policy.Reason{Limit: "node-delay", Count: 1, MaxCount: 3}},
		{policy.Params{}, mapSlots, policy.NodeLocal, policy.Reason{}},
		{policy.Params{"avoid-busy-nodes": "true"}, reduceSlots, policy.NoPreference, policy.Reason{Limit: "avoid-busy-nodes"}},
	} {
		p, err := Entry.New(c.params)
		if err != nil {
			t.Fatal(err)
		}
		ask := unit.Resources{Mem: 1024, Cores: 1}
		p.Order.Resized(0, policy.Cluster{Total: ask.Times(8), Max: ask.Times(2), Nodes: 4})
		j := &policy.Job{ID: "a", Tasks: 2, Ask: ask, Stages: []policy.Stage{{Tasks: 2, Pending: 2, Ask: ask, Slot: c.slot}}}
		if err := p.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		j.Want(c.slot, 2)
		if c.slot == mapSlots {
			p.Place.Skipped(0, j, 0)
		}
		n := &policy.Node{Name: "n", Total: ask.Times(2), Free: ask}
		if got := p.Place.(policy.Refuser).Refusal(0, j, 0, n, c.near); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.params, got, c.want)
		}
	}
}
