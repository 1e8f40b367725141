package yard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// manager is a ResourceManager in name only. What it answers is made anew for each request.
type manager struct {
	mu       sync.Mutex
	fair     bool
	version  string
	ams      bool           // those of running jobs answer
	dumb     bool           // it does not count applications
	leaf     map[string]any // fields of root.default over those of the version
	metrics  map[string]any
	nodes    []map[string]any
	apps     []map[string]any
	settings map[string]string // of scheduler-conf
	conf     map[string]string
	put      func(w http.ResponseWriter, body string) bool // true: it has answered
	requests map[string]int
	listed   int // applications in all answers
}

func newManager(version string, fair bool) *manager {
	m := &manager{fair: fair, version: version, leaf: map[string]any{}, requests: map[string]int{},
		metrics: map[string]any{"totalMB": 52224, "totalVirtualCores": 24, "allocatedMB": 6144, "allocatedVirtualCores": 5, "activeNodes": 3, "appsPending": 1, "appsRunning": 2},
		conf: map[string]string{"yarn.scheduler.minimum-allocation-mb": "512", "yarn.scheduler.minimum-allocation-vcores": "1", "yarn.resourcemanager.webapp.address": "rm.example:8088",
			"yarn.scheduler.configuration.store.class": "memory"},
		settings: map[string]string{"yarn.scheduler.capacity.root.queues": "default,other", "yarn.scheduler.capacity.maximum-am-resource-percent": "0.3"},
	}
	if versionOf(version) >= 303 {
		m.metrics["utilizedVirtualCoresPercent"], m.metrics["utilizedMBPercent"] = 37, 20
	}
	return m
}

func mb(mem, cores int) map[string]any { return map[string]any{"memory": mem, "vCores": cores} }

// scheduler is the tree: root with default, which the tests look at, and other, which holds 1000 MB.
func (m *manager) scheduler() any {
	v := versionOf(m.version)
	leaf := map[string]any{"queueName": "default", "state": "RUNNING"}
	other := map[string]any{"queueName": "other", "numActiveApplications": 0, "numPendingApplications": 0, "resourcesUsed": mb(1000, 1), "absoluteCapacity": 40.0, "absoluteMaxCapacity": 100.0}
	if m.fair {
		maps.Copy(leaf, map[string]any{"type": "fairSchedulerLeafQueueInfo", "queueName": "root.default", "schedulingPolicy": "fair", "usedResources": mb(6144, 5),
			"fairResources": mb(52224, 0), "steadyFairResources": mb(26112, 0), "maxResources": mb(52224, 24), "numActiveApps": 2, "numPendingApps": 1})
		if v >= 300 {
			leaf["amUsedResources"], leaf["amMaxResources"] = mb(4096, 2), mb(15668, 8)
		}
		maps.Copy(leaf, m.leaf)
		return map[string]any{"scheduler": map[string]any{"schedulerInfo": map[string]any{"type": "fairScheduler", "rootQueue": map[string]any{"queueName": "root",
			"childQueues": map[string]any{"queue": []any{leaf, map[string]any{"queueName": "root.other", "numActiveApps": 0, "numPendingApps": 0}}}}}}}
	}
	maps.Copy(leaf, map[string]any{"type": "capacitySchedulerLeafQueueInfo", "resourcesUsed": mb(6144, 5), "absoluteCapacity": 60.0, "absoluteMaxCapacity": 100.0, "numActiveApplications": 2,
		"numPendingApplications": 1, "numContainers": 5, "AMResourceLimit": mb(15872, 1), "usedAMResource": mb(4096, 2), "usedCapacity": "NaN"})
	if v >= 210 {
		leaf["capacities"] = map[string]any{"queueCapacitiesByPartition": []any{map[string]any{"partitionName": "", "maxAMLimitPercentage": 30.000002}}}
	}
	if v >= 303 {
		leaf["configuredMaxAMResourceLimit"], leaf["queuePath"], other["queuePath"] = 0.3, "root.default", "root.other"
		leaf["minEffectiveCapacity"], leaf["maxEffectiveCapacity"] = mb(31334, 14), mb(52224, 24)
	}
	maps.Copy(leaf, m.leaf)
	if m.dumb {
		delete(leaf, "numActiveApplications")
	}
	var queue any = []any{leaf, other}
	return map[string]any{"scheduler": map[string]any{"schedulerInfo": map[string]any{"type": "capacityScheduler", "queueName": "root", "capacity": 100.0, "queues": map[string]any{"queue": queue}}}}
}

func (m *manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/ws/v1/cluster/")
	m.requests[path+" "+r.URL.Query().Get("states")]++
	w.Header().Set("Content-Type", "application/json")
	answer := func(x any) { _ = json.NewEncoder(w).Encode(x) }
	switch path {
	case "info":
		answer(map[string]any{"clusterInfo": map[string]any{"hadoopVersion": m.version, "haState": "ACTIVE"}})
	case "scheduler":
		answer(m.scheduler())
	case "metrics":
		answer(map[string]any{"clusterMetrics": m.metrics})
	case "nodes":
		answer(map[string]any{"nodes": map[string]any{"node": m.nodes}})
	case "apps":
		if q := r.URL.Query().Get("queue"); q != "" && strings.HasPrefix(q, "root.") != (versionOf(m.version) >= 304) {
			http.Error(w, `{"RemoteException":{"exception":"BadRequestException","message":"unknown queue"}}`, http.StatusBadRequest)
			return
		}
		from, _ := strconv.ParseInt(r.URL.Query().Get("startedTimeBegin"), 10, 64)
		list := []map[string]any{}
		for _, a := range m.apps {
			if q := r.URL.Query().Get("queue"); q != "" && lastPart(q) != lastPart(a["queue"].(string)) {
				continue
			}
			if slices.Contains(strings.Split(r.URL.Query().Get("states"), ","), a["state"].(string)) && int64(a["startedTime"].(int)) >= from {
				list = append(list, a)
			}
		}
		m.listed += len(list)
		if len(list) == 0 {
			answer(map[string]any{"apps": nil})
			return
		}
		answer(map[string]any{"apps": map[string]any{"app": list}})
	case "scheduler-conf":
		if r.Method == http.MethodPut {
			m.change(w, r)
			return
		}
		var list []map[string]string
		for k, v := range m.settings {
			list = append(list, map[string]string{"name": k, "value": v})
		}
		answer(map[string]any{"property": list})
	case "/conf":
		var list []map[string]string
		for k, v := range m.conf {
			list = append(list, map[string]string{"key": k, "value": v})
		}
		answer(map[string]any{"properties": list})
	default:
		if id, ok := strings.CutPrefix(path, "apps/"); ok {
			id, what, _ := strings.Cut(id, "/")
			i := slices.IndexFunc(m.apps, func(a map[string]any) bool { return a["id"] == id })
			if i < 0 {
				http.Error(w, `{"RemoteException":{"exception":"NotFoundException","message":"app with id not found"}}`, http.StatusNotFound)
				return
			}
			if r.Method == http.MethodPut {
				m.setApp(w, r, m.apps[i], what)
				return
			}
			answer(map[string]any{"app": m.apps[i]})
			return
		}
		if id, ok := strings.CutPrefix(path, "/proxy/application_1_"); ok && m.ams {
			answer(map[string]any{"job": map[string]any{"id": "job_1_" + id[:5], "mapsTotal": 10, "mapsCompleted": 4, "mapsPending": 2, "reducesTotal": 2, "reducesPending": 2, "mapProgress": 62.5}})
			return
		}
		http.NotFound(w, r)
	}
}

func (m *manager) change(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, 4096)
	n, _ := r.Body.Read(body)
	text := string(body[:n])
	if m.put != nil && m.put(w, text) {
		return
	}
	_, rest, _ := strings.Cut(text, "<value>")
	value, _, _ := strings.Cut(rest, "</value>")
	const name = "yarn.scheduler.capacity.root.default.maximum-am-resource-percent"
	share, err := strconv.ParseFloat(value, 64)
	switch {
	case value == "":
		delete(m.settings, name)
		share, _ = strconv.ParseFloat(m.settings["yarn.scheduler.capacity.maximum-am-resource-percent"], 64)
	case err != nil:
		http.Error(w, "Failed to re-init queues", http.StatusBadRequest)
		return
	default:
		m.settings[name] = value
	}
	m.leaf["configuredMaxAMResourceLimit"] = float32(share)
	fmt.Fprint(w, "Configuration change successfully applied.")
}

func app(i int, state string, more map[string]any) map[string]any {
	a := map[string]any{"id": fmt.Sprintf("application_1_%05d", i), "user": "u", "state": state, "startedTime": 1_700_000_000_000 + i, "applicationType": "MAPREDUCE", "progress": 0.0,
		"runningContainers": -1, "allocatedMB": -1, "priority": 0, "queue": "root.default"}
	maps.Copy(a, more)
	return a
}

func threeApps() []map[string]any {
	return []map[string]any{app(3, "ACCEPTED", nil), app(2, "ACCEPTED", map[string]any{"runningContainers": 1, "allocatedMB": 2048}), app(1, "RUNNING", map[string]any{"progress": 27.5, "runningContainers": 4, "allocatedMB": 5120})}
}

func (m *manager) open(t *testing.T, o Options) *Yard {
	t.Helper()
	y, err := m.try(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func (m *manager) try(t *testing.T, o Options) (*Yard, error) {
	t.Helper()
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	c, err := rest.New(rest.Options{RM: []string{s.URL}, RMRate: -1, Retries: -1, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	o.Client = c
	if o.Queues == nil {
		o.Queues = []string{"root.default"}
	}
	return New(t.Context(), o)
}

// Every version tells the same in other words; what one does not tell is unknown.
func TestSnapshotOfVersions(t *testing.T) {
	for _, c := range []struct {
		version string
		fair    bool
		want    steer.Queue
		rule    amlimit.Limit
	}{
		{"2.10.2", false, steer.Queue{Running: 2, Waiting: 1, Containers: 5, Capacity: unit.Resources{Mem: 51224, Cores: 23}, Ceiling: unit.Resources{Mem: 51224}, AMs: unit.Resources{Mem: 4096, Cores: 2}, AMShare: 0.3}, amlimit.Capacity},
		{"2.7.5", false, steer.Queue{Running: 2, Waiting: 1, Containers: 5, Capacity: unit.Resources{Mem: 51224, Cores: 23}, Ceiling: unit.Resources{Mem: 51224}, AMs: unit.Resources{Mem: 4096, Cores: 2}, AMShare: 15872.0 / 51224}, amlimit.Capacity},
		{"3.3.6", false, steer.Queue{Running: 2, Waiting: 1, Containers: 5, Capacity: unit.Resources{Mem: 51224, Cores: 23}, Ceiling: unit.Resources{Mem: 51224}, AMs: unit.Resources{Mem: 4096, Cores: 2}, AMShare: 0.3}, amlimit.Capacity},
		{"3.5.0", false, steer.Queue{Running: 2, Waiting: 1, Containers: 5, Capacity: unit.Resources{Mem: 51224, Cores: 23}, Ceiling: unit.Resources{Mem: 51224}, AMs: unit.Resources{Mem: 4096, Cores: 2}, AMShare: 0.3}, amlimit.Capacity},
		{"2.10.2", true, steer.Queue{Running: 2, Waiting: 1, Capacity: unit.Resources{Mem: 52224, Cores: 24}, Ceiling: unit.Resources{Mem: 52224, Cores: 24}}, amlimit.FairV2},
		{"3.4.2", true, steer.Queue{Running: 2, Waiting: 1, Capacity: unit.Resources{Mem: 52224, Cores: 24}, Ceiling: unit.Resources{Mem: 52224, Cores: 24}, AMs: unit.Resources{Mem: 4096, Cores: 2}, AMShare: 15668.0 / 52224}, amlimit.Fair},
	} {
		m := newManager(c.version, c.fair)
		m.apps = threeApps()
		y := m.open(t, Options{Queues: []string{"default"}})
		before := time.Now()
		s, err := y.Snapshot(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.version, err)
			continue
		}
		c.want.Name, c.want.Used = "root.default", unit.Resources{Mem: 6144, Cores: 5}
		if got := s.Queues; len(got) != 2 || got[0] != c.want || got[1].Name != "root.other" {
			t.Errorf("%s, fair %v:\n%+v, want\n%+v", c.version, c.fair, got, c.want)
		}
		if y.Limit() != c.rule || y.MinAllocation() != (unit.Resources{Mem: 512, Cores: 1}) || y.Identity() != "yarn:rm.example:8088/root.default" {
			t.Error(y.Limit(), y.MinAllocation(), y.Identity())
		}
		if s.Total != (unit.Resources{Mem: 52224, Cores: 24}) || s.Nodes != 3 || s.Now < unit.Time(before.UnixMicro()) || s.Age < 0 || s.Age > 5*unit.Second {
			t.Errorf("%+v", s)
		}
		want := []steer.Job{
			{ID: "application_1_00001", User: "u", Queue: "root.default", Submitted: 1_700_000_000_001 * unit.Millisecond, Started: true, Running: 4, Progress: 27.5, Maps: 0.5, Held: unit.Resources{Mem: 5120}},
			{ID: "application_1_00002", User: "u", Queue: "root.default", Submitted: 1_700_000_000_002 * unit.Millisecond, Started: true, Running: 1, Held: unit.Resources{Mem: 2048}},
			{ID: "application_1_00003", User: "u", Queue: "root.default", Submitted: 1_700_000_000_003 * unit.Millisecond},
		}
		if !slices.Equal(s.Jobs, want) {
			t.Errorf("%s: %+v", c.version, s.Jobs)
		}
		if got, want := s.CPUIdle, 1-float64(5-c.want.AMs.Cores)/24; math.Abs(got-want) > 1e-9 {
			t.Error(c.version, got, want)
		}
	}
}

// A lie goes through to the controller, which refuses, or is an error with one line.
func TestLies(t *testing.T) {
	base := func() *manager {
		m := newManager("3.4.2", false)
		m.apps = threeApps()
		return m
	}
	for name, c := range map[string]struct {
		lie  func(m *manager)
		want string
	}{
		"pending":         {func(m *manager) { m.leaf["numPendingApplications"] = 1_000_000_000 }, "1000000000 jobs waiting"},
		"negative":        {func(m *manager) { m.leaf["numActiveApplications"] = -4 }, "-4 running is impossible"},
		"no number":       {func(m *manager) { m.leaf["numActiveApplications"] = "NaN" }, "where a whole number is expected"},
		"share":           {func(m *manager) { m.leaf["configuredMaxAMResourceLimit"] = "NaN" }, "a share of NaN for AMs is impossible"},
		"share above 1":   {func(m *manager) { m.leaf["configuredMaxAMResourceLimit"] = 1.7 }, "a share of 1.7 for AMs is impossible"},
		"progress":        {func(m *manager) { m.apps[2]["progress"] = "NaN" }, "progress of NaN %"},
		"progress below":  {func(m *manager) { m.apps[2]["progress"] = -3 }, "progress of -3 %"},
		"memory":          {func(m *manager) { m.metrics["totalMB"] = -1 }, "no nodes are up"},
		"no nodes":        {func(m *manager) { m.metrics["activeNodes"] = 0 }, "no node is up at the ResourceManager"},
		"not counted":     {func(m *manager) { m.dumb = true }, "does not report how many applications of root.default run and wait"},
		"another queue":   {func(m *manager) { m.leaf["queueName"], m.leaf["queuePath"] = "x", "root.x" }, "queue root.default is not there: the queues are root.x, root.other"},
		"lost the list":   {func(m *manager) { m.apps = nil }, "3 jobs are counted and 0 listed"},
		"containers":      {func(m *manager) { m.apps[2]["runningContainers"] = -7 }, "a count or size is impossible"},
		"processors idle": {func(m *manager) { m.metrics["utilizedVirtualCoresPercent"] = "NaN" }, "NaN is no share"},
		"processors used": {func(m *manager) { m.metrics["utilizedVirtualCoresPercent"] = -50 }, "1.5 is no share"},
		"no report":       {func(m *manager) { m.metrics["utilizedVirtualCoresPercent"], m.metrics["utilizedMBPercent"] = 0, 0 }, "the nodes do not report"},
	} {
		m := base()
		y := m.open(t, Options{CPU: "rm"})
		m.mu.Lock()
		c.lie(m)
		m.mu.Unlock()
		s, err := y.Snapshot(t.Context())
		var said string
		if err != nil {
			said = err.Error()
		} else {
			set := marp.Defaults("cbt", "root.default").On(y.Limit())
			ctl, err := marp.New("cbt", set)
			if err != nil {
				t.Fatal(err)
			}
			if do, _ := ctl.Step(&s); len(do) > 0 {
				t.Errorf("%s: acted: %+v", name, do)
			}
			said = ctl.Last().Why
			if ctl.Last().Kind != marp.Refuse {
				t.Errorf("%s: not refused: %+v", name, ctl.Last())
			}
		}
		if !strings.Contains(said, c.want) || strings.Contains(said, "\n") {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}

// However many wait, a look is the same requests, and lists only what is new.
func TestRequestsOfALookAreConstant(t *testing.T) {
	for _, waiting := range []int{10, 10_000} {
		m := newManager("3.4.2", false)
		m.apps = append(m.apps, app(1, "RUNNING", nil))
		for i := range waiting {
			m.apps = append(m.apps, app(i+2, "ACCEPTED", nil))
		}
		m.leaf["numActiveApplications"], m.leaf["numPendingApplications"] = 1, waiting
		y := m.open(t, Options{CPU: "rm"})
		if s, err := y.Snapshot(t.Context()); err != nil || len(s.Jobs) != waiting+1 {
			t.Fatal(len(s.Jobs), err)
		}
		m.mu.Lock()
		clear(m.requests)
		m.listed = 0
		m.apps[1]["state"] = "RUNNING" // one starts and one comes
		m.apps = append(m.apps, app(waiting+2, "ACCEPTED", nil))
		m.leaf["numActiveApplications"] = 2
		m.mu.Unlock()
		const looks = 5
		began := time.Now()
		for range looks {
			s, err := y.Snapshot(t.Context())
			if err != nil || len(s.Jobs) != waiting+2 || !s.Jobs[1].Started {
				t.Fatal(len(s.Jobs), err)
			}
		}
		want := map[string]int{"scheduler ": looks, "metrics ": looks, "apps ACCEPTED": looks, "apps RUNNING": looks}
		if !maps.Equal(m.requests, want) {
			t.Errorf("%d waiting: %v", waiting, m.requests)
		}
		if waiting > shortList && m.listed > looks*4 {
			t.Errorf("%d waiting: %d applications were listed", waiting, m.listed)
		}
		t.Logf("%d waiting: %v a look, %d applications listed in %d looks", waiting, time.Since(began)/looks, m.listed, looks)

		// Those that went without having run are noticed by the count, and all are listed again, but not at every look. In a long
		// list a few do not matter.
		gone := max(1, waiting/50)
		left := gone
		m.mu.Lock()
		m.apps = slices.DeleteFunc(m.apps, func(a map[string]any) bool {
			if a["state"] != "ACCEPTED" || left == 0 {
				return false
			}
			left--
			return true
		})
		m.leaf["numPendingApplications"] = waiting - gone
		m.mu.Unlock()
		y.roll.listed = time.Now().Add(-relist)
		n := 0
		for range 2 {
			s, err := y.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n = len(s.Jobs)
		}
		if n != waiting+2-gone {
			t.Errorf("%d waiting: %d jobs after %d have gone", waiting, n, gone)
		}
	}
}

// A job that holds one container tells how large its AM is, and that is kept while it runs; AMs that stay behind after their jobs count
// neither as running nor among the queue's AMs.
func TestSizesOfAMs(t *testing.T) {
	m := newManager("3.4.2", false)
	one := map[string]any{"runningContainers": 1, "allocatedMB": 2048, "allocatedVCores": 1}
	m.apps = []map[string]any{app(1, "RUNNING", one), app(2, "RUNNING", map[string]any{"runningContainers": 4, "allocatedMB": 8192, "allocatedVCores": 4})}
	m.leaf["numActiveApplications"], m.leaf["numPendingApplications"] = 2, 0
	y := m.open(t, Options{})
	look := func() (steer.Queue, []unit.Resources) {
		t.Helper()
		s, err := y.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sizes []unit.Resources
		for _, j := range s.Jobs {
			sizes = append(sizes, j.AM)
		}
		return s.Queues[0], sizes
	}
	am := unit.Resources{Mem: 2048, Cores: 1}
	if _, sizes := look(); !slices.Equal(sizes, []unit.Resources{am, {}}) {
		t.Errorf("one alone with its AM: %v", sizes)
	}
	m.mu.Lock()
	maps.Copy(m.apps[0], map[string]any{"runningContainers": 3, "allocatedMB": 6144, "allocatedVCores": 3})
	m.mu.Unlock()
	if q, sizes := look(); !slices.Equal(sizes, []unit.Resources{am, {}}) || q.Running != 2 || q.AMs != (unit.Resources{Mem: 4096, Cores: 2}) {
		t.Errorf("later: %v, %+v", sizes, q)
	}
	m.mu.Lock()
	maps.Copy(m.apps[1], map[string]any{"state": "FINISHED", "runningContainers": 1, "allocatedMB": 2048, "allocatedVCores": 1})
	m.mu.Unlock()
	if q, sizes := look(); !slices.Equal(sizes, []unit.Resources{am}) || q.Running != 1 || q.AMs != am {
		t.Errorf("one has ended: %v, %+v", sizes, q)
	}
}

// What a queue could hold at most: its own maximum, and what its neighbours leave of the cluster. Vcores count where the scheduler counts them.
func TestCeiling(t *testing.T) {
	dominant := "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
	for _, c := range []struct {
		why  string
		fair bool
		set  func(m *manager)
		want unit.Resources
	}{
		{"neighbours hold 1000 MB", false, func(*manager) {}, unit.Resources{Mem: 51224}},
		{"a maximum", false, func(m *manager) { m.leaf["maxEffectiveCapacity"] = mb(20480, 10) }, unit.Resources{Mem: 20480}},
		{"vcores are configured", false, func(m *manager) {
			m.leaf["maxEffectiveCapacity"], m.settings["yarn.scheduler.capacity.resource-calculator"] = mb(20480, 10), dominant
		}, unit.Resources{Mem: 20480, Cores: 10}},
		{"vcores show in the limit", false, func(m *manager) { m.leaf["AMResourceLimit"] = mb(15872, 7) }, unit.Resources{Mem: 51224, Cores: 23}},
		{"nothing is left", false, func(m *manager) { m.metrics["totalMB"] = 500 }, unit.Resources{Mem: 1}},
		{"fair", true, func(*manager) {}, unit.Resources{Mem: 52224, Cores: 24}},
		{"fair, a maximum", true, func(m *manager) { m.leaf["maxResources"] = mb(10240, 30) }, unit.Resources{Mem: 10240, Cores: 24}},
	} {
		m := newManager("3.4.2", c.fair)
		m.apps = threeApps()
		c.set(m)
		s, err := m.open(t, Options{}).Snapshot(t.Context())
		if err != nil {
			t.Fatal(c.why, err)
		}
		if got := s.Queues[0].Ceiling; got != c.want {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}

// The ResourceManager is asked what running applications without a task wait for, eight a look; about none while the queue waits for nothing.
func TestAsksOfApplicationsWithoutTasks(t *testing.T) {
	m := newManager("3.4.2", false)
	asks := []map[string]any{{"resourceName": "*", "numContainers": 20}, {"resourceName": "node1", "numContainers": 20}, {"resourceName": "*", "numContainers": 3}}
	for i := range 11 {
		m.apps = append(m.apps, app(i, "RUNNING", map[string]any{"runningContainers": 1, "allocatedMB": 2048, "allocatedVCores": 1, "resourceRequests": asks}))
	}
	m.apps = append(m.apps, app(11, "RUNNING", map[string]any{"runningContainers": 3, "resourceRequests": asks}),
		app(12, "RUNNING", map[string]any{"runningContainers": 0, "unmanagedApplication": true, "resourceRequests": asks}),
		app(13, "ACCEPTED", map[string]any{"runningContainers": 1, "allocatedMB": 2048, "resourceRequests": asks}))
	maps.Copy(m.leaf, map[string]any{"numActiveApplications": 14, "numPendingApplications": 0, "allocatedContainers": 14, "pendingContainers": 300})
	y := m.open(t, Options{})
	pending := func() (n int) {
		s, err := y.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range s.Jobs {
			switch j.Pending {
			case 23:
				n++
			case 0:
			default:
				t.Errorf("%+v", j)
			}
		}
		return n
	}
	for _, want := range []int{8, 11, 11} {
		if n := pending(); n != want {
			t.Errorf("%d wait, want %d", n, want)
		}
	}
	m.mu.Lock()
	m.leaf["pendingContainers"] = 0
	clear(m.requests)
	m.mu.Unlock()
	if n := pending(); n != 0 || len(m.requests) != 4 {
		t.Errorf("%d wait; %v", n, m.requests)
	}
}

// If a policy needs it, all running applications are asked what they wait for, and what they hold is as of the same answer.
func TestPendingOfAll(t *testing.T) {
	m := newManager("3.4.2", false)
	asks := []map[string]any{{"resourceName": "*", "numContainers": 20}, {"resourceName": "node1", "numContainers": 20}}
	m.apps = append(m.apps, app(0, "RUNNING", map[string]any{"runningContainers": 1, "allocatedMB": 2048, "allocatedVCores": 1, "resourceRequests": asks}),
		app(1, "RUNNING", map[string]any{"runningContainers": 3, "allocatedMB": 3072, "allocatedVCores": 3, "vcoreSeconds": 70, "resourceRequests": asks}),
		app(2, "RUNNING", map[string]any{"runningContainers": 0, "unmanagedApplication": true, "resourceRequests": asks}),
		app(3, "ACCEPTED", map[string]any{"runningContainers": 0, "resourceRequests": asks}))
	maps.Copy(m.leaf, map[string]any{"numActiveApplications": 4, "numPendingApplications": 0, "allocatedContainers": 4, "pendingContainers": 80})
	s, err := m.open(t, Options{Pending: true}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{20, 20, 20, 0} {
		if j := s.Jobs[i]; j.Pending != want {
			t.Errorf("%+v", j)
		}
	}
	if j := s.Jobs[1]; j.Running != 3 || j.Held.Mem != 3072 || j.Service.CoreSeconds != 70 {
		t.Errorf("%+v", j)
	}
}

// The AMs are asked in turn, eight a look; those that do not answer are judged by their progress.
func TestAMs(t *testing.T) {
	m := newManager("3.4.2", false)
	for i := range 11 {
		m.apps = append(m.apps, app(i, "RUNNING", map[string]any{"progress": 14.0}))
	}
	m.leaf["numActiveApplications"], m.leaf["numPendingApplications"] = 11, 0
	y := m.open(t, Options{AMs: true})
	told := func() (n int) {
		s, err := y.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range s.Jobs {
			switch {
			case j.Maps == 0.625 && j.Tasks == 12 && j.Done == 4 && j.Pending == 4:
				n++
			case j.Maps != 0.2 || j.Tasks != 0:
				t.Errorf("%+v", j)
			}
		}
		return n
	}
	if n := told(); n != 0 {
		t.Error(n)
	}
	m.ams = true
	for _, want := range []int{8, 11, 11} {
		if n := told(); n != want {
			t.Error(n, want)
		}
	}
	m.apps = m.apps[:2]
	m.leaf["numActiveApplications"] = 2
	if told(); len(y.maps.told) != 2 {
		t.Error("jobs that have ended are remembered:", len(y.maps.told))
	}
}

// After a failover the nodes come back one by one.
func TestNodesThatAreAway(t *testing.T) {
	at := time.Unix(1000, 0)
	var n census
	for i, c := range []struct {
		after              int // seconds
		active, lost, decs int64
		ok                 bool
	}{
		{0, 10, 0, 2, true}, {1, 9, 1, 2, true}, {1, 10, 0, 2, true}, // one is lost and comes back
		{1, 0, 0, 2, false}, {5, 3, 0, 2, false}, {20, 4, 0, 2, false}, {29, 4, 0, 2, false}, {1, 10, 0, 2, true},
		{1, 8, 0, 2, false}, {30, 8, 0, 2, true}, // two stay away
		{1, 7, 0, 3, true}, {1, 12, 0, 0, true},
	} {
		at = at.Add(time.Duration(c.after) * time.Second)
		err := n.take(&rest.Metrics{ActiveNodes: c.active, LostNodes: c.lost, DecommissionedNodes: c.decs}, at)
		if (err == nil) != c.ok {
			t.Errorf("look %d: %v", i, err)
		}
	}
}

func TestCapacityREST(t *testing.T) {
	m := newManager("3.4.2", false)
	y := m.open(t, Options{})
	ctx, k := t.Context(), y.Knob()
	found, err := y.Read(ctx, k)
	if err != nil || found != (drive.Value{Number: 0.3}) {
		t.Fatal(found, err)
	}
	for _, share := range []float64{0.05, 0.1 + 0.2 - 0.17, 0.00123} {
		v := y.Value(k, share)
		if err := y.Write(ctx, k, v); err != nil {
			t.Fatal(err)
		}
		got, err := y.Read(ctx, k)
		if err != nil || got.Text != v.Text || !got.Set {
			t.Error(got, err)
		}
		if in, err := y.InForce(ctx, k, v); !in || err != nil {
			t.Error(v, in, err)
		}
		if in, _ := y.InForce(ctx, k, y.Value(k, share*1.01)); in {
			t.Error("another value is in force")
		}
	}
	if got := y.Value(k, 0.1+0.2-0.17).Text; got != "0.13" {
		t.Error(got)
	}
	for name, c := range map[string]struct {
		status int
		answer string
		want   string
		fate   bool
	}{
		"refused":       {400, "Illegal value", "400 Bad Request: Illegal value", false},
		"not permitted": {403, `{"RemoteException":{"exception":"ForbiddenException","message":"Only admins can carry out this operation."}}`, "Only admins can carry out this operation", false},
		"broken inside": {500, "boom", "it is not known whether the change was made", true},
		"a login page":  {200, "<html><title>Log in</title></html>", `a web page titled "Log in" came instead of data`, true},
	} {
		before := maps.Clone(m.settings)
		m.put = func(w http.ResponseWriter, _ string) bool {
			if strings.HasPrefix(c.answer, "<") {
				w.Header().Set("Content-Type", "text/html")
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
			return true
		}
		err := y.Write(ctx, k, y.Value(k, 0.5))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || errors.Is(err, drive.ErrOutcomeUnknown) != c.fate || !maps.Equal(before, m.settings) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.put = nil
	all := m.settings["yarn.scheduler.capacity.root.queues"]
	m.settings["yarn.scheduler.capacity.root.queues"] = "other"
	if _, err := y.Read(ctx, k); !errors.Is(err, drive.ErrGone) {
		t.Error(err)
	} else {
		t.Log(err)
	}
	m.settings["yarn.scheduler.capacity.root.queues"] = all
	for _, x := range []float64{math.NaN(), math.Inf(1), -0.1, -1} {
		if err := y.Write(ctx, k, y.Value(k, x)); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
			t.Error(x, err)
		}
	}
	for _, text := range []string{"", "0.9", "0.2</value>", "0.2\n", "20%", "ten"} { // from a journal: it must be the number that it claims to be
		if err := y.Write(ctx, k, drive.Value{Text: text, Set: true, Number: 0.2}); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
			t.Error(text, err)
		}
	}
	if err := y.Write(ctx, k, found); err != nil {
		t.Fatal(err)
	}
	own := keyOf(k.Queue, k.Property)
	m.settings[own] = "-1" // Write would not put that back
	if _, err := y.Read(ctx, k); err != nil {
		t.Fatal(err)
	}
	ours := y.Value(k, 0.2)
	ours.Mark = "host:journal"
	if err := y.Write(ctx, k, ours); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || m.settings[own] != "-1" {
		t.Error(err, m.settings[own])
	}
	delete(m.settings, own)
	if got, err := y.Read(ctx, k); err != nil || got != found {
		t.Error(got, err)
	}
	if in, err := y.InForce(ctx, k, found); !in || err != nil {
		t.Error(in, err)
	}
	for _, bad := range []drive.Knob{{Kind: steer.SetPriority, Job: "x"}, {Kind: steer.SetQueue, Queue: "root.other", Property: k.Property}, {Kind: steer.SetQueue, Queue: k.Queue, Property: "colour"}} {
		if err := y.Write(ctx, bad, y.Value(k, 0.2)); err == nil {
			t.Error(bad)
		}
	}
}

func TestCapacityFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "capacity-scheduler.xml")
	const text = "<configuration>\n  <!-- ours -->\n  <property><name>yarn.scheduler.capacity.root.queues</name><value>default,other</value></property>\n" +
		"  <property><name>yarn.scheduler.capacity.root.default.capacity</name><value>60</value></property>\n  <property><name>yarn.scheduler.capacity.root.other.capacity</name><value>40</value></property>\n" +
		"  <property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>0.3</value></property>\n</configuration>\n"
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	m := newManager("3.4.2", false)
	m.conf["yarn.scheduler.configuration.store.class"] = "file"
	mark := filepath.Join(dir, "refreshed")
	y := m.open(t, Options{File: file, Refresh: []string{"touch", mark}})
	ctx, k := t.Context(), y.Knob()
	if err := y.CanAct(ctx); err != nil {
		t.Fatal(err)
	}
	found, err := y.Read(ctx, k)
	if err != nil || found != (drive.Value{Number: 0.3}) {
		t.Fatal(found, err)
	}
	if err := y.Write(ctx, k, y.Value(k, 0.25)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("not refreshed:", err)
	}
	if v, err := y.Read(ctx, k); err != nil || v.Text != "0.25" || !v.Set {
		t.Error(v, err)
	}
	if in, err := y.InForce(ctx, k, y.Value(k, 0.25)); in || err != nil {
		t.Error("in force though the ResourceManager shows another value", err)
	}
	if err := y.Write(ctx, k, found); err != nil {
		t.Fatal(err)
	}
	same := func(why string) {
		t.Helper()
		if data, err := os.ReadFile(file); err != nil || string(data) != text {
			t.Errorf("%s: %v\n%s", why, err, data)
		}
	}
	same("put back")

	// A command that fails: the file is as it was. Where the ResourceManager shows something else, nobody knows.
	y.o.Refresh = []string{"sh", "-c", "echo first; echo access denied >&2; exit 255"}
	err = y.Write(ctx, k, y.Value(k, 0.25))
	if err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "access denied") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	} else {
		t.Log(err)
	}
	same("not refreshed")
	if err := y.Write(ctx, k, found); err != nil {
		t.Error("nothing was to be changed, and nothing is:", err)
	}
	m.leaf["configuredMaxAMResourceLimit"] = 0.25
	if err = y.Write(ctx, k, y.Value(k, 0.25)); !errors.Is(err, drive.ErrOutcomeUnknown) {
		t.Error(err)
	}
	y.o.Refresh = []string{filepath.Join(dir, "no-such-command")}
	if err := y.CanAct(ctx); err == nil {
		t.Error("no such command")
	}
	m.leaf["configuredMaxAMResourceLimit"] = 0.3
	if err = y.Write(ctx, k, y.Value(k, 0.25)); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
		t.Error(err)
	}
	same("no command")
	y.o.Refresh = []string{"sleep", "30"}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err = y.Write(short, k, y.Value(k, 0.25)); !errors.Is(err, drive.ErrOutcomeUnknown) {
		t.Error(err)
	}
}

func TestFairFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fair-scheduler.xml")
	const text = "<allocations>\n  <queue name=\"default\">\n    <weight>1</weight>\n  </queue>\n  <queueMaxAMShareDefault>0.3</queueMaxAMShareDefault>\n</allocations>\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	age := func(d time.Duration) {
		t.Helper()
		at := time.Now().Add(-d)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	m := newManager("3.4.2", true)
	m.apps = threeApps()
	y := m.open(t, Options{File: file})
	ctx, k := t.Context(), y.Knob()
	share := func() float64 {
		t.Helper()
		s, err := y.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s.Queues[0].AMShare
	}
	inForce := func(v drive.Value) bool {
		t.Helper()
		in, err := y.InForce(ctx, k, v)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	found, err := y.Read(ctx, k)
	if err != nil || found != (drive.Value{Number: 0.3}) || share() != 0.3 {
		t.Fatal(found, err, share())
	}
	age(time.Minute)
	v := y.Value(k, 0.09)
	if err := y.Write(ctx, k, v); err != nil {
		t.Fatal(err)
	}
	if inForce(v) || share() != 0.3 {
		t.Error("in force before it was read", share())
	}
	shown := func(mem, waiting int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.leaf["amMaxResources"], m.leaf["numPendingApps"], m.leaf["numActiveApps"] = mb(mem, 3), waiting, 3-waiting
	}
	shown(4701, 1) // 0.09 of 52224, rounded up
	if inForce(v) {
		t.Error("in force although the file is too young to have been read")
	}
	age(7 * time.Second)
	if !inForce(v) || share() != 0.09 {
		t.Error("not in force", share())
	}
	shown(15668, 0) // nothing waits: what is shown may be old
	if !inForce(v) || share() != 0.09 {
		t.Error("what was in force is not any more", share())
	}
	age(time.Second) // somebody touches the file, or changes another queue
	if !inForce(v) || share() != 0.09 {
		t.Error("a younger file that says the same", share())
	}
	age(20 * time.Second)
	if !inForce(v) || share() != 0.09 {
		t.Error("the file must have been read by now", share())
	}
	shown(15668, 1) // it was not
	if inForce(v) || share() != 0.3 {
		t.Error("in force though the ResourceManager goes by another value", share())
	}

	shown(9402, 1) // 0.09 of a fair share that was twice as large, or 0.18 of this one: nothing to go by
	if inForce(v) || share() != 0 {
		t.Error("a limit of another moment counts", share())
	}

	age(time.Minute) // the applications that wait are kept back by maxRunningApps, and no limit is worked out
	if !inForce(v) || inForce(y.Value(k, 0.3)) {
		t.Error("a limit that is not worked out anew keeps the file's value from counting, or another one counts")
	}

	// Another write so soon would put off that the first is read.
	age(4 * time.Second)
	began := time.Now()
	if err := y.Write(ctx, k, y.Value(k, 0.13)); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d < 900*time.Millisecond || d > 4500*time.Millisecond { // a full wait is five seconds
		t.Error("waited", d)
	}
	// The ResourceManager still goes by 0.09 when the next write comes, and after it.
	shown(4701, 1)
	for _, next := range []float64{0.2, 0.25} {
		if s := share(); s != 0.09 {
			t.Error("it goes by the last value that it has read:", s)
		}
		age(time.Minute)
		if err := y.Write(ctx, k, y.Value(k, next)); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := y.Write(short, k, found); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "not changed") {
		t.Error(err)
	}
	age(-time.Hour) // the clock of a file server that is ahead: it must not keep the value from being put back
	if err := y.Write(ctx, k, found); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != text {
		t.Errorf("%v\n%s", err, data)
	}
	if now, err := os.Stat(file); err != nil || time.Since(now.ModTime()) > 10*time.Second {
		t.Error(err)
	}
	age(time.Minute)
	if err := y.Write(ctx, k, found); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(file); err != nil || time.Since(now.ModTime()) < 10*time.Second {
		t.Error("what is there already was written again", err)
	}
	if err := os.WriteFile(file, []byte("<allocations/>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Read(ctx, k); !errors.Is(err, drive.ErrGone) {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("<allocations><queue"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := y.Write(ctx, k, v); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "not well-formed XML") {
		t.Error(err)
	} else {
		t.Log(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := y.CanAct(ctx); err == nil {
		t.Error("no file")
	}
	if _, err := y.Snapshot(ctx); err != nil {
		t.Error("the sensors do not need the file:", err)
	}
}

func TestNew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.xml")
	for name, c := range map[string]struct {
		fair  bool
		store string
		o     Options
		want  string // "" and act: it can be watched only
		act   string
	}{
		"no queue":               {want: "queue nope is not there: the queues are root.default, root.other", o: Options{Queues: []string{"nope"}}},
		"a parent":               {want: "queue root has queues inside it: AMs run in leaves, such as root.default", o: Options{Queues: []string{"root"}}},
		"wrong actuator":         {want: "there is no actuator \"magic\"", o: Options{Actuator: "magic"}},
		"fair for capacity":      {want: "runs the CapacityScheduler", o: Options{Actuator: FairFile, File: file}},
		"rest for fair":          {want: "runs the FairScheduler", fair: true, o: Options{Actuator: REST}},
		"no source":              {want: "there is no source \"moon\"", o: Options{CPU: "moon"}},
		"a file nobody reads":    {want: "does not read the file", store: "zk", o: Options{File: file, Refresh: []string{"true"}}},
		"rest without a store":   {act: "keeps its scheduler's settings in a file", store: "file", o: Options{Actuator: REST}},
		"no file":                {act: "name the ResourceManager's capacity-scheduler.xml with --file", store: "file"},
		"no command":             {act: "give the command", store: "file", o: Options{File: file}},
		"no allocation file":     {act: "name the ResourceManager's fair-scheduler.xml with --file", fair: true},
		"no such file":           {act: "no such file", fair: true, o: Options{File: file}},
		"rm without its numbers": {o: Options{CPU: "rm:cores=0"}, want: "want the number of cores"},
		"prometheus":             {o: Options{CPU: "prometheus=host"}, want: "write prometheus=URL?QUERY"},
	} {
		m := newManager("3.4.2", c.fair)
		if c.store != "" {
			m.conf["yarn.scheduler.configuration.store.class"] = c.store
		}
		y, err := m.try(t, c.o)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := y.CanAct(t.Context()); err == nil || !strings.Contains(err.Error(), c.act) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.2)); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
			t.Errorf("%s: written: %v", name, err)
		}
		if _, err := y.Snapshot(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without the file the share is what was shown while something waited, not what a limit of then is of the fair share of now.
func TestFairShareWithoutTheFile(t *testing.T) {
	m := newManager("3.4.2", true)
	m.apps = threeApps()
	y := m.open(t, Options{})
	for i, c := range []struct {
		waiting, limit, fair int
		want                 float64
	}{{0, 15668, 52224, 0}, {1, 26112, 52224, 0.5}, {0, 26112, 13056, 0.5}, {1, 13056, 52224, 0.25}} {
		m.mu.Lock()
		m.leaf["amMaxResources"], m.leaf["fairResources"] = mb(c.limit, 3), mb(c.fair, 0)
		m.leaf["numPendingApps"], m.leaf["numActiveApps"] = c.waiting, 3-c.waiting
		m.mu.Unlock()
		s, err := y.Snapshot(t.Context())
		if err != nil || s.Queues[0].AMShare != c.want {
			t.Error(i, s.Queues, err)
		}
	}
}

// Before Hadoop 3.4 applications of a CapacityScheduler are known by the name of the queue that they gave, long or short.
func TestNamesOfAQueue(t *testing.T) {
	looks := map[string]int{"scheduler ": 2, "metrics ": 2, "apps ACCEPTED": 2, "apps RUNNING": 2, "apps FINISHED,FAILED,KILLED": 1}
	for _, version := range []string{"2.10.2", "3.3.6", "3.4.2"} {
		m := newManager(version, false)
		m.apps = threeApps()
		m.apps[0]["queue"], m.apps[1]["queue"], m.apps[2]["queue"] = "default", "root.default", "default"
		y := m.open(t, Options{CPU: "none"})
		clear(m.requests)
		for range 2 {
			s, err := y.Snapshot(t.Context())
			if err != nil || len(s.Jobs) != 3 || slices.ContainsFunc(s.Jobs, func(j steer.Job) bool { return j.Queue != "root.default" }) {
				t.Errorf("%s: %+v, %v", version, s.Jobs, err)
			}
		}
		if !maps.Equal(m.requests, looks) {
			t.Errorf("%s: %v", version, m.requests)
		}
	}
}

// Applications that max-parallel-apps keeps out are ACCEPTED and in no count but the whole.
func TestParked(t *testing.T) {
	m := newManager("3.4.2", false)
	m.apps = append(threeApps(), app(4, "ACCEPTED", nil), app(5, "ACCEPTED", nil))
	m.leaf["numApplications"] = 5
	s, err := m.open(t, Options{CPU: "none"}).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, j := range s.Jobs {
		ids = append(ids, j.ID[len(j.ID)-1:])
	}
	if q := s.Queues[0]; q.Running != 2 || q.Waiting != 1 || !slices.Equal(ids, []string{"1", "2", "3"}) {
		t.Errorf("%d run, %d wait, listed %v", q.Running, q.Waiting, ids)
	}
}

// Where nothing runs, one that waits is asked how large its AM will be, once.
func TestSizeOfAWaitingAM(t *testing.T) {
	m := newManager("3.4.2", true)
	m.leaf["numActiveApps"], m.leaf["numPendingApps"], m.leaf["amUsedResources"] = 0, 2, mb(0, 0)
	ask := map[string]any{"resourceRequests": []any{map[string]any{"numContainers": 1, "capability": mb(1536, 1)}}}
	m.apps = []map[string]any{app(1, "ACCEPTED", ask), app(2, "ACCEPTED", ask)}
	y := m.open(t, Options{CPU: "none"})
	for range 3 {
		s, err := y.Snapshot(t.Context())
		if err != nil || s.Jobs[0].AM != (unit.Resources{Mem: 1536, Cores: 1}) {
			t.Fatal(s.Jobs, err)
		}
	}
	if n := m.requests["apps/application_1_00001 "]; n != 1 {
		t.Errorf("asked %d times: %v", n, m.requests)
	}
}
