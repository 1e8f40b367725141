package yard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/unit"
)

// setApp answers a change of an application.
func (m *manager) setApp(w http.ResponseWriter, r *http.Request, app map[string]any, what string) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	switch {
	case what == "queue" && body["queue"] == "root.nowhere":
		http.Error(w, `{"RemoteException":{"exception":"ForbiddenException","message":"no such queue"}}`, http.StatusForbidden)
		return
	case what == "queue":
		app["queue"] = body["queue"]
	default:
		app["priority"] = min(body["priority"].(float64), 7)
	}
	_ = json.NewEncoder(w).Encode(body)
}

func withJob(version string, fair bool) *manager {
	m := newManager(version, fair)
	m.conf["yarn.cluster.max-application-priority"] = "7"
	m.apps = []map[string]any{{"id": "application_1_0001", "user": "ann", "queue": "root.default", "state": "RUNNING", "priority": 2, "startedTime": 1000, "runningContainers": 1}}
	return m
}

func TestJobKnobs(t *testing.T) {
	for _, fair := range []bool{false, true} {
		m := withJob("3.4.2", fair)
		y := m.open(t, Options{})
		ctx := t.Context()
		queue, prio := drive.Knob{Kind: steer.MoveJob, Job: "application_1_0001"}, drive.Knob{Kind: steer.SetPriority, Job: "application_1_0001"}
		if v, err := y.Read(ctx, queue); err != nil || v.Text != "root.default" {
			t.Fatal(v, err)
		}
		if err := y.Write(ctx, queue, drive.Value{Text: "root.other", Set: true}); err != nil {
			t.Fatal(err)
		}
		if in, err := y.InForce(ctx, queue, drive.Value{Text: "root.other", Set: true}); err != nil || !in {
			t.Error(in, err)
		}
		if err := y.Write(ctx, queue, drive.Value{Text: "root.nowhere", Set: true}); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
			t.Error(err)
		}
		v, err := y.Read(ctx, prio)
		if fair {
			if err == nil || !strings.Contains(err.Error(), "does not go by the priorities") {
				t.Error(v, err)
			}
			continue
		}
		if err != nil || v.Number != 2 || v.Text != "2" {
			t.Fatal(v, err)
		}
		if v := y.Value(prio, 30.4); v.Text != "7" || v.Number != 7 { // more would be capped, and taken for somebody else's
			t.Error(v)
		}
		if err := y.Write(ctx, prio, drive.Value{Text: "8", Set: true, Number: 8}); err == nil {
			t.Error("above the cluster's maximum")
		}
		if err := y.Write(ctx, prio, y.Value(prio, 5)); err != nil {
			t.Fatal(err)
		}
		if in, err := y.InForce(ctx, prio, y.Value(prio, 5)); err != nil || !in {
			t.Error(in, err)
		}
		m.mu.Lock()
		m.apps[0]["state"] = "FINISHED"
		m.mu.Unlock()
		if _, err := y.Read(ctx, prio); !errors.Is(err, drive.ErrEnded) {
			t.Error(err)
		}
		if _, err := y.Read(ctx, drive.Knob{Kind: steer.SetPriority, Job: "application_9_9999"}); !errors.Is(err, drive.ErrGone) {
			t.Error(err)
		}
	}
}

// mover moves a job and raises its priority, once.
type mover struct{ done bool }

func (p *mover) Step(s *steer.Snapshot) (do []steer.Action, again unit.Time) {
	if !p.done && len(s.Jobs) == 1 {
		p.done = true
		do = []steer.Action{
			{Kind: steer.MoveJob, Job: s.Jobs[0].ID, Queue: "root.other", Why: "test"}, {Kind: steer.SetPriority, Job: s.Jobs[0].ID, Value: 6, Why: "test"},
		}
	}
	return do, unit.Second / 10
}

// What a driver does to a job it undoes.
func TestJobKnobsArePutBack(t *testing.T) {
	m := withJob("3.4.2", false)
	m.leaf["numActiveApplications"], m.leaf["numPendingApplications"] = 1, 0
	y := m.open(t, Options{Queues: []string{"root.default", "root.other"}})
	j, err := live.OpenJournal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	taken := 0
	err = live.Run(ctx, live.Options{
		Engine: y, Rules: drive.Rules{Act: true, Journal: j.Journal, New: func() (steer.Steerer, error) { return &mover{}, nil }},
		Observe: func(e drive.Event) {
			if e.Kind == drive.Taken {
				if taken++; taken == 2 {
					m.mu.Lock()
					if m.apps[0]["queue"] != "root.other" || m.apps[0]["priority"] != 6.0 {
						t.Errorf("%v", m.apps[0])
					}
					m.mu.Unlock()
					stop()
				}
			}
		},
	})
	if err != nil || taken != 2 || len(j.Open()) > 0 || m.apps[0]["queue"] != "root.default" || m.apps[0]["priority"] != 2.0 {
		t.Errorf("%v; %d taken, %v, %v", err, taken, j.Open(), m.apps[0])
	}
}

// A driver's own change is for applications in the queues that an operator has named, and takes them to no other; putting back is for all.
func TestJobsOfOtherQueuesAreLeftAlone(t *testing.T) {
	m := withJob("3.4.2", false)
	m.apps = append(m.apps, map[string]any{"id": "application_1_0002", "user": "eve", "queue": "root.other", "state": "RUNNING", "priority": 2, "startedTime": 1001, "runningContainers": 1,
		"name": "root.default", "applicationTags": "root.default,queue:root.default"})
	y := m.open(t, Options{})
	for _, c := range []struct {
		kind  steer.Kind
		job   string
		value string
		ok    bool
	}{
		{steer.SetPriority, "1", "5", true},
		{steer.SetPriority, "2", "5", false},
		{steer.MoveJob, "1", "root.other", false},
		{steer.MoveJob, "2", "root.default", false},
		{steer.MoveJob, "1", "default", false}, // not by the name that the ResourceManager shows
	} {
		k := drive.Knob{Kind: c.kind, Job: "application_1_000" + c.job}
		v := drive.Value{Text: c.value, Set: true, Mark: "host:/journal"}
		if err := y.Write(t.Context(), k, v); (err == nil) != c.ok || errors.Is(err, drive.ErrOutcomeUnknown) {
			t.Errorf("%v to %s: %v", k, c.value, err)
		}
		if v.Mark = ""; c.value != "default" && y.Write(t.Context(), k, v) != nil {
			t.Errorf("%v cannot be put back to %s", k, c.value)
		}
		m.mu.Lock()
		m.apps[0]["queue"], m.apps[1]["queue"] = "root.default", "root.other"
		m.mu.Unlock()
	}
}
