package policy_test

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// A reason names the first three of the jobs that come first, and counts all.
func TestReasonNamesThree(t *testing.T) {
	var r policy.Reason
	for n, id := range []string{"a", "b", "c", "d", "e"} {
		r.Precede(id)
		want := [3]string{"a", "b", "c"}
		for i := n + 1; i < 3; i++ {
			want[i] = ""
		}
		if r.Ahead != int64(n+1) || r.Next != want {
			t.Errorf("after %d jobs: %d ahead, %v", n+1, r.Ahead, r.Next)
		}
	}
	if got := r.Append(nil); len(got) != 1 || got[0] != r {
		t.Errorf("%v", got)
	}
	if got := (policy.Reason{}).Append(nil); len(got) > 0 {
		t.Errorf("an empty reason is one: %v", got)
	}
}

// What may start where the front stage does not fit.
func TestReplaces(t *testing.T) {
	front := policy.Stage{Pending: 2, Ask: unit.Resources{Mem: 4096, Cores: 2}}
	j := policy.Job{Stages: []policy.Stage{front, {}}}
	for name, c := range map[string]struct {
		s    policy.Stage
		want bool
	}{
		"as large":   {front, true},
		"smaller":    {policy.Stage{Pending: 1, Ask: unit.Resources{Mem: 1024, Cores: 2}}, true},
		"larger":     {policy.Stage{Pending: 1, Ask: unit.Resources{Mem: 1024, Cores: 3}}, false},
		"with a GPU": {policy.Stage{Pending: 1, Ask: unit.Resources{Mem: 1024, Cores: 1, Extra: unit.Named("gpu", 1)}}, false},
		"not open":   {policy.Stage{Pending: 1, Later: 1, Ask: front.Ask}, false},
		"other slot": {policy.Stage{Pending: 1, Ask: front.Ask, Slot: policy.ReduceSlot}, false},
		"a gang":     {policy.Stage{Pending: 4, Ask: front.Ask, Gang: 4}, false},
	} {
		if j.Stages[1] = c.s; j.Replaces(1, 0) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
	if j.Stages[1] = front; j.Replaces(0, 0) || j.Replaces(0, policy.AMStage) || j.Replaces(policy.KeptStage, 0) {
		t.Error("itself, or an AM or a kept container")
	}
}

type plain struct{ policy.Place }

type networked struct {
	plain
	watches *policy.Network
}

func (n networked) Watch(net policy.Network) { *n.watches = net }

type idle struct{ policy.Network }

// Only a placement that uses the network needs one.
func TestWatch(t *testing.T) {
	var watched policy.Network
	for _, c := range []struct {
		place policy.Place
		net   policy.Network
		ok    bool
	}{{plain{}, nil, true}, {plain{}, idle{}, true}, {networked{watches: &watched}, nil, false},
		{networked{watches: &watched}, idle{}, true}} {
		watched = nil
		if err := policy.Watch(c.place, c.net); (err == nil) != c.ok {
			t.Errorf("%T, %v: %v", c.place, c.net, err)
		}
		if _, uses := c.place.(networked); watched != nil != (uses && c.ok) {
			t.Errorf("%T, %v: watches %v", c.place, c.net, watched)
		}
	}
}
