//go:build linux

package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/yarn/history"
)

// These tests bring real daemons up and run real jobs. They run when YARDMASTER_LAB_TESTS is set, as CI does. YARDMASTER_SCALE is the number of
// applications of TestLabScale: 600 unless told.

func needLab(t *testing.T) {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
}

// up is a lab in which only the jobs of these tests run.
func up(t *testing.T) *hadoop.Cluster {
	t.Helper()
	c, done, err := hadoop.Shared(t.Context(), hadoop.Options{History: true}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// command builds yardmaster.
func command(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "yardmaster")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/yardmaster/yardmaster/cmd/yardmaster").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// forgedDir is where the jobs' own configurations say that history files are.
const forgedDir = "/tmp/forged"

// jobList is a mix of sizes, users, queues and kinds.
func jobList() []hadoop.Job {
	list := []hadoop.Job{
		{ID: "s1", Kind: "sleep", User: "alice", Queue: "prod", Maps: 2, Reduces: 1, MapTime: 1000, ReduceTime: 1000},
		{ID: "s2", Kind: "sleep", User: "bob", Queue: "batch", Submit: 2000, Maps: 4, Reduces: 2, MapTime: 1500, ReduceTime: 500, MapMB: 512},
		{ID: "w1", Kind: "wordcount", User: "carol", Queue: "adhoc", Submit: 4000, Maps: 2, Reduces: 1},
		{ID: "p1", Kind: "pi", User: "alice", Queue: "prod", Submit: 10000, Maps: 2, Points: 100},
		{ID: "s3", Kind: "sleep", User: "bob", Queue: "batch", Submit: 14000, Maps: 2, MapTime: 2000, Conf: map[string]string{"mapreduce.jobhistory.jhist.format": "json"}},
		{ID: "s4", Kind: "sleep", User: "carol", Queue: "adhoc", Submit: 20000, Maps: 3, Reduces: 1, MapTime: 800, ReduceTime: 800, Conf: map[string]string{"mapreduce.job.reduce.slowstart.completedmaps": "1.0"}},
		{ID: "t1", Kind: "terasort", User: "alice", Queue: "prod", Submit: 24000, Maps: 2, Reduces: 2, Bytes: 1 << 20},
		{ID: "s5", Kind: "sleep", User: "bob", Queue: "batch", Submit: 34000, Maps: 2, Reduces: 1, MapTime: 500, ReduceTime: 500, AMMB: 768},
		{ID: "s6", Kind: "sleep", User: "carol", Queue: "prod", Submit: 40000, Maps: 3, Reduces: 1, MapTime: 1200, ReduceTime: 600},
	}
	for i := range list {
		c := map[string]string{"mapreduce.jobhistory.done-dir": forgedDir}
		maps.Copy(c, list[i].Conf)
		list[i].Conf = c
	}
	return list
}

// TestLabReal runs ten real jobs, imports them over REST and WebHDFS and simulates them.
func TestLabReal(t *testing.T) {
	needLab(t)
	c, bin := up(t), command(t)
	results := runJobs(t, c)
	dir := filepath.Join(t.TempDir(), "imported")
	out := yardmaster(t, bin, importArgs(c, dir)...)
	t.Log(out)
	jobs := readJobs(t, filepath.Join(dir, "jobs.parquet"))
	byID := map[string]*workload.Job{}
	for _, j := range jobs {
		byID[j.ID] = j
	}
	if len(jobs) != len(results) || len(byID) != len(results) {
		t.Fatalf("%d jobs were imported, %d of them different; %d were run", len(jobs), len(byID), len(results))
	}
	want := map[string]hadoop.Job{}
	for _, j := range jobList() {
		want[j.ID] = j
	}
	for _, r := range results {
		j := byID[r.Job]
		if j == nil {
			t.Errorf("%s (%s) is missing", r.ID, r.Job)
			continue
		}
		if j.User != r.User || j.Queue != "root."+r.Queue || j.Observed == nil || j.Observed.Outcome != "SUCCESS" {
			t.Errorf("%s: %+v", r.ID, j)
		}
		if got, seen := j.Observed.Finish-j.Submit, unit.Time(r.End-r.Started)*unit.Millisecond; got <= 0 || got > seen+unit.Second {
			t.Errorf("%s took %v as its history says, %v as its client saw", r.ID, got, seen)
		}
		w, listed := want[r.ID]
		if !listed || w.Kind != "sleep" {
			continue
		}
		if j.Stages[0].Tasks != int64(w.Maps) || w.Reduces > 0 && (len(j.Stages) != 2 || j.Stages[1].Tasks != int64(w.Reduces)) {
			t.Errorf("%s has other tasks: %+v", r.ID, j.Stages)
		}
		for _, l := range j.Stages[0].Length.Values {
			if l < unit.Time(w.MapTime)*unit.Millisecond {
				t.Errorf("%s: a map of %v took %v", r.ID, w.MapTime.Duration(), l)
			}
		}
		mem := map[string]int64{"s2": 512}[r.ID]
		if mem == 0 {
			mem = 256
		}
		am := map[string]int64{"s5": 768}[r.ID]
		if am == 0 {
			am = 512
		}
		if j.Stages[0].Ask.Mem != mem || j.AM.Mem != am {
			t.Errorf("%s: maps of %v and an AM of %v", r.ID, j.Stages[0].Ask, j.AM)
		}
		if r.ID == "s4" && j.Stages[1].After[0].SlowStart != 1 {
			t.Errorf("s4: slow-start %v", j.Stages[1].After[0].SlowStart)
		}
	}
	// A second call finds nothing new, and writes the same file.
	before, err := os.ReadFile(filepath.Join(dir, "jobs.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if again := yardmaster(t, bin, importArgs(c, dir)...); !strings.Contains(again, "(0 new)") {
		t.Errorf("a second import: %s", again)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "jobs.parquet")); err != nil || string(after) != string(before) {
		t.Errorf("a second import made another file (%v)", err)
	}
	// Without history files the server's answers give the same tasks.
	other := filepath.Join(t.TempDir(), "rest")
	yardmaster(t, bin, "import", "yarn", "--rm", c.RM(), "--history", c.History(), "--user", "yardmaster", "--since", "1h", "-o", other)
	for _, j := range readJobs(t, filepath.Join(other, "jobs.parquet")) {
		f := byID[j.ID]
		if f == nil || len(f.Stages) != len(j.Stages) || f.Tasks() != j.Tasks() || f.Stages[0].Ask != j.Stages[0].Ask || f.Submit != j.Submit {
			t.Errorf("%s: the server's answers make another job of it: %+v", j.ID, j)
		}
	}
	t.Log(yardmaster(t, bin, "simulate", dir))
}

// TestLabScale multiplies real history files, puts them into HDFS and lets the history server find them, then imports them all, killed in the middle.
func TestLabScale(t *testing.T) {
	needLab(t)
	n := 600
	if s := os.Getenv("YARDMASTER_SCALE"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	c, bin := up(t), command(t)
	ran := len(runJobs(t, c))
	began := time.Now()
	multiply(t, c, n)
	t.Logf("%d histories were made and put into HDFS in %.0f s", n, time.Since(began).Seconds())
	if err := c.Restart(t.Context(), "historyserver"); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	listed := 0
	for end := time.Now().Add(5 * time.Minute); listed < n+ran; time.Sleep(time.Second) {
		if listed = historyCount(t, c); time.Now().After(end) {
			t.Fatalf("the history server lists %d jobs, want %d", listed, n+ran)
		}
	}
	t.Logf("the history server lists %d jobs, %.0f s after its start", listed, time.Since(began).Seconds())

	dir := filepath.Join(t.TempDir(), "imported")
	args := importArgs(c, dir)
	wall, rss, kills, killed := time.Duration(0), int64(0), 0, 0
	for {
		began := time.Now()
		cmd := exec.CommandContext(t.Context(), bin, args...)
		var text strings.Builder
		cmd.Stdout, cmd.Stderr = &text, &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kills < 2 {
			at := (kills + 1) * n / 3 // jobs in whole parts
			if wentOn := killAt(t, cmd, dir, at); !wentOn {
				killed++
				t.Logf("killed when %d jobs or more were in parts, after %.1f s", at, time.Since(began).Seconds())
			}
			kills++
		}
		err := cmd.Wait()
		wall += time.Since(began)
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			rss = max(rss, u.Maxrss<<10)
		}
		if err == nil {
			t.Logf("%s", text.String())
			break
		}
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !ws.Signaled() {
			t.Fatalf("%v: %s", err, text.String())
		}
	}
	t.Logf("%d applications in %.1f s of all calls together, at most %d MB", n+ran, wall.Seconds(), rss>>20)
	jobs := readJobs(t, filepath.Join(dir, "jobs.parquet"))
	ids := map[string]bool{}
	for _, j := range jobs {
		ids[j.ID] = true
	}
	if len(jobs) != n+ran || len(ids) != n+ran {
		t.Errorf("%d jobs, %d of them different; want %d", len(jobs), len(ids), n+ran)
	}
	if killed == 0 {
		t.Error("the import was over before it could be killed")
	}
	if wall > 5*time.Minute {
		t.Errorf("the import took %v, more than 5 minutes", wall)
	}
	if rss > 300<<20 {
		t.Errorf("the import took %d MB, more than 300", rss>>20)
	}
}

// killAt ends a command as a crash would, when so many jobs are in parts. It reports whether the command ended by itself before.
func killAt(t *testing.T, cmd *exec.Cmd, dir string, jobs int) bool {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			return true
		}
		if _, err := os.Stat(filepath.Join(dir, "jobs.parquet")); err == nil {
			return true
		}
		parts, err := filepath.Glob(filepath.Join(dir, ".import", "part-*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		have := 0
		for _, p := range parts {
			if r, err := jobfile.Open(p); err == nil {
				have += int(r.Jobs())
				_ = r.Close()
			}
		}
		if have >= jobs {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			return false
		}
	}
	t.Fatal("the import does not get on")
	return false
}

// have is what was run in a lab, for the next test that has it.
var have = map[string][]hadoop.JobResult{}

// runJobs runs the list, unless the lab has run it, and waits until the history server has all of it.
func runJobs(t *testing.T, c *hadoop.Cluster) []hadoop.JobResult {
	t.Helper()
	if results := have[c.Dir]; results != nil {
		return results
	}
	began := time.Now()
	results, err := c.Jobs(t.Context(), jobList(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.State != "SUCCEEDED" {
			t.Fatalf("%s: %s %s", r.ID, r.State, r.Why)
		}
	}
	t.Logf("%d real jobs in %.0f s", len(results), time.Since(began).Seconds())
	for end := time.Now().Add(2 * time.Minute); historyCount(t, c) < len(results) || len(doneFiles(t, c)) < len(results); time.Sleep(500 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the history server has not taken all %d jobs", len(results))
		}
	}
	have[c.Dir] = results
	return results
}

func importArgs(c *hadoop.Cluster, dir string) []string {
	return []string{"import", "yarn", "--rm", c.RM(), "--history", c.History(), "--webhdfs", c.NameNode(), "--user", "yardmaster", "--since", "7d", "-o", dir}
}

func yardmaster(t *testing.T, bin string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("yardmaster %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func readJobs(t *testing.T, path string) workload.Slice {
	t.Helper()
	r, err := jobfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
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
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
}

func historyCount(t *testing.T, c *hadoop.Cluster) int {
	t.Helper()
	var h struct {
		Jobs struct {
			Job []struct{ ID string }
		}
	}
	getJSON(t, c.History()+"/ws/v1/history/mapreduce/jobs?user.name=yardmaster", &h)
	return len(h.Jobs.Job)
}

// doneFiles are the history files that the history server has put into its done directory: all of this run are in one folder.
func doneFiles(t *testing.T, c *hadoop.Cluster) []string {
	t.Helper()
	var found []string
	var down func(path string)
	down = func(path string) {
		var list struct {
			FileStatuses struct {
				FileStatus []struct{ PathSuffix, Type string }
			}
		}
		getJSON(t, c.NameNode()+"/webhdfs/v1"+path+"?op=LISTSTATUS&user.name=yardmaster", &list)
		for _, s := range list.FileStatuses.FileStatus {
			if s.Type == "DIRECTORY" {
				down(path + "/" + s.PathSuffix)
			} else if strings.HasSuffix(s.PathSuffix, ".jhist") {
				found = append(found, path+"/"+s.PathSuffix)
			}
		}
	}
	down(doneDir(t, c))
	return found
}

// doneDir is where the lab's history server keeps finished files.
func doneDir(t *testing.T, c *hadoop.Cluster) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Conf(), "mapred-site.xml"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "mapreduce.jobhistory.done-dir</name>")
	if !ok {
		t.Fatal("the lab does not say where finished histories are")
	}
	_, after, _ = strings.Cut(after, "<value>")
	dir, _, _ := strings.Cut(after, "</value>")
	return strings.TrimSpace(dir)
}

// multiply puts n copies of the real histories, with their configurations, into HDFS: other ids, spread over five days before now.
func multiply(t *testing.T, c *hadoop.Cluster, n int) {
	t.Helper()
	local := filepath.Join(t.TempDir(), "real")
	shell(t, c, "-get", doneDir(t, c), local)
	var recorded []*history.Recording
	var confs []string
	err := filepath.Walk(local, func(path string, info os.FileInfo, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jhist") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := history.ReadRecording(info.Name(), data)
		if err != nil {
			return err
		}
		recorded = append(recorded, f)
		confs = append(confs, filepath.Join(filepath.Dir(path), f.JobID()+"_conf.xml"))
		return nil
	})
	if err != nil || len(recorded) < 10 {
		t.Fatalf("%d real histories: %v", len(recorded), err)
	}
	made := filepath.Join(t.TempDir(), "made")
	cluster := time.Now().Add(-5 * 24 * time.Hour)
	for i := range n {
		f := recorded[i%len(recorded)]
		id := fmt.Sprintf("%d_%04d", cluster.UnixMilli(), i+1)
		submit := cluster.Add(time.Duration(i) * 5 * 23 * time.Hour / time.Duration(n))
		where, data, err := f.Copy(id, submit.Sub(f.Submit()))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(made, filepath.FromSlash(where))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(confs[i%len(recorded)], filepath.Join(filepath.Dir(path), "job_"+id+"_conf.xml")); err != nil {
			t.Fatal(err)
		}
	}
	years, err := filepath.Glob(filepath.Join(made, "*"))
	if err != nil {
		t.Fatal(err)
	}
	months, err := filepath.Glob(filepath.Join(made, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range years {
		shell(t, c, "-mkdir", "-p", doneDir(t, c)+"/"+filepath.Base(y))
	}
	for _, m := range months {
		rel, err := filepath.Rel(made, m)
		if err != nil {
			t.Fatal(err)
		}
		to := doneDir(t, c) + "/" + filepath.ToSlash(rel)
		shell(t, c, "-mkdir", "-p", to)
		days, err := filepath.Glob(filepath.Join(m, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range days {
			shell(t, c, "-mkdir", "-p", to+"/"+filepath.Base(d))
			serials, err := filepath.Glob(filepath.Join(d, "*"))
			if err != nil {
				t.Fatal(err)
			}
			shell(t, c, append(append([]string{"-put", "-t", "4"}, serials...), to+"/"+filepath.Base(d)+"/")...)
		}
	}
	if err := os.RemoveAll(made); err != nil {
		t.Fatal(err)
	}
}

// shell runs Hadoop's file system shell.
func shell(t *testing.T, c *hadoop.Cluster, args ...string) {
	t.Helper()
	if out, err := c.Java(t.Context(), 256, "org.apache.hadoop.fs.FsShell", args...).CombinedOutput(); err != nil {
		t.Fatalf("hadoop fs %s: %v: %s", args[0], err, out)
	}
}
