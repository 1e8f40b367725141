package rest_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// labUp is a lab with a client.
func labUp(t *testing.T, o hadoop.Options) (*hadoop.Cluster, *rest.Client) {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	began := time.Now()
	lab, done, err := hadoop.Shared(t.Context(), o, filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
		t.Logf("took %.1f s", time.Since(began).Seconds())
	})
	t.Logf("Hadoop %s, %s: up in %.1f s", lab.Version, lab.Scheduler, time.Since(began).Seconds())
	c := client(t, rest.Options{RM: []string{lab.RM()}, History: lab.History(), NameNodes: names(lab), Auth: rest.User("yardmaster"), RMRate: 20})
	return lab, c
}

func names(lab *hadoop.Cluster) []string {
	if lab.NameNode() == "" {
		return nil
	}
	return []string{lab.NameNode()}
}

// eventually polls until f is content.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// Every read and write of a real cluster with a job that runs, and then has run.
func TestLabCluster(t *testing.T) {
	lab, c := labUp(t, hadoop.Options{Nodes: 2, History: true})
	ctx := t.Context()
	labRM(t, c, 2)
	if _, err := all(c.Apps(ctx, rest.AppFilter{})); err != nil {
		t.Error("no application yet:", err)
	}
	jobs, err := lab.Jobs(ctx, []hadoop.Job{
		{ID: "watched", Kind: "sleep", User: "alice", Queue: "prod", Maps: 2, Reduces: 1, MapTime: 8000, ReduceTime: 1000},
		{ID: "killed", Kind: "sleep", User: "bob", Queue: "batch", Maps: 1, Reduces: 0, MapTime: 600_000},
	}, false)
	if err != nil || len(jobs) != 2 {
		t.Fatal(jobs, err)
	}
	byID := map[string]hadoop.JobResult{}
	for _, j := range jobs {
		byID[j.ID] = j
	}
	watched, killed := byID["watched"], byID["killed"]
	t.Run("a running AM", func(t *testing.T) { labAM(t, c, watched.App, watched.Job) })
	t.Run("changes", func(t *testing.T) { labChanges(t, c, killed.App) })
	t.Run("the AM is gone", func(t *testing.T) {
		eventually(t, "the end of "+watched.App, func() error {
			a, err := c.App(ctx, watched.App)
			if err == nil && !a.Ended() {
				err = errors.New(a.State)
			}
			return err
		})
		eventually(t, "its AM's absence", func() error { // the proxy learns of it a little later
			_, err := c.AM(watched.App).Job(ctx, watched.Job)
			if errors.Is(err, rest.ErrEnded) {
				return nil
			}
			if err == nil {
				err = errors.New("it still answers")
			}
			return err
		})
		ended, err := all(c.Apps(ctx, rest.AppFilter{States: []string{"FINISHED"}, FinishedFrom: time.UnixMilli(1)}))
		if err != nil || len(ended) != 1 || ended[0].ID != watched.App || ended[0].FinishedTime == 0 || ended[0].Queue != "root.prod" {
			t.Error(ended, err)
		}
		if _, err := c.App(ctx, "application_1_0001"); !errors.Is(err, rest.ErrNotFound) {
			t.Error(err)
		}
	})
	t.Run("history", func(t *testing.T) { labHistory(t, c, watched.Job) })
	t.Run("files", func(t *testing.T) { labFiles(t, c, watched.Job) })
	wrong := client(t, rest.Options{RM: []string{lab.NameNode()}, Auth: rest.User("yardmaster")})
	if _, err := wrong.Metrics(ctx); err == nil || !strings.Contains(err.Error(), "is this the web address of the ResourceManager (usually port 8088)?") {
		t.Error("another service's address:", err)
	} else {
		t.Log(err)
	}
}

// labRM reads what every ResourceManager answers.
func labRM(t *testing.T, c *rest.Client, nodes int) {
	t.Helper()
	ctx := t.Context()
	i, err := c.Info(ctx)
	if err != nil || i.HAState != "ACTIVE" {
		t.Error(i, err)
	}
	t.Log("version", i.HadoopVersion)
	if m, err := c.Ready(ctx, 0); err != nil || m.ActiveNodes != int64(nodes) || m.TotalMB != int64(nodes)*8192 {
		t.Error(m, err)
	}
	list, err := all(c.Nodes(ctx))
	if err != nil || len(list) != nodes || list[0].Total().Memory != 8192 || !strings.HasPrefix(list[0].Rack, "/rack-") {
		t.Error(list, err)
	}
	if p, err := c.Conf(ctx); err != nil || p.Get("yarn.scheduler.minimum-allocation-mb").Value != "128" {
		t.Error(err)
	}
	s, err := c.Scheduler(ctx)
	if err != nil || s.Root == nil || len(s.Root.Children) < 3 {
		t.Fatal(s, err)
	}
	for _, q := range s.Root.Children {
		if !strings.HasPrefix(q.Path, "root.") || !q.Leaf() {
			t.Errorf("%+v", q)
		}
	}
}

func labAM(t *testing.T, c *rest.Client, app, job string) {
	ctx := t.Context()
	m := c.AM(app)
	eventually(t, "a running map of "+app, func() error {
		j, err := m.Job(ctx, job)
		if err == nil && j.MapsRunning == 0 && j.MapsCompleted == 0 {
			err = errors.New("no map runs")
		}
		return err
	})
	if i, err := m.Info(ctx); err != nil || i.StartedOn == 0 {
		t.Error(i, err)
	}
	jobs, err := all(m.Jobs(ctx, rest.JobFilter{}))
	if err != nil || len(jobs) != 1 || jobs[0].MapsTotal != 2 {
		t.Error(jobs, err)
	}
	tasks, err := all(m.Tasks(ctx, job))
	if err != nil || len(tasks) != 3 {
		t.Fatal(tasks, err)
	}
	if x, err := m.Counters(ctx, job); err != nil || len(x) == 0 {
		t.Error(x, err)
	}
	if x, err := m.JobConf(ctx, job); err != nil || x.Get("mapreduce.job.queuename").Value != "prod" {
		t.Error(err)
	}
}

func labChanges(t *testing.T, c *rest.Client, app string) {
	ctx := t.Context()
	if r, err := c.MoveApp(ctx, app, "adhoc"); err != nil || r.Status != 200 {
		t.Error(r, err)
	}
	if r, err := c.SetPriority(ctx, app, 7); err != nil {
		t.Error(r, err)
	}
	if a, err := c.App(ctx, app); err != nil || a.Queue != "root.adhoc" || a.Priority != 7 {
		t.Error(a, err)
	}
	if _, err := c.MoveApp(ctx, app, "nowhere"); !errors.Is(err, rest.ErrForbidden) { // the ResourceManager's way to say so
		t.Error(err)
	} else {
		t.Log(err)
	}
	if r, err := c.KillApp(ctx, app); err != nil || r.Status != 202 {
		t.Error(r, err)
	}
	eventually(t, "the end of "+app, func() error {
		a, err := c.App(ctx, app)
		if err == nil && a.State != "KILLED" {
			err = errors.New(a.State)
		}
		return err
	})
	labScheduler(t, c)
}

// labScheduler changes settings, single and global, and reads them back.
func labScheduler(t *testing.T, c *rest.Client) {
	t.Helper()
	ctx := t.Context()
	before, err := c.SchedulerConfVersion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const global = "yarn.scheduler.capacity.maximum-am-resource-percent"
	change := rest.SchedulerChange{
		Update: []rest.QueueChange{{Queue: "root.prod", Settings: []rest.Setting{{Name: "maximum-capacity", Value: "77"}}}},
		Global: []rest.Setting{{Name: global, Value: "0.4"}},
	}
	if r, err := c.ChangeScheduler(ctx, change); err != nil {
		t.Fatal(r, err)
	}
	p, err := c.SchedulerConf(ctx)
	if err != nil || p.Get(global).Value != "0.4" || p.Get("yarn.scheduler.capacity.root.prod.maximum-capacity").Value != "77" {
		t.Error(err)
	}
	change.Update[0].Settings[0] = rest.Setting{Name: "capacity", Value: "99"}
	_, err = c.ChangeScheduler(ctx, change)
	if !errors.Is(err, rest.ErrRefused) || strings.Contains(err.Error(), "\n") {
		t.Error("a sum over 100 %:", err)
	}
	t.Log(err)
	if v, err := c.SchedulerConfVersion(ctx); err != nil || v != before+1 {
		t.Errorf("version %d after %d, %v", v, before, err)
	}
	change.Update[0].Settings[0] = rest.Setting{Name: "maximum-capacity", Value: "100"}
	change.Global[0].Value = "0.5"
	if _, err := c.ChangeScheduler(ctx, change); err != nil { // for who has the lab next
		t.Error(err)
	}
}

func labHistory(t *testing.T, c *rest.Client, job string) {
	ctx := t.Context()
	h := c.History()
	if i, err := h.Info(ctx); err != nil || i.HadoopVersion != hadoop.Default {
		t.Error(i, err)
	}
	eventually(t, job+" in the history", func() error {
		jobs, err := all(h.Jobs(ctx, rest.JobFilter{User: "alice", FinishedFrom: time.UnixMilli(1)}))
		if err == nil && (len(jobs) != 1 || jobs[0].ID != job || jobs[0].State != "SUCCEEDED") {
			err = errors.New("not there yet")
		}
		return err
	})
	if j, err := h.Job(ctx, job); err != nil || j.MapsTotal != 2 {
		t.Error(j, err)
	}
	tasks, err := all(h.Tasks(ctx, job))
	if err != nil || len(tasks) != 3 {
		t.Fatal(tasks, err)
	}
	for _, x := range tasks {
		if g, err := h.TaskCounters(ctx, job, x.ID); err != nil || len(g) == 0 {
			t.Error(g, err)
		}
	}
	if p, err := h.JobConf(ctx, job); err != nil || p.Get("mapreduce.map.memory.mb").Value != "256" {
		t.Error(err)
	}
	if _, err := h.Job(ctx, "job_1_0001"); !errors.Is(err, rest.ErrNotFound) {
		t.Error(err)
	} else {
		t.Log(err)
	}
}

func labFiles(t *testing.T, c *rest.Client, job string) {
	f := c.Files()
	path, _ := find(t.Context(), t, f, "/history/done", job)
	if path == "" {
		t.Fatal("no history file of", job)
	}
	r, err := f.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "Avro-Binary" {
		t.Errorf("%q %v", line, err)
	}
	_ = r.Close()
	if _, err := f.Open(t.Context(), "/history/none"); !errors.Is(err, rest.ErrNotFound) {
		t.Error(err)
	} else {
		t.Log(err)
	}
}

// find walks the folder for the job's history file.
func find(ctx context.Context, t *testing.T, f *rest.Files, folder, job string) (path string, size int64) {
	t.Helper()
	for s, err := range f.List(ctx, folder) {
		if err != nil {
			t.Fatal(err)
		}
		full := folder + "/" + s.Name
		switch {
		case s.IsDir():
			if path, size = find(ctx, t, f, full, job); path != "" {
				return path, size
			}
		case strings.HasPrefix(s.Name, job) && strings.HasSuffix(s.Name, ".jhist"):
			return full, s.Length
		}
	}
	return "", 0
}

// The next version answers in the same words, as far as they are read here.
func TestLabSecondVersion(t *testing.T) {
	_, c := labUp(t, hadoop.SharedOptions(hadoop.Second, "capacity"))
	labRM(t, c, 2)
	labScheduler(t, c)
	if _, err := all(c.Apps(t.Context(), rest.AppFilter{})); err != nil {
		t.Error(err)
	}
}

func TestLabFair(t *testing.T) {
	_, c := labUp(t, hadoop.SharedOptions(hadoop.Default, "fair"))
	labRM(t, c, 2)
	if s, err := c.Scheduler(t.Context()); err != nil || s.Type != "fairScheduler" || s.Root.Policy == "" {
		t.Error(s, err)
	}
	_, err := c.SchedulerConf(t.Context())
	if !errors.Is(err, rest.ErrRefused) {
		t.Error(err)
	}
	t.Log(err)
}
