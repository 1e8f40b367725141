package rest_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// pages answers each path with its text, and remembers the last query.
type pages struct {
	t     *testing.T
	by    map[string]string
	mu    sync.Mutex
	query map[string]string
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if p.query == nil {
		p.query = map[string]string{}
	}
	p.query[r.URL.Path] = r.URL.RawQuery
	p.mu.Unlock()
	text, ok := p.by[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", json200)
	_, _ = io.WriteString(w, text)
}

// The same list as the versions write it.
func TestAppsInAllForms(t *testing.T) {
	one := rest.App{ID: "application_17_0002", User: "bob", Queue: "root.batch", State: "FINISHED", Progress: 100, StartedTime: 1794703830572,
		FinishedTime: 1794703851750, MemorySeconds: 24007, VCoreSeconds: 63, AllocatedMB: -1, Tags: "a,b"}
	// Hadoop repeats the key "entry" within an object.
	text := `{"id":"application_17_0002","user":"bob","queue":"root.batch","state":"FINISHED","progress":100.0,"startedTime":1794703830572,
		"finishedTime":1794703851750,"memorySeconds":24007,"vcoreSeconds":63,"allocatedMB":-1,"applicationTags":"a,b",
		"resourceSecondsMap":{"entry":{"key":"memory-mb","value":"24007"},"entry":{"key":"vcores","value":"63"}},"timeouts":{"timeout":[{}]}}`
	quoted := `{"id":"application_17_0002","user":"bob","queue":"root.batch","state":"FINISHED","progress":"100.0","startedTime":"1794703830572",
		"finishedTime":"1794703851750","memorySeconds":"24007","vcoreSeconds":63.0,"allocatedMB":"-1","applicationTags":["a","b"],"unmanagedApplication":"false","launchTime":""}`
	for name, c := range map[string]struct {
		body string
		want []rest.App
	}{
		"list":           {`{"apps":{"app":[` + text + `,` + text + `]}}`, []rest.App{one, one}},
		"quoted numbers": {`{"apps":{"app":[` + quoted + `]}}`, []rest.App{one}},
		"single":         {`{"apps":{"app":` + text + `}}`, []rest.App{one}},
		"null":           {`{"apps":null}`, nil},
		"empty object":   {`{"apps":{}}`, nil},
		"empty text":     {`{"apps":""}`, nil},
		"nothing":        {`{}`, nil},
		"null list":      {`{"apps":{"app":null}}`, nil},
		"empty list":     {`{"apps":{"app":[]}}`, nil},
		"bare list":      {`{"apps":[` + text + `]}`, []rest.App{one}},
		"not wrapped":    {`{"app":[` + text + `]}`, []rest.App{one}},
		"null element":   {`{"apps":{"app":[null,` + text + `]}}`, []rest.App{one}},
		"others around":  {`{"x":[{"apps":1}],"apps":{"y":{},"app":[` + text + `],"z":null},"more":[[]]}`, []rest.App{one}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, say(200, json200, c.body))
			got, err := all(client(t, quick(s.URL)).Apps(t.Context(), rest.AppFilter{}))
			if err != nil || !cmp.Equal(got, c.want) {
				t.Errorf("%v\n%s", err, cmp.Diff(c.want, got))
			}
		})
	}
	if one.JobID() != "job_17_0002" || !one.Ended() {
		t.Error(one.JobID(), one.Ended())
	}
}

func TestAppQuery(t *testing.T) {
	p := &pages{t: t, by: map[string]string{"/ws/v1/cluster/apps": `{"apps":null}`}}
	o := quick(serve(t, p.ServeHTTP).URL)
	o.Auth = rest.User("ann")
	f := rest.AppFilter{States: []string{"FINISHED", "KILLED"}, StartedFrom: time.UnixMilli(5), FinishedFrom: time.UnixMilli(7), FinishedUntil: time.UnixMilli(9), Queue: "a&b"}
	if _, err := all(client(t, o).Apps(t.Context(), f)); err != nil {
		t.Fatal(err)
	}
	want := "deSelects=resourceRequests&finishedTimeBegin=7&finishedTimeEnd=9&queue=a%26b&startedTimeBegin=5&states=FINISHED%2CKILLED&user.name=ann"
	if got := p.query["/ws/v1/cluster/apps"]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestClusterReads(t *testing.T) {
	p := &pages{t: t, by: map[string]string{
		"/ws/v1/cluster/info":    `{"clusterInfo":{"id":1794,"startedOn":1794,"state":"STARTED","haState":"STANDBY","hadoopVersion":"3.4.2"}}`,
		"/ws/v1/cluster/metrics": `{"clusterMetrics":{"activeNodes":"3","totalMB":24576,"availableMB":24576,"unknown":{"x":[1]}}}`,
		"/ws/v1/cluster/nodes": `{"nodes":{"node":{"rack":"/rack-a","state":"RUNNING","id":"h1:8041","nodeHostName":"h1","usedMemoryMB":1024,"availMemoryMB":7168,
			"usedVirtualCores":1,"availableVirtualCores":31}}}`,
		"/ws/v1/cluster/apps/application_1_0001": `{"app":{"id":"application_1_0001","state":"RUNNING"}}`,
		"/ws/v1/cluster/scheduler-conf/version":  `{"versionID":"7"}`,
	}}
	c := client(t, quick(serve(t, p.ServeHTTP).URL))
	ctx := t.Context()
	if i, err := c.Info(ctx); err != nil || i.HAState != "STANDBY" || i.HadoopVersion != "3.4.2" {
		t.Error(i, err)
	}
	if m, err := c.Metrics(ctx); err != nil || m.ActiveNodes != 3 || m.TotalMB != 24576 {
		t.Error(m, err)
	}
	nodes, err := all(c.Nodes(ctx, "RUNNING"))
	if err != nil || len(nodes) != 1 || nodes[0].Total().Memory != 8192 || nodes[0].Total().VCores != 32 {
		t.Error(nodes, err)
	}
	if a, err := c.App(ctx, "application_1_0001"); err != nil || a.State != "RUNNING" {
		t.Error(a, err)
	}
	if v, err := c.SchedulerConfVersion(ctx); err != nil || v != 7 {
		t.Error(v, err)
	}
}

func TestMapReduce(t *testing.T) {
	by := map[string]string{
		"/ws/v1/history/info": `{"historyInfo":{"startedOn":9,"hadoopVersion":"3.4.2"}}`,
	}
	for _, base := range []string{"/ws/v1/history", "/proxy/application_1_0016/ws/v1"} {
		j := base + "/mapreduce/jobs"
		by[j] = `{"jobs":{"job":[{"submitTime":1,"startTime":2,"finishTime":3,"id":"job_1_0016","queue":"root.prod","mapsTotal":4}]}}`
		by[j+"/job_1_0016"] = `{"job":{"id":"job_1_0016","mapsTotal":4,"uberized":false}}`
		by[j+"/job_1_0016/tasks"] = `{"tasks":{"task":[{"id":"task_1_0016_m_000001","type":"MAP","elapsedTime":5211},{"id":"task_1_0016_r_000000","type":"REDUCE"}]}}`
		by[j+"/job_1_0016/counters"] = `{"jobCounters":{"id":"job_1_0016","counterGroup":[{"counterGroupName":"F","counter":[{"name":"HDFS_BYTES_READ","totalCounterValue":192,"mapCounterValue":192}]}]}}`
		by[j+"/job_1_0016/tasks/task_1_0016_m_000001/counters"] = `{"jobTaskCounters":{"taskCounterGroup":{"counterGroupName":"T","counter":{"name":"SPILLED_RECORDS","value":"10"}}}}`
		by[j+"/job_1_0016/conf"] = `{"conf":{"path":"hdfs://x","property":[{"name":"mapreduce.job.queuename","value":"prod","source":["job.xml"]},{"name":"a.b","value":"<${mapreduce.job.queuename}>"}]}}`
	}
	s := serve(t, (&pages{t: t, by: by}).ServeHTTP)
	o := quick(s.URL)
	o.History = s.URL
	c := client(t, o)
	ctx := t.Context()
	if i, err := c.History().Info(ctx); err != nil || i.HadoopVersion != "3.4.2" {
		t.Error(i, err)
	}
	const job, task = "job_1_0016", "task_1_0016_m_000001"
	for _, m := range []*rest.MapReduce{c.History(), c.AM("application_1_0016")} {
		if x, err := all(m.Jobs(ctx, rest.JobFilter{FinishedFrom: time.UnixMilli(1)})); err != nil || len(x) != 1 || x[0].MapsTotal != 4 {
			t.Error(x, err)
		}
		if x, err := m.Job(ctx, job); err != nil || x.MapsTotal != 4 {
			t.Error(x, err)
		}
		if x, err := all(m.Tasks(ctx, job)); err != nil || len(x) != 2 || x[1].Type != "REDUCE" {
			t.Error(x, err)
		}
		if x, err := m.Counters(ctx, job); err != nil || len(x) != 1 || x[0].Counters[0].Total != 192 {
			t.Error(x, err)
		}
		if x, err := m.TaskCounters(ctx, job, task); err != nil || len(x) != 1 || x[0].Counters[0].Value != 10 {
			t.Error(x, err)
		}
		if x, err := m.JobConf(ctx, job); err != nil || x.Get("a.b").Value != "<prod>" {
			t.Error(x, err)
		}
	}
}

func TestSchedulerConfVersion(t *testing.T) {
	for body, want := range map[string]int64{`{"versionID":"7"}`: 7, `{"configversion":{"versionID":7}}`: 7, `{}`: 0, `{"versionID":{}}`: 0, `{`: 0} {
		s := serve(t, say(200, json200, body))
		v, err := client(t, quick(s.URL)).SchedulerConfVersion(t.Context())
		if v != want || (err == nil) != (want > 0) || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %d %v", body, v, err)
		}
	}
}

func TestConf(t *testing.T) {
	for name, body := range map[string]string{
		"xml":            `<?xml version="1.0" encoding="UTF-8"?><configuration><property><name>yarn.a</name><value>1</value><final>false</final><source>yarn-site.xml</source></property></configuration>`,
		"json of /conf":  `{"properties":[{"key":"yarn.a","value":"1","isFinal":false,"resource":"yarn-site.xml"}]}`,
		"scheduler-conf": `{"property":[{"name":"yarn.a","value":"1"}]}`,
		"one property":   `{"property":{"name":"yarn.a","value":1}}`,
		"inside conf":    `{"conf":{"property":[{"name":"yarn.a","value":"1"}]}}`,
	} {
		s := serve(t, say(200, json200, body))
		c := client(t, quick(s.URL))
		p, err := c.Conf(t.Context())
		if err != nil || p.Get("yarn.a") == nil || p.Get("yarn.a").Value != "1" {
			t.Error(name, p, err)
		}
		if p, err = c.SchedulerConf(t.Context()); err != nil || len(p.List) != 1 {
			t.Error(name, p, err)
		}
	}
	for _, body := range []string{`[]`, `"x"`, `{"property":[`, `<configuration><property>`, `<a/>`, `3`} {
		s := serve(t, say(200, json200, body))
		if _, err := client(t, quick(s.URL)).Conf(t.Context()); err == nil {
			t.Errorf("%s: no error", body)
		}
	}
}

// Memory is bounded by the largest element, not by the list.
func TestLongListInLittleMemory(t *testing.T) {
	const n = 50_000
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"apps":{"app":[`)
		pad := strings.Repeat("d", 300)
		for i := range n {
			comma := ","
			if i == 0 {
				comma = ""
			}
			_, _ = fmt.Fprintf(w, `%s{"id":"application_1_%07d","state":"FINISHED","startedTime":%d,"diagnostics":"%s"}`, comma, i, i, pad)
		}
		_, _ = io.WriteString(w, `]}}`)
	})
	c := client(t, quick(s.URL))
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	i := 0
	for a, err := range c.Apps(t.Context(), rest.AppFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if a.StartedTime != int64(i) {
			t.Fatalf("element %d has started at %d", i, a.StartedTime)
		}
		if i++; i%10_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
	}
	if i != n {
		t.Errorf("%d of %d", i, n)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB over a list of 19 MB", grown>>10)
	}
}

// A reader may stop in the middle.
func TestStopInTheMiddle(t *testing.T) {
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"apps":{"app":[{"id":"1"},{"id":"2"},{"id":"3"}]}}`)
	})
	c := client(t, quick(s.URL))
	for a, err := range c.Apps(t.Context(), rest.AppFilter{}) {
		if err != nil || a.ID != "1" {
			t.Error(a, err)
		}
		break
	}
	if asked.Load() != 1 {
		t.Error("asked", asked.Load(), "times")
	}
}
