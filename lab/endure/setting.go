package endure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// setting is the share of masters of one queue, as the daemons have it. It is read past the proxy and past the steerer.
type setting struct {
	rm    *rest.Client
	queue string // full path
	file  string // of the FairScheduler, in which it is configured; empty: in the ResourceManager, over REST

	configured string // what was found: text, or "unset"; of a file all its bytes
	inForce    string
}

const amPercent = "maximum-am-resource-percent"

func newSetting(ctx context.Context, rm *rest.Client, queue, file string) (*setting, error) {
	s := &setting{rm: rm, queue: queue, file: file}
	var err error
	if s.configured, err = s.read(ctx); err != nil {
		return nil, err
	}
	s.inForce, err = s.tree(ctx)
	return s, err
}

// dial makes a client that does not wait and does not try again.
func dial(auth rest.Auth, urls ...string) (*rest.Client, error) {
	return rest.New(rest.Options{RM: urls, Auth: auth, RMRate: -1, Retries: -1, Timeout: 10 * time.Second})
}

// read is how it is configured.
func (s *setting) read(ctx context.Context) (string, error) {
	if s.file != "" {
		b, err := os.ReadFile(s.file)
		return string(b), err
	}
	p, err := s.rm.SchedulerConf(ctx)
	if err != nil {
		return "", err
	}
	if v := p.Get("yarn.scheduler.capacity." + s.queue + "." + amPercent); v != nil {
		return v.Value, nil
	}
	return "unset", nil
}

// tree is what the scheduler goes by.
func (s *setting) tree(ctx context.Context) (string, error) {
	t, err := s.rm.Scheduler(ctx)
	if err != nil {
		return "", err
	}
	q := t.Root.Find(s.queue)
	if q == nil {
		return "", fmt.Errorf("there is no queue %s", s.queue)
	}
	if s.file != "" {
		return strconv.FormatInt(q.AMMax.Memory, 10) + " MB", nil
	}
	return strconv.FormatFloat(q.MaxAMPercent, 'g', -1, 32), nil
}

// original says whether it is configured as it was found.
func (s *setting) original(ctx context.Context) bool {
	now, err := s.read(ctx)
	return err == nil && now == s.configured
}

// obeyed says whether the scheduler goes by what was found.
func (s *setting) obeyed(ctx context.Context) bool {
	now, err := s.tree(ctx)
	return err == nil && now == s.inForce
}

// set changes it past everything: to try another original, or to let the rest of the applications end.
func (s *setting) set(ctx context.Context, value string) error {
	if s.file != "" {
		return os.WriteFile(s.file, []byte(value), 0o644)
	}
	_, err := s.rm.ChangeScheduler(ctx, rest.SchedulerChange{Update: []rest.QueueChange{{Queue: s.queue, Settings: []rest.Setting{{Name: amPercent, Value: value}}}}})
	return err
}

// clear takes the queue's own value away again; only over REST.
func (s *setting) clear(ctx context.Context) error {
	body := "<sched-conf><update-queue><queue-name>" + s.queue + "</queue-name><params><entry><key>" + amPercent +
		"</key></entry></params></update-queue></sched-conf>"
	_, err := s.rm.Put(ctx, "unset "+amPercent, "/ws/v1/cluster/scheduler-conf", "application/xml", []byte(body))
	return err
}

// wide is the found file with room for every master.
func (s *setting) wide() string {
	if s.file == "" {
		return "1"
	}
	text := []byte(s.configured)
	for _, share := range []string{"0.10", "0.1"} {
		text = bytes.ReplaceAll(text, []byte(">"+share+"<"), []byte(">1.0<"))
	}
	return string(text)
}
