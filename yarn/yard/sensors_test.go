package yard

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// One sample shows all queues and all jobs: what each holds and has received, its tags, and the jobs that have ended since the last one.
func TestSensors(t *testing.T) {
	m := newManager("3.4.2", false)
	m.apps = append(threeApps(), app(4, "RUNNING", map[string]any{"queue": "root.other", "runningContainers": 3, "allocatedMB": 3072, "allocatedVCores": 3,
		"memorySeconds": 7000, "vcoreSeconds": 70, "applicationTags": "deadline:1700000600,goal:fast"}))
	now := int(time.Now().UnixMilli())
	m.apps = append(m.apps, app(0, "FINISHED", map[string]any{"finishedTime": now - 1000}))
	m.metrics["appsCompleted"] = 1
	y := m.open(t, Options{Queues: []string{All}, CPU: "none"})
	if got := y.Identities(); !slices.Equal(got, []string{"yarn:rm.example:8088/root.default", "yarn:rm.example:8088/root.other"}) || y.Identity() != "yarn:rm.example:8088/root.default,root.other" {
		t.Error(got, y.Identity())
	}
	// The order given is the policy's; journal and locks do not depend on it.
	ordered := m.open(t, Options{Queues: []string{"other", "root.default", "root.other"}, CPU: "none"})
	if got := ordered.Queues(); !slices.Equal(got, []string{"root.other", "root.default"}) || ordered.Identity() != y.Identity() || !slices.Equal(ordered.Identities(), y.Identities()) {
		t.Error(got, ordered.Identity(), ordered.Identities())
	}
	if got := y.Queues(); !slices.IsSorted(got) {
		t.Error(got)
	}
	s, err := y.Snapshot(t.Context())
	if err != nil || len(s.Jobs) != 4 || len(s.Finished) != 0 {
		t.Fatal(s, err)
	}
	j := s.Jobs[3]
	if j.Queue != "root.other" || j.Held != (unit.Resources{Mem: 3072, Cores: 3}) || j.Service != (steer.Service{MemSeconds: 7000, CoreSeconds: 70}) || j.Tags != "deadline:1700000600,goal:fast" {
		t.Errorf("%+v", j)
	}
	m.mu.Lock()
	clear(m.requests)
	maps.Copy(m.apps[3], map[string]any{"state": "FAILED", "finalStatus": "FAILED", "finishedTime": now, "startedTime": now - 5000, "allocatedMB": -1, "allocatedVCores": -1, "runningContainers": -1})
	m.metrics["appsFailed"] = 1
	m.mu.Unlock()
	want := steer.Finished{ID: "application_1_00004", User: "u", Queue: "root.other", Status: "FAILED", Elapsed: 5 * unit.Second, Service: steer.Service{MemSeconds: 7000, CoreSeconds: 70}}
	for i := range 3 {
		s, err = y.Snapshot(t.Context())
		if err != nil || len(s.Jobs) != 3 || len(s.Finished) != max(0, 1-i) || i == 0 && s.Finished[0] != want {
			t.Error(i, s.Finished, err)
		}
	}
	if n := m.requests["apps FINISHED,FAILED,KILLED"]; n != 1 {
		t.Errorf("ended applications are listed %d times", n)
	}
}
