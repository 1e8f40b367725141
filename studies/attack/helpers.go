package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// get reads a page, of any status.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read
	return io.ReadAll(io.LimitReader(res.Body, 64<<20))
}

// setting is one of the configuration, "unset" if it is not there.
func (a *arena) setting(name string) string {
	p, err := a.admin.SchedulerConf(context.Background())
	if err != nil {
		return err.Error()
	}
	if x := p.Get("yarn.scheduler.capacity." + name); x != nil {
		return x.Value
	}
	return "unset"
}

// set changes a setting directly, as an administrator does; "" unsets it.
func (t *trial) set(queue, name, value string) {
	_, err := t.admin.ChangeScheduler(t.ctx, rest.SchedulerChange{Update: []rest.QueueChange{{Queue: queue, Settings: []rest.Setting{{Name: name, Value: value}}}}})
	t.must(err)
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

// page runs a steerer that only observes, with its live page; end stops it.
func (t *trial) page(policy string, more ...string) (url string, end func()) {
	args := append([]string{"yarn", "steer", "--rm", t.lab.RM(), "--user", operator, "--queue", "root.batch", "--policy", policy, "--listen", "127.0.0.1:0"}, more...)
	p, err := steerer.Start(t.bin, t.lab.Dir, nil, args...)
	if !t.must(err) {
		return "", func() {}
	}
	proc.Await(t.ctx, maxTime, 20*time.Millisecond, func() bool {
		for _, l := range p.Lines() {
			if _, rest, ok := strings.Cut(l.Text, "page:"); ok {
				url, _, _ = strings.Cut(strings.TrimSpace(rest), "/,")
			}
		}
		return url != "" || !p.Alive()
	})
	if url == "" {
		p.End()
		t.must(fmt.Errorf("no page: %s", p.Last()))
		return "", func() {}
	}
	return url, func() {
		if !p.Alive() {
			t.harm("the steerer ended: %s", p.Last())
			return
		}
		p.Stop(maxTime)
	}
}

// samples runs a steerer of root.batch that only observes until it has made three decisions, and returns its lines as text. A blind one is harm.
func (t *trial) samples(args ...string) string {
	args = append([]string{"yarn", "steer", "--rm", t.proxy.URL, "--user", operator, "--queue", "root.batch", "--listen", "off", "--log-format", "json"}, args...)
	p, err := steerer.Start(t.bin, t.lab.Dir, nil, args...)
	if !t.must(err) {
		return ""
	}
	proc.Await(t.ctx, maxTime, 50*time.Millisecond, func() bool {
		rss, _, err := proc.Usage(p.Pid)
		t.rss = max(t.rss, rss)
		return p.Count("decided") >= 3 || p.Count("blind") > 0 || err != nil || rss > t.most
	})
	if p.Count("decided") < 3 || t.rss > t.most {
		t.harm("the steerer does not sample on, with %d MB: %s", t.rss>>20, p.Last())
	}
	p.Stop(maxTime)
	var b strings.Builder
	for _, l := range p.Lines() {
		fmt.Fprintln(&b, l.Text)
	}
	t.seen = lastLine(b.String())
	if i := strings.IndexFunc(b.String(), harmful); i >= 0 {
		t.harm("the steerer wrote a control character to the terminal: %.300q", b.String()[i:])
	}
	return b.String()
}

// left leaves a setting of root.batch changed, with the mark of the trial's journal, as a steerer does that is killed together with its guard.
func (t *trial) left() bool {
	p, err := steerer.Start(t.bin, t.lab.Dir, nil, "yarn", "steer", "--rm", t.proxy.URL, "--user", operator, "--queue", "root.batch", "--policy", "static",
		"--set", "value=0.3", "--listen", "off", "--journal", t.journal(), "--act")
	if !t.must(err) {
		return false
	}
	marked := proc.Await(t.ctx, maxTime, 20*time.Millisecond, func() bool { return t.setting("root.batch.yardmaster.journal") != "unset" || !p.Alive() })
	time.Sleep(200 * time.Millisecond) // until its lines are on disk: kills between them are an attack of their own
	p.End(p.Guards()...)
	if !marked || t.setting("root.batch.maximum-am-resource-percent") != "0.3" {
		return t.must(fmt.Errorf("the steerer changed nothing: %s", p.Last()))
	}
	return true
}

// copies are the files of a folder, to put them back.
func (t *trial) copies(dir string) (back func()) {
	to := dir + ".copy"
	t.must(os.CopyFS(to, os.DirFS(dir)))
	return func() {
		t.must(os.RemoveAll(dir))
		t.must(os.Rename(to, dir))
		t.must(os.Chmod(dir, 0o700))
		entries, _ := os.ReadDir(dir) // it was there a moment ago
		for _, e := range entries {
			t.must(os.Chmod(filepath.Join(dir, e.Name()), 0o600))
		}
	}
}
