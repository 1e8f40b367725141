package conf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yardmaster/yardmaster/unit"
)

func readFile(t *testing.T, path string) *Capacity {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := ReadCapacity(f, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadCapacityFull(t *testing.T) {
	c := readFile(t, "testdata/capacity-full.xml")
	if !c.Dominant || c.MaximumApplications != 5000 || c.MaxApplicationPriority != 0 || c.MinAllocation != (unit.Resources{Mem: 512, Cores: 1}) ||
		c.Heartbeat.NodeLocalityDelay != 20 || c.Heartbeat.MaxOffSwitch != 3 || c.Heartbeat.MaxAssignments != 100 || !c.Heartbeat.Multiple {
		t.Errorf("scheduler's own settings: %+v", c)
	}
	got := ""
	var walk func(q *Queue)
	walk = func(q *Queue) {
		got += fmt.Sprintf("%s cap %v %v max %v %v ord %s prio %d stop %v mulp %v ulf %v am %v apps %d size %v\n", q.Path, q.Capacity.Kind, q.Capacity.Value,
			q.MaxCapacity.Kind, q.MaxCapacity.Value, q.Ordering, q.Priority, q.Stopped, q.MinimumUserLimitPercent, q.UserLimitFactor, q.MaximumAMPercent,
			q.MaximumApplications, q.SizeWeight)
		for _, k := range q.Children {
			walk(k)
		}
	}
	walk(c.Root)
	want := `root cap a percentage 100 max unset 0 ord utilization prio 0 stop false mulp 100 ulf 1 am 0.2 apps -1 size false
root.prod cap a percentage 60 max unset 0 ord priority-utilization prio 0 stop false mulp 100 ulf 3 am 0.2 apps -1 size false
root.prod.etl cap a weight 3 max unset 0 ord fifo prio 2 stop false mulp 100 ulf 1 am 0.2 apps -1 size false
root.prod.reports cap a weight 1 max unset 0 ord fair prio 0 stop false mulp 100 ulf 1 am 0.2 apps -1 size true
root.adhoc cap a percentage 39.98 max a percentage 90 ord fifo prio 0 stop false mulp 25 ulf 2.5 am 0.5 apps 77 size false
root.lab cap a percentage 0 max unset 0 ord fifo prio 0 stop true mulp 100 ulf 1 am 0.2 apps -1 size false
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("queues (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{
		"capacity-full.xml:38: yarn.scheduler.capacity.root.adhoc.maximum-capacity is given twice: \"80\" of line 21 is replaced by \"90\"",
		"capacity-full.xml:39: yarn.scheduler.capacity.root.prod.capacity is final since line 12: the value \"99\" is not taken",
		"capacity-full.xml:33: yarn.scheduler.capacity.root.prod.user-limit-factor has no effect on the parent queue root.prod: set it on its leaves",
		"capacity-full.xml:34: yarn.scheduler.capacity.root.adhock.capacity has no effect: there is no queue root.adhock; did you mean adhoc?",
		"capacity-full.xml:35: yarn.scheduler.capacity.root.adhoc.maximum-capacty is not a known setting; did you mean maximum-capacity?",
		"capacity-full.xml:36: yarn.scheduler.capacity.node-localty-delay is not a known setting; did you mean node-locality-delay?",
	}, c.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{
		"prod.share = 60 (capacity-full.xml:11) is not modelled",
		"yarn.scheduler.capacity.root.adhoc.acl_submit_applications = * (capacity-full.xml:26) is not modelled",
		"yarn.scheduler.capacity.queue-mappings = u:alice:etl (capacity-full.xml:32) is not modelled",
	}, c.NotModelled); d != "" {
		t.Errorf("not modelled (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{
		"yarn.scheduler.capacity.node-locality-delay = 20 (capacity-full.xml:30) is not modelled without node heartbeats",
		"yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments = 3 (capacity-full.xml:31) is not modelled without node heartbeats",
	}, c.HeartbeatOnly); d != "" {
		t.Errorf("kept for heartbeats (-want +got):\n%s", d)
	}
}

// file writes settings as a file, one property a line from line 2 on; "+" starts a raw line.
func file(lines ...string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, line := range lines {
		if raw, ok := strings.CutPrefix(line, "+"); ok {
			b.WriteString(raw + "\n")
			continue
		}
		k, v, _ := strings.Cut(line, "=")
		fmt.Fprintf(&b, "<property><name>%s%s</name><value>%s</value></property>\n", Prefix, k, v)
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

func TestReadCapacityErrors(t *testing.T) {
	ab := func(a, b string, more ...string) string {
		return file(append([]string{"root.queues=a,b", "root.a.capacity=" + a, "root.b.capacity=" + b}, more...)...)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f.xml:1: no XML element found"},
		{"unclosed", "<configuration>\n<property>\n<name>x</name>\n", "f.xml:4: not well-formed XML: unexpected EOF"},
		{"crossed tags", "<configuration>\n<property>\n<name>x</property>\n", "f.xml:3: not well-formed XML: element <name> closed by </property>"},
		{"other root", "<allocations/>", "f.xml:1: the outermost element is <allocations>; a Hadoop configuration starts with <configuration>"},
		{"two roots", "<configuration/>\n<configuration/>", "f.xml:2: <configuration> follows the end of <configuration>"},
		{"no name", file("+<property><value>3</value></property>"), "f.xml:2: a <property> without <name>"},
		{"property in property", file("+<property><name>x</name>", "+<property><name>y</name></property></property>"), "f.xml:3: <property> inside <property> of line 2: is a </property> missing?"},
		{"include", file("+<include href='x'/>"), "f.xml:2: <include> is not followed"},
		{"no queues", file("maximum-applications=10"), "f.xml:1: yarn.scheduler.capacity.root.queues is missing"},
		{"queues misspelt", file("root.queue=a"), "f.xml:2: yarn.scheduler.capacity.root.queue is not a setting: did you mean yarn.scheduler.capacity.root.queues?"},
		{"empty queues", file("root.queues= ,"), "f.xml:2: yarn.scheduler.capacity.root.queues names no queue"},
		{"no capacity", file("root.queues=a,b", "root.a.capacity=50"), "f.xml:2: queue root.b has no capacity: set yarn.scheduler.capacity.root.b.capacity"},
		{"twice", file("root.queues=a,a"), "f.xml:2: yarn.scheduler.capacity.root.queues names queue a twice"},
		{"sum", ab("50", "40"), "f.xml:4: the capacities of the queues below root (a, b) sum to 90, not to 100"},
		{"sum just off", ab("50", "49.94"), "sum to 99.94, not to 100"},
		{"zero sum", ab("0", "0"), "sum to 0, not to 100"},
		{"zero weights", ab("0w", "0w"), "f.xml:4: the weights of the queues below root (a, b) sum to 0"},
		{"mixed", ab("50", "3w"), "f.xml:4: queue root.b has a weight as capacity, its sibling root.a a percentage"},
		{"mixed with absolute", ab("[memory=1,vcores=1]", "50"), "f.xml:4: queue root.b has a percentage as capacity, its sibling root.a an absolute amount"},
		{"absolute below percent", ab("50", "50", "root.a.queues=x", "root.a.x.capacity=[memory=1,vcores=1]"), "f.xml:6: queue root.a.x has an absolute amount as capacity, its parent a percentage"},
		{"above maximum", ab("50", "50", "root.a.maximum-capacity=40"), "f.xml:5: queue root.a has capacity 50 above its maximum-capacity 40"},
		{"absolute above maximum", ab("[memory=4096,vcores=4]", "[memory=1,vcores=1]", "root.a.maximum-capacity=[memory=2048,vcores=4]"), "f.xml:5: queue root.a has capacity [4096 MiB, 4 vcores] above"},
		{"weight as maximum", ab("50", "50", "root.a.maximum-capacity=4w"), "f.xml:5: yarn.scheduler.capacity.root.a.maximum-capacity is 4w: a maximum is a percentage"},
		{"kinds of maximum", ab("50", "50", "root.a.maximum-capacity=[memory=1,vcores=1]"), "f.xml:5: queue root.a has a percentage as capacity and an absolute amount as maximum-capacity"},
		{"not a number", ab("fifty", "50"), `f.xml:3: yarn.scheduler.capacity.root.a.capacity is "fifty", not a number`},
		{"percent sign", ab("50%", "50"), "f.xml:3: yarn.scheduler.capacity.root.a.capacity is \"50%\": write the percentage without the sign"},
		{"NaN", ab("NaN", "50"), "not a number"},
		{"negative", ab("-5", "50"), "f.xml:3: yarn.scheduler.capacity.root.a.capacity is -5: a capacity cannot be negative"},
		{"above 100", ab("150", "50"), "at most 100"},
		{"unset variable", ab("${x}", "50"), `f.xml:3: yarn.scheduler.capacity.root.a.capacity is "${x}", not a number`},
		{"endless variable", ab("${yarn.scheduler.capacity.root.a.capacity}", "50"), "f.xml:3: yarn.scheduler.capacity.root.a.capacity: more than 20 ${variables}"},
		{"bad absolute", ab("[memory=1,vcores=1", "50"), "f.xml:3: yarn.scheduler.capacity.root.a.capacity is \"[memory=1,vcores=1\": the closing ] is missing"},
		{"bad amount", ab("[memory=-1,vcores=1]", "50"), "\"-1\" is not an amount of memory"},
		{"non-legacy", ab("[memory=50%,vcores=1w]", "50"), "legacy-queue-mode.enabled=false, which is not modelled"},
		{"leaf policy", ab("50", "50", "root.a.ordering-policy=fairr"), "f.xml:5: yarn.scheduler.capacity.root.a.ordering-policy is \"fairr\": an ordering policy of the leaf queue root.a is fifo, fair, fifo-with-partitions, fifo-for-pending-apps; did you mean fair?"},
		{"parent policy", ab("50", "50", "root.ordering-policy=fifo"), "an ordering policy of the parent queue root is utilization, priority-utilization"},
		{"state", ab("50", "50", "root.a.state=OFF"), "f.xml:5: yarn.scheduler.capacity.root.a.state is \"OFF\": want RUNNING or STOPPED"},
		{"factor", ab("50", "50", "root.a.user-limit-factor=-7"), "f.xml:5: yarn.scheduler.capacity.root.a.user-limit-factor is -7: it must be between -1 and 1e+06"},
		{"am percent", ab("50", "50", "root.a.maximum-am-resource-percent=10"), "must be between 0 and 1"},
		{"applications", ab("50", "50", "root.a.maximum-applications=1.5"), "not a whole number"},
		{"heartbeat", ab("50", "50", "per-node-heartbeat.multiple-assignments-enabled=yes"), "want true or false"},
		{"calculator", ab("50", "50", "resource-calculator=Best"), "f.xml:5: yarn.scheduler.capacity.resource-calculator is \"Best\": want DefaultResourceCalculator"},
		{"queue name", file("root.queues=a b"), "a queue cannot be named \"a b\""},
		{"root capacity", ab("50", "50", "root.capacity=90"), "f.xml:5: yarn.scheduler.capacity.root.capacity is 90: the root always has 100"},
		{"long tag", "<!--" + strings.Repeat("<", 1<<17) + "-->\n<configuration" + strings.Repeat(" a='1'", 1<<15) + "/>", "f.xml:2: a tag of more than 64 KiB"},
		{"deep", strings.Repeat("<a>", 100), "f.xml:1: elements are nested more than 64 deep"},
	} {
		_, err := ReadCapacity(strings.NewReader(c.text), "f.xml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestReadCapacityTakes(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"absolute", file("root.queues=a,b", "root.a.capacity=[memory=20Gi, vcores=10]", "root.b.capacity=[memory=1024,vcores=1]", "root.a.maximum-capacity=[memory=40960,vcores=20]")},
		{"zero sum below zero", file("root.queues=a,b", "root.a.capacity=0", "root.b.capacity=100", "root.a.queues=x,y", "root.a.x.capacity=0", "root.a.y.capacity=0")},
		{"thirds", file("root.queues=a,b,c", "root.a.capacity=33.33", "root.b.capacity=33.33", "root.c.capacity=33.33")},
		{"attributes", "<configuration><property name='yarn.scheduler.capacity.root.queues' value='a'/><property name='yarn.scheduler.capacity.root.a.capacity' value='100'/></configuration>"},
		{"comment inside", file("root.queues=a<!-- b -->", "root.a.capacity=1<!-- x -->00")},
	} {
		if _, err := ReadCapacity(strings.NewReader(c.text), "f.xml"); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	c, err := ReadCapacity(strings.NewReader(file("root.queues=a", "root.a.capacity=[memory=20Gi, vcores=10]")), "f.xml")
	if err != nil || c.Root.Children[0].Capacity.Room != (unit.Resources{Mem: 20480, Cores: 10}) {
		t.Errorf("absolute amount: %v %+v", err, c)
	}
}

func TestLimits(t *testing.T) {
	if _, err := ReadXML(&endless{}, "big.xml"); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("endless file: %v", err)
	}
	var names, caps strings.Builder
	for i := range MaxQueues {
		fmt.Fprintf(&names, "q%d,", i)
	}
	fmt.Fprintf(&caps, "<configuration><property><name>%sroot.queues</name><value>%s</value></property></configuration>", Prefix, names.String())
	if _, err := ReadCapacity(strings.NewReader(caps.String()), "f.xml"); err == nil || !strings.Contains(err.Error(), "more than 100000 queues") {
		t.Errorf("too many queues: %v", err)
	}
}

type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]Kind{
		"": UnknownFile, "a b c": UnknownFile, "<html>": UnknownFile, "{}": UnknownFile,
		"<?xml version='1.0'?>\n<!-- yarn.scheduler.capacity. -->\n<allocations>": FairFile,
		"<configuration><property><name>yarn.scheduler.capacity.root.queues":      CapacityFile,
		"<configuration><property><name>mapred.capacity-scheduler.queue.a.capa":   Capacity1File,
		"<configuration><property><name>fs.defaultFS":                             HadoopFile,
		"<?xml version=\"1.0\" encoding=\"us-ascii\"?><configuration>":            HadoopFile,
	} {
		if got := Detect([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// The sample that ships with Hadoop's scheduler load simulator loads unchanged.
func TestHadoopSample(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	c := readFile(t, filepath.Join(dir, "hadoop-sls", "capacity-scheduler.xml"))
	if n := len(leaves(c)); n != 3 || len(c.Warnings)+len(c.NotModelled) > 0 {
		t.Errorf("%d leaves, warnings %v, %v", n, c.Warnings, c.NotModelled)
	}
}

func FuzzCapacityXML(f *testing.F) {
	full, err := os.ReadFile("testdata/capacity-full.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte(file("root.queues=a,b", "root.a.capacity=[memory=20Gi, vcores=10]", "root.b.capacity=[memory=1]", "x=${y}${x}")))
	f.Add([]byte("<?xml version='1.0' encoding='latin1'?><configuration><configuration/></configuration>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Detect(data)
		c, err := ReadCapacity(bytes.NewReader(data), "f.xml")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.xml") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if c.Root.Leaf() || len(leaves(c)) == 0 {
			t.Error("a tree without leaves")
		}
		for _, q := range leaves(c) {
			if q.Capacity.Value < 0 || q.Capacity.Value > 1e9 || q.Capacity.Room.Mem < 0 || q.UserLimitFactor < 0 && q.UserLimitFactor != -1 {
				t.Errorf("queue %+v", *q)
			}
		}
	})
}

// leaves returns the queues that take applications, in the order of the file.
func leaves(c *Capacity) []*Queue {
	var all []*Queue
	var walk func(q *Queue)
	walk = func(q *Queue) {
		if q.Leaf() {
			all = append(all, q)
		}
		for _, k := range q.Children {
			walk(k)
		}
	}
	walk(c.Root)
	return all
}

func TestQueueNamesMatch(t *testing.T) {
	for _, same := range [][2]string{{"a", "root.a"}, {"root.a", "a"}, {"root.a.b", "b"}, {"a.b", "root.a.b"}, {"x", "x"}} {
		if !QueueNamesMatch(same[0], same[1]) {
			t.Error(same)
		}
	}
	for _, other := range [][2]string{{"root.a.b", "root.c.b"}, {"a", "b"}, {"root.a", "root.a.b"}} {
		if QueueNamesMatch(other[0], other[1]) {
			t.Error(other)
		}
	}
}
