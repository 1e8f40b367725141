package rest

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// MapReduce reads jobs, tasks and counters, which the history server and a running AM serve in the same format.
type MapReduce struct {
	c      *Client
	server *server
	base   string
	suffix string // of what is done, in messages
}

// History is the JobHistoryServer: jobs that have ended.
func (c *Client) History() *MapReduce {
	return &MapReduce{c, c.history, "/ws/v1/history", " in the history"}
}

// AM is the running MapReduce ApplicationMaster (AM) of an application, through the ResourceManager's proxy. If the application has
// ended, errors are ErrEnded. The application's owner controls the responses: they are limited to maxRelayed, a redirect is an error, and
// nothing in them affects which servers the client uses next.
func (c *Client) AM(app string) *MapReduce {
	return &MapReduce{c, c.rm, "/proxy/" + url.PathEscape(app) + "/ws/v1", " of " + app}
}

func (m *MapReduce) call(what, path string) *call {
	relayed := m.server == m.c.rm
	return &call{what: what + m.suffix, server: m.server, path: m.base + path, relayed: relayed, stray: relayed, single: relayed}
}

// Info returns the age and version of the history server.
func (m *MapReduce) Info(ctx context.Context) (HistoryInfo, error) {
	if m.server == m.c.history {
		return get[HistoryInfo](ctx, m.c, m.call("ask the history server who it is", "/info"), "historyInfo")
	}
	return get[HistoryInfo](ctx, m.c, m.call("ask the AM who it is", "/mapreduce/info"), "info")
}

// JobFilter selects jobs of the history; zero fields match all.
type JobFilter struct {
	User, State                 string
	FinishedFrom, FinishedUntil time.Time
}

// Jobs lists jobs; the history server has the newest ones in its list, 20,000 unless mapreduce.jobhistory.joblist.cache.size says otherwise.
func (m *MapReduce) Jobs(ctx context.Context, f JobFilter) iter.Seq2[Job, error] {
	k := m.call("list jobs", "/mapreduce/jobs")
	a := AppFilter{User: f.User, FinishedFrom: f.FinishedFrom, FinishedUntil: f.FinishedUntil, Requests: true}
	if k.query = a.query(); f.State != "" {
		k.query.Set("state", f.State)
	}
	return list[Job](ctx, m.c, k, "jobs", "job")
}

func jobPath(id, rest string) string { return "/mapreduce/jobs/" + url.PathEscape(id) + rest }

// Job reads one job.
func (m *MapReduce) Job(ctx context.Context, id string) (Job, error) {
	return get[Job](ctx, m.c, m.call("read "+id, jobPath(id, "")), "job")
}

// Tasks lists the maps and reduces of a job.
func (m *MapReduce) Tasks(ctx context.Context, id string) iter.Seq2[Task, error] {
	return list[Task](ctx, m.c, m.call("list tasks of "+id, jobPath(id, "/tasks")), "tasks", "task")
}

// Counters reads a job's counters.
func (m *MapReduce) Counters(ctx context.Context, job string) ([]CounterGroup, error) {
	return m.counters(ctx, job, jobPath(job, "/counters"), "jobCounters")
}

// TaskCounters reads a task's counters.
func (m *MapReduce) TaskCounters(ctx context.Context, job, task string) ([]CounterGroup, error) {
	return m.counters(ctx, task, jobPath(job, "/tasks/"+url.PathEscape(task)+"/counters"), "jobTaskCounters")
}

func (m *MapReduce) counters(ctx context.Context, id, path, key string) ([]CounterGroup, error) {
	v, err := get[struct {
		Job  []CounterGroup `json:"counterGroup"`
		Task []CounterGroup `json:"taskCounterGroup"`
	}](ctx, m.c, m.call("read counters of "+id, path), key)
	return append(v.Job, v.Task...), err
}

// JobConf reads the configuration a job ran with.
func (m *MapReduce) JobConf(ctx context.Context, job string) (*conf.Properties, error) {
	return m.c.properties(ctx, m.call("read the configuration of "+job, jobPath(job, "/conf")), job+"'s configuration")
}
