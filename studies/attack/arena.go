package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/studies/endure"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// arena is the ResourceManager under attack, with an honest application in it.
type arena struct {
	lab    *hadoop.Cluster
	bin    string
	work   string
	admin  *rest.Client
	proxy  *endure.Proxy
	honest string // waits in root.batch
	end    func() // of the running applications
	n      int    // trials so far
	log    io.Writer
}

// operator is the account that may change the queues, mallory and alice are ordinary users.
const (
	operator = "yardmaster"
	mallory  = "mallory"
	alice    = "alice"
)

func openArena(ctx context.Context, bin, work string, log io.Writer) (_ *arena, err error) {
	a := &arena{bin: bin, work: work, log: log}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.lab, err = hadoop.Up(ctx, hadoop.Options{Dir: filepath.Join(work, "run"), Nodes: 1, NodeMB: 16384, NodeVcores: 64, Heartbeat: 200 * time.Millisecond}); err != nil {
		return nil, err
	}
	if a.admin, err = rest.New(rest.Options{RM: []string{a.lab.RM()}, Auth: rest.User(operator), RMRate: -1, Retries: -1, Timeout: maxTime}); err != nil {
		return nil, err
	}
	if a.proxy, err = endure.NewProxy(a.lab.RM()); err != nil {
		return nil, err
	}
	if a.honest, err = a.submit(ctx, alice, map[string]any{"application-name": "nightly report"}); err != nil {
		return nil, err
	}
	return a, a.busy(ctx)
}

// busy lets applications of honest users succeed in root.adhoc, so that a bound on it can be judged, and one run on in root.prod.
func (a *arena) busy(ctx context.Context) error {
	apps := []hadoop.Application{{ID: "service", User: alice, Queue: "root.prod", Containers: []hadoop.Group{{Count: 4, MB: 1024, Hold: hadoop.Holds{3_600_000}}}}}
	for i := range 15 {
		apps = append(apps, hadoop.Application{ID: fmt.Sprint("adhoc-", i), User: fmt.Sprintf("honest-%d", i%5), Queue: "root.adhoc",
			Containers: []hadoop.Group{{Count: 1, MB: 128, Hold: hadoop.Holds{hadoop.Millis(200 + 20*i)}}}})
	}
	a.end = a.serve(ctx, apps)
	if !proc.Await(ctx, maxTime, 200*time.Millisecond, func() bool {
		m, err := a.admin.Metrics(ctx)
		return err == nil && m.AppsCompleted == 15 && m.AppsRunning == 1
	}) {
		return errors.New("the honest applications did not run")
	}
	return nil
}

// serve runs applications with AMs until end is called.
func (a *arena) serve(ctx context.Context, apps []hadoop.Application) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.lab.AMs(ctx, apps, hadoop.AMsOptions{Heartbeat: 200 * time.Millisecond, HeapMB: 256}) // it is cancelled
	}()
	return func() { cancel(); <-done }
}

func (a *arena) close() {
	if a.end != nil {
		a.end()
	}
	if a.proxy != nil {
		a.proxy.Close()
	}
	if a.lab != nil {
		_ = a.lab.Down() // what is left of it ends with the machine
	}
}

// ask sends a value to the real ResourceManager as a user, and reads the answer; either may be nil.
func (a *arena) ask(ctx context.Context, user, method, path string, body, answer any) error {
	return hadoop.Ask(ctx, http.DefaultClient, method, a.lab.RM()+"/ws/v1/cluster/"+path+"user.name="+url.QueryEscape(user), body, answer)
}

// submit submits an application as a user does. It stays ACCEPTED: its AM is unmanaged, so that no node starts anything for it.
func (a *arena) submit(ctx context.Context, user string, over map[string]any) (id string, err error) {
	var made struct {
		ID string `json:"application-id"`
	}
	if err := a.ask(ctx, user, http.MethodPost, "apps/new-application?", nil, &made); err != nil {
		return "", err
	}
	app := map[string]any{
		"application-id": made.ID, "application-name": "job", "queue": "batch", "application-type": "YARN", "max-app-attempts": 1, "unmanaged-AM": true,
		"am-container-spec": map[string]any{"commands": map[string]string{"command": "false"}}, "resource": map[string]int{"memory": 128, "vCores": 1},
	}
	maps.Copy(app, over)
	if err := a.ask(ctx, user, http.MethodPost, "apps?", app, nil); err != nil {
		return "", err
	}
	proc.Await(ctx, maxTime, 50*time.Millisecond, func() bool {
		x, err := a.admin.App(ctx, made.ID)
		return err == nil && x.State != "NEW" && x.State != "NEW_SAVING" && x.State != "SUBMITTED"
	})
	return made.ID, nil
}

// state is what no attack may change: the configuration, and the queue and priority of every application.
type state struct {
	settings string
	apps     map[string]string
}

func (a *arena) state(ctx context.Context) (s state, err error) {
	if s.settings, err = endure.Settings(ctx, a.admin); err != nil {
		return s, err
	}
	s.apps = map[string]string{}
	var list struct { // only what is needed: a name of two megabytes is an attack of its own
		Apps struct {
			App []struct {
				ID, Queue string
				Priority  int
			}
		}
	}
	if err := a.ask(ctx, operator, http.MethodGet, "apps?states=ACCEPTED,RUNNING&", nil, &list); err != nil {
		return s, err
	}
	for _, x := range list.Apps.App {
		s.apps[x.ID] = fmt.Sprintf("%s, priority %d", x.Queue, x.Priority)
	}
	return s, nil
}
