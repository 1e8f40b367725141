package rest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// quick are options under which nothing waits, except for a busy machine.
func quick(rm ...string) rest.Options {
	return rest.Options{RM: rm, RMRate: -1, Backoff: time.Millisecond, Retries: 2, Timeout: time.Minute}
}

func client(t *testing.T, o rest.Options) *rest.Client {
	t.Helper()
	c, err := rest.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// say answers every request in the same way.
func say(status int, kind, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func all[T any](seq func(func(T, error) bool)) (list []T, err error) {
	for v, e := range seq {
		if e != nil {
			return list, e
		}
		list = append(list, v)
	}
	return list, nil
}

const json200 = "application/json;charset=utf-8"

// An answer that cannot be used gives one clear line, whether it is read whole or as a list.
func TestBadAnswers(t *testing.T) {
	login := "<!DOCTYPE html>\n<html><head><title>Sign in\n to KNOX</title></head><body>...</body></html>"
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		is   error
		want string // contained in the error, for both ways of reading
	}{
		"cut":          {say(200, json200, `{"clusterMetrics":{"activeNodes":`), rest.ErrFormat, ": try again; if it happens again, its log"},
		"empty":        {say(200, json200, ""), rest.ErrFormat, "the answer is empty: is this the web address of the ResourceManager (usually port 8088)?"},
		"html":         {say(200, "text/html", login), rest.ErrFormat, `a web page titled "Sign in to KNOX" came instead of data: is there a login page`},
		"no json":      {say(200, json200, "welcome"), rest.ErrFormat, "not JSON: invalid character 'w'"},
		"another kind": {say(200, json200, `{"timelineInfo":{}}`), rest.ErrFormat, `but "timelineInfo": is this the web address of the ResourceManager`},
		"list":         {say(200, json200, `[1,2]`), rest.ErrFormat, "a list"},
		"trailing":     {say(200, json200, `{"clusterMetrics":null,"apps":null} {`), rest.ErrFormat, "something follows the JSON value"},
		"401 kerberos": {say(401, "text/html", "<html><title>Error 401 Authentication required</title>", "WWW-Authenticate", "Negotiate"),
			rest.ErrUnauthenticated, "it wants Kerberos: run kinit and give --kerberos, or give a keytab with --keytab"},
		"401":      {say(401, "text/html", ""), rest.ErrUnauthenticated, "it wants to know who asks: give a user name with --user"},
		"404":      {say(404, "text/html", "<html><title>Error 404</title>"), rest.ErrNotFound, "is this the web address of the ResourceManager (usually port 8088)?"},
		"403 gss":  {say(403, json200, `{"message":"GSSException: Failure unspecified at GSS-API level (Mechanism level: Checksum failed)","status":"403"}`), rest.ErrUnauthenticated, "the server's key is not the one that the KDC knows"},
		"403 skew": {say(403, json200, `{"message":"GSSException: x (Mechanism level: Clock skew too great (37))"}`), rest.ErrUnauthenticated, "the clocks of this machine and the server differ"},
		"403": {say(403, json200, `{"RemoteException":{"exception":"ForbiddenException","message":"java.lang.Exception: Only admins can read it.","javaClassName":"org.apache.hadoop.yarn.webapp.ForbiddenException"}}`),
			rest.ErrForbidden, "403 Forbidden: Only admins can read it: ask as somebody who may: --user NAME"},
		"403 token": {say(403, json200, `{"RemoteException":{"message":"org.apache.hadoop.security.token.SecretManager$InvalidToken: Token for real user: , can't be found in cache","exception":"AuthenticationException"}}`),
			rest.ErrUnauthenticated, "Token for real user: , can't be found in cache: the delegation token is not known there"},
		"500":          {say(500, json200, "java.lang.NullPointerException"), rest.ErrRefused, "500 Internal Server Error: java.lang.NullPointerException: it failed inside: its log says why"},
		"503":          {say(503, "text/plain", "starting"), rest.ErrUnavailable, "503 Service Unavailable: starting: it is busy, or about to start or stop: try again later"},
		"302 no place": {say(302, "text/html", ""), rest.ErrFormat, "302 without an address to go to"},
		"no active":    {say(307, "text/plain", "Can not find any active RM", "Refresh", "3;url=/"), rest.ErrNoActive, "it is standby and knows of no active one"},
		"login":        {say(302, "", "", "Location", "http://gw:8443/login?u=x"), rest.ErrFormat, "302 to http://gw:8443/login is not followed: is there a login page or a gateway in between? If that is the right address of the ResourceManager, give it"},
		"404 daemon": {say(404, json200, `{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: HTTP 404 Not Found","javaClassName":"x"}}`),
			rest.ErrNotFound, "404 Not Found: is this the web address of the ResourceManager (usually port 8088)?"},
		"other scheme": {say(302, "", "", "Location", "ftp://x/"), rest.ErrFormat, `it redirects to "ftp://x/", which is no web address`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.h)
			k := client(t, quick(s.URL))
			_, whole := k.Metrics(t.Context())
			_, listed := all(k.Apps(t.Context(), rest.AppFilter{}))
			for _, err := range []error{whole, listed} {
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v\nshould be one line with %q", err, c.want)
				}
				if c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("%v is not %q", err, c.is)
				}
			}
		})
	}
}

func TestWrongTypes(t *testing.T) {
	for body, want := range map[string]string{
		`{"apps":{"app":[{"startedTime":{}}]}}`:         "apps.app[].startedTime is an object where a whole number is expected",
		`{"apps":{"app":[{"startedTime":"soon"}]}}`:     `apps.app[].startedTime is the text "soon" where a whole number is expected`,
		`{"apps":{"app":[{"startedTime":1e30}]}}`:       "apps.app[].startedTime is the number 1e30 where",
		`{"apps":{"app":[{"queue":{}}]}}`:               "apps.app[].queue is an object where a text is expected",
		`{"apps":{"app":[{"progress":[1]}]}}`:           "apps.app[].progress is a list of 1 where a number is expected",
		`{"apps":{"app":[{"unmanagedApplication":3}]}}`: "apps.app[].unmanagedApplication is the number 3 where true or false is expected",
		`{"apps":{"app":[7]}}`:                          "apps.app[] is the number 7 where an object is expected",
		`{"apps":{"app":7}}`:                            "apps.app is the number 7 where an object or a list is expected",
		`{"apps":7}`:                                    "apps is the number 7 where an object or a list is expected",
	} {
		s := serve(t, say(200, json200, body))
		_, err := all(client(t, quick(s.URL)).Apps(t.Context(), rest.AppFilter{}))
		if err == nil || !strings.Contains(err.Error(), "wrong in type: "+want) {
			t.Errorf("%s\ngives %v\nwant  %s", body, err, want)
		}
	}
}

// A connection closed inside the answer is told from an answer that ends too early.
func TestConnectionClosedInside(t *testing.T) {
	tries := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		tries++
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"apps":{"app":[{"id":"application_1_0001"},`)
	})
	c := client(t, quick(s.URL))
	list, err := all(c.Apps(t.Context(), rest.AppFilter{}))
	if len(list) != 1 || tries != 1 || err == nil || !strings.Contains(err.Error(), "the connection was closed in the middle") {
		t.Errorf("%d elements, %d tries, %v: a list of which an element was handed out must not be started again", len(list), tries, err)
	}
	tries = 0
	if _, err = c.Metrics(t.Context()); tries != 3 || !errors.Is(err, rest.ErrUnavailable) {
		t.Errorf("%d tries, %v: a read is tried again", tries, err)
	}
}

func TestHugeAnswers(t *testing.T) {
	t.Run("gzip bomb", func(t *testing.T) {
		var bomb bytes.Buffer
		z := gzip.NewWriter(&bomb)
		_, _ = io.WriteString(z, `{"clusterMetrics":{"name":"`)
		_, _ = z.Write(make([]byte, 8<<20))
		_ = z.Close()
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		})
		o := quick(s.URL)
		o.MaxAnswer = 1 << 20
		c := client(t, o)
		if _, err := c.Metrics(t.Context()); err == nil || !strings.Contains(err.Error(), "the answer is larger than 1 MiB") {
			t.Error(err)
		}
		// NUL bytes are not valid inside a JSON text, so the list fails before the limit; see the endless ones below.
		if _, err := all(c.Apps(t.Context(), rest.AppFilter{})); err == nil {
			t.Error("no error")
		}
	})
	endless := func(start, again string) *httptest.Server {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, start)
			block := strings.Repeat(again, 1+4096/len(again))
			for err == nil {
				_, err = io.WriteString(w, block)
			}
		})
	}
	for name, c := range map[string]struct{ start, again, want string }{
		"endless text":    {`{"apps":{"app":[{"id":"`, "x", "the answer is larger than 1 MiB: look at what it sends"},
		"endless element": {`{"apps":{"app":[{"id":1,"x":[1`, ",1", "the answer is larger than 1 MiB: look at what it sends"},
		"endless list":    {`{"apps":{"app":[{"id":"1"}`, `,{"id":"2"}`, "the answer is larger than 1 MiB"},
		"endless space":   {`{"apps":`, " ", "larger than"},
		"endless skip":    {`{"other":[1`, ",1", "the answer is larger than 1 MiB"},
		"deep skip":       {`{"other":`, "[", "nested more than 1000 deep"},
		"deep element":    {`{"apps":{"app":[`, "[", "nested more than 1000 deep"},
		"endless number":  {`{"apps":{"app":[`, "1", "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick(endless(c.start, c.again).URL)
			o.MaxAnswer, o.MaxList = 256<<10, 1<<20
			_, err := all(client(t, o).Apps(t.Context(), rest.AppFilter{}))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	_, err = client(t, quick(addr)).Metrics(t.Context())
	want := "read the cluster's metrics: http://" + addr + "/ws/v1/cluster/metrics: connection refused: nothing listens there; is it running, and is this its web address?"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = client(t, quick("http://no-such-host.invalid:8088")).Metrics(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no-such-host.invalid") || strings.Contains(err.Error(), "dial tcp") && !strings.Contains(err.Error(), "no connection") {
		t.Error(err)
	}
}

func TestSilence(t *testing.T) {
	stop := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "apps") {
			_, _ = io.WriteString(w, `{"apps":{"app":[{"id":"a"},`)
			_ = http.NewResponseController(w).Flush()
		}
		<-stop
	})
	defer close(stop)
	o := quick(s.URL)
	o.Timeout, o.Retries = 2*time.Second, -1
	c := client(t, o)
	if _, err := c.Metrics(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer within 2s") {
		t.Error(err)
	}
	list, err := all(c.Apps(t.Context(), rest.AppFilter{}))
	if err == nil || !strings.Contains(err.Error(), "the answer stopped for more than 2s") || len(list) != 1 {
		t.Error(len(list), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Metrics(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A server that never answers is asked twice, not for an hour; one that sends a blank now and then is not waited for without end.
func TestWithoutEnd(t *testing.T) {
	stop := make(chan struct{})
	var asked atomic.Int32
	mute := serve(t, func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-stop
	})
	drip := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	defer close(stop)
	o := quick(mute.URL)
	o.Timeout, o.Retries = 400*time.Millisecond, 50
	if _, err := client(t, o).Metrics(t.Context()); err == nil || asked.Load() > 3 || !strings.Contains(err.Error(), "is it overloaded") {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	o.RM = []string{drip.URL}
	if _, err := client(t, o).Metrics(t.Context()); err == nil || !strings.Contains(err.Error(), "the answer was not complete after 2s") {
		t.Error(err)
	}
}

// A reader that takes its time between elements is not a silent server.
func TestSlowReader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"apps":{"app":[{"id":"a"},{"id":"`+strings.Repeat("b", 1<<20)+`"}]}}`)
	})
	o := quick(s.URL)
	o.Timeout = 2 * time.Second
	n := 0
	for _, err := range client(t, o).Apps(t.Context(), rest.AppFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		time.Sleep(2200 * time.Millisecond)
	}
	if n != 2 {
		t.Error(n)
	}
}

func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(say(200, json200, `{"clusterMetrics":{"activeNodes":3}}`))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	_, err := client(t, quick(s.URL)).Metrics(t.Context())
	if err == nil || !strings.Contains(err.Error(), "signed by itself: give the authority's PEM file with --ca") &&
		!strings.Contains(err.Error(), "which this machine does not trust: give the authority's PEM file with --ca") {
		t.Error(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	o := quick(s.URL)
	o.TLS.CAFile = ca
	if m, err := client(t, o).Metrics(t.Context()); err != nil || m.ActiveNodes != 3 {
		t.Error(err)
	}
	o = quick(strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	o.TLS.CAFile = ca
	if _, err := client(t, o).Metrics(t.Context()); err == nil || !strings.Contains(err.Error(), "not for localhost: use that name") {
		t.Error(err)
	}
	o.TLS.CAFile = "bad_test.go"
	if _, err := rest.New(o); err == nil || !strings.Contains(err.Error(), "holds no certificate in PEM form") {
		t.Error(err)
	}
	plain := serve(t, say(200, json200, "{}"))
	if _, err := client(t, quick(strings.Replace(plain.URL, "http:", "https:", 1))).Metrics(t.Context()); err == nil || !strings.Contains(err.Error(), "it speaks http, not https: write http://") {
		t.Error(err)
	}
	if _, err := client(t, quick(strings.Replace(s.URL, "https:", "http:", 1))).Metrics(t.Context()); err == nil {
		t.Error("http to an https port gave no error")
	} else {
		t.Log(err)
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "an empty address; it looks like http://host:8088",
		"ftp://h":           `address "ftp://h": ftp:// is not a web address; it looks like http://host:8088`,
		"http://":           `address "http://" has no host; it looks like http://host:8088`,
		"http://a:b@h:8088": `address "http://a:xxxxx@h:8088": a name or password in it would show in logs`,
		"http://h:port":     `address "http://h:port": parse`,
		"http://h\x7f:8088": "invalid",
	} {
		_, err := rest.New(rest.Options{RM: []string{in}})
		if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "invalid") {
			t.Errorf("%q gives %v, want %s", in, err, want)
		}
	}
	if _, err := client(t, rest.Options{}).Metrics(t.Context()); err == nil || err.Error() != "read the cluster's metrics: the ResourceManager: no address is given for it" {
		t.Error(err)
	}
}
