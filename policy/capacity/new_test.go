package capacity

import (
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func TestPlainParams(t *testing.T) {
	r := policy.Registry{Entry}
	for typed, want := range map[string]string{
		"capacity": "",
		"capacity:queues=a:60;b:40,am-percent=0.1":      "",
		"capacity:ordering=fair,calculator=dominant":    "",
		"capacity:user-limit-factor=2":                  "",
		"capacity:ordering=random":                      "want fifo or fair",
		"capacity:am-percent=10":                        "want a number from 0 to 1",
		"capacity:am-percent=NaN":                       "want a number from 0 to 1",
		"capacity:queues=a":                             "write a:60;b:40",
		"capacity:queues=a:0":                           "above 0",
		"capacity:queues=a:1;root.a:2":                  "a is named twice",
		"capacity:minimum-user-limit-percent=a quarter": "not a number",
		"capacity:minimum-allocation-mb=0":              "want a number from 1",
		"capacity:color=red":                            "no parameter color",
	} {
		spec, err := policy.ParseSpec(typed)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.New(spec)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", typed, err, want)
		}
	}
}

func TestNewListsWhatHasNoEffect(t *testing.T) {
	text := `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>
<property><name>yarn.scheduler.capacity.root.a.max-parallel-apps</name><value>5</value></property>
<property><name>yarn.scheduler.capacity.node-locality-delay</name><value>5</value></property>
<property><name>yarn.scheduler.capacity.root.a.capcity</name><value>5</value></property>
</configuration>`
	c, err := conf.ReadCapacity(strings.NewReader(text), "c.xml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"yarn.scheduler.capacity.root.a.max-parallel-apps = 5 (c.xml:4) is not modelled",
		"yarn.scheduler.capacity.node-locality-delay = 5 (c.xml:5) is not modelled without node heartbeats",
		"c.xml:6: yarn.scheduler.capacity.root.a.capcity is not a known setting; did you mean capacity?",
	}
	if !slices.Equal(p.NotModelled, want) {
		t.Errorf("not modelled: %q", p.NotModelled)
	}
	c.MinAllocation = unit.Resources{}
	if _, err := New(c); err == nil {
		t.Error("a minimum allocation of nothing is taken")
	}
	c.MinAllocation = mb(2048)
	if p, err := New(c); err != nil || p.Order.(*Order).step != mb(2048) {
		t.Errorf("minimum allocation: %v", err)
	}
}

// Priorities count only up to the cluster's maximum, which is 0 unless the file says otherwise.
func TestPriorityIsCapped(t *testing.T) {
	for _, c := range []struct{ most, want string }{{"0", "low"}, {"10", "high"}} {
		o := fromSettings(t, "yarn.cluster.max-application-priority="+c.most, "root.queues=a", "root.a.capacity=100")
		w := newWorld(mb(10240), o)
		for i, id := range []string{"low", "high"} {
			if err := w.arrive(id, "u", "a", i*5, unit.Resources{}, mb(1024), 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.once(); got != c.want {
			t.Errorf("maximum %s: %s went first, want %s", c.most, got, c.want)
		}
	}
}

// A cluster that is counted in vcores alone, and one whose nodes are smaller than the minimum allocation, still run jobs.
func TestOddClusters(t *testing.T) {
	for _, total := range []unit.Resources{{Cores: 10}, {Mem: 500, Cores: 10}} {
		o := fromSettings(t, "root.queues=a", "root.a.capacity=100")
		w := newWorld(total, o)
		if err := w.arrive("1", "u", "a", 0, unit.Resources{}, unit.Resources{Mem: total.Mem / 10, Cores: 1}, 50); err != nil {
			t.Fatal(err)
		}
		if got := w.fill()["1"]; got != 10 {
			t.Errorf("cluster of %v: %d containers, want 10", total, got)
		}
	}
}
