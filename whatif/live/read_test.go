package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// manager answers as a ResourceManager of 100 nodes with 40 containers each.
type manager struct {
	nodes, running, waiting, ended int
	old                            bool // it does not list containers
}

const began = 1_760_000_000_000 // ms

func (m *manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(r.URL.Path, "/ws/v1/cluster/")
	type object = map[string]any
	answer := func(x any) { _ = json.NewEncoder(w).Encode(x) }
	switch {
	case path == "info":
		_, _ = io.WriteString(w, `{"clusterInfo":{"state":"STARTED","haState":"ACTIVE","hadoopVersion":"3.4.2"}}`)
	case path == "nodes":
		var list []object
		for i := range m.nodes {
			list = append(list, object{
				"id": fmt.Sprintf("n%d:45454", i), "rack": "/r1", "state": "RUNNING", "nodeHostName": fmt.Sprint("n", i), "usedMemoryMB": 40960, "availMemoryMB": 0,
				"usedVirtualCores": 40, "availableVirtualCores": 0,
			})
		}
		answer(object{"nodes": object{"node": list}})
	case path == "scheduler":
		_, _ = io.WriteString(w, `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":[{"queueName":"prod"},{"queueName":"adhoc"}]}}}}`)
	case path == "scheduler-conf":
		_, _ = io.WriteString(w, capacityFile)
	case r.URL.Path == "/conf":
		_, _ = io.WriteString(w, `<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>1024</value></property></configuration>`)
	case path == "apps":
		states := strings.Split(r.URL.Query().Get("states"), ",")
		var list []object
		for i := range m.ended + m.running + m.waiting {
			state := "FINISHED"
			switch {
			case i >= m.ended+m.running:
				state = "ACCEPTED"
			case i >= m.ended:
				state = "RUNNING"
			}
			if len(states) > 1 && !slices.Contains(states, state) {
				continue
			}
			start := began + int64(i)*100
			a := object{
				"id": fmt.Sprintf("application_1_%05d", i), "user": fmt.Sprint("u", i%7), "name": fmt.Sprintf("job-%c-%d", 'a'+i%5, i), "queue": []string{"root.prod", "root.adhoc"}[i%2], "state": state,
				"finalStatus": "UNDEFINED", "progress": 50, "applicationType": "MAPREDUCE", "startedTime": start, "elapsedTime": began + 3_000_000 - start, "allocatedMB": -1, "allocatedVCores": -1,
				"runningContainers": -1, "memorySeconds": 0, "trackingUrl": strings.Repeat("x", 100), "diagnostics": strings.Repeat("AM container is launched, waiting for AM container to Register with RM. ", 3),
			}
			switch state {
			case "RUNNING":
				a["allocatedMB"], a["allocatedVCores"], a["runningContainers"], a["memorySeconds"] = 40960, 40, 40, 4e6
				a["amContainerLogs"] = fmt.Sprintf("http://n1:8042/node/containerlogs/container_e17_1_%05d_02_000001/u", i)
				var requests []object
				for k := range 20 {
					where := fmt.Sprint("n", k)
					if k == 0 {
						where = "*"
					}
					requests = append(requests, object{"resourceName": where, "capability": object{"memory": 1024, "vCores": 1}, "numContainers": 20, "priority": object{"priority": 20}})
				}
				a["resourceRequests"] = requests
			case "ACCEPTED":
				a["resourceRequests"] = []object{{"resourceName": "*", "capability": object{"memory": 1024, "vCores": 1}, "numContainers": 1, "priority": 0}}
			}
			list = append(list, a)
		}
		answer(object{"apps": object{"app": list}})
	case strings.HasSuffix(path, "/containers") && !m.old:
		id := strings.Split(path, "/")[1]
		if want := "appattempt_" + strings.TrimPrefix(id, "application_") + "_000002"; strings.Split(path, "/")[3] != want {
			http.Error(w, "no such attempt", http.StatusNotFound)
			return
		}
		var list []object
		for k := range 40 {
			c := object{
				"containerId": fmt.Sprintf("container_e17_%s_02_%06d", strings.TrimPrefix(id, "application_"), k+1), "allocatedMB": 1024, "allocatedVCores": 1,
				"assignedNodeId": fmt.Sprintf("n%d:45454", k%m.nodes), "priority": 20, "startedTime": began + 2_940_000, "containerState": "RUNNING",
			}
			if k == 0 {
				c["priority"] = 0
			}
			list = append(list, c)
		}
		answer(object{"container": list})
	default:
		http.NotFound(w, r)
	}
}

func (m *manager) client(t testing.TB) *rest.Client {
	t.Helper()
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	c, err := rest.New(rest.Options{RM: []string{s.URL}, RMRate: -1, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

func TestRead(t *testing.T) {
	for _, old := range []bool{false, true} {
		m := &manager{nodes: 4, running: 3, waiting: 5, ended: 10, old: old}
		v, err := Read(t.Context(), m.client(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Apps) != 8 || len(v.Cluster.Nodes) != 4 || v.Now != 2999*unit.Second {
			t.Fatalf("%d applications on %d nodes at %v", len(v.Apps), len(v.Cluster.Nodes), v.Now)
		}
		a := &v.Apps[0]
		if !a.Up || len(a.Held) != 40 || !a.Held[0].AM || a.AM.Mem != 1024 || len(a.Asks) != 1 || a.Asks[0].Count != 20 || a.Asks[0].Priority != 20 {
			t.Errorf("%+v", a)
		}
		if known := a.Held[1].Node >= 0 && a.Held[1].Since == 2939*unit.Second && a.Held[1].Priority == 20; known == old {
			t.Errorf("old %v: %+v", old, a.Held[1])
		}
		if w := &v.Apps[7]; w.Up || len(w.Held) != 0 || w.AM.Mem != 1024 {
			t.Errorf("%+v", w)
		}
		list, err := Predict(t.Context(), v, nil, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if f.End.Median <= v.Now || f.End.Median == unit.Never || f.End.High < f.End.Low || !f.Started && f.Start.Median < v.Now {
				t.Errorf("%s: %+v", f.App.ID, f)
			}
		}
		again, err := Predict(t.Context(), v, nil, Options{Seed: 1, Workers: 1})
		if err != nil || !slices.EqualFunc(list, again, func(a, b Forecast) bool { return a.Start == b.Start && a.End == b.End }) {
			t.Errorf("the same seed gives something else on one processor: %v", err)
		}
	}
}

// Of 10,000 applications in the ResourceManager's list, most have ended, and it leaves them out itself.
func BenchmarkManyApplications(b *testing.B) {
	for _, m := range []*manager{{nodes: 100, running: 90, waiting: 410, ended: 9500}, {nodes: 100, running: 90, waiting: 9910}} {
		b.Run(fmt.Sprint(m.waiting, " waiting"), func(b *testing.B) {
			c := m.client(b)
			past := Learn(generated(1, 9, 0.6, 96))
			for b.Loop() {
				start := time.Now()
				v, err := Read(b.Context(), c, nil)
				if err != nil {
					b.Fatal(err)
				}
				read := time.Since(start)
				id := v.Apps[len(v.Apps)/2].ID
				list, err := Predict(b.Context(), v, past, Options{Only: func(a *App) bool { return a.ID == id }})
				if err != nil || list[0].End.Median == unit.Never {
					b.Fatal(err, list)
				}
				b.ReportMetric(float64(read.Milliseconds()), "ms-read")
				b.ReportMetric((list[0].End.Median - v.Now).Seconds(), "s-to-go")
			}
		})
	}
}
