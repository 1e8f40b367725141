package all

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/unit"
)

// What policies need of their engine, and what some parameters add.
func TestRequired(t *testing.T) {
	const byNetwork = policy.NodeOffers | policy.Placement | policy.NetworkLoad | policy.StageChoice | policy.Timers | policy.RepeatedOffers
	want := map[string]policy.Needs{
		"fifo": 0, "fair": 0, "capacity": 0, "comp": 0, "fbq": 0,
		"capacity1":             policy.Placement | policy.Timers | policy.RepeatedOffers,
		"delay":                 policy.Placement | policy.RepeatedOffers,
		"delay:node=3s,rack=3s": policy.Placement,
		"shufflewatcher":        byNetwork | policy.Racks,
		"nas":                   byNetwork,
		"deadline":              policy.Timers,
		"fbq:reduces=release":   policy.Preemption | policy.Shifts,
		"tags":                  policy.NodeOffers | policy.Shifts,
		"tags:restart=yes":      policy.NodeOffers | policy.Shifts | policy.Preemption | policy.Restarts,
		"sita":                  policy.NodeOffers | policy.Shifts,
		"sita:predictor=oracle": policy.NodeOffers | policy.Shifts | policy.TrueSizes,
		"hybrid":                policy.NodeOffers | policy.Shifts | policy.Timers,
	}
	for spec, needs := range want {
		fresh, _, err := Load(Policies, spec)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := fresh(); err != nil || p.Required() != needs {
			t.Errorf("%s: %v; it needs %v, want %v", spec, err, p.Required(), needs)
		}
	}
}

func TestEveryEntry(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Policies {
		if seen[e.Name] || e.Title == "" {
			t.Errorf("%s: named twice, or without a title", e.Name)
		}
		seen[e.Name] = true
		p, err := Policies.New(policy.Spec{Name: e.Name})
		if err != nil {
			t.Fatal(err)
		}
		p.Order.Resized(0, policy.Cluster{Total: unit.Resources{Mem: 4096, Cores: 4}, Max: unit.Resources{Mem: 4096, Cores: 4}, Nodes: 1})
		j := &policy.Job{ID: "a", Tasks: 1, Stages: make([]policy.Stage, 1), Ask: unit.Resources{Mem: 1024, Cores: 1}}
		if err := p.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		j.Want(0, 1)
		p.Order.Changed(0, j)
		if p.Timer != nil {
			p.Timer.Tick(0)
		}
		took := p.Order.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
			j.Want(0, -1)
			j.Hold(0, j.Ask)
			p.Order.Started(&policy.Event{Job: j, Size: j.Ask})
			return policy.Took
		})
		if !took {
			t.Errorf("%s starts nothing on an empty cluster", e.Name)
		}
	}
}

const (
	fairFile     = "<?xml version=\"1.0\"?>\n<!-- a licence -->\n<allocations>\n<queue name=\"a\"><weight>2</weight></queue>\n</allocations>\n"
	capacityFile = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>
</configuration>`
	capacity1File = `<configuration>
<property><name>mapred.capacity-scheduler.queue.a.capacity</name><value>70</value></property>
<property><name>mapred.capacity-scheduler.queue.b.capacity</name><value>30</value></property>
</configuration>`
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ spec, title, want string }{
		{"fifo", "fifo", ""},
		{" fair:by=user,weights=a:2;b:1 ", "fair:by=user,weights=a:2;b:1", ""},
		{"delay:node=3", "delay:node=3", ""},
		{"fbq:limits=4000,10000,count=completed", "fbq:limits=4000,10000,count=completed", ""},
		{"tags:limits=4000,10000", "", "3 queues need 2 shares"},
		{write("fair-scheduler.xml", fairFile), "fair-scheduler.xml", ""},
		{write("pools", fairFile), "pools", ""},
		{write("capacity-scheduler.xml", capacityFile), "capacity-scheduler.xml", ""},
		{write("hadoop1.xml", capacity1File), "hadoop1.xml", ""},
		{"capacity1:queues=a:70;b:30,maximum-capacity=capacity", "capacity1:queues=a:70;b:30,maximum-capacity=capacity", ""},
		{write("over.xml", strings.Replace(capacity1File, ">30<", ">31<", 1)), "", "over.xml:3: the capacities of the queues sum to 101"},
		{"fifo+delay:node=3s", "fifo+delay:node=3s", ""},
		{write("a+b.xml", capacityFile) + "+delay", "a+b.xml+delay", ""},
		{write("pools", fairFile) + "+delay:node=3", "pools+delay:node=3", ""},
		{write("hadoop1.xml", capacity1File) + "+delay", "", "takes no second placement"},
		{"fiar", "", "did you mean fair?"},
		{"fiar+delay", "", "did you mean fair?"},
		{"fair+dely", "", "did you mean delay?"},
		{"quincy", "", "there are fifo, fair"},
		{"fair:by=team", "", "want job or user"},
		{"fair:buy=user", "", "no parameter buy"},
		{"nowhere.xml", "", "does not exist"},
		{"", "", "no name"},
		{write("broken.xml", strings.Replace(fairFile, "2</weight>", "two</weight>", 1)), "", "broken.xml:4: <weight> is \"two\""},
		{write("cut.xml", fairFile[:70]), "", "cut.xml:4"},
		{write("page.xml", "<html/>"), "", "page.xml:1"},
		{write("empty.xml", ""), "", "empty.xml"},
	} {
		fresh, title, err := Load(Policies, c.spec)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.spec, err, c.want)
			}
			continue
		}
		if err != nil || title != c.title {
			t.Errorf("%s: title %q, %v", c.spec, title, err)
			continue
		}
		a, errA := fresh()
		b, errB := fresh()
		if errA != nil || errB != nil || a.Order == b.Order {
			t.Errorf("%s: two calls gave %v, %v and the same order %v", c.spec, errA, errB, a.Order == b.Order)
		}
	}
}

// Every order with every placement keeps the rules, or is refused.
func TestEveryPair(t *testing.T) {
	fewer(t)
	refused := map[string]bool{"capacity1": true, "delay": true, "shufflewatcher": true, "nas": true}
	for _, order := range append(Policies.Names(), "fbq:limits=5,20", "tags:limits=10,borrow=yes", "sita:limits=10,40,shares=0.3,0.3", "hybrid:base=delay") {
		for _, place := range []string{"delay:node=2,rack=1", "delay:node=2s"} {
			fresh, _, err := Load(Policies, order+"+"+place)
			if refused[order] || strings.Contains(order, "=delay") {
				if err == nil || !strings.Contains(err.Error(), "no second placement") {
					t.Errorf("%s+%s: %v", order, place, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s+%s: %v", order, place, err)
				continue
			}
			t.Run(order+"+"+place, func(t *testing.T) { policytest.Rules(t, fresh) })
		}
	}
}

// fewer lets the properties of a test of many policies draw a fifth of the usual cases.
func fewer(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	usual := checks.String()
	n, err := strconv.Atoi(usual)
	if err != nil {
		t.Fatal(err)
	}
	if err := checks.Set(strconv.Itoa(max(1, n/5))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Set(usual) })
}
