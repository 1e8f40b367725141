package history

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// large is a ResourceManager with many applications that have ended, and a history server that knows them if they are MapReduce jobs.
type large struct {
	answers
	apps      int
	mapReduce bool
	delay     time.Duration // of an answer about one job
	stall     chan struct{} // set: the list of applications stops at 60 % until it is closed
}

func newLarge(apps int, mapReduce bool) *large {
	return &large{answers: capacityAnswers(), apps: apps, mapReduce: mapReduce}
}

// finished is when an application ended: one every 5 s, the last an hour before now.
func (l *large) finished(i int) int64 { return ms0 - int64(l.apps-i)*5000 }

func (l *large) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const jobs = "/ws/v1/history/mapreduce/jobs"
	q := r.URL.Query()
	in := func(i int) bool {
		bound := func(name string, fallback int64) int64 {
			if v, err := strconv.ParseInt(q.Get(name), 10, 64); err == nil {
				return v
			}
			return fallback
		}
		return l.finished(i) >= bound("finishedTimeBegin", 0) && l.finished(i) <= bound("finishedTimeEnd", 1<<62)
	}
	each := func(before string, one func(i int) string, after string) {
		w.Header().Set("Content-Type", "application/json")
		b := bufio.NewWriter(w)
		_, _ = b.WriteString(before)
		comma := ""
		for i := range l.apps {
			if l.stall != nil && i == l.apps*6/10 {
				_ = b.Flush()
				_ = http.NewResponseController(w).Flush()
				<-l.stall
			}
			if in(i) {
				_, _ = b.WriteString(comma + one(i))
				comma = ","
			}
		}
		_, _ = b.WriteString(after)
		_ = b.Flush()
	}
	path, single := strings.CutPrefix(r.URL.Path, jobs+"/")
	switch {
	case r.URL.Path == "/ws/v1/cluster/apps":
		each(`{"apps":{"app":[`, l.app, `]}}`)
	case r.URL.Path == jobs && l.mapReduce:
		each(`{"jobs":{"job":[`, l.job, `]}}`)
	case single && l.mapReduce:
		time.Sleep(l.delay)
		w.Header().Set("Content-Type", "application/json")
		_, what, _ := strings.Cut(path, "/")
		fmt.Fprint(w, l.of(what))
	default:
		l.answers.ServeHTTP(w, r)
	}
}

func (l *large) app(i int) string {
	kind, end := "SPARK", l.finished(i)
	if l.mapReduce {
		kind = "MAPREDUCE"
	}
	return fmt.Sprintf(`{"id":"application_1700000000000_%07d","user":"user%d","name":"nightly aggregation %d","queue":"root.prod","state":"FINISHED","finalStatus":"SUCCEEDED","progress":100.0,`+
		`"trackingUI":"History","trackingUrl":"http://rm.example.com:8088/proxy/application_1700000000000_%07d/","diagnostics":"","clusterId":1700000000000,"applicationType":%q,"applicationTags":"",`+
		`"priority":0,"startedTime":%d,"launchTime":%d,"finishedTime":%d,"elapsedTime":60000,"amContainerLogs":"http://n1.example.com:8042/node/containerlogs/container_1700000000000_%07d_01_000001/user",`+
		`"amHostHttpAddress":"n1.example.com:8042","amRPCAddress":"n1.example.com:34567","masterNodeId":"n1.example.com:8041","allocatedMB":-1,"allocatedVCores":-1,"reservedMB":-1,"reservedVCores":-1,`+
		`"runningContainers":-1,"memorySeconds":%d,"vcoreSeconds":%d,"queueUsagePercentage":0.0,"clusterUsagePercentage":0.0,"resourceSecondsMap":{"entry":{"key":"memory-mb","value":"0"}},`+
		`"preemptedResourceMB":0,"preemptedResourceVCores":0,"numNonAMContainerPreempted":0,"numAMContainerPreempted":0,"preemptedMemorySeconds":0,"preemptedVcoreSeconds":0,`+
		`"preemptedResourceSecondsMap":{},"logAggregationStatus":"SUCCEEDED","unmanagedApplication":false,"amNodeLabelExpression":"","timeouts":{"timeout":[{"type":"LIFETIME","expiryTime":"UNLIMITED",`+
		`"remainingTimeInSeconds":-1}]}}`, i, i%97, i%1000, i, kind, end-60_000, end-58_000, end, i, 300_000+i%10_000, 150+i%50)
}

func (l *large) job(i int) string {
	end := l.finished(i)
	return fmt.Sprintf(`{"submitTime":%d,"startTime":%d,"finishTime":%d,"id":"job_1700000000000_%07d","name":"nightly aggregation %d","queue":"root.prod","user":"user%d","state":"SUCCEEDED",`+
		`"mapsTotal":20,"mapsCompleted":20,"reducesTotal":2,"reducesCompleted":2}`, end-60_000, end-55_000, end, i, i%1000, i%97)
}

// of is what the history server says of one job: twenty maps and two reduces.
func (l *large) of(what string) string {
	switch what {
	case "tasks":
		var tasks []string
		for i := range 22 {
			kind, from, to := "MAP", 12_000, 30_000+i*100
			if i >= 20 {
				kind, from, to = "REDUCE", 33_000, 58_000
			}
			tasks = append(tasks, fmt.Sprintf(`{"startTime":%d,"finishTime":%d,"elapsedTime":1,"progress":100.0,"id":"task_1_1_m_%06d","state":"SUCCEEDED","type":%q,"successfulAttempt":"attempt_1_1_m_%06d_0"}`,
				ms0+from, ms0+to, i, kind, i))
		}
		return `{"tasks":{"task":[` + strings.Join(tasks, ",") + `]}}`
	case "counters":
		var list []string
		for i := range 60 {
			list = append(list, fmt.Sprintf(`{"name":"COUNTER_NUMBER_%d","totalCounterValue":%d,"mapCounterValue":%d,"reduceCounterValue":0}`, i, i*1000, i*1000))
		}
		return `{"jobCounters":{"id":"x","counterGroup":[{"counterGroupName":"org.apache.hadoop.mapreduce.TaskCounter","counter":[` + strings.Join(list, ",") + `]}]}}`
	case "conf":
		return `{"conf":{"path":"x","property":[{"name":"yarn.app.mapreduce.am.resource.mb","value":"768"}]}}`
	}
	return `{}`
}

const importing = "YARDMASTER_TEST_IMPORT"

// TestMain lets the test program be the import that another test kills.
func TestMain(m *testing.M) {
	if url := os.Getenv(importing); url != "" {
		os.Exit(importFrom(url, os.Args[1], os.Args[2]))
	}
	os.Exit(m.Run())
}

func importFrom(url, dir, parallel string) int {
	n, _ := strconv.Atoi(parallel)
	c, err := rest.New(rest.Options{RM: []string{url}, History: url, Parallel: n, Auth: rest.User("dave")})
	if err == nil {
		_, err = Run(context.Background(), Options{
			Client: c, RM: true, History: true, Now: time.UnixMilli(ms0).Add(time.Hour), Dir: dir, Jobs: "jobs.parquet", Source: "test", Parallel: n,
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start starts an import from a server in a process of its own.
func start(t testing.TB, url, dir string, parallel int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, dir, strconv.Itoa(parallel))
	cmd.Env = append(os.Environ(), importing+"="+url)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// inParts counts the jobs that are safe from a kill.
func inParts(t testing.TB, dir string) (n int) {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, ".import", "part-*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if r, err := jobfile.Open(p); err == nil {
			n += int(r.Jobs())
			_ = r.Close()
		}
	}
	return n
}

// kill ends an import as a crash would, with half of the applications in parts, and returns how many were.
func kill(t testing.TB, l *large, url, dir string) (safe int) {
	t.Helper()
	l.stall = make(chan struct{})
	cmd := start(t, url, dir, 4)
	for safe < l.apps/2 {
		time.Sleep(10 * time.Millisecond)
		safe = inParts(t, dir)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	close(l.stall)
	return safe
}

// An import that was killed goes on: the next call takes the other applications, each once.
func TestKilledAtSize(t *testing.T) {
	l := newLarge(10_000, false)
	s := httptest.NewServer(l)
	defer s.Close()
	dir := filepath.Join(t.TempDir(), "out")
	safe := kill(t, l, s.URL, dir)
	c, err := rest.New(rest.Options{RM: []string{s.URL}, RMRate: -1, Auth: rest.User("dave")})
	if err != nil {
		t.Fatal(err)
	}
	sum, jobs := imported(t, Options{Client: c, RM: true, Now: time.UnixMilli(ms0).Add(time.Hour), Dir: dir, Jobs: "jobs.parquet", Source: "test"})
	ids(t, jobs, l.apps)
	if left := int64(l.apps - safe); sum.New > left || sum.New < int64(l.apps)*4/10 { // what the server had not sent by then is new
		t.Errorf("%d jobs were in parts at the kill, and %d are new after it", safe, sum.New)
	}
}

// BenchmarkImport measures whole imports in processes of their own, and how long one takes that goes on after a kill at half of the applications.
func BenchmarkImport(b *testing.B) {
	for _, c := range []struct {
		name      string
		mapReduce bool
		delay     time.Duration
		parallel  int
	}{{"apps", false, 0, 4}, {"jobs/parallel=4", true, 40 * time.Millisecond, 4}, {"jobs/parallel=16", true, 40 * time.Millisecond, 16}, {"jobs/parallel=64", true, 40 * time.Millisecond, 64}} {
		for _, n := range []int{10_000, 100_000} {
			if c.mapReduce {
				if n /= 20; n < 5000 {
					continue
				}
			}
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				l := newLarge(n, c.mapReduce)
				l.delay = c.delay
				s := httptest.NewServer(l)
				defer s.Close()
				for b.Loop() {
					dir := filepath.Join(b.TempDir(), "out")
					began := time.Now()
					cmd := start(b, s.URL, dir, c.parallel)
					if err := cmd.Wait(); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(n)/time.Since(began).Seconds(), "jobs/s")
					b.ReportMetric(peak(cmd), "peak-MB")
					if c.mapReduce {
						continue
					}
					b.StopTimer()
					dir = filepath.Join(b.TempDir(), "killed")
					kill(b, l, s.URL, dir)
					began = time.Now()
					if err := start(b, s.URL, dir, c.parallel).Wait(); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(time.Since(began).Seconds(), "s-resumed")
					b.StartTimer()
				}
			})
		}
	}
}
