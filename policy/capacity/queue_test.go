package capacity

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

func (o *Order) mustFind(t *testing.T, name string) *queue {
	t.Helper()
	q, err := o.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestEffectiveResources(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings string
		total    unit.Resources
		min, max map[string]unit.Resources
	}{
		{
			"percent of percent", "root.queues=a,b root.a.capacity=60 root.b.capacity=40 root.a.queues=a1,a2 root.a.a1.capacity=40 root.a.a2.capacity=60 " +
				"root.a.maximum-capacity=80 root.a.a1.maximum-capacity=50", mb(102400),
			map[string]unit.Resources{"a": mb(61440), "a1": mb(24576), "a2": mb(36864), "b": mb(40960)},
			map[string]unit.Resources{"a": mb(81920), "a1": mb(40960), "a2": mb(81920), "b": mb(102400)},
		},
		{
			"a third", "root.queues=a,b root.a.capacity=33.3 root.b.capacity=66.7", mb(102400),
			map[string]unit.Resources{"a": {Mem: 34099, Cores: 33}}, nil,
		},
		{
			"float32 of 0.7 * 0.7", "root.queues=a,b root.a.capacity=70 root.b.capacity=30 root.a.queues=a1,a2 root.a.a1.capacity=70 root.a.a2.capacity=30",
			unit.Resources{Mem: 102400, Cores: 1000}, map[string]unit.Resources{"a1": {Mem: 50175, Cores: 489}}, nil,
		},
		{
			"weights", "root.queues=a,b,c root.a.capacity=1w root.b.capacity=1w root.c.capacity=1w", mb(102400),
			map[string]unit.Resources{"a": {Mem: 34133, Cores: 33}, "b": {Mem: 34133, Cores: 33}, "c": {Mem: 34133, Cores: 33}}, nil,
		},
		{
			"absolute, too much for the cluster",
			"root.queues=a,b root.a.capacity=[memory=61440,vcores=60] root.b.capacity=[memory=61440,vcores=60] root.b.maximum-capacity=[memory=71680,vcores=70]", mb(102400),
			map[string]unit.Resources{"a": mb(51200), "b": mb(51200)}, // the product is rounded to a float32 before it is cut off
			map[string]unit.Resources{"a": mb(102400), "b": mb(71680)},
		},
		{
			"absolute, room to spare", "root.queues=a,b root.a.capacity=[memory=20480,vcores=10] root.b.capacity=[memory=61440,vcores=60]", mb(102400),
			map[string]unit.Resources{"a": {Mem: 20480, Cores: 10}, "b": mb(61440)}, nil,
		},
	} {
		o := fromSettings(t, strings.Fields(c.settings)...)
		o.Resized(0, cluster(c.total))
		for name, want := range c.min {
			if got := o.mustFind(t, name).EffMin; got != want {
				t.Errorf("%s: effective minimum of %s is %v, want %v", c.name, name, got, want)
			}
		}
		for name, want := range c.max {
			if got := o.mustFind(t, name).EffMax; got != want {
				t.Errorf("%s: effective maximum of %s is %v, want %v", c.name, name, got, want)
			}
		}
	}
}

// A job names a leaf by its path, with or without the root, or by its name if that is unique.
func TestResolve(t *testing.T) {
	o := fromSettings(t, strings.Fields("root.queues=a,b,x root.a.capacity=50 root.b.capacity=25 root.x.capacity=25 "+
		"root.a.queues=x,y,z root.a.x.capacity=50 root.a.y.capacity=25 root.a.z.capacity=25 root.b.queues=z root.b.z.capacity=100")...)
	for name, want := range map[string]string{
		"y": "root.a.y", "a.y": "root.a.y", "root.a.y": "root.a.y", "x": "root.x", "root.x": "root.x", "a.x": "root.a.x",
		"b.z": "root.b.z",
		"z":   "could be root.a.z, root.b.z", "a": "no leaf queue", "w": "no leaf queue",
	} {
		q, err := o.resolve(name)
		if found := strings.HasPrefix(want, "root."); (err == nil) != found || found && q.Path != want ||
			!found && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", name, q, err, want)
		}
	}
}

// Queues A 50 %, B 30 %, C 20 % of 102400.
func TestQueueOrder(t *testing.T) {
	base := "root.queues=A,B,C root.A.capacity=50 root.B.capacity=30 root.C.capacity=20"
	prio := base + " root.ordering-policy=priority-utilization root.A.priority=5 root.B.priority=1 root.C.priority=1"
	for _, c := range []struct {
		name, settings string
		used           map[string]int64
		want           string
	}{
		{"used ratio", base, map[string]int64{"A": 20480, "B": 9216}, "CBA"},
		{"all idle: larger guarantee", base, nil, "ABC"},
		{"priority while below the guarantee", prio, map[string]int64{"A": 20480, "B": 9216}, "ACB"},
		{"priority lost at the guarantee", prio, map[string]int64{"A": 51200, "B": 9216}, "CBA"},
		{"no guarantee goes last", "root.queues=A,B,C root.A.capacity=0 root.B.capacity=100 root.C.capacity=0 root.A.maximum-applications=9 root.C.maximum-applications=9", map[string]int64{"B": 30720, "A": 1024}, "BCA"},
		{
			"no guarantee goes last, whatever its priority, also after those above their guarantees",
			"root.queues=A,B,C root.A.capacity=0 root.B.capacity=60 root.C.capacity=40 " +
				"root.A.maximum-applications=9 root.ordering-policy=priority-utilization root.A.priority=5", map[string]int64{"B": 71680},
			"CBA",
		},
		{"full tie keeps the file's order", "root.queues=C,A,B root.A.capacity=1w root.B.capacity=1w root.C.capacity=1w", nil, "CAB"},
		{
			"absolute: larger amount first", "root.queues=A,B,C root.A.capacity=[memory=1024,vcores=1] root.B.capacity=[memory=2048,vcores=1] " +
				"root.C.capacity=[memory=2048,vcores=2]", nil, "CBA",
		},
	} {
		o := fromSettings(t, strings.Fields(c.settings+" maximum-am-resource-percent=1 user-limit-factor=-1")...)
		w := newWorld(mb(102400), o)
		for name, used := range c.used {
			o.charge(o.mustFind(t, name), mb(used))
		}
		for _, name := range []string{"A", "B", "C"} {
			if err := w.arrive(name, "u", name, 0, unit.Resources{}, mb(1024), 1); err != nil {
				t.Fatal(c.name, err)
			}
		}
		got := ""
		o.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
			got += j.ID
			return policy.Pass
		})
		if got != c.want {
			t.Errorf("%s: order %s, want %s", c.name, got, c.want)
		}
	}
}

// A leaf below its maximum, but with too little room for its next ask, keeps that room from the siblings after it.
func TestBlockedHeadroom(t *testing.T) {
	o := fromSettings(t, "root.queues=p,q", "root.p.capacity=50", "root.q.capacity=50", "root.p.maximum-capacity=50",
		"root.p.queues=a,b", "root.p.a.capacity=50", "root.p.b.capacity=50", "root.p.a.maximum-capacity=50",
		"user-limit-factor=-1", "maximum-am-resource-percent=1")
	w := newWorld(mb(20480), o)
	// p may reach 10240, a 5120. a holds 4096 and asks for 2048: 1024 of its room stay blocked.
	for _, id := range []string{"a", "b"} {
		if err := w.arrive(id, "u", id, 0, unit.Resources{}, mb(4096), 1); err != nil {
			t.Fatal(err)
		}
		w.start(w.jobs[id])
	}
	check := func(bAsk int64, want string) {
		t.Helper()
		if err := w.arrive("a2", "u", "a", 0, unit.Resources{}, mb(2048), 1); err != nil {
			t.Fatal(err)
		}
		if err := w.arrive("b2", "u", "b", 0, unit.Resources{}, mb(bAsk), 1); err != nil {
			t.Fatal(err)
		}
		if got := w.once(); got != want {
			t.Errorf("b asks for %d: %q took it, want %q", bAsk, got, want)
		}
	}
	check(2048, "")
	w.leave(w.jobs["a2"])
	w.leave(w.jobs["b2"])
	check(1024, "b2")
}

func TestMaximumAtEveryLevel(t *testing.T) {
	o := fromSettings(t, "root.queues=a,b", "root.a.capacity=20", "root.b.capacity=80", "root.a.maximum-capacity=30",
		"root.a.queues=x,y", "root.a.x.capacity=50", "root.a.y.capacity=50", "user-limit-factor=-1")
	w := newWorld(mb(102400), o)
	for _, q := range []string{"x", "y"} {
		if err := w.arrive(q, "u", q, 0, unit.Resources{}, mb(1024), 100); err != nil {
			t.Fatal(err)
		}
	}
	got := w.fill()
	if got["x"] != 15 || got["y"] != 15 {
		t.Errorf("x and y took %v, want 15 each: 30 %% of 100", got)
	}
}
