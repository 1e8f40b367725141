package history

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// answers is a server of fixed answers: what goes into the importer, at the level of a unit test. How real daemons answer is tested in lab_test.go.
type answers map[string]string

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := a[r.URL.Path]
	switch {
	case !ok:
		http.NotFound(w, r)
	case strings.HasPrefix(text, "403"):
		http.Error(w, text, http.StatusForbidden)
	case strings.HasPrefix(text, "<"):
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprint(w, text)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
}

const ms0 = 1_794_700_000_000

func capacityAnswers() answers {
	app := func(n int, typ, state, final string, start, launch, finish, mem, cores int64) string {
		return fmt.Sprintf(`{"id":"application_1700000000000_%04d","user":"dave","name":"app %d","queue":"root.prod","state":%q,"finalStatus":%q,`+
			`"applicationType":%q,"priority":2,"startedTime":%d,"launchTime":%d,"finishedTime":%d,"memorySeconds":%d,"vcoreSeconds":%d}`,
			n, n, state, final, typ, ms0+start, ms0+launch, ms0+finish, mem, cores)
	}
	return answers{
		"/ws/v1/cluster/info": `{"clusterInfo":{"id":1700000000000,"state":"STARTED","haState":"ACTIVE","hadoopVersion":"3.4.2"}}`,
		"/ws/v1/cluster/nodes": `{"nodes":{"node":[
 {"id":"n1.example.com:8041","rack":"/east/r1","state":"RUNNING","nodeHostName":"n1.example.com","usedMemoryMB":0,"availMemoryMB":8192,"usedVirtualCores":0,"availableVirtualCores":8},
 {"id":"n2.example.com:8041","rack":"/east/r1","state":"RUNNING","nodeHostName":"n2.example.com","usedMemoryMB":1024,"availMemoryMB":7168,"usedVirtualCores":1,"availableVirtualCores":7},
 {"id":"n3.example.com:8041","rack":"/east/r2","state":"RUNNING","nodeHostName":"n3.example.com","totalResource":{"memory":16384,"vCores":16}},
 {"id":"n4.example.com:8041","rack":"/east/r2","state":"LOST","nodeHostName":"n4.example.com"}]}}`,
		"/ws/v1/cluster/scheduler": `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","capacity":100.0,"queueName":"root","queuePath":"root","queues":{"queue":[
 {"queueName":"prod","queuePath":"root.prod","capacity":69.99999,"maxCapacity":100.0,"state":"RUNNING","userLimit":100,"userLimitFactor":2.0,"mode":"percentage","weight":-1.0},
 {"queueName":"dev","queuePath":"root.dev","capacity":30.000002,"maxCapacity":50.0,"state":"RUNNING","mode":"percentage","weight":-1.0,"queues":{"queue":[
  {"queueName":"a","queuePath":"root.dev.a","capacity":100.0,"maxCapacity":100.0,"state":"RUNNING","mode":"percentage","weight":-1.0}]}}]}}}}`,
		"/conf": `<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>512</value></property>
<property><name>yarn.resourcemanager.nodemanagers.heartbeat-interval-ms</name><value>3000</value></property><property><name>hadoop.tmp.dir</name><value>/x</value></property>
<property><name>mapreduce.jobhistory.done-dir</name><value>${staging}/done</value></property><property><name>staging</name><value>hdfs://nn:9000/mr</value></property></configuration>`,
		"/ws/v1/cluster/scheduler-conf": `{"property":[{"name":"yarn.scheduler.capacity.root.queues","value":"prod,dev"},{"name":"yarn.scheduler.capacity.root.prod.capacity","value":"70"},
 {"name":"yarn.scheduler.capacity.root.dev.capacity","value":"30"},{"name":"yarn.scheduler.capacity.root.dev.queues","value":"a"},{"name":"yarn.scheduler.capacity.root.dev.a.capacity","value":"100"},
 {"name":"yarn.scheduler.capacity.root.dev.a.user-settings.dave.weight","value":"2"},{"name":"yarn.scheduler.capacity.root.prod.acl_submit_applications","value":"dave"},
 {"name":"yarn.scheduler.capacity.queue-mappings","value":"u:dave:prod"},{"name":"yarn.scheduler.capacity.node-locality-delay","value":"40"}]}`,
		"/ws/v1/cluster/apps": `{"apps":{"app":[` + strings.Join([]string{
			app(1, "SPARK", "FINISHED", "SUCCEEDED", 0, 2000, 102_000, 1_100_000, 550), // 5.5 cores for 100 s
			app(2, "YARN", "FINISHED", "SUCCEEDED", 1000, 2000, 52_000, 51_000, 50),    // its AM only
			app(3, "SPARK", "KILLED", "KILLED", 2000, 0, 3000, 0, 0),                   // never ran
			app(4, "MAPREDUCE", "FINISHED", "SUCCEEDED", 3000, 4000, 60_000, 90_000, 90),
			app(5, "MAPREDUCE", "FAILED", "FAILED", 3000, 4000, 60_000, 90_000, 90),
		}, ",") + `]}}`,
		"/ws/v1/history/mapreduce/jobs": `{"jobs":{"job":[{"id":"job_1700000000000_0004","name":"words","user":"dave","queue":"root.prod","state":"SUCCEEDED","submitTime":1794700003000,
 "startTime":1794700009000,"finishTime":1794700059000,"mapsTotal":2,"reducesTotal":1}]}}`,
		"/ws/v1/history/mapreduce/jobs/job_1700000000000_0004/tasks": `{"tasks":{"task":[
 {"id":"task_1700000000000_0004_m_000000","type":"MAP","state":"SUCCEEDED","startTime":1794700012000,"finishTime":1794700032000},
 {"id":"task_1700000000000_0004_m_000001","type":"MAP","state":"SUCCEEDED","startTime":1794700012000,"finishTime":1794700042000},
 {"id":"task_1700000000000_0004_r_000000","type":"REDUCE","state":"SUCCEEDED","startTime":1794700033000,"finishTime":1794700058000}]}}`,
		"/ws/v1/history/mapreduce/jobs/job_1700000000000_0004/counters": `{"jobCounters":{"id":"job_1700000000000_0004","counterGroup":[{"counterGroupName":"x","counter":[
 {"name":"MB_MILLIS_MAPS","totalCounterValue":102400000},{"name":"MILLIS_MAPS","totalCounterValue":50000},{"name":"MB_MILLIS_REDUCES","totalCounterValue":102400000},
 {"name":"MILLIS_REDUCES","totalCounterValue":25000},{"name":"VCORES_MILLIS_REDUCES","totalCounterValue":50000},{"name":"HDFS_BYTES_READ","totalCounterValue":777}]}]}}`,
		"/ws/v1/history/mapreduce/jobs/job_1700000000000_0004/conf": `{"conf":{"path":"x","property":[{"name":"yarn.app.mapreduce.am.resource.mb","value":"768"},
 {"name":"mapreduce.jobhistory.done-dir","value":"/user/dave/forged"}]}}`,
	}
}

func served(t *testing.T, a answers) Options {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	c, err := rest.New(rest.Options{RM: []string{s.URL}, History: s.URL, NameNodes: []string{s.URL}, RMRate: -1, Retries: -1, Auth: rest.User("dave")})
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Client: c, RM: true, History: true, Now: time.UnixMilli(ms0).Add(time.Hour), Dir: filepath.Join(t.TempDir(), "out"), Jobs: "jobs.parquet", Source: s.URL,
	}
}

// An application without the time of its first container is noted: nothing tells its wait from its work.
func TestNoLaunchTime(t *testing.T) {
	known := capacityAnswers()
	if sum, _ := imported(t, served(t, known)); strings.Contains(fmt.Sprint(sum.Notes), "first container") {
		t.Errorf("they say it: %v", sum.Notes)
	}
	unknown := capacityAnswers()
	for path, text := range unknown {
		unknown[path] = regexp.MustCompile(`"launchTime":\d+`).ReplaceAllString(text, `"launchTime":0`)
	}
	sum, jobs := imported(t, served(t, unknown))
	if !strings.Contains(fmt.Sprint(sum.Notes), "do not say when they got their first container") {
		t.Errorf("they do not say it: %v", sum.Notes)
	}
	r, err := jobfile.Open(sum.Files[0])
	if err != nil || !strings.Contains(fmt.Sprint(r.Notes()), "do not say when they got their first container") {
		t.Errorf("the file of %d jobs does not say it: %v, %v", len(jobs), r.Notes(), err)
	}
}

func TestServers(t *testing.T) {
	o := served(t, capacityAnswers())
	sum, jobs := imported(t, o)
	byID := map[string]*workload.Job{}
	for _, j := range jobs {
		byID[j.ID] = j
	}
	ids(t, jobs, 4)
	spark := byID["application_1700000000000_0001"]
	if mem, cores := holds(spark, 100); math.Abs(mem-1_100_000) > 1 || math.Abs(cores-550) > 1 || spark.AM != (unit.Resources{Mem: 2048, Cores: 1}) || spark.Priority != 2 {
		t.Errorf("the Spark application holds %v MiB-s and %v core-s: %+v", mem, cores, spark)
	}
	alone := byID["application_1700000000000_0002"]
	if mem, cores := holds(alone, 50); math.Abs(mem-51_000) > 1 || math.Abs(cores-50) > 1 || !alone.AM.IsZero() {
		t.Errorf("the application that was its AM holds %v MiB-s and %v core-s: %+v", mem, cores, alone)
	}
	words := byID["job_1700000000000_0004"]
	if words.Stages[0].Ask != (unit.Resources{Mem: 2048, Cores: 1}) || words.Stages[1].Ask != (unit.Resources{Mem: 4096, Cores: 2}) || words.AM.Mem != 768 ||
		words.Stages[1].Length.Values[0] != 16*unit.Second || words.Stages[0].Input != 777 || words.Priority != 2 {
		t.Errorf("the MapReduce job: %+v", words)
	}
	if lost := byID["application_1700000000000_0005"]; lost == nil || lost.Observed.Outcome != "FAILED" {
		t.Errorf("the MapReduce job without a history: %+v", lost)
	}
	text := fmt.Sprint(sum.Notes)
	for _, want := range []string{"known to the ResourceManager only", "never held a container", "history server's answers", "nodes are lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("the notes do not say %q: %s", want, text)
		}
	}
	c, err := clusterfile.Open(filepath.Join(o.Dir, ClusterFile), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.String(); got != "3 nodes in 2 racks, 32 GiB and 32 vcores" {
		t.Error(got)
	}
	site := openConf(t, o.Dir, SiteFile, conf.ReadSite)
	if site.MinAllocation.Mem != 512 || site.NodeHeartbeat != 3*unit.Second {
		t.Errorf("%+v", site)
	}
	if q := openConf(t, o.Dir, CapacityFile, conf.ReadCapacity); len(q.Root.Children) != 2 {
		t.Errorf("%+v", q.Root)
	}
	if dir, err := DoneDir(context.Background(), o.Client); err != nil || dir != "/mr/done" {
		t.Errorf("the done directory is %q: %v", dir, err)
	}
	if !sum.Scenario {
		t.Error("the folder cannot be simulated")
	}
}

func openConf[T any](t *testing.T, dir, name string, parse func(r io.Reader, name string) (T, error)) T {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := parse(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An operator who is no administrator gets settings made of the queues that are shown.
func TestNotAnAdministrator(t *testing.T) {
	a := capacityAnswers()
	a["/ws/v1/cluster/scheduler-conf"] = "403 only admins"
	o := served(t, a)
	sum, _ := imported(t, o)
	if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "put together from the queues") {
		t.Error(text)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, CapacityFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"root.prod.capacity</name><value>70<", "root.dev.maximum-capacity</name><value>50<", "root.dev.queues</name><value>a<"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if q := openConf(t, o.Dir, CapacityFile, conf.ReadCapacity); len(q.Root.Children) != 2 {
		t.Errorf("%+v", q.Root)
	}
}

// What a person puts in the place of an imported file stays there when the folder is imported into again; what nobody touched is written anew.
func TestKeepsWhatWasChanged(t *testing.T) {
	o := served(t, capacityAnswers())
	imported(t, o)
	own := filepath.Join(o.Dir, CapacityFile)
	if err := os.WriteFile(own, []byte("<configuration/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(o.Dir, SiteFile)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sum, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(own); err != nil || string(text) != "<configuration/>" {
			t.Errorf("%s: %v", text, err)
		}
		if !slices.Equal(sum.Kept, []string{own}) || len(sum.Files) != 3 || !sum.Scenario || !strings.Contains(fmt.Sprint(sum.Notes), CapacityFile+" was changed since it was imported") {
			t.Errorf("kept %v, written %v: %v", sum.Kept, sum.Files, sum.Notes)
		}
	}
}

// holds is the memory-seconds and vcore-seconds of a job whose AM is held for some seconds.
func holds(j *workload.Job, am float64) (mem, cores float64) {
	mem, cores = float64(j.AM.Mem)*am, float64(j.AM.Cores)*am
	for _, s := range j.Stages {
		for i := range s.Tasks {
			length := s.Length.Draw(i, 0).Seconds()
			mem += float64(s.Ask.Mem) * length
			cores += float64(s.Ask.Cores) * length
		}
	}
	return mem, cores
}

// Applications that run are taken when that is asked for, with what they held so far, and taken afresh by the next call.
func TestRunning(t *testing.T) {
	running := func(elapsed, mem int64) answers {
		a := capacityAnswers()
		a["/ws/v1/cluster/apps"] = fmt.Sprintf(`{"apps":{"app":[{"id":"application_1700000000000_0009","user":"dave","name":"stream","queue":"root.prod","state":"RUNNING","finalStatus":"UNDEFINED",
 "applicationType":"SPARK","startedTime":%d,"launchTime":%d,"finishedTime":0,"elapsedTime":%d,"memorySeconds":%d,"vcoreSeconds":%d}]}}`, ms0-5000, ms0-4000, elapsed, mem, mem/1000)
		return a
	}
	dir := filepath.Join(t.TempDir(), "out")
	with := func(a answers, take bool) (*Summary, workload.Slice) {
		o := served(t, a)
		o.Dir, o.Running, o.History = dir, take, false
		sum, err := Run(context.Background(), o)
		if err != nil {
			return nil, nil
		}
		return sum, read(t, filepath.Join(dir, "jobs.parquet"))
	}
	if _, jobs := with(running(60_000, 300_000), false); len(jobs) != 0 {
		t.Errorf("%d jobs when nobody asked for those that run", len(jobs))
	}
	for _, so := range []struct{ elapsed, mem int64 }{{60_000, 300_000}, {120_000, 700_000}} {
		sum, jobs := with(running(so.elapsed, so.mem), true)
		if len(jobs) != 1 || jobs[0].Observed != nil || sum.Jobs != 1 || sum.New != 0 {
			t.Fatalf("%+v %+v", sum, jobs)
		}
		if mem, cores := holds(jobs[0], float64(so.elapsed-1000)/1000); math.Abs(mem-float64(so.mem)) > 1 || math.Abs(cores-float64(so.mem/1000)) > 1 {
			t.Errorf("%v MiB-s and %v core-s of %d: %+v", mem, cores, so.mem, jobs[0])
		}
		if !strings.Contains(fmt.Sprint(sum.Assumptions), "1 applications were running at") {
			t.Error(sum.Assumptions)
		}
	}
	ended := running(0, 900_000)
	ended["/ws/v1/cluster/apps"] = strings.NewReplacer(`"RUNNING"`, `"FINISHED"`, `"UNDEFINED"`, `"SUCCEEDED"`, `"finishedTime":0`, fmt.Sprintf(`"finishedTime":%d`, ms0+200_000)).Replace(ended["/ws/v1/cluster/apps"])
	sum, jobs := with(ended, true)
	if len(jobs) != 1 || jobs[0].Observed == nil || sum.New != 1 {
		t.Fatalf("after its end: %+v %+v", sum, jobs)
	}
	if mem, _ := holds(jobs[0], 204); math.Abs(mem-900_000) > 1 {
		t.Errorf("%v MiB-s after its end", mem)
	}
}

// Only what finished in the span is taken.
func TestUntil(t *testing.T) {
	o := served(t, capacityAnswers())
	o.History, o.Until = false, time.UnixMilli(ms0+55_000)
	sum, jobs := imported(t, o)
	if len(jobs) != 1 || jobs[0].ID != "application_1700000000000_0002" {
		t.Errorf("%v %v", sum, jobs)
	}
}

// A list without end ends the import before memory does.
func TestEndlessList(t *testing.T) {
	a := capacityAnswers()
	node := `{"id":"n:1","rack":"/r","state":"RUNNING","nodeHostName":"n","availMemoryMB":1,"availableVirtualCores":1}`
	a["/ws/v1/cluster/nodes"] = `{"nodes":{"node":[` + strings.Repeat(node+",", maxNodes) + node + `]}}`
	o := served(t, a)
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "lists more than 100000 nodes") {
		t.Error(err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed import leaves something: %v", err)
	}
}

func TestAnonymisedSite(t *testing.T) {
	o := served(t, capacityAnswers())
	o.Anonymise, o.Salt = true, "salt"
	_, jobs := imported(t, o)
	q := openConf(t, o.Dir, CapacityFile, conf.ReadCapacity)
	known := map[string]bool{}
	for _, c := range q.Root.Children {
		known[c.Path] = true
	}
	for _, j := range jobs {
		if !known[j.Queue] {
			t.Errorf("%s is in queue %s, which the settings do not have", j.ID, j.Queue)
		}
	}
	for _, name := range []string{o.Jobs, ClusterFile, CapacityFile, SiteFile} {
		text, err := os.ReadFile(filepath.Join(o.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"dave", "prod", "example", "east/", "words", "127.0.0.1"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s: %q is in it", name, secret)
			}
		}
	}
}

func TestFair(t *testing.T) {
	const scheduler = `{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","maxApps":2147483647,"schedulingPolicy":"fair","childQueues":{"queue":[
 {"type":"fairSchedulerLeafQueueInfo","queueName":"root.prod","maxApps":50,"schedulingPolicy":"fair","minResources":{"memory":1024,"vCores":1},"maxResources":{"memory":8192,"vCores":8},"steadyFairResources":{"memory":6000,"vCores":0}},
 {"type":"fairSchedulerLeafQueueInfo","queueName":"root.dev","maxApps":2147483647,"schedulingPolicy":"drf","minResources":{"memory":0,"vCores":0},"maxResources":{"memory":8192,"vCores":8},"steadyFairResources":{"memory":2000,"vCores":0}}]}}}}}`
	a := capacityAnswers()
	a["/ws/v1/cluster/scheduler"] = scheduler
	o := served(t, a)
	sum, _ := imported(t, o)
	if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "allocation file cannot be read here") {
		t.Error(text)
	}
	f := openConf(t, o.Dir, FairFile, conf.ReadFair)
	if len(f.Root.Children) != 2 || f.Root.Children[0].Weight != 3 || f.Root.Children[0].MaxApps != 50 || f.Root.Children[1].Policy != "drf" {
		t.Errorf("%+v", f.Root)
	}
	// A file that can be read is copied.
	file := filepath.Join(t.TempDir(), "allocations.xml")
	own := `<allocations><queue name="prod"><weight>7</weight><aclSubmitApps>dave</aclSubmitApps></queue><user name="dave"><maxRunningApps>3</maxRunningApps></user>` +
		`<queuePlacementPolicy><rule name="specified"/><rule name="default" queue="prod"/></queuePlacementPolicy></allocations>`
	if err := os.WriteFile(file, []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	a["/conf"] = `<configuration><property><name>` + fairFileSetting + `</name><value>` + file + `</value></property></configuration>`
	o = served(t, a)
	imported(t, o)
	if f := openConf(t, o.Dir, FairFile, conf.ReadFair); len(f.Root.Children) != 1 || f.Root.Children[0].Weight != 7 || f.UserMaxApps["dave"] != 3 {
		t.Errorf("%+v", f.Root)
	}
	o = served(t, a)
	o.Anonymise = true
	imported(t, o)
	text, err := os.ReadFile(filepath.Join(o.Dir, FairFile))
	if err != nil || strings.Contains(string(text), "dave") || strings.Contains(string(text), "prod") || !strings.Contains(string(text), "<weight>7<") {
		t.Errorf("%s, %v", text, err)
	}
	if err := xml.Unmarshal(text, new(struct{})); err != nil {
		t.Error(err)
	}
}

// Where history files cannot be read or are not where they should be, the history server is asked for every job.
func TestFilesOutOfReach(t *testing.T) {
	for name, listing := range map[string]string{"forbidden": "403 Permission denied", "not there": ""} {
		t.Run(name, func(t *testing.T) {
			a := capacityAnswers()
			if listing != "" {
				a["/webhdfs/v1/mr/done"] = listing
			}
			o := served(t, a)
			o.Files = WebHDFS(o.Client.Files(), "/mr/done")
			sum, jobs := imported(t, o)
			ids(t, jobs, 4)
			if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "the history files cannot be read") || !strings.Contains(text, "history server's answers") {
				t.Error(text)
			}
		})
	}
}

// What a server says that makes no sense is one clear line.
func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct{ path, answer, want string }{
		"cut":   {"/ws/v1/cluster/apps", `{"apps":{"app":[{"id":"application_1_1","us`, "list applications"},
		"html":  {"/ws/v1/cluster/nodes", `<html><title>Login</title></html>`, "list nodes"},
		"wrong": {"/ws/v1/cluster/scheduler", `{"scheduler":{"schedulerInfo":[1]}}`, "queues"},
	} {
		t.Run(name, func(t *testing.T) {
			a := capacityAnswers()
			a[c.path] = c.answer
			_, err := Run(context.Background(), served(t, a))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v: want one line with %q", err, c.want)
			}
		})
	}
}
