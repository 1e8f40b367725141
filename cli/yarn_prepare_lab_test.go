//go:build unix

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// ran runs the command to its end.
func ran(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	c := started(t, args...)
	code = c.ends(t)
	return code, strings.Join(c.lines, "\n") + "\n" + c.err.String()
}

// On real ResourceManagers: the queues are made, hold several jobs of one user, and are taken back with the jobs alive, also after a kill in
// the middle. Other people's changes are not overwritten.
func TestLabPrepare(t *testing.T) {
	for _, version := range []string{"3.4.2", "3.5.0"} {
		t.Run(version, func(t *testing.T) { labPrepare(t, version) })
	}
}

func labPrepare(t *testing.T, version string) {
	lab, c := labUp(t, hadoop.Options{Version: version})
	settings := func() map[string]string {
		t.Helper()
		p, err := c.SchedulerConf(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for _, x := range p.List {
			m[x.Name] = cmp.Or(x.Raw, x.Value)
		}
		return m
	}
	change := func(u ...rest.QueueChange) {
		t.Helper()
		if _, err := c.ChangeScheduler(t.Context(), rest.SchedulerChange{Update: u}); err != nil {
			t.Fatal(err)
		}
	}
	one := func(queue, name, value string) rest.QueueChange {
		return rest.QueueChange{Queue: queue, Settings: []rest.Setting{{Name: name, Value: value}}}
	}
	queue := func(id string) string {
		t.Helper()
		a, err := c.App(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s with %d containers in %s", a.State, a.RunningContainers, a.Queue) // an AM that does not register leaves it ACCEPTED
	}
	const alive = "ACCEPTED with 1 containers in root.batch"
	journal := t.TempDir()
	run := func(want int, part string, args ...string) string {
		t.Helper()
		code, text := ran(t, append([]string{"yarn", "prepare", "--rm", lab.RM(), "--queue", "root.batch", "--user", "yardmaster", "--journal", journal}, args...)...)
		if code != want || !strings.Contains(text, part) {
			t.Errorf("%v: %d, want %d and %q:\n%s", args, code, want, part, text)
		}
		return text
	}
	same := func(before map[string]string) {
		t.Helper()
		if now := settings(); !maps.Equal(now, before) {
			t.Errorf("the configuration is\n%v\nit was\n%v", now, before)
		}
	}

	change(one("root", "queues", "prod, batch,adhoc"), one("root.batch", "acl_administer_queue", " ops")) // spelled as people do; a group
	before := settings()
	run(0, "nothing to take back", "--undo")
	run(0, "--act", "--policy", "fbq", "--levels", "3")
	same(before)
	t.Log(run(0, "Prepared root.batch", "--policy", "fbq", "--levels", "3", "--act"))
	if acl := settings()["yarn.scheduler.capacity.root.batch-levels.acl_administer_queue"]; acl != " ops" {
		t.Errorf("the ACL of the new queue is %q", acl)
	}
	run(0, "has been prepared", "--policy", "fbq", "--act")
	run(1, "take that back first", "--policy", "tags", "--act")

	var ids []string
	for range 4 {
		ids = append(ids, submitSleep(t, c, "batch"))
	}
	eventually(t, "four jobs run in the intake", func() bool {
		n := 0
		for _, id := range ids {
			if queue(id) == alive {
				n++
			}
		}
		return n == len(ids)
	})
	low := "root.batch-levels.batch-l2"
	for _, id := range ids[:3] {
		if _, err := c.MoveApp(t.Context(), id, low); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "three jobs of one user are active in the second level", func() bool {
		s, err := c.Scheduler(t.Context())
		q := s.Root.Find(low)
		return err == nil && q != nil && q.NumActive == 3
	})
	y := started(t, "yarn", "steer", "--rm", lab.RM(), "--queue", low, "--policy", "aging", "--act", "--user", "yardmaster", "--journal", t.TempDir(), "--listen", "off")
	eventually(t, "a steerer is at work", func() bool { return strings.Contains(y.err.String(), "mode:") })
	run(1, "is already being steered", "--undo")
	if err := y.Process.Signal(syscall.SIGTERM); err != nil || y.ends(t) != 0 {
		t.Errorf("the steerer: %v %s", err, y.err)
	}
	change(one(low, "maximum-capacity", "50"))
	theirs := settings()
	run(1, low+" maximum-capacity is 50, and was set to 100", "--undo")
	same(theirs)
	change(one(low, "maximum-capacity", "100"), one("root.batch-levels", "state", "STOPPED")) // as if killed after it
	run(1, "take that back first", "--policy", "fbq", "--act")
	t.Log(run(0, "Moved 3 applications back to root.batch", "--undo"))
	same(before)
	run(0, "nothing to take back", "--undo")
	for _, id := range ids {
		if got := queue(id); got != alive {
			t.Errorf("%s is %s", id, got)
		}
	}

	for _, args := range [][]string{{"--policy", "tags", "--shares", "0.5,0.3"}, {"--policy", "sita"}, {"--policy", "comp"}, {"--policy", "deadline"}} {
		run(0, "Prepared root.batch", append(args, "--act")...)
		level := "root.batch-levels.batch-l1"
		if args[1] == "deadline" {
			level = "root.batch-deadlines.batch-d1"
		}
		if _, err := c.MoveApp(t.Context(), ids[0], level); err != nil {
			t.Fatal(err)
		}
		run(0, "Moved 1 applications back to root.batch", "--undo")
		same(before)
	}
	for _, id := range ids {
		if got := queue(id); got != alive {
			t.Errorf("%s is %s", id, got)
		}
	}

	// Weights.
	change(one("root.prod", "capacity", "5w"), one("root.batch", "capacity", "3w"), one("root.adhoc", "capacity", "2w"))
	before = settings()
	run(0, "Prepared root.batch", "--policy", "fbq", "--act")
	run(0, "Moved 0 applications back", "--undo")
	same(before)
}

// submitSleep submits an application of which only an AM runs.
func submitSleep(t *testing.T, c *rest.Client, queue string) (id string) {
	t.Helper()
	res, err := c.Post(t.Context(), "make an application", "/ws/v1/cluster/apps/new-application", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		ID string `json:"application-id"`
	}
	if err := json.Unmarshal([]byte(res.Answer), &made); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		"application-id": made.ID, "application-name": "sleep", "queue": queue, "application-type": "YARN", "max-app-attempts": 1,
		"am-container-spec": map[string]any{"commands": map[string]string{"command": "sleep 600"}}, "resource": map[string]int{"memory": 128, "vCores": 1},
	})
	if err == nil {
		_, err = c.Post(t.Context(), "submit", "/ws/v1/cluster/apps", "application/json", body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}
