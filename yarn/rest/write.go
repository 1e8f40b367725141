package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Result is the record of a write for a journal: what was sent to whom and the response.
type Result struct {
	Method   string    `json:"method"`
	URL      string    `json:"url"` // of the server that responded
	Body     string    `json:"body"`
	Sent     time.Time `json:"sent"`
	Answered time.Time `json:"answered"`
	Status   int       `json:"status"`
	Answer   string    `json:"answer"` // at most 64 KiB of it
}

// Put changes something at the ResourceManager; body is sent as it is. With an *OutcomeUnknownError the change may or may not
// have been made; with any other error it was not.
func (c *Client) Put(ctx context.Context, what, path, kind string, body []byte) (Result, error) {
	return c.send(ctx, &call{what: what, server: c.rm, method: http.MethodPut, path: path, kind: kind, body: body})
}

// Post is like Put, for submissions.
func (c *Client) Post(ctx context.Context, what, path, kind string, body []byte) (Result, error) {
	return c.send(ctx, &call{what: what, server: c.rm, method: http.MethodPost, path: path, kind: kind, body: body})
}

// send retries a write only while it is certain that nobody has accepted it: nothing listened, or a standby sent it away.
func (c *Client) send(ctx context.Context, k *call) (Result, error) {
	res := Result{Method: k.method, Body: string(k.body)}
	if k.body == nil {
		k.body = []byte{}
	}
	err := c.retry(ctx, k, func() error {
		res.Sent = time.Now()
		a, err := c.once(ctx, k)
		if err != nil {
			return err
		}
		res.URL, res.Status = plain(a.url), a.StatusCode
		text, _ := io.ReadAll(io.LimitReader(a.body, maxRefusal)) // the status says that it is done
		_ = a.Close()
		res.Answer = string(bytes.TrimSpace(text))
		if title, page := pageTitle(text, a.Header.Get("Content-Type")); page {
			return &CallError{k.what, res.URL, htmlError(title)}
		}
		return nil
	})
	res.Answered = time.Now()
	if s, ok := errors.AsType[*StatusError](err); ok {
		res.Status, res.Answer = s.Status, s.Message
	}
	return res, err
}

func (c *Client) putJSON(ctx context.Context, what, path string, v any) (Result, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", what, err)
	}
	return c.Put(ctx, what, path, "application/json", body)
}

// MoveApp moves an application to another queue. Its owner or an administrator may; an unknown queue is reported as not permitted, too.
func (c *Client) MoveApp(ctx context.Context, id, queue string) (Result, error) {
	return c.putJSON(ctx, fmt.Sprintf("move %s to %s", id, queue), appPath(id, "/queue"), map[string]string{"queue": queue})
}

// SetPriority changes an application's priority; a value above the cluster's maximum is silently capped, so read it back.
func (c *Client) SetPriority(ctx context.Context, id string, priority int) (Result, error) {
	return c.putJSON(ctx, fmt.Sprintf("set the priority of %s to %d", id, priority), appPath(id, "/priority"), map[string]int{"priority": priority})
}

// KillApp kills an application; status 202 means that it is in progress.
func (c *Client) KillApp(ctx context.Context, id string) (Result, error) {
	return c.putJSON(ctx, "kill "+id, appPath(id, "/state"), map[string]string{"state": "KILLED"})
}

// SchedulerChange is an atomic change of the CapacityScheduler's settings. Names of a queue's settings are without the
// prefix yarn.scheduler.capacity. and the queue; global ones are complete.
type SchedulerChange struct {
	XMLName xml.Name      `xml:"sched-conf"`
	Remove  []string      `xml:"remove-queue"`
	Add     []QueueChange `xml:"add-queue"`
	Update  []QueueChange `xml:"update-queue"`
	Global  []Setting     `xml:"global-updates>entry"`
}

// QueueChange sets some of a queue's settings.
type QueueChange struct {
	Queue    string    `xml:"queue-name"` // full path
	Settings []Setting `xml:"params>entry"`
}

// Setting is a name and its new value.
type Setting struct {
	Name  string `xml:"key"`
	Value string `xml:"value"`
}

// ChangeScheduler applies a change; the version of the configuration goes up by one if it is accepted. A ResourceManager answers 400 also if it has
// applied the change and its store then failed, as while it is being stopped: only the scheduler's own refusal is believed, any other is read back.
func (c *Client) ChangeScheduler(ctx context.Context, s SchedulerChange) (Result, error) {
	const what = "change the scheduler's configuration"
	body, err := xml.Marshal(s)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", what, err)
	}
	r, err := c.Put(ctx, what, cluster+"/scheduler-conf", "application/xml", body)
	if e, ok := errors.AsType[*StatusError](err); ok && e.Status == http.StatusBadRequest && !strings.HasPrefix(e.Message, "Failed to re-init queues") {
		now, failed := c.SchedulerConf(ctx)
		no, answered := errors.AsType[*StatusError](failed)
		immutable := answered && no.Status == http.StatusBadRequest
		if failed == nil && s.isIn(now) || failed != nil && !immutable {
			call, _ := errors.AsType[*CallError](err)
			err = &OutcomeUnknownError{http.MethodPut, call.URL, e}
		}
	}
	return r, err
}

// isIn reports whether a configuration is as the change leaves it.
func (s *SchedulerChange) isIn(p *conf.Properties) bool {
	set := func(name, value string) bool {
		x := p.Get(name)
		return x == nil && value == "" || x != nil && (x.Raw == value || x.Value == strings.TrimSpace(value))
	}
	for _, q := range slices.Concat(s.Add, s.Update) {
		for _, x := range q.Settings {
			if !set(conf.Prefix+q.Queue+"."+x.Name, x.Value) {
				return false
			}
		}
	}
	for _, x := range s.Global {
		if !set(x.Name, x.Value) {
			return false
		}
	}
	for _, q := range s.Remove {
		if slices.ContainsFunc(p.List, func(x *conf.Property) bool { return strings.HasPrefix(x.Name, conf.Prefix+q+".") }) {
			return false
		}
	}
	return true
}

// ValidateScheduler asks the ResourceManager whether it would apply a change, since 3.3; others: ErrNotFound. Nothing is changed.
func (c *Client) ValidateScheduler(ctx context.Context, s SchedulerChange) error {
	const what = "validate the scheduler's configuration"
	body, err := xml.Marshal(s)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	_, err = c.Post(ctx, what, cluster+"/scheduler-conf/validate", "application/xml", body)
	return err
}
