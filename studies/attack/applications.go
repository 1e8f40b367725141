package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// submit submits an application of the attacker, with the fields of a JSON object over the ordinary ones.
func submit(t *trial, args []string) {
	var over map[string]any
	t.must(json.Unmarshal([]byte(args[0]), &over))
	user, named := over["user"].(string)
	if delete(over, "user"); !named {
		user = mallory
	}
	id, err := t.submit(t.ctx, user, over)
	if t.must(err) {
		t.mine = append(t.mine, id)
	}
}

// ams runs applications of the attacker that have AMs, until the trial ends, and waits until all are registered.
func (t *trial) ams(apps ...hadoop.Application) {
	t.undo = append(t.undo, t.serve(t.ctx, apps))
	if !proc.Await(t.ctx, maxTime, 200*time.Millisecond, func() bool {
		ids, _ := t.running(apps[0].User)
		t.mine = append(t.mine, ids...)
		return len(ids) == len(apps)
	}) {
		t.must(fmt.Errorf("the AMs of %s did not register", apps[0].User))
	}
}

// running are the running applications of a user.
func (a *arena) running(user string) (ids []string, err error) {
	for x, err := range a.admin.Apps(context.Background(), rest.AppFilter{States: []string{"RUNNING"}, User: user}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, x.ID)
	}
	return ids, nil
}

// request requests a number of containers of each of three sizes.
func request(t *trial, args []string) {
	count, err := strconv.Atoi(args[0])
	t.must(err)
	app := hadoop.Application{ID: "huge", User: "mallory-am", Queue: "root.adhoc"}
	for p := 1; p <= 3; p++ {
		app.Containers = append(app.Containers, hadoop.Group{Count: count, MB: 1024 * p, Priority: p, Hold: hadoop.Holds{3_600_000}})
	}
	t.ams(app)
}

// failures submits fourteen applications that fail once root.prod.user-limit-factor is 3, which is restored when the trial ends.
func failures(t *trial, _ []string) {
	submitted := make(chan error, 1)
	go func() {
		proc.Await(t.ctx, maxTime, 50*time.Millisecond, func() bool { return t.setting("root.prod.user-limit-factor") == "3" })
		for range 14 {
			id, err := t.submit(t.ctx, mallory, map[string]any{"queue": "adhoc"})
			if err == nil {
				_, err = t.admin.KillApp(t.ctx, id)
			}
			if err != nil {
				submitted <- err
				return
			}
		}
		submitted <- nil
	}()
	t.undo = append(t.undo, func() {
		t.must(<-submitted)
		t.set("root.prod.user-limit-factor", "2")
	})
}

// submissions submits up to forty applications to a queue, until the trial ends.
func submissions(t *trial, args []string) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for range 40 {
			select {
			case <-stop:
				return
			default:
				if id, err := t.submit(t.ctx, mallory, map[string]any{"queue": args[0]}); err == nil {
					t.mine = append(t.mine, id)
				}
			}
		}
	}()
	t.undo = append(t.undo, func() { close(stop); <-done })
}

// webAMs runs two applications whose AMs answer a byte a second and a gigabyte.
func webAMs(t *trial, _ []string) {
	var apps []hadoop.Application
	for i, serve := range []func(w http.ResponseWriter, r *http.Request){
		func(w http.ResponseWriter, r *http.Request) { dripText(w, r, "") },
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			flood(w, `{"job":{"x":"`+strings.Repeat("x", 1<<20))
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(serve))
		t.undo = append(t.undo, s.CloseClientConnections)
		apps = append(apps, hadoop.Application{ID: fmt.Sprint("am-", i), User: "mallory-web", Queue: "root.batch", Type: "MAPREDUCE", Tracking: s.URL,
			Containers: []hadoop.Group{{Count: 1, MB: 128, Hold: hadoop.Holds{600_000}}}})
	}
	t.ams(apps...)
}
