package yard

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
)

// What users of other queues submit does not keep the steered queue from being seen.
func TestStrangersDoNotBlind(t *testing.T) {
	m := newManager("3.4.2", false)
	m.apps = append(threeApps(), app(4, "ACCEPTED", map[string]any{"queue": ""}), app(5, "FAILED", map[string]any{"queue": "", "finishedTime": 1 << 50}))
	y := m.open(t, Options{CPU: "none"})
	if s, err := y.Snapshot(t.Context()); err != nil || len(s.Jobs) != 3 {
		t.Fatalf("applications without a queue: %v, %d jobs", err, len(s.Jobs))
	}
	m.mu.Lock()
	m.version = "3.3.6" // rejects whole names
	m.apps = append(threeApps(), app(6, "RUNNING", map[string]any{"queue": "root.other", "name": strings.Repeat("x", 2<<20)}))
	m.mu.Unlock()
	if s, err := y.Snapshot(t.Context()); err != nil || len(s.Jobs) != 4 {
		t.Errorf("an application of 2 MiB: %v, %d jobs", err, len(s.Jobs))
	}
	m.mu.Lock()
	m.apps = append(threeApps(), app(6, "RUNNING", map[string]any{"queue": "root.other", "elapsedTime": map[string]any{}}))
	m.mu.Unlock()
	_, err := y.Snapshot(t.Context())
	if err == nil {
		t.Error("the list of all can be read, with an application that is none")
	}
	if s, err := y.Snapshot(t.Context()); err != nil || len(s.Jobs) != 3 {
		t.Errorf("the next sample: %v, %d jobs", err, len(s.Jobs))
	}
}

// A queue that became a parent, or is gone, does not keep others from being restored.
func TestAbsentQueues(t *testing.T) {
	m := newManager("3.4.2", false)
	if _, err := m.try(t, Options{Queues: []string{"root", "root.default"}}); err == nil {
		t.Error("a parent can be steered")
	}
	y, err := m.try(t, Options{Queues: []string{"root.default", "root.gone"}, Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := y.Read(t.Context(), y.amShare("root.default")); err != nil {
		t.Error(err)
	}
	if _, err := y.Read(t.Context(), y.amShare("root.gone")); err == nil {
		t.Error("a queue that is not there has a share")
	}
}

// A priority that the cluster would not take back is not changed.
func TestPriorityThatCannotBeRestored(t *testing.T) {
	m := withJob("3.4.2", false)
	m.apps[0]["priority"] = -5
	y := m.open(t, Options{})
	if v, err := y.Read(t.Context(), drive.Knob{Kind: steer.SetPriority, Job: "application_1_0001"}); err == nil || !strings.Contains(err.Error(), "could not be restored") {
		t.Error(v, err)
	}
	m.mu.Lock()
	m.apps[0]["priority"] = -1
	m.mu.Unlock()
	if v, err := y.Read(t.Context(), drive.Knob{Kind: steer.SetPriority, Job: "application_1_0001"}); err != nil || v.Number != 0 {
		t.Error("not set:", v, err)
	}
}
