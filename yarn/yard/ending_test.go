package yard

import "testing"

// A job that has ended is gone, although its AM stays for some seconds and the queue counts it until then.
func TestAMsThatStayAfterTheirJob(t *testing.T) {
	for name, fair := range map[string]bool{"capacity": false, "fair": true} {
		m := newManager("3.4.2", fair)
		m.apps = []map[string]any{
			app(1, "FINISHED", map[string]any{"progress": 100.0, "runningContainers": 1, "allocatedMB": 2048}),
			app(2, "FINISHED", nil), // long gone
			app(3, "RUNNING", map[string]any{"runningContainers": 4, "allocatedMB": 5120}),
			app(4, "ACCEPTED", nil),
		}
		y := m.open(t, Options{CPU: "none"})
		s, err := y.Snapshot(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		if q := s.Queues[0]; q.Running != 1 || q.Waiting != 1 || len(s.Jobs) != 2 {
			t.Errorf("%s: %d run, %d wait, %d listed", name, q.Running, q.Waiting, len(s.Jobs))
		}
	}
}
