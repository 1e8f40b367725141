//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// hostileAM is the web server of an ApplicationMaster that sends its callers to a ResourceManager of its own making.
type hostileAM struct {
	web, rm *httptest.Server
	mu      sync.Mutex
	asked   int
	lured   []string // requests that reached the false ResourceManager
}

func newHostileAM(t *testing.T, status int) *hostileAM {
	h := &hostileAM{}
	h.rm = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The proxy's own client follows 302 and 307 by itself, with a cookie of the proxy's: those requests are not the steerer's.
		if c, err := r.Cookie("proxy-user"); err != nil || c.Value == "" {
			h.mu.Lock()
			h.lured = append(h.lured, r.Method+" "+r.RequestURI)
			h.mu.Unlock()
		}
		fmt.Fprint(w, `{"job":{"id":"x"}}`)
	}))
	h.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked++
		h.mu.Unlock()
		_, id, _ := strings.Cut(r.URL.Path, "/jobs/job_")
		to := h.rm.URL + "/proxy/application_" + id + r.URL.Path // as if the ResourceManager were there
		w.Header().Set("Location", to)
		w.Header().Set("Refresh", "0;url="+to)
		w.WriteHeader(status)
	}))
	t.Cleanup(h.web.Close)
	t.Cleanup(h.rm.Close)
	return h
}

func (h *hostileAM) calls() (asked int, lured []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked, h.lured
}

// labUp brings real daemons up, with one node unless told otherwise, until the test ends, and returns a client that may change them.
func labUp(t *testing.T, o hadoop.Options) (*hadoop.Cluster, *rest.Client) {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	began := time.Now()
	o.Dir, o.Nodes = filepath.Join(t.TempDir(), "run"), max(o.Nodes, 1)
	lab, err := hadoop.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(); err != nil {
			t.Error(err)
		}
		t.Logf("took %.1f s", time.Since(began).Seconds())
	})
	c, err := rest.New(rest.Options{RM: []string{lab.RM()}, Auth: rest.User("yardmaster"), RMRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return lab, c
}

// runAMs runs applications in the background; stop ends them. They must not have ended before.
func runAMs(t *testing.T, lab *hadoop.Cluster, apps []hadoop.Application) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := lab.AMs(ctx, apps, hadoop.AMsOptions{})
		ended <- err
	}()
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// A job can run any web server as its ApplicationMaster's. Whatever redirects it answers, the steerer goes on with the real ResourceManager:
// the change is made there, and put back there.
func TestLabHostileAM(t *testing.T) {
	lab, c := labUp(t, hadoop.Options{})
	hostile := map[int]*hostileAM{}
	var apps []hadoop.Application
	for _, status := range []int{300, 302, 307, 308} {
		h := newHostileAM(t, status)
		hostile[status] = h
		apps = append(apps, hadoop.Application{ID: fmt.Sprint("hostile-", status), User: "mallory", Queue: "batch", Type: "MAPREDUCE", Tracking: h.web.URL,
			Containers: []hadoop.Group{{Count: 1, MB: 128, Hold: hadoop.Holds{600_000}}}})
	}
	defer runAMs(t, lab, apps)()
	eventually(t, "four hostile AMs run", func() bool {
		n := 0
		for a, err := range c.Apps(t.Context(), rest.AppFilter{States: []string{"RUNNING"}}) {
			if err == nil && a.Type == "MAPREDUCE" {
				n++
			}
		}
		return n == len(apps)
	})
	share := func() string {
		p, err := c.SchedulerConf(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if x := p.Get("yarn.scheduler.capacity.root.batch.maximum-am-resource-percent"); x != nil {
			return x.Value
		}
		return ""
	}
	defer func() {
		for status, h := range hostile {
			asked, lured := h.calls()
			t.Logf("%d: the AM was asked %d times", status, asked)
			if len(lured) > 0 {
				t.Errorf("%d: the false ResourceManager was asked %d times, first %s", status, len(lured), lured[0])
			}
		}
	}()
	found := share()
	journal := t.TempDir()
	y := started(t, "yarn", "steer", "--rm", lab.RM(), "--queue", "root.batch", "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--ask-ams",
		"--act", "--user", "yardmaster", "--journal", journal, "--listen", "off")
	late := time.AfterFunc(time.Minute, func() { _ = y.Process.Kill() })
	defer late.Stop()
	y.until(t, "msg=taken")
	if got := share(); got != "0.3" {
		t.Errorf("while it acts the real ResourceManager has %q", got)
	}
	before := map[int]int{}
	for status, h := range hostile {
		before[status], _ = h.calls()
	}
	eventually(t, "every hostile AM is asked again", func() bool {
		for status, h := range hostile {
			if n, _ := h.calls(); n <= before[status] {
				return false
			}
		}
		return true
	})
	if err := y.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := y.ends(t); code != 0 {
		t.Errorf("it ended with %d:\n%s\n%s", code, strings.Join(y.lines, "\n"), y.err)
	}
	if got := share(); got != found {
		t.Errorf("the real ResourceManager is left with %q, it had %q", got, found)
	}
	if _, open, err := live.ReadJournal(journal); err != nil || len(open) > 0 {
		t.Errorf("the journal: %v, %v", open, err)
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !f(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come so far: %s", what)
		}
	}
}
