package rest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// stranger is a server that nobody has named. It answers whatever it is asked.
type stranger struct {
	*httptest.Server
	mu  sync.Mutex
	log []string
}

func newStranger(t *testing.T) *stranger {
	s := &stranger{}
	s.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, fmt.Sprintf("%s %s %v", r.Method, r.RequestURI, r.Header))
		s.mu.Unlock()
		_, _ = io.WriteString(w, `{"clusterMetrics":{"activeNodes":666},"job":{"id":"job_1_0001"}}`)
	})
	return s
}

// untouched fails the test if anything was sent there.
func (s *stranger) untouched(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) > 0 {
		t.Errorf("the stranger was asked: %s", s.log)
	}
	s.log = nil
}

var redirects = []int{300, 301, 302, 303, 305, 307, 308}

// An ApplicationMaster is a user's process: it cannot make the client ask another server, not even later.
func TestAMRedirects(t *testing.T) {
	for _, status := range redirects {
		evil := newStranger(t)
		var wrote []string
		rm := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, "/proxy/"):
				to := evil.URL + r.URL.Path
				say(status, json200, `{"job":{"id":"job_1_0001"}}`, "Location", to, "Refresh", "0;url="+to, "Content-Location", to)(w, r)
			case r.URL.Path == "/conf":
				_, _ = io.WriteString(w, "<configuration/>")
			case r.Method == http.MethodPut:
				wrote = append(wrote, r.URL.Path)
			default:
				_, _ = io.WriteString(w, `{"clusterMetrics":{"activeNodes":1}}`)
			}
		})
		c := client(t, quick(rm.URL))
		_, err := c.AM("application_1_0001").Job(t.Context(), "job_1_0001")
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d to %s: an AM's redirects are not followed", status, evil.URL)) {
			t.Errorf("%d: %v", status, err)
		}
		if m, err := c.Metrics(t.Context()); err != nil || m.ActiveNodes != 1 {
			t.Errorf("%d: %+v %v", status, m, err)
		}
		if r, err := c.ChangeScheduler(t.Context(), rest.SchedulerChange{}); err != nil || len(wrote) != 1 || !strings.HasPrefix(r.URL, rm.URL) {
			t.Errorf("%d: %+v %v", status, r, err)
		}
		evil.untouched(t)
	}
}

// Nor does an answer of one say which ResourceManager is to be asked first.
func TestAMTeachesNothing(t *testing.T) {
	active := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/proxy/") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"clusterMetrics":{}}`)
	})
	other := newStranger(t)
	c := client(t, quick(active.URL, other.URL))
	if _, err := c.AM("application_1_0001").Job(t.Context(), "job_1_0001"); err != nil {
		t.Fatal(err)
	}
	if m, err := c.Metrics(t.Context()); err != nil || m.ActiveNodes != 0 || len(other.log) != 1 {
		t.Errorf("%d nodes, %v; the other one was asked %s", m.ActiveNodes, err, other.log)
	}
}

// An AM may send as much as it likes; little of it is kept.
func TestAMSendsALot(t *testing.T) {
	rm := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"job":{"id":"`+strings.Repeat("x", 2<<20)+`"}}`)
	})
	_, err := client(t, quick(rm.URL)).AM("application_1_0001").Job(t.Context(), "job_1_0001")
	if err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Error(err)
	}
}

// A ResourceManager, a history server or a NameNode that redirects to a server that nobody has named is not followed, and the error says
// where to and what to do.
func TestServersRedirect(t *testing.T) {
	for _, status := range redirects {
		evil := newStranger(t)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/conf" { // lists others
				_, _ = io.WriteString(w, `<configuration><property><name>yarn.resourcemanager.ha.rm-ids</name><value>a</value></property>
<property><name>yarn.resourcemanager.webapp.address.a</name><value>127.0.0.1:1</value></property></configuration>`)
				return
			}
			say(status, "", "", "Location", evil.URL+r.URL.RequestURI())(w, r)
		})
		o := quick(s.URL)
		o.History, o.NameNodes, o.Auth, o.Retries = s.URL, []string{s.URL}, rest.Token("secret"), -1
		c := client(t, o)
		_, read := c.Metrics(t.Context())
		_, write := c.ChangeScheduler(t.Context(), rest.SchedulerChange{})
		_, history := c.History().Job(t.Context(), "job_1_0001")
		errs := map[string]error{"read": read, "write": write, "history": history}
		if status != http.StatusTemporaryRedirect {
			_, errs["file"] = c.Files().Open(t.Context(), "/f")
		}
		for what, err := range errs {
			want := "If that is the right address of "
			if status == http.StatusTemporaryRedirect && what != "history" {
				want = "it is standby for " + evil.URL + ", and neither --rm nor its configuration lists it: if it is right, add it to --rm"
			}
			var fate *rest.OutcomeUnknownError
			if err == nil || !strings.Contains(err.Error(), evil.URL) || !strings.Contains(err.Error(), want) || errors.As(err, &fate) {
				t.Errorf("%d, %s: %v", status, what, err)
			}
		}
		evil.untouched(t)
	}
}

// The DataNode to which a NameNode redirects is not told who asks, and cannot send anybody further.
func TestDataNode(t *testing.T) {
	for name, auth := range map[string]rest.Auth{"name": rest.User("ann"), "token": rest.Token("secret")} {
		evil := newStranger(t)
		further := false
		data := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("user.name") || r.Header.Get("X-Hadoop-Delegation-Token") != "" || r.Header.Get("Hadoop-YARN-Auth-Delegation-Token") != "" {
				t.Errorf("%s: the DataNode is told who asks: %s %v", name, r.RequestURI, r.Header)
			}
			if further {
				http.Redirect(w, r, evil.URL, http.StatusTemporaryRedirect)
			}
		})
		node := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, data.URL+"/webhdfs/v1/f?op=OPEN", http.StatusTemporaryRedirect)
		})
		c := client(t, rest.Options{NameNodes: []string{node.URL}, Auth: auth, Retries: -1})
		r, err := c.Files().Open(t.Context(), "/f")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		further = true
		if _, err := c.Files().Open(t.Context(), "/f"); err == nil || !strings.Contains(err.Error(), "a DataNode redirects again") {
			t.Error(err)
		}
		evil.untouched(t)
	}
}
