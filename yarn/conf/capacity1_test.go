package conf_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/policy/capacity1"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func TestReadCapacity1Full(t *testing.T) {
	f, err := os.Open("testdata/capacity1-full.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := conf.ReadCapacity1(f, "full.xml")
	if err != nil {
		t.Fatal(err)
	}
	at := conf.Pos{File: "full.xml", Line: 4}
	want := &conf.Capacity1{
		File: "full.xml", MaxSystemJobs: 40, PollInterval: 2500 * unit.Millisecond, WorkerThreads: 2, TasksPerHeartbeat: 8, TasksAfterOffSwitch: 1,
		Queues: []conf.Capacity1Queue{
			{Name: "long", Pos: at, Capacity: 60, MaxCapacity: -1, MinimumUserLimitPercent: 50, UserLimitFactor: 1.5, MaxActiveTasks: 5000, MaxActiveTasksPerUser: 2000, AcceptFactor: 4},
			{Name: "short", Pos: at, Capacity: 20, MaxCapacity: 20, MinimumUserLimitPercent: 25, UserLimitFactor: 2, SupportsPriority: true, MaxActiveTasks: 100, MaxActiveTasksPerUser: 100, AcceptFactor: 3},
			{Name: "spare", Pos: at, Capacity: 20, MaxCapacity: -1, MinimumUserLimitPercent: 50, UserLimitFactor: 1.5, SupportsPriority: true, MaxActiveTasks: 5000, MaxActiveTasksPerUser: 2000, AcceptFactor: 4},
		},
		Remarks: conf.Remarks{Warnings: []string{
			"full.xml:31: mapred.capacity-scheduler.queue.shrt.capacity has no effect: there is no queue shrt in mapred.queue.names",
			"full.xml:32: mapred.capacity-scheduler.queue.short.user-limit-facto is not a known setting; did you mean user-limit-factor?",
			"full.xml:33: mapred.capacity-scheduler.maximum-system-job is not a known setting; did you mean maximum-system-jobs?",
		}, NotModelled: []string{
			"mapred.capacity-scheduler.queue.long.reclaim-time-limit = 300 (full.xml:28) is not modelled",
			"mapred.capacity-scheduler.task.limit.maxpmem = -1 (full.xml:29) is not modelled",
			"mapred.queue.long.acl-submit-job = * (full.xml:30) is not modelled",
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p, err := capacity1.FromConf(got)
	if err != nil || len(p.NotModelled) != 7 {
		t.Errorf("%d notes, %v", len(p.NotModelled), err)
	}
}

// hadoop1 writes settings as a file, one a line from line 2 on.
func hadoop1(lines ...string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, line := range lines {
		k, v, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(k, "mapred.") {
			k = conf.Prefix1 + k
		}
		b.WriteString("<property><name>" + k + "</name><value>" + v + "</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

func TestReadCapacity1Errors(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{hadoop1(), "f.xml:1: no queue is named: set mapred.capacity-scheduler.queue.default.capacity"},
		{hadoop1("mapred.queue.names= , "), "f.xml:2: mapred.queue.names names no queue"},
		{hadoop1("mapred.queue.names=a,b,a"), "f.xml:2: mapred.queue.names names queue a twice"},
		{hadoop1("queue.a.capacity=40", "queue.b.capacity=61"), "f.xml:3: the capacities of the queues sum to 101: they must not exceed 100"},
		{hadoop1("queue.a.capacity=100", "queue.b.user-limit-factor=2"), "f.xml:3: queue b has no capacity, and the others leave 0 percent"},
		{hadoop1("queue.a.capacity=40%"), "f.xml:2: mapred.capacity-scheduler.queue.a.capacity is \"40%\": write the percentage without the sign"},
		{hadoop1("queue.a.capacity=forty"), "not a number"},
		{hadoop1("queue.a.capacity=0"), "it must be between 1 and 100"},
		{hadoop1("queue.a.capacity=40", "queue.a.maximum-capacity=39"), "f.xml:3: queue a has maximum-capacity 39, less than its capacity 40"},
		{hadoop1("queue.a.maximum-capacity=39"), "f.xml:2: queue a has maximum-capacity 39, less than its capacity 100"},
		{hadoop1("queue.a.minimum-user-limit-percent=0"), "f.xml:2: mapred.capacity-scheduler.queue.a.minimum-user-limit-percent is 0: it must be above 0"},
		{hadoop1("queue.a.user-limit-factor=0"), "it must be above 0"},
		{hadoop1("queue.a.supports-priority=yes"), "want true or false"},
		{hadoop1("queue.a.maximum-initialized-active-tasks=10", "queue.a.maximum-initialized-active-tasks-per-user=11"), "f.xml:3: mapred.capacity-scheduler.queue.a.maximum-initialized-active-tasks-per-user is 11, more than"},
		{hadoop1("queue.a.init-accept-jobs-factor=0"), "it must be at least 1"},
		{hadoop1("queue.a.capacity=1", "init-poll-interval=0"), "it must be at least 1"},
		{hadoop1("queue.a.capacity=1", "init-poll-interval=86400001"), "at most a day"},
		{"<configuration>", "f.xml:1: not well-formed XML"},
	} {
		if _, err := conf.ReadCapacity1(strings.NewReader(c.text), "f.xml"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v, want %q", c.text, err, c.want)
		}
	}
}

// Without mapred.queue.names the queues are those that the file has settings for, in its order; a zero maximum is none.
func TestReadCapacity1Takes(t *testing.T) {
	c, err := conf.ReadCapacity1(strings.NewReader(hadoop1("queue.b.maximum-capacity=0", "queue.a.x.capacity=30", "queue.b.supports-priority=true")), "f.xml")
	if err != nil || len(c.Queues) != 2 || c.Queues[0].Name != "b" || c.Queues[0].Capacity != 70 || c.Queues[0].MaxCapacity != -1 || c.Queues[1].Name != "a.x" {
		t.Fatalf("%+v, %v", c, err)
	}
	if c.MaxSystemJobs != 3000 || c.PollInterval != 5*unit.Second || c.WorkerThreads != 0 || c.TasksPerHeartbeat != 32767 {
		t.Errorf("defaults %+v", c)
	}
}

// Whatever is read is refused with its place, or makes a scheduler.
func FuzzCapacity1XML(f *testing.F) {
	full, err := os.ReadFile("testdata/capacity1-full.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte(hadoop1("queue.a.capacity=99.5", "queue.b.c.capacity=0.5", "queue..capacity=3", "queue.capacity=1", "x=${x}")))
	f.Add([]byte(hadoop1("mapred.queue.names=a,b", "queue.a.maximum-capacity=1e2", "init-poll-interval=2147483647")))
	f.Fuzz(func(t *testing.T, data []byte) {
		conf.Detect(data)
		c, err := conf.ReadCapacity1(bytes.NewReader(data), "f.xml")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.xml") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if _, err := capacity1.FromConf(c); err != nil {
			t.Errorf("read, and refused later: %v", err)
		}
	})
}
