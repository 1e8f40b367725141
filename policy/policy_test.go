package policy_test

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
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
