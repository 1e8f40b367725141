package live

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	rmall "github.com/yardmaster/yardmaster/policy/rm/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// waiting is a view of some nodes of 8 GB: applications that run with an AM and some containers since a minute, then some that wait for their AM.
func waiting(t testing.TB, file string, nodes, running, containers, waits int, queue string) *View {
	t.Helper()
	site := conf.DefaultSite()
	fresh, err := rmall.Read("scheduler.xml", []byte(file), site)
	if err != nil {
		t.Fatal(err)
	}
	gb := unit.Resources{Mem: 1024, Cores: 1}
	v := &View{
		Now: 10 * unit.Minute, Cluster: cluster.Uniform(nodes, 2, gb.Times(8)), Scheduler: run.Scheduler{Name: "scheduler.xml", RM: fresh},
		File: []byte(file), Site: site, Timing: yarn.Hadoop(),
	}
	for i := range running {
		a := App{ID: fmt.Sprintf("r%d", i), User: "ann", Queue: queue, Submitted: unit.Time(i) * unit.Millisecond, Up: true, AM: gb, Progress: 0.05, Service: 60 * 1024 * float64(containers)}
		for k := range containers + 1 {
			a.Held = append(a.Held, Container{AM: k == 0, Priority: 20, Node: -1, Size: gb, Since: 9 * unit.Minute})
		}
		a.Asks = []rm.Ask{{Priority: 20, Place: rm.Anywhere, Count: 5, Size: gb}}
		v.Apps = append(v.Apps, a)
	}
	for i := range waits {
		v.Apps = append(v.Apps, App{ID: fmt.Sprintf("w%d", i), User: "ann", Queue: queue, Submitted: 9*unit.Minute + unit.Time(i)*unit.Millisecond, AM: gb, Asks: []rm.Ask{{Place: rm.Anywhere, Count: 1, Size: gb}}})
	}
	return v
}

// Every limit is named, and a setting is found that lifts it.
func TestExplain(t *testing.T) {
	capacity := func(settings ...string) string {
		out := "<configuration>"
		for _, s := range append([]string{"root.queues=a,b", "root.a.capacity=50", "root.b.capacity=50", "root.a.user-limit-factor=10"}, settings...) {
			c, err := edit.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			out += edit.PropertyElement(conf.Prefix+c.Queue+map[bool]string{true: "."}[c.Queue != ""]+c.Property, c.Value)
		}
		return out + "</configuration>"
	}
	for _, c := range []struct {
		name, file         string
		running, held, at  int
		limit, user, tried string
		ahead              int64
	}{
		{"AMs of the queue", capacity("root.a.maximum-am-resource-percent=0.05"), 4, 3, 1, "maximum-am-resource-percent", "", "root.a.maximum-am-resource-percent=0.07", 1},
		{"AMs of the user", capacity("root.a.user-limit-factor=0.2", "root.a.maximum-am-resource-percent=0.1"), 1, 3, 0, "maximum-am-resource-percent", "ann", "root.a.user-limit-factor=0.4", 0},
		{"maximum", capacity("root.a.maximum-capacity=50", "maximum-am-resource-percent=1"), 10, 3, 0, "maximum-capacity", "", "root.a.maximum-capacity=100", 0},
		{"user limit", capacity("root.a.user-limit-factor=0.5", "maximum-am-resource-percent=1"), 7, 2, 0, "user-limit-factor", "ann", "root.a.user-limit-factor=2.2", 0},
		{"maxAMShare", `<allocations><queue name="a"><maxAMShare>0.05</maxAMShare></queue></allocations>`, 4, 3, 0, "maxAMShare", "", "root.a.maxAMShare=0.07", 0},
		{"maxResources", `<allocations><queue name="a"><maxAMShare>1.0</maxAMShare><maxResources>4096 mb, 99 vcores</maxResources></queue></allocations>`, 2, 1, 0, "maxResources", "", "root.a.maxResources=5120 mb, 99 vcores", 0},
		{"maxRunningApps", `<allocations><queue name="a"><maxRunningApps>3</maxRunningApps></queue></allocations>`, 3, 3, 0, "maxRunningApps", "", "root.a.maxRunningApps=4", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := waiting(t, c.file, 10, c.running, c.held, c.at+1, "a")
			x, err := Explain(t.Context(), v, Guess(v), v.Find(fmt.Sprint("w", c.at)), Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(x.Reasons) == 0 || x.Reasons[0].Limit != c.limit || x.Reasons[0].User != c.user || x.Reasons[0].Ahead != c.ahead {
				t.Fatalf("%+v, want %s", x.Reasons, c.limit)
			}
			if len(x.Tried) == 0 || edit.Words(x.Tried[0].Changes) != c.tried || x.Tried[0].Next > x.Next.Low {
				t.Errorf("tried %+v, want %s; next %v", x.Tried, c.tried, x.Next)
			}
			if x.Next.Low <= v.Now || x.Next.Median == unit.Never {
				t.Errorf("next %v: expected when others end", x.Next)
			}
		})
	}
}

func BenchmarkExplain(b *testing.B) {
	for _, m := range []*manager{{nodes: 100, running: 90, waiting: 410, ended: 9500}, {nodes: 100, running: 90, waiting: 9910}} {
		b.Run(fmt.Sprint(m.waiting, " waiting"), func(b *testing.B) {
			c := m.client(b)
			past := Learn(generated(1, 9, 0.6, 96))
			for b.Loop() {
				v, err := Read(b.Context(), c, nil)
				if err != nil {
					b.Fatal(err)
				}
				x, err := Explain(b.Context(), v, past, &v.Apps[len(v.Apps)/2], Options{Seed: 1})
				if err != nil || len(x.Reasons) == 0 {
					b.Fatal(err, x)
				}
			}
		})
	}
}

// What the nodes lack is named: reservations, which the ResourceManager shows only by application, nodes with the data, nodes that are large enough.
func TestExplainNodes(t *testing.T) {
	file := `<configuration>` + edit.PropertyElement(conf.Prefix+"root.queues", "a") + edit.PropertyElement(conf.Prefix+"root.a.capacity", "100") +
		edit.PropertyElement(conf.Prefix+"maximum-am-resource-percent", "1") + edit.PropertyElement(conf.Prefix+"root.a.maximum-applications", "5") + `</configuration>`
	v := waiting(t, file, 2, 0, 0, 0, "a")
	size := func(mb int64) unit.Resources { return unit.Resources{Mem: mb, Cores: 1} }
	add := func(id string, held, asks int64, node int32, reserves bool) *App {
		a := App{ID: id, User: "ann", Queue: "a", Submitted: unit.Time(len(v.Apps)) * unit.Second, Up: true, Unmanaged: true, Reserves: reserves}
		if held > 0 {
			a.Held = []Container{{Priority: 1, Node: node, Size: size(held), Since: unit.Minute}}
		}
		if asks > 0 {
			a.Asks = []rm.Ask{{Priority: 1, Place: rm.Anywhere, Count: 1, Size: size(asks)}}
		}
		v.Apps = append(v.Apps, a)
		return &v.Apps[len(v.Apps)-1]
	}
	why := func(id string) policy.Reason {
		t.Helper()
		a := v.Find(id)
		if a == nil {
			a = &App{ID: id, User: "ann", Queue: "a"}
		}
		x, err := Explain(t.Context(), v, Guess(v), a, Options{Seed: 1})
		if err != nil || len(x.Reasons) == 0 {
			t.Fatal(id, err, x)
		}
		return x.Reasons[0]
	}
	add("f0", 6144, 0, 0, false)
	add("f1", 6144, 0, 1, false)
	near := add("near", 0, 1024, 0, false)
	near.Local = []rm.Ask{{Priority: 1, Place: rm.OnNode(0), Count: 1, Size: size(1024)}, {Priority: 1, Place: rm.OnRack(int32(v.Cluster.Nodes[0].Rack)), Count: 1, Size: size(1024)}}
	v.Apps[0].Held[0].Size = size(8192)
	if r := why("near"); r.Limit != "rack-locality-additional-delay" {
		t.Errorf("near: %+v", r)
	}
	v.Apps[0].Held[0].Size = size(6144)
	v.Apps = v.Apps[:2]
	add("large", 0, 3072, 0, true)
	add("small", 0, 2048, 0, false)
	if r := why("large"); r.Limit != policy.Reserved || r.Ahead != 0 || r.Node == "" {
		t.Errorf("large: %+v", r)
	}
	if r := why("small"); r.Limit != policy.Reserved || r.Next[0] != "large" {
		t.Errorf("small: %+v", r)
	}
	add("huge", 0, 9000, 0, false)
	if r := why("huge"); r.Limit != policy.NodeSize || r.Max.Mem != 8192 {
		t.Errorf("huge: %+v", r)
	}
	if r := why("new"); r.Limit != "maximum-applications" || r.Count != 5 || r.MaxCount != 5 {
		t.Errorf("new: %+v", r)
	}
}
