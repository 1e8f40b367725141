package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// pair is two ResourceManagers as far as failover shows: a standby redirects to the active one, or to nobody.
type pair struct {
	mu      sync.Mutex
	active  int // -1: none
	servers [2]*httptest.Server
	asked   [2]int
	bodies  [2][]string
}

func newPair(t *testing.T, active int) *pair {
	p := &pair{active: active}
	for i := range 2 {
		p.servers[i] = serve(t, func(w http.ResponseWriter, r *http.Request) { p.answer(i, w, r) })
	}
	return p
}

func (p *pair) answer(i int, w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[i]++
	body, _ := io.ReadAll(r.Body)
	if len(body) > 0 {
		p.bodies[i] = append(p.bodies[i], string(body))
	}
	state := "STANDBY"
	if i == p.active {
		state = "ACTIVE"
	}
	switch {
	case r.URL.Path == "/conf":
		_, _ = io.WriteString(w, `<configuration><property><name>yarn.resourcemanager.ha.rm-ids</name><value>rm0, rm1,rm2</value></property>
<property><name>yarn.resourcemanager.webapp.address.rm2</name><value>0.0.0.0:8088</value></property>`)
		for i, s := range p.servers {
			_, _ = fmt.Fprintf(w, "<property><name>yarn.resourcemanager.webapp.address.rm%d</name><value>%s</value></property>", i, strings.TrimPrefix(s.URL, "http://"))
		}
		_, _ = io.WriteString(w, "</configuration>")
	case strings.HasSuffix(r.URL.Path, "/info"):
		_, _ = fmt.Fprintf(w, `{"clusterInfo":{"haState":%q}}`, state)
	case i == p.active:
		_, _ = io.WriteString(w, `{"clusterMetrics":{"activeNodes":1}}`)
	case p.active < 0:
		w.Header().Set("Refresh", "3;url="+p.servers[i].URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(w, "Can not find any active RM. Will retry in next 3 seconds.")
	default:
		w.Header().Set("Location", p.servers[p.active].URL+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(w, "This is standby RM. The redirect url is: ...")
	}
}

func (p *pair) counts() [2]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.asked
	p.asked = [2]int{}
	return n
}

func (p *pair) become(active int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active = active
}

func TestStandbyFirst(t *testing.T) {
	p := newPair(t, 1)
	c := client(t, quick(p.servers[0].URL, p.servers[1].URL))
	for try, want := range [][2]int{{1, 1}, {0, 1}} {
		if _, err := c.Metrics(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.counts(); got != want {
			t.Errorf("call %d: the two were asked %v times, want %v: the active one is remembered", try, got, want)
		}
	}
	p.become(0)
	if _, err := c.Metrics(t.Context()); err != nil || p.counts() != [2]int{1, 1} {
		t.Error("after the change", err)
	}
	for i, w := range c.Infos(t.Context()) {
		if w.Err != nil || w.Info.HAState != []string{"ACTIVE", "STANDBY"}[i] || w.Address != p.servers[i].URL {
			t.Error(i, w)
		}
	}
}

// The active one may be one that the options do not name: then the standby's configuration does.
func TestUnnamedActive(t *testing.T) {
	p := newPair(t, 1)
	c := client(t, quick(p.servers[0].URL))
	for _, want := range [][2]int{{2, 1}, {0, 1}} {
		if _, err := c.Metrics(t.Context()); err != nil || p.counts() != want {
			t.Error(err)
		}
	}
	p.servers[1].Close()
	p.become(0)
	if _, err := c.Metrics(t.Context()); err != nil || p.counts() != [2]int{1, 0} {
		t.Error(err)
	}
}

func TestNobodyActiveThenOne(t *testing.T) {
	p := newPair(t, -1)
	o := quick(p.servers[0].URL, p.servers[1].URL)
	o.Retries, o.Backoff = 50, 5*time.Millisecond
	c := client(t, o)
	time.AfterFunc(60*time.Millisecond, func() { p.become(1) })
	if _, err := c.Metrics(t.Context()); err != nil {
		t.Error(err)
	}
	p.become(-1)
	time.AfterFunc(60*time.Millisecond, func() { p.become(0) })
	r, err := c.MoveApp(t.Context(), "application_1_0001", "root.a")
	if err != nil || r.Status != 200 || !strings.HasPrefix(r.URL, p.servers[0].URL) || r.Body != `{"queue":"root.a"}` {
		t.Error(r, err)
	}
}

// At the moment of a takeover an RM redirects to itself.
func TestRedirectToItself(t *testing.T) {
	var n atomic.Int64
	var s *httptest.Server
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) < 3 {
			w.Header().Set("Location", s.URL+r.URL.RequestURI())
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, `{"clusterMetrics":{"activeNodes":1}}`)
	})
	o := quick(s.URL)
	o.Auth = rest.User("ann")
	if _, err := client(t, o).Metrics(t.Context()); err != nil || n.Load() != 3 {
		t.Error(n.Load(), err)
	}
	n.Store(-100)
	if _, err := client(t, o).Metrics(t.Context()); !errors.Is(err, rest.ErrNoActive) {
		t.Error(err)
	}
}

func TestFirstAddressIsDown(t *testing.T) {
	p := newPair(t, 1)
	p.servers[0].Close()
	c := client(t, quick(p.servers[0].URL, p.servers[1].URL))
	if _, err := c.Metrics(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := client(t, quick(p.servers[0].URL, p.servers[1].URL)).KillApp(t.Context(), "application_1_0001"); err != nil || len(p.bodies[1]) != 1 {
		t.Error(r, err)
	}
}

// dying takes a request and closes the connection without an answer.
func dying(t *testing.T, after string) (url string, taken *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken = new(atomic.Int64)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			n, _ := conn.Read(buf)
			if n > 0 {
				taken.Add(1)
			}
			_, _ = io.WriteString(conn, after)
			_ = conn.Close()
		}
	}()
	return "http://" + l.Addr().String(), taken
}

// A write that was sent and not answered is never sent again, to nobody.
func TestUnknownFate(t *testing.T) {
	p := newPair(t, 0)
	for name, after := range map[string]string{"no answer": "", "half a head": "HTTP/1.1 200 OK\r\nContent-Le"} {
		url, taken := dying(t, after)
		c := client(t, quick(url, p.servers[0].URL))
		_, err := c.MoveApp(t.Context(), "application_1_0001", "root.a")
		var fate *rest.OutcomeUnknownError
		if !errors.As(err, &fate) || taken.Load() != 1 || len(p.bodies[0]) != 0 {
			t.Errorf("%s: %v, taken %d times, the other took %d", name, err, taken.Load(), len(p.bodies[0]))
		}
		if err == nil || !strings.Contains(err.Error(), "outcome unknown: sent, but not confirmed") || !strings.Contains(err.Error(), "read back") {
			t.Error(err)
		}
		if _, err := client(t, quick(url, p.servers[0].URL)).Metrics(t.Context()); err != nil {
			t.Error("a read goes on to the next:", err)
		}
	}
	for _, status := range []int{500, 502, 504} {
		n := 0
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { n++; w.WriteHeader(status) })
		_, err := client(t, quick(s.URL, p.servers[0].URL)).KillApp(t.Context(), "application_1_0001")
		var fate *rest.OutcomeUnknownError
		if !errors.As(err, &fate) || n != 1 || len(p.bodies[0]) != 0 {
			t.Errorf("%d: %v, sent %d times", status, err, n)
		}
	}
	silent := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-silent })
	defer close(silent)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := client(t, quick(s.URL)).KillApp(ctx, "application_1_0001")
	var fate *rest.OutcomeUnknownError
	if !errors.As(err, &fate) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error("given up by the caller:", err)
	}
}

// What is refused was not done; the server's own words come along.
func TestRefusedWrites(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		is     error
		want   string
	}{
		{403, "Unauthorized attempt to move appid application_1_0001 by remote user dr.who", rest.ErrForbidden, "403 Forbidden: Unauthorized attempt to move appid"},
		{400, "Failed to re-init queues : Illegal capacity sum of 1.2 for children of queue root", rest.ErrRefused, "Illegal capacity sum of 1.2"},
		{503, "priority is not supported", rest.ErrRefused, "503 Service Unavailable: priority is not supported"},
		{200, "<html><title>Login</title></html>", rest.ErrFormat, `a web page titled "Login"`},
		{401, "", rest.ErrUnauthenticated, "--user"},
	} {
		n := 0
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { n++; say(c.status, json200, c.body)(w, r) })
		r, err := client(t, quick(s.URL)).ChangeScheduler(t.Context(), rest.SchedulerChange{})
		if err == nil || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || n != 1 {
			t.Errorf("%d: sent %d times, %v %+v", c.status, n, err, r)
		}
	}
}

// A ResourceManager whose store fails once the change is applied answers 400, too: what is configured tells.
func TestRefusedByTheStore(t *testing.T) {
	change := rest.SchedulerChange{
		Remove: []string{"root.old"},
		Update: []rest.QueueChange{{Queue: "root.prod", Settings: []rest.Setting{{Name: "capacity", Value: "60"}, {Name: "acl_submit_applications", Value: " "}, {Name: "state"}}}},
		Global: []rest.Setting{{Name: "yarn.scheduler.capacity.maximum-applications", Value: "9"}},
	}
	const (
		prod   = `{"name":"yarn.scheduler.capacity.root.prod.capacity","value":"60"},{"name":"yarn.scheduler.capacity.root.prod.acl_submit_applications","value":" "}`
		global = `,{"name":"yarn.scheduler.capacity.maximum-applications","value":"9"}`
	)
	for name, c := range map[string]struct {
		status     int
		configured string
		known      bool
	}{
		"made":           {200, prod + global, false},
		"not made":       {200, `{"name":"yarn.scheduler.capacity.root.prod.capacity","value":"50"}` + global, true},
		"in part":        {200, prod, true},
		"not removed":    {200, prod + global + `,{"name":"yarn.scheduler.capacity.root.old.capacity","value":"1"}`, true},
		"still set":      {200, prod + global + `,{"name":"yarn.scheduler.capacity.root.prod.state","value":"RUNNING"}`, true},
		"not to be read": {403, "", false},
		"gone":           {503, "", false},
		"broken":         {500, "", false},
		"not mutable":    {400, "", true},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				say(400, "", `Cannot run program "chmod": error=0, Failed to exec spawn helper: pid: 1, signal: 15`)(w, r)
				return
			}
			say(c.status, json200, `{"property":[`+c.configured+`]}`)(w, r)
		})
		r, err := client(t, quick(s.URL)).ChangeScheduler(t.Context(), change)
		unknown, ok := errors.AsType[*rest.OutcomeUnknownError](err)
		if ok == c.known || !strings.Contains(err.Error(), "chmod") || r.Status != 400 || ok && !strings.HasPrefix(unknown.URL, s.URL) {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
}

func TestSchedulerChangeXML(t *testing.T) {
	var body, kind string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body, kind = string(b), r.Header.Get("Content-Type")
		_, _ = io.WriteString(w, "Configuration change successfully applied.")
	})
	r, err := client(t, quick(s.URL)).ChangeScheduler(t.Context(), rest.SchedulerChange{
		Remove: []string{"root.old"},
		Update: []rest.QueueChange{{Queue: "root.prod", Settings: []rest.Setting{{Name: "capacity", Value: "<60>"}}}},
		Global: []rest.Setting{{Name: "yarn.scheduler.capacity.maximum-am-resource-percent", Value: "0.2"}},
	})
	want := `<sched-conf><remove-queue>root.old</remove-queue><update-queue><queue-name>root.prod</queue-name><params><entry><key>capacity</key><value>&lt;60&gt;</value></entry></params></update-queue>` +
		`<global-updates><entry><key>yarn.scheduler.capacity.maximum-am-resource-percent</key><value>0.2</value></entry></global-updates></sched-conf>`
	if err != nil || body != want || kind != "application/xml" || r.Answer != "Configuration change successfully applied." || r.Body != want {
		t.Errorf("%v\n%s\n%s", err, body, want)
	}
}

// A standby does not know a delegation token.
func TestTokenOfAnother(t *testing.T) {
	standby := serve(t, say(403, json200, `{"RemoteException":{"exception":"InvalidToken","message":"token can't be found"}}`))
	p := newPair(t, 0)
	o := quick(standby.URL, p.servers[0].URL)
	o.Auth = rest.Token("secret")
	if _, err := client(t, o).Metrics(t.Context()); err != nil {
		t.Error("the next address knows the token:", err)
	}
}

func TestReady(t *testing.T) {
	var nodes atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"clusterMetrics":{"activeNodes":%d}}`, nodes.Load())
	})
	nodes.Store(3)
	c := client(t, quick(s.URL))
	if _, err := c.Metrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	nodes.Store(0)
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond) // it asks every 500 ms
	defer cancel()
	if _, err := c.Ready(ctx, 0); err == nil || !strings.Contains(err.Error(), "wait for the cluster: the nodes have not come back yet") {
		t.Error(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { nodes.Store(2) })
	time.AfterFunc(700*time.Millisecond, func() { nodes.Store(3) })
	if m, err := c.Ready(t.Context(), time.Hour); err != nil || m.ActiveNodes != 3 {
		t.Error(m, err)
	}
	nodes.Store(2) // one stays away
	if m, err := c.Ready(t.Context(), 10*time.Millisecond); err != nil || m.ActiveNodes != 2 {
		t.Error(m, err)
	}
}
