//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// What a server says reaches the terminal as text, whatever it contains.
func TestServerTextIsClean(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;owned\x07 \u009b31m \u202egnp.exe"
	quoted, _ := json.Marshal(evil)
	for name, h := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"RemoteException":{"exception":"X","message":%s}}`, quoted)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><title>"+evil+"</title></html>")
		},
		"plain text": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "first\nyardmaster: forged "+evil)
		},
		"a queue": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"clusterInfo":{},"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":[{"queueName":%s}]}}}}`, quoted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(h)
			defer s.Close()
			c := started(t, "yarn", "steer", "--rm", s.URL, "--queue", "root.q", "--policy", "cbt", "--listen", "off")
			code := c.ends(t)
			text := strings.Join(c.lines, "\n") + c.err.String()
			if code != exitFailed || !strings.Contains(text, "1b[2J") || strings.Count(strings.TrimSpace(text), "\n") > 0 {
				t.Errorf("%d: %q", code, text)
			}
			if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
				t.Errorf("raw: %q", text)
			}
		})
	}
	var out strings.Builder
	c := newConsole(&out)
	fmt.Fprint(c, evil)
	if err := c.Flush(); err != nil || strings.ContainsFunc(out.String(), unicode.IsControl) {
		t.Errorf("standard output: %q %v", out.String(), err)
	}
	out.Reset()
	noticesTo(&out)("queue %s", "a\nb")
	if out.String() != `queue a\nb`+"\n" {
		t.Errorf("a notice: %q", out.String())
	}
}

// A page that others can reach is warned of; one that only this machine can is not.
func TestListenWarns(t *testing.T) {
	t.Parallel()
	for listen, warns := range map[string]bool{"0.0.0.0:0": true, ":0": true, "127.0.0.1:0": false} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			c := started(t, "yarn", "steer", "--rm", newSteeredRM(t, "").URL, "--queue", "root.default", "--user", "u", "--policy", "cbt", "--listen", listen, "--for", "1s")
			if code := c.ends(t); code != exitDone || strings.Contains(c.err.String(), "Warning: --listen "+listen+" shows the status page, which has no login, to everyone") != warns {
				t.Errorf("%d: %s", code, c.err)
			}
		})
	}
}

// A ResourceManager that hangs or drips does not keep the start for ever, wherever it begins to.
func TestStartEnds(t *testing.T) {
	rm := newSteeredRM(t, "")
	for _, from := range []string{"/ws/v1/cluster/scheduler", "/conf", "/ws/v1/cluster/apps"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != from {
				rm.ServeHTTP(w, r)
				return
			}
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}))
		defer s.Close()
		began := time.Now()
		f := &steerFlags{known: scenario.BuiltIn.Steering, policy: "cbt", max: 0.9}
		f.rm, f.user, f.queues, f.timeout = []string{s.URL}, "u", []string{"root.default"}, 300*time.Millisecond
		y, c, _, err := f.open(t.Context(), yard.Options{})
		if err == nil { // then it is the first sample that does not end
			defer c.CloseIdle()
			set, e := newPolicy(f.known, f.policy, f.setup(y.Limit()))
			if e != nil {
				t.Fatal(e)
			}
			facts, _ := f.describe(t.Context(), y, set, "").Found()
			for _, fact := range facts {
				if fact.Label == "seen" {
					err = errors.New(fact.Value)
				}
			}
		}
		if took := time.Since(began); took > 30*time.Second || err == nil || !strings.Contains(err.Error(), "the ResourceManager has not given a complete response within 300ms") {
			t.Errorf("%s: after %v: %v", from, took, err)
		}
	}
}
