package conf

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/unit"
)

func readFairFile(t *testing.T, path string) *Fair {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := ReadFair(f, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadFair(t *testing.T) {
	c := readFairFile(t, "testdata/fair-full.xml")
	at := func(line int) Pos { return Pos{"fair-full.xml", line} }
	max80 := Share{Percent: true, Mem: 80, Cores: 80}
	want := &Fair{
		UserMaxApps: map[string]int{"ann": 1, "bob": 2}, UserMaxAppsDefault: 5,
		Default: FairQueue{Weight: 1, Max: max80, MaxApps: 40, MaxAMShare: 0.4, Policy: "drf"},
		Placement: []FairRule{{Name: "specified"}, {Name: "user", Create: true},
			{Name: "default", Create: true, Queue: "root.adhoc.rest"}},
		Root: &FairQueue{Name: "root", Pos: at(3), Parent: true, Weight: 1, Max: WholeShare(), MaxApps: Unlimited, MaxAMShare: -1, Policy: "fair",
			Children: []*FairQueue{
				{Name: "root.prod", Pos: at(12), Parent: true, Weight: 2.5, Min: Share{Mem: 10240, Cores: 10},
					Max: Share{Percent: true, Mem: 90, Cores: 50}, MaxApps: 7, MaxAMShare: -1, Policy: "drf",
					Children: []*FairQueue{{Name: "root.prod.etl", Pos: at(19), Weight: 1, Min: Share{Mem: 4096, Cores: 3},
						Max: Share{Percent: true, Mem: 50, Cores: 100}, MaxApps: 40, MaxAMShare: 0.4, Policy: "fifo"}}},
				{Name: "root.adhoc", Pos: at(25), Parent: true, Weight: 1, Max: Share{Mem: maxAmount, Cores: 8},
					MaxChild: &Share{Mem: 2048.7, Cores: 2}, MaxApps: 40, MaxAMShare: 1, Policy: "drf"},
			}},
		NotModelled: []string{
			"fair-full.xml:9: <defaultMinSharePreemptionTimeout> has no effect: preemption is not modelled",
			"fair-full.xml:36: placement rule primaryGroup is passed over: only specified, user, default and reject are modelled",
			"fair-full.xml:18: <aclSubmitApps> has no effect: access lists are not modelled",
			"fair-full.xml:27: resource yarn.io/gpu in <maxResources> has no effect: only memory-mb and vcores are modelled",
			"fair-full.xml:28: <maxRuningApps> is not known and has no effect: did you mean <maxRunningApps>?",
		},
	}
	want.Preemption = want.NotModelled[:1]
	silent := func(q *FairQueue) { q.MinShareTimeout, q.FairShareTimeout, q.FairShareThreshold = -1, -1, -1 }
	silent(&want.Default)
	for _, q := range want.Root.Children {
		silent(q)
	}
	silent(want.Root.Children[0].Children[0])
	want.Root.MinShareTimeout, want.Root.FairShareTimeout, want.Root.FairShareThreshold = unit.Minute, unit.Never, 0.5
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	if got := c.Root.Children[0].Max.Of(unit.Resources{Mem: 1000, Cores: 15}); got != (unit.Resources{Mem: 900, Cores: 7}) {
		t.Errorf("90%% and 50%% are %v", got)
	}
	if got := c.Root.Children[1].MaxChild.Of(unit.Resources{}); got != (unit.Resources{Mem: 2048, Cores: 2}) {
		t.Errorf("2048.7 mb are %v", got)
	}
}

func TestReadFairErrors(t *testing.T) {
	in := func(s string) string { return "<allocations>\n<queue name=\"a\">\n" + s + "\n</queue>\n</allocations>" }
	for name, c := range map[string]struct{ text, want string }{
		"cut off":          {"<allocations>\n<queue name=\"a\">\n", "f.xml:3: not well-formed"},
		"wrong end":        {"<allocations>\n<queue name=\"a\">\n</allocations>", "f.xml:3: not well-formed"},
		"empty":            {"", "f.xml:1: no XML"},
		"other file":       {"<configuration/>", "f.xml:1: the outermost element is <configuration>"},
		"no name":          {"<allocations>\n<queue/></allocations>", "f.xml:2: <queue> without a name"},
		"pool, no name":    {"<allocations>\n<pool/></allocations>", "f.xml:2: <pool> without a name"},
		"dot":              {"<allocations><queue name=\"a.b\"/></allocations>", "has a dot"},
		"root and others":  {"<allocations><queue name=\"root\"/><queue name=\"b\"/></allocations>", "stands beside other queues"},
		"user, no name":    {"<allocations><user/></allocations>", "<user> without a name"},
		"user limit":       {"<allocations><user name=\"u\"><maxRunningApps>many</maxRunningApps></user></allocations>", "\"many\": want a whole number"},
		"weight":           {in("<weight>heavy</weight>"), "f.xml:3: <weight> is \"heavy\""},
		"negative weight":  {in("<weight>-1</weight>"), "f.xml:3: <weight>"},
		"NaN weight":       {in("<weight>NaN</weight>"), "f.xml:3: <weight>"},
		"apps":             {in("<maxRunningApps>2.5</maxRunningApps>"), "f.xml:3: <maxRunningApps>"},
		"am share":         {in("<maxAMShare>-0.5</maxAMShare>"), "or -1 for no limit"},
		"policy":           {in("<schedulingPolicy>unfair</schedulingPolicy>"), "want fair, drf or fifo"},
		"only memory":      {in("<minResources>1024 mb</minResources>"), "there is no vcores"},
		"only percent cpu": {in("<maxResources>5% cpu</maxResources>"), "there is no memory"},
		"bare number":      {in("<maxResources>1024</maxResources>"), "write \"1024 mb, 1 vcores\""},
		"nothing":          {in("<maxResources> </maxResources>"), "nothing is said"},
		"three":            {in("<maxResources>1 mb, 2 vcores, 3 gpus</maxResources>"), "more than two"},
		"twice":            {in("<maxResources>1 mb, 2 mb</maxResources>"), "not an amount"},
		"negative":         {in("<maxResources>-1 mb, 2 vcores</maxResources>"), "not an amount"},
		"mixed":            {in("<maxResources>memory-mb=5%, vcores=2</maxResources>"), "cannot be mixed"},
		"new, twice":       {in("<maxResources>vcores=5, vcores=2</maxResources>"), "comes twice"},
		"rule, no name":    {"<allocations><queuePlacementPolicy>\n<rule/></queuePlacementPolicy></allocations>", "f.xml:2: <rule> without"},
		"rule create":      {"<allocations><queuePlacementPolicy><rule name=\"user\" create=\"perhaps\"/></queuePlacementPolicy></allocations>", "true or false"},
		"deep":             {"<allocations>" + strings.Repeat("<queue name=\"a\">", 100), "deep"},
	} {
		_, err := ReadFair(strings.NewReader(c.text), "f.xml")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "f.xml:") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestReadFairWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"<queue name=\"a\"/>\n<queue name=\"a\"><weight>2</weight></queue>":                   "f.xml:2: queue root.a is defined a second time (first in line 1)",
		"<queue name=\"a\" type=\"leaf\"/>":                                                   "type=\"leaf\"",
		"<queue name=\"a\"><minResources>10%</minResources></queue>":                          "in percent has no effect",
		"<queue name=\"a\" type=\"parent\"><schedulingPolicy>fifo</schedulingPolicy></queue>": "served by name",
		"<userMaxJobsDefault>5</userMaxJobsDefault>":                                          "did you mean <userMaxAppsDefault>",
		"<zebra/>": "<zebra> is not known and has no effect",
		"<queuePlacementPolicy><rule name=\"specified\"/></queuePlacementPolicy>":                    "may find no queue",
		"<queuePlacementPolicy><rule name=\"user\"><rule name=\"x\"/></rule></queuePlacementPolicy>": "inside placement rule user",
	} {
		c, err := ReadFair(strings.NewReader("<allocations>"+text+"</allocations>"), "f.xml")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if all := strings.Join(c.NotModelled, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: warned %q, want %q", text, all, want)
		}
	}
	c, _ := ReadFair(strings.NewReader(`<allocations><queue name="a"/><queue name="a"><weight>2</weight></queue></allocations>`), "f")
	if len(c.Root.Children) != 1 || c.Root.Children[0].Weight != 2 {
		t.Errorf("a queue named twice: %+v", c.Root.Children)
	}
}

func TestHadoopFairSample(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	c := readFairFile(t, filepath.Join(dir, "hadoop-sls", "fair-scheduler.xml"))
	var got []string
	for _, q := range c.Root.Children {
		got = append(got, fmt.Sprintf("%s %v %v %v %s", q.Name, q.Weight, q.Min.Mem, q.Min.Cores, q.Policy))
	}
	want := []string{"root.sls_queue_1 0.25 1024 1 fair", "root.sls_queue_2 0.25 1024 1 fair", "root.sls_queue_3 0.5 1024 1 fair"}
	if d := cmp.Diff(want, got); d != "" || c.UserMaxApps["jenkins"] != 1000 || c.UserMaxAppsDefault != 1000 {
		t.Errorf("%s %v %v", d, c.UserMaxApps, c.UserMaxAppsDefault)
	}
}

func FuzzFairXML(f *testing.F) {
	full, err := os.ReadFile("testdata/fair-full.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(full))
	f.Add(`<allocations><pool name="a"><maxResources>1e99 mb, 2 vcores</maxResources></pool></allocations>`)
	f.Add("<allocations><queue name=\"\x00\"/></allocations>")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadFair(strings.NewReader(text), "f.xml")
		if err != nil {
			if !strings.Contains(err.Error(), "f.xml") {
				t.Errorf("%v names no file", err)
			}
			return
		}
		seen := map[string]bool{}
		var check func(q *FairQueue, above string)
		check = func(q *FairQueue, above string) {
			if seen[q.Name] || !strings.HasPrefix(q.Name, above) {
				t.Errorf("queue %q below %q, or twice", q.Name, above)
			}
			seen[q.Name] = true
			if !(q.Weight >= 0) || math.IsInf(q.Weight, 0) || q.MaxApps < 0 || !(q.MaxAMShare == -1 || q.MaxAMShare >= 0 && q.MaxAMShare <= 1) {
				t.Errorf("queue %+v", q)
			}
			for _, s := range []Share{q.Min, q.Max} {
				if r := s.Of(unit.Resources{Mem: 1 << 40, Cores: 1 << 20}); r.Mem < 0 || r.Cores < 0 {
					t.Errorf("queue %s: %+v is %v", q.Name, s, r)
				}
			}
			if len(q.Children) > 0 && !q.Parent {
				t.Errorf("queue %s has children and is no parent", q.Name)
			}
			for _, k := range q.Children {
				check(k, q.Name+".")
			}
		}
		check(c.Root, "root")
	})
}
