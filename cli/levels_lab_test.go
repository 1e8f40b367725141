//go:build unix

package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// levelsXML has an intake and three levels whose names sort in another order, and two queues for what Hadoop allows: a fixed one, and one without a
// guarantee.
func levelsXML() string {
	m := map[string]string{}
	for _, p := range strings.Fields(`
		root.queues=batch,levels,tiny,zero maximum-am-resource-percent=1
		root.batch.capacity=1 root.batch.maximum-capacity=100 root.batch.user-limit-factor=100 root.batch.maximum-applications=1000
		root.tiny.capacity=2 root.tiny.maximum-capacity=2
		root.zero.capacity=0 root.zero.maximum-capacity=100 root.zero.user-limit-factor=-1 root.zero.maximum-applications=1000
		root.levels.capacity=97 root.levels.maximum-capacity=100 root.levels.queues=short,medium,long root.levels.ordering-policy=priority-utilization
		root.levels.short.capacity=98 root.levels.short.priority=3 root.levels.short.user-limit-factor=100
		root.levels.medium.capacity=1 root.levels.medium.priority=2 root.levels.medium.user-limit-factor=1000 root.levels.medium.maximum-applications=1000
		root.levels.long.capacity=1 root.levels.long.priority=1 root.levels.long.user-limit-factor=1000 root.levels.long.maximum-applications=1000`) {
		name, value, _ := strings.Cut(p, "=")
		m[name] = value
	}
	return hadoop.Properties("yarn.scheduler.capacity.", m)
}

// On a real ResourceManager the steerer moves applications from the intake to the first level, and demotes the large ones, whose containers keep running. When it
// is killed everything goes back, and a new one starts from there; when it ends, all living applications are back in the intake.
func TestLabLevels(t *testing.T) {
	lab, c := labUp(t, hadoop.Options{SchedulerXML: levelsXML()})
	var apps []hadoop.Application
	for i := range 12 {
		count, hold := 2, hadoop.Millis(4000)
		if i < 3 {
			count, hold = 8, 600_000
		}
		apps = append(apps, hadoop.Application{ID: fmt.Sprint("app-", i), User: "alice", Queue: "root.batch", Submit: hadoop.Millis(500 * i),
			Containers: []hadoop.Group{{Count: count, MB: 256, Hold: hadoop.Holds{hold}}}})
	}
	defer runAMs(t, lab, apps)()
	// queues counts the applications by queue, and their containers.
	queues := func() (n, containers map[string]int) {
		n, containers = map[string]int{}, map[string]int{}
		for a, err := range c.Apps(t.Context(), rest.AppFilter{States: []string{"ACCEPTED", "RUNNING"}}) {
			if err != nil {
				t.Fatal(err)
			}
			n[a.Queue]++
			containers[a.Queue] += int(a.RunningContainers)
		}
		return n, containers
	}
	all := func(queue string) func() bool {
		return func() bool {
			n, containers := queues()
			return len(n) == 1 && n[queue] == 3 && containers[queue] == 24
		}
	}
	journal := t.TempDir()
	steer := func() *command {
		y := started(t, "yarn", "steer", "--rm", lab.RM(), "--queue", "batch,short,root.levels.medium,long", "--policy", "fbq", "--set", "limits=40,120", "--set", "interval=1s",
			"--act", "--user", "yardmaster", "--journal", journal, "--listen", "off")
		late := time.AfterFunc(2*time.Minute, func() { _ = y.Process.Kill() })
		t.Cleanup(func() { late.Stop() })
		return y
	}
	y := steer()
	y.until(t, "level 1: it is new")
	y.until(t, "level 2: it has attained")
	y.until(t, "level 3: it has attained")
	eventually(t, "the large ones are in the last level with all their containers, and the small ones have finished", all("root.levels.long"))
	if err := y.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	y.ends(t)
	eventually(t, "the guard has put them back", all("root.batch"))
	eventually(t, "the journal is closed", func() bool {
		_, open, err := live.ReadJournal(journal)
		return err == nil && len(open) == 0
	})
	y = steer()
	y.until(t, "level 3: it has attained")
	eventually(t, "the next steerer has moved them again", all("root.levels.long"))
	if err := y.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := y.ends(t); code != 0 {
		t.Errorf("it ended with %d:\n%s\n%s", code, strings.Join(y.lines, "\n"), y.err)
	}
	t.Logf("%s", strings.Join(y.lines, "\n"))
	if !all("root.batch")() {
		t.Error(queues())
	}
	if _, open, err := live.ReadJournal(journal); err != nil || len(open) > 0 {
		t.Errorf("the journal: %v, %v", open, err)
	}
	whatHadoopAllows(t, c)
}

// whatHadoopAllows checks what the simulated Capacity Scheduler assumes: an application may be moved to a queue whose maximum is less than it holds; in a queue
// without a guarantee one application is active at a time.
func whatHadoopAllows(t *testing.T, c *rest.Client) {
	t.Helper()
	var ids []string
	for a, err := range c.Apps(t.Context(), rest.AppFilter{States: []string{"RUNNING"}}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID)
	}
	for i, queue := range []string{"root.tiny", "root.zero", "root.zero"} {
		if _, err := c.MoveApp(t.Context(), ids[i], queue); err != nil {
			t.Errorf("to %s: %v", queue, err)
		}
	}
	s, err := c.Scheduler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range s.Root.Children {
		t.Logf("%s: %d active, %d pending, %d MB used of at most %d", q.Path, q.NumActive, q.NumPending, q.Used.Memory, q.MaxEffective.Memory)
		switch q.Path {
		case "root.tiny":
			if q.Used.Memory != 8*256 || q.MaxEffective.Memory >= q.Used.Memory {
				t.Errorf("%+v", q)
			}
		case "root.zero":
			if q.NumActive != 1 || q.NumPending != 1 {
				t.Errorf("%+v", q)
			}
		}
	}
}
