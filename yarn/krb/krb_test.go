package krb

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// made is a login that writes its number into the header.
type made struct {
	n     int64
	fail  error
	ended atomic.Bool
}

func (m *made) header(service string) (string, error) {
	return fmt.Sprintf("Negotiate %s %d", service, m.n), m.fail
}
func (m *made) affirm() error { return m.fail }
func (m *made) end()          { m.ended.Store(true) }

// filter is what stands before a secured server: it takes tickets of logins from key on, gives a cookie, and takes that.
type filter struct {
	mu     sync.Mutex
	key    int64  // tickets of older logins are of a key that was renewed
	cookie string // the valid one
	log    []string
	bodies int
	done   int
}

func (f *filter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if len(body) > 0 {
		f.bodies++
	}
	if c, err := r.Cookie("hadoop.auth"); err == nil && c.Value == f.cookie && f.cookie != "" {
		f.log, f.done = append(f.log, "cookie"), f.done+1
		return
	}
	var service string
	var n int64
	if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Negotiate %s %d", &service, &n); err != nil {
		f.log = append(f.log, "401")
		w.Header().Set("WWW-Authenticate", "Negotiate")
		http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Path: "/"})
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if n < f.key || service != "HTTP/127.0.0.1" {
		f.log = append(f.log, "gss")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"message":"GSSException: Failure unspecified at GSS-API level (Mechanism level: Checksum failed)"}`)
		return
	}
	f.log, f.done = append(f.log, "ticket"), f.done+1
	http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: f.cookie, Path: "/"})
}

func (f *filter) took(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := strings.Join(f.log, " "); got != strings.Join(want, " ") {
		t.Errorf("the server saw %s, want %s", got, strings.Join(want, " "))
	}
	f.log = nil
}

func fake(*testing.T) *Auth {
	var n atomic.Int64
	a := &Auth{o: Options{Service: func(h string) string { return "HTTP/" + h }, Keytab: "k"}}
	a.connect = func() (proof, error) { return &made{n: n.Add(1)}, nil }
	a.proof, _ = a.connect()
	return a
}

func call(t *testing.T, c *http.Client, method, url string) int {
	t.Helper()
	var body io.Reader
	if method == http.MethodPut {
		body = strings.NewReader("change")
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestTicketsAndCookies(t *testing.T) {
	f := &filter{cookie: "first"}
	s := httptest.NewServer(f)
	defer s.Close()
	a := fake(t)
	c := &http.Client{Transport: a.Wrap(http.DefaultTransport)}
	get := func(want int) {
		t.Helper()
		if got := call(t, c, http.MethodGet, s.URL); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	put := func(want int) {
		t.Helper()
		if got := call(t, c, http.MethodPut, s.URL); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	put(200) // the body travels once, from the first request on
	f.took(t, "ticket")
	get(200)
	put(200)
	f.took(t, "cookie", "cookie")
	f.cookie = "second" // the first has ended
	put(200)            // carries a ticket too
	f.took(t, "ticket")
	f.cookie = "third"
	get(200)
	f.took(t, "401", "ticket")
	if f.bodies != 3 {
		t.Errorf("3 writes, and bodies were sent %d times", f.bodies)
	}

	old := a.current().(*made)
	f.cookie, f.key = "fourth", 2 // the server's key is renewed
	put(200)
	f.took(t, "gss", "ticket")
	if !old.ended.Load() || a.current() == proof(old) {
		t.Error("the login was not made anew")
	}
	f.cookie, f.key = "fifth", 100 // nothing helps: one new login for a request, then the answer as it is
	put(403)
	f.took(t, "gss", "gss")
	get(403)
	f.took(t, "401", "gss", "gss")
}

// A cookie is for the server that gave it: not for another port of its host, nor for https of the same.
func TestCookiesStayHome(t *testing.T) {
	var seen []string
	serve := func() *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.Header.Get("Cookie"))
			http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: r.Host, Path: "/", Domain: "127.0.0.1"})
		}))
		t.Cleanup(s.Close)
		return s
	}
	one, two := serve(), serve()
	a := fake(t)
	c := &http.Client{Transport: a.Wrap(http.DefaultTransport)}
	for _, s := range []*httptest.Server{one, two, one} {
		call(t, c, http.MethodGet, s.URL)
	}
	if want := []string{"", "", "hadoop.auth=" + strings.TrimPrefix(one.URL, "http://")}; !slices.Equal(seen, want) {
		t.Errorf("cookies sent: %q, want %q", seen, want)
	}
	if u, err := url.Parse(strings.Replace(one.URL, "http:", "https:", 1)); err != nil || a.cookie(u) != nil {
		t.Error("the cookie of http goes to https", err)
	}
}

// Through the client of a cluster: a ticket and a cookie go to the servers that the options name, and to nobody they redirect to. What an
// ApplicationMaster answers changes neither.
func TestCredentialsStayHome(t *testing.T) {
	var secrets, asked, logins atomic.Int64
	away := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			secrets.Add(1)
		}
	}))
	defer away.Close()
	var cookies []string
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/webhdfs/"), strings.HasSuffix(r.URL.Path, "/scheduler"):
			http.Redirect(w, r, away.URL+r.URL.Path, http.StatusTemporaryRedirect)
		case strings.HasPrefix(r.URL.Path, "/proxy/"):
			http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: "mallory"})
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "GSSException")
		default:
			cookies = append(cookies, r.Header.Get("Cookie"))
			http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: "ours"})
			_, _ = io.WriteString(w, `{"clusterMetrics":{}}`)
		}
	}))
	defer home.Close()
	a := fake(t)
	connect := a.connect
	a.connect = func() (proof, error) { logins.Add(1); return connect() }
	c, err := rest.New(rest.Options{RM: []string{home.URL}, NameNodes: []string{home.URL}, Auth: a, RMRate: -1, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	for range 2 {
		if _, err := c.Metrics(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f, err := c.Files().Open(t.Context(), "/f"); err != nil {
			t.Error(err)
		} else {
			_ = f.Close()
		}
		if _, err := c.Scheduler(t.Context()); !errors.Is(err, rest.ErrNoActive) {
			t.Error(err)
		}
		if _, err := c.AM("application_1_0001").Job(t.Context(), "job_1_0001"); err == nil {
			t.Error("no error")
		}
	}
	if asked.Load() != 2 || secrets.Load() != 0 {
		t.Errorf("the DataNode was asked %d times and was shown %d secrets", asked.Load(), secrets.Load())
	}
	if logins.Load() != 0 || slices.Contains(cookies, "hadoop.auth=mallory") || !slices.Contains(cookies, "hadoop.auth=ours") {
		t.Errorf("an AM made %d logins; the cookies sent were %q", logins.Load(), cookies)
	}
}

// Many at once make one new login together, not one each.
func TestRenewTogether(t *testing.T) {
	f := &filter{key: 2}
	s := httptest.NewServer(f)
	defer s.Close()
	a := fake(t)
	c := &http.Client{Transport: a.Wrap(http.DefaultTransport)}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got := call(t, c, http.MethodPut, s.URL); got != http.StatusOK {
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if n := a.current().(*made).n; n != 2 || f.done != 16 {
		t.Errorf("%d logins, %d of 16 done", n, f.done)
	}
}

// The library's words, shortened, and what a person reads.
func TestExplain(t *testing.T) {
	a := fake(t)
	a.o = Options{Config: "/etc/krb5.conf", Principal: "ann@X.ORG", Keytab: "/k", CCache: "/c"}
	for text, want := range map[string]string{
		"[Root cause: KDC_Error] KDC_Error: AS Exchange Error: kerberos error response from KDC: KRB Error: (24) KDC_ERR_PREAUTH_FAILED Pre-authentication information was invalid": "the key of ann@X.ORG in /k is not the one that the KDC knows",
		"[Root cause: Decrypting_Error] ... AS_REP is not valid: error decrypting EncPart of AS_REP: integrity verification failed":                                                 "the key of ann@X.ORG in /k is not the one",
		"[Root cause: Encrypting_Error] ... matching key not found in keytab. Looking for \"ann\" realm: X.ORG kvno: 0 etype: 18":                                                   "/k has no key of ann@X.ORG",
		"KRB Error: (6) KDC_ERR_C_PRINCIPAL_UNKNOWN Client not found in Kerberos database":                                                                                          "the KDC of X.ORG does not know ann@X.ORG",
		"KRB Error: (7) KDC_ERR_S_PRINCIPAL_UNKNOWN Server not found in Kerberos database":                                                                                          "the KDC does not know the service HTTP/h: write the address with the host's full name",
		"KRB Error: (18) KDC_ERR_CLIENT_REVOKED Clients credentials have been revoked":                                                                                              "the KDC refuses ann@X.ORG: it is disabled, locked or expired",
		"KRB Error: (37) KRB_AP_ERR_SKEW Clock skew too great":                                                                                                                      "the clocks of this machine and the KDC differ",
		"clock skew with KDC too large. Greater than 300 seconds":                                                                                                                   "the clocks of this machine and the KDC differ",
		"[Root cause: Networking_Error] ... dial tcp 10.0.0.1:88: connect: connection refused":                                                                                      "the KDC of X.ORG cannot be reached",
		"no KDCs defined in configuration for realm X.ORG":                                                                                                                          "/etc/krb5.conf names no KDC for the realm X.ORG",
		"cannot login, no user credentials available and no valid existing session":                                                                                                 "the ticket in /c has ended: run kinit again",
		"something\nnew": "Kerberos: something new",
	} {
		err := a.explain(errors.New(text), "HTTP/h")
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !errors.Is(err, rest.ErrUnauthenticated) {
			t.Errorf("%s\ngives %v\nwant  %s", text, err, want)
		}
		if later := errors.Is(err, rest.ErrUnavailable); later != strings.Contains(text, "Networking") {
			t.Errorf("%v: to be tried again: %v", err, later)
		}
	}
	a.proof = &made{fail: errors.New("KRB Error: (37) KRB_AP_ERR_SKEW Clock skew too great")}
	c, err := rest.New(rest.Options{RM: []string{"http://127.0.0.1:1"}, Auth: a, RMRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	a.o.Service = func(h string) string { return h }
	_, err = c.KillApp(t.Context(), "application_1_0001")
	var fate *rest.OutcomeUnknownError
	if !errors.Is(err, rest.ErrUnauthenticated) || errors.As(err, &fate) || !strings.HasSuffix(err.Error(), "the clocks of this machine and the KDC differ by more than five minutes") {
		t.Error("without a proof nothing is sent:", err)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("krb5.conf", "includedir "+dir+"/d\n[libdefaults]\n default_realm = X.ORG\n")
	none := write("none.conf", "[libdefaults]\n")
	loop := write("loop.conf", "include "+filepath.Join(dir, "loop.conf")+"\n")
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("d/realm", "[realms]\n X.ORG = {\n  kdc = k.x.org:88\n }\n")
	write("d/realm~", "this is not read {{{")
	c, err := loadConfig(good)
	if err != nil || len(c.Realms) != 1 || c.Realms[0].KDC[0] != "k.x.org:88" {
		t.Errorf("%+v %v", c, err)
	}
	junk := write("junk", "this is not a keytab, nor a cache")
	short := write("short", "\x05\x02\x00\x00\xff\xff\x00")
	for _, x := range []struct {
		o    Options
		want string
	}{
		{Options{Config: filepath.Join(dir, "no")}, "read the Kerberos configuration (--krb5-conf)"},
		{Options{Config: loop}, "does one include itself?"},
		{Options{Config: good, Keytab: junk}, "say which with --principal"},
		{Options{Config: good, Keytab: junk, Principal: "a"}, "keytab " + junk},
		{Options{Config: good, Keytab: short, Principal: "a"}, short},
		{Options{Config: good, Keytab: filepath.Join(dir, "no"), Principal: "a"}, "read the keytab: "},
		{Options{Config: good, CCache: filepath.Join(dir, "no")}, "run kinit"},
		{Options{Config: good, CCache: "KCM:0"}, "only files can be read, not KCM"},
		{Options{Config: good, CCache: junk}, "credential cache " + junk},
	} {
		_, err := New(x.o)
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v gives %v, want %s", x.o, err, x.want)
		}
	}
	empty := write("empty.keytab", "\x05\x02\x00\x00\x00\x00\x00\x00")
	if _, err := New(Options{Config: none, Keytab: empty, Principal: "a"}); err == nil || !strings.Contains(err.Error(), "write the principal as a@REALM") {
		t.Error(err)
	}
}

// Hostile files end in an error, not in a panic or without end.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("\x05\x02\x00\x00\x00\x20\x00\x01\x00\x05X.ORG\x00\x01a\x00\x00\x00\x01"))
	f.Add([]byte("\x05\x04\x00\x0c\x00\x01\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x05X.ORG\x00\x00\x00\x01a"))
	f.Add([]byte("[libdefaults]\n default_realm = X\n[realms]\n X = {\n kdc = a\n }\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "include") {
			return
		}
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if kt, err := loadKeytab(path); err == nil && kt == nil {
			t.Error("neither keytab nor error")
		}
		if c, err := loadCache(path); err == nil && c == nil {
			t.Error("neither cache nor error")
		}
		if c, err := loadConfig(path); err == nil && c == nil {
			t.Error("neither configuration nor error")
		}
	})
}
