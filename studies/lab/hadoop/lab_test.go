package hadoop_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/rmlog"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// needLab skips tests that start real daemons unless requested: they take minutes and gigabytes.
func needLab(t *testing.T) {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") != "1" {
		t.Skip("starts real daemons; set YARDMASTER_LAB_TESTS=1")
	}
}

// up brings a lab up for one test, logs its resource usage, and verifies that nothing of it is left.
func up(t *testing.T, o hadoop.Options) *hadoop.Cluster {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "run")
	began := time.Now()
	c, err := hadoop.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Cleanup(func() { checkDown(t, c.Dir) })
	usages, err := hadoop.Usages(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var rss int64
	var cpu time.Duration
	for _, u := range usages {
		if !u.Running {
			t.Errorf("%s has ended", u.Name)
		}
		rss, cpu = rss+u.RSS, cpu+u.CPU
	}
	t.Logf("Hadoop %s, %s: %d processes up in %.1f s, %d MiB, %.1f s of processor time", c.Version, c.Scheduler, len(usages),
		took.Seconds(), rss>>20, cpu.Seconds())
	return c
}

// shared is a lab that other tests may have used before; only the test's own is taken down and checked.
func shared(t *testing.T, o hadoop.Options) *hadoop.Cluster {
	t.Helper()
	if os.Getenv(hadoop.SharedVariable) == "" {
		return up(t, o)
	}
	c, done, err := hadoop.Shared(t.Context(), o, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = done() })
	return c
}

// checkDown takes a lab down and checks for leftover processes, by the lab's own mark and by the folder in their arguments.
func checkDown(t *testing.T, dir string) {
	t.Helper()
	began := time.Now()
	n, err := hadoop.Down(dir)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d processes ended in %.1f s", n, time.Since(began).Seconds())
	if left := proc.Marked(dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	args, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range args {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), dir+"/") {
			t.Errorf("%s is left: %q", f, b)
		}
	}
}

// fetch reads a JSON answer.
func fetch(t *testing.T, url string, v any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
}

// small is n applications of three containers each, in three queues, of two users.
func small(n int, hold hadoop.Millis) []hadoop.Application {
	queues, users := []string{"prod", "batch", "adhoc"}, []string{"alice", "bob"}
	list := make([]hadoop.Application, n)
	for i := range list {
		list[i] = hadoop.Application{ID: fmt.Sprintf("app-%d", i), User: users[i%len(users)], Queue: queues[i%len(queues)],
			Submit: hadoop.Millis(50 * i), Containers: []hadoop.Group{
				{Count: 2, MB: 256, Hold: hadoop.Holds{hold, hold / 2}}, {Count: 1, MB: 512, Priority: 2, Hold: hadoop.Holds{hold}},
			}}
	}
	return list
}

// runAMs runs a workload and checks what its AMs saw, against the log of the ResourceManager too.
func runAMs(t *testing.T, c *hadoop.Cluster, apps []hadoop.Application, o hadoop.AMsOptions) hadoop.AMsResult {
	t.Helper()
	res, err := c.AMs(t.Context(), apps, o)
	if err != nil {
		t.Fatal(err)
	}
	want, got := 0, 0
	for _, a := range apps {
		for _, g := range a.Containers {
			want += g.Count
		}
	}
	nodes := map[string]string{}
	for _, a := range res.Apps {
		if a.State != "SUCCEEDED" {
			t.Errorf("%s (%s): %s: %s", a.ID, a.App, a.State, a.Why)
		}
		if a.Submit < res.Zero || a.Accepted < a.Submit || a.Registered < a.Accepted || a.Unregister < a.Registered || a.End < a.Unregister {
			t.Errorf("%s: instants out of order: %+v", a.ID, a)
		}
		for _, ct := range a.Containers {
			if ct.Surplus || ct.Lost {
				continue
			}
			got++
			nodes[ct.ID] = ct.Node
			if ct.Error != "" || ct.Released < ct.Seen+ct.Hold {
				t.Errorf("%s: %+v", a.ID, ct)
			}
		}
	}
	if len(res.Apps) != len(apps) || got != want {
		t.Errorf("%d applications with %d containers, want %d with %d", len(res.Apps), got, len(apps), want)
	}
	t.Logf("%d applications, %d containers in %.1f s; client: %.1f s of processor time, %d MiB", len(res.Apps), got,
		res.Cost.Wall.Seconds(), res.Cost.CPU.Seconds(), res.Cost.RSS>>20)
	checkLog(t, c, nodes)
	return res
}

// checkLog verifies that each container is in the ResourceManager's log: allocated, acquired, ended, and on the right node.
func checkLog(t *testing.T, c *hadoop.Cluster, nodes map[string]string) {
	t.Helper()
	f, err := os.Open(c.RMLog())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	steps, placed := map[string]string{}, map[string]string{}
	kinds := map[rmlog.Kind]int{}
	err = rmlog.Read(f, func(e rmlog.Event) error {
		kinds[e.Kind]++
		switch {
		case e.Kind == rmlog.Container:
			steps[e.Container] += " " + e.To
		case e.Kind == rmlog.Placed && e.Size != "":
			placed[e.Container] = e.Node
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, node := range nodes {
		s := strings.TrimPrefix(steps[id], " RESERVED") // reserved first
		if !strings.HasPrefix(s, " ALLOCATED ACQUIRED") || !strings.HasSuffix(s, "RELEASED") && !strings.HasSuffix(s, "COMPLETED") ||
			placed[id] != node {
			t.Errorf("%s on %s: the log has%s on %q", id, node, s, placed[id])
		}
	}
	for _, k := range []rmlog.Kind{rmlog.App, rmlog.Attempt, rmlog.Node, rmlog.Accepted, rmlog.Added, rmlog.Granted, rmlog.Beat, rmlog.Tick} {
		if kinds[k] == 0 {
			t.Errorf("the log has no event of kind %s: %v", k, kinds)
		}
	}
}

func debug() []string {
	return append(append(append([]string{}, hadoop.DebugBeats...), hadoop.DebugTicks...), hadoop.DebugPlace...)
}

// checkCluster asks the ResourceManager over REST.
func checkCluster(t *testing.T, c *hadoop.Cluster, scheduler string, finished int) {
	t.Helper()
	var info struct {
		ClusterInfo struct{ State, HadoopVersion string }
	}
	fetch(t, c.RM()+"/ws/v1/cluster/info", &info)
	if info.ClusterInfo.State != "STARTED" || info.ClusterInfo.HadoopVersion != c.Version {
		t.Errorf("info: %+v", info)
	}
	var nodes struct {
		Nodes struct {
			Node []struct{ ID, Rack, State string }
		}
	}
	fetch(t, c.RM()+"/ws/v1/cluster/nodes", &nodes)
	racks := map[string]string{}
	for _, n := range nodes.Nodes.Node {
		racks[n.ID] = n.Rack
	}
	for _, n := range c.Nodes {
		if racks[n.ID] != n.Rack {
			t.Errorf("node %s is in %q, want %s", n.ID, racks[n.ID], n.Rack)
		}
	}
	var s struct {
		Scheduler struct{ SchedulerInfo struct{ Type string } }
	}
	fetch(t, c.RM()+"/ws/v1/cluster/scheduler", &s)
	if s.Scheduler.SchedulerInfo.Type != scheduler {
		t.Errorf("scheduler %q, want %q", s.Scheduler.SchedulerInfo.Type, scheduler)
	}
	var apps struct {
		Apps struct {
			App []struct {
				ID, FinalStatus string
				FinishedTime    int64
			}
		}
	}
	fetch(t, c.RM()+"/ws/v1/cluster/apps?states=FINISHED&user.name=yardmaster", &apps)
	for _, a := range apps.Apps.App {
		if a.FinalStatus != "SUCCEEDED" || a.FinishedTime == 0 {
			t.Errorf("application %+v", a)
		}
	}
	if len(apps.Apps.App) != finished {
		t.Errorf("%d applications are finished, want %d", len(apps.Apps.App), finished)
	}
}

func TestLabCapacity(t *testing.T) {
	needLab(t)
	c := up(t, hadoop.Options{HDFS: true, History: true, Heartbeat: 500 * time.Millisecond, Debug: debug()})
	runAMs(t, c, small(20, 1500), hadoop.AMsOptions{Heartbeat: 500 * time.Millisecond})

	began := time.Now()
	jobs, err := c.Jobs(t.Context(), []hadoop.Job{
		{ID: "sleeper", Kind: "sleep", User: "alice", Queue: "prod", Maps: 2, Reduces: 1, MapTime: 500, ReduceTime: 500},
		{ID: "words", Kind: "wordcount", User: "bob", Queue: "batch", Submit: 200, Maps: 2, Reduces: 1, MapMB: 384},
		{ID: "lost", Kind: "sleep", User: "bob", Queue: "nowhere", Maps: 1},
		{ID: "circle", Kind: "pi", User: "carol", Queue: "adhoc", Submit: 400, Maps: 2, Points: 100},
		{ID: "order", Kind: "terasort", User: "alice", Queue: "prod", Submit: 600, Maps: 2, Reduces: 1},
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("five MapReduce jobs in %.1f s", time.Since(began).Seconds())
	states := map[string]string{}
	for _, j := range jobs {
		states[j.ID+" "+j.Kind] = j.State
		if j.State == "SUCCEEDED" && (j.App == "" || j.Job == "" || j.End < j.Started || j.Started < j.Submit) {
			t.Errorf("%+v", j)
		}
	}
	want := map[string]string{"sleeper sleep": "SUCCEEDED", "words wordcount": "SUCCEEDED", "lost sleep": "REFUSED", "circle pi": "SUCCEEDED",
		"order teragen": "SUCCEEDED", "order terasort": "SUCCEEDED"}
	if !maps.Equal(states, want) {
		t.Errorf("jobs: %v, want %v: %+v", states, want, jobs)
	}
	checkCluster(t, c, "capacityScheduler", 25)
	checkHistory(t, c)

	if err := c.Kill("nodemanager-2"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "nodemanager-2"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitNodes(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := hadoop.Up(t.Context(), hadoop.Options{Dir: c.Dir}); err == nil || !strings.Contains(err.Error(), "take it down first") {
		t.Errorf("a second lab in the same folder: %v", err)
	}
}

// checkHistory waits until the history server has all jobs: files are moved to it a second or two after the end.
func checkHistory(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	var h struct {
		Jobs struct {
			Job []struct {
				Name, User, State        string
				MapsCompleted, MapsTotal int
				StartTime, FinishTime    int64
			}
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		fetch(t, c.History()+"/ws/v1/history/mapreduce/jobs", &h)
		if len(h.Jobs.Job) == 5 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the history server has %d jobs, want 5", len(h.Jobs.Job))
		}
	}
	for _, j := range h.Jobs.Job {
		if j.State != "SUCCEEDED" || j.MapsCompleted != 2 || j.FinishTime <= j.StartTime {
			t.Errorf("%+v", j)
		}
	}
	var status struct {
		FileStatuses struct {
			FileStatus []struct{ PathSuffix, Owner string }
		}
	}
	fetch(t, c.NameNode()+"/webhdfs/v1/tmp/jobs/bob/words/out?op=LISTSTATUS&user.name=bob", &status)
	if len(status.FileStatuses.FileStatus) != 2 { // _SUCCESS and one part
		t.Errorf("the output of the word count: %+v", status)
	}
}

func TestLabFair(t *testing.T) {
	needLab(t)
	c := shared(t, hadoop.SharedOptions(hadoop.Default, "fair"))
	runAMs(t, c, small(12, 1000), hadoop.AMsOptions{Heartbeat: 300 * time.Millisecond})
	checkCluster(t, c, "fairScheduler", 12)
}

func TestLabSecondVersion(t *testing.T) {
	needLab(t)
	c := shared(t, hadoop.SharedOptions(hadoop.Second, "capacity"))
	runAMs(t, c, small(12, 1000), hadoop.AMsOptions{Heartbeat: 300 * time.Millisecond})
	runAMs(t, c, small(3, 1000), hadoop.AMsOptions{Heartbeat: 300 * time.Millisecond, Start: true})
	checkCluster(t, c, "capacityScheduler", 15)
}
