package capacity

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Each limit in turn holds a job back, and Why names it with its figures.
func TestWhy(t *testing.T) {
	none := unit.Resources{}
	for _, c := range []struct {
		name     string
		settings []string
		am       unit.Resources
		want     policy.Reason
	}{
		{
			"AM limit", []string{"maximum-am-resource-percent=0.1"}, mb(1024),
			policy.Reason{Limit: "maximum-am-resource-percent", Queue: "root.a", Held: unit.Resources{Mem: 1024}, Max: unit.Resources{Mem: 1024}},
		},
		{
			"user limit", []string{"root.a.user-limit-factor=0.5", "root.a.maximum-capacity=100"}, none,
			policy.Reason{Limit: "user-limit-factor", Queue: "root.a", User: "ann", Held: unit.Resources{Mem: 4096}, Max: unit.Resources{Mem: 3072}},
		},
		{
			"maximum", []string{"root.a.maximum-capacity=60", "root.a.user-limit-factor=10"}, none,
			policy.Reason{Limit: "maximum-capacity", Queue: "root.a", Held: unit.Resources{Mem: 6144}, Max: unit.Resources{Mem: 6144}},
		},
	} {
		o := fromSettings(t, append([]string{"root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50"}, c.settings...)...)
		w := newWorld(mb(10240), o)
		for _, id := range []string{"j", "k"} {
			if err := w.arrive(id, "ann", "a", 0, c.am, mb(1024), 20); err != nil {
				t.Fatal(err)
			}
		}
		for w.once() != "" {
		}
		got := o.Why(0, &w.jobs["k"].Job, nil)
		if len(got) == 0 || got[0] != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
