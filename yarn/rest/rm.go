package rest

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const cluster = "/ws/v1/cluster"

// Info queries the first ResourceManager that responds, active or not; see Infos.
func (c *Client) Info(ctx context.Context) (Info, error) { return c.infoOf(ctx, &call{server: c.rm}) }

func (c *Client) infoOf(ctx context.Context, k *call) (Info, error) {
	k.what, k.path, k.stray = "ask the ResourceManager who it is", cluster+"/info", true
	return get[Info](ctx, c, k, "clusterInfo")
}

// Metrics reads the cluster's counts from the active ResourceManager. After a failover they are those of an empty cluster until the nodes
// have come back: see Ready.
func (c *Client) Metrics(ctx context.Context) (Metrics, error) {
	v, err := c.metrics(ctx)
	if err == nil {
		c.mu.Lock()
		c.nodes = max(c.nodes, v.ActiveNodes)
		c.mu.Unlock()
	}
	return v, err
}

func (c *Client) metrics(ctx context.Context) (Metrics, error) {
	return parse(ctx, c, &call{what: "read the cluster's metrics", server: c.rm, path: cluster + "/metrics"}, func(data []byte) (Metrics, error) {
		v := Metrics{UtilizedMBPercent: -1, UtilizedCoresPercent: -1}
		err := decodeWhole(data, &v, "clusterMetrics")
		return v, err
	})
}

// Nodes lists the NodeManagers; lost or decommissioned ones only if their states are requested.
func (c *Client) Nodes(ctx context.Context, states ...string) iter.Seq2[Node, error] {
	q := url.Values{}
	if len(states) > 0 {
		q.Set("states", strings.Join(states, ","))
	}
	return list[Node](ctx, c, &call{what: "list nodes", server: c.rm, path: cluster + "/nodes", query: q}, "nodes", "node")
}

// AppFilter selects applications; zero fields match all.
type AppFilter struct {
	States        []string // NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED
	User, Queue   string
	StartedFrom   time.Time
	FinishedFrom  time.Time
	FinishedUntil time.Time
	Requests      bool // with each application's outstanding requests, which make lists of running ones long
}

func (f *AppFilter) query() url.Values {
	q := url.Values{}
	text := func(name, v string) {
		if v != "" {
			q.Set(name, v)
		}
	}
	instant := func(name string, t time.Time) {
		if !t.IsZero() {
			q.Set(name, strconv.FormatInt(t.UnixMilli(), 10))
		}
	}
	text("states", strings.Join(f.States, ","))
	text("user", f.User)
	text("queue", f.Queue)
	instant("startedTimeBegin", f.StartedFrom)
	instant("finishedTimeBegin", f.FinishedFrom)
	instant("finishedTimeEnd", f.FinishedUntil)
	if !f.Requests {
		q.Set("deSelects", "resourceRequests") // since 2.10 and 3.0; ignored by older ones
	}
	return q
}

// Apps lists applications; of those that have ended the ResourceManager remembers 1,000 unless yarn.resourcemanager.max-completed-applications
// says otherwise.
func (c *Client) Apps(ctx context.Context, f AppFilter) iter.Seq2[App, error] {
	return list[App](ctx, c, &call{what: "list applications", server: c.rm, path: cluster + "/apps", query: f.query()}, "apps", "app")
}

// App reads one application.
func (c *Client) App(ctx context.Context, id string) (App, error) {
	return get[App](ctx, c, &call{what: "read " + id, server: c.rm, path: appPath(id, "")}, "app")
}

// Containers lists the containers of an application's current attempt; since 3.0.
func (c *Client) Containers(ctx context.Context, a *App) iter.Seq2[Container, error] {
	path := appPath(a.ID, "/appattempts/"+url.PathEscape(a.Attempt())+"/containers")
	return list[Container](ctx, c, &call{what: "list the containers of " + a.ID, server: c.rm, path: path}, "containers", "container")
}

func appPath(id, rest string) string { return cluster + "/apps/" + url.PathEscape(id) + rest }
