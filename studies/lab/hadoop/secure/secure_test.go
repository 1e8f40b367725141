package secure_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/secure"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/krb"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

type lines struct{ t *testing.T }

func (l lines) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// A real ResourceManager under Kerberos, from the login to a renewed key.
func TestLabSecure(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	began := time.Now()
	dir := t.TempDir()
	if keep := os.Getenv("YARDMASTER_LAB_KEEP"); keep != "" {
		dir = filepath.Join(keep, "secure")
	}
	lab, err := secure.Up(t.Context(), dir, lines{t})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(); err != nil {
			t.Error(err)
		}
		t.Logf("the whole test took %.1f s", time.Since(began).Seconds())
	})
	usage(t, lab.Dir)

	t.Run("without a ticket", func(t *testing.T) {
		for _, auth := range []rest.Auth{nil, rest.User("admin")} {
			_, err := dial(t, lab.RM, auth).Info(t.Context())
			expect(t, err, rest.ErrUnauthenticated, "401 Unauthorized", "it wants Kerberos: run kinit and give --kerberos, or give a keytab")
		}
	})
	t.Run("with a keytab", func(t *testing.T) {
		start := time.Now()
		auth := keytab(t, lab, "alice")
		if err := auth.Login(); err != nil {
			t.Fatal(err)
		}
		t.Logf("login %.1f ms", ms(start))
		c := dial(t, lab.RM, auth)
		start = time.Now()
		if i, err := c.Info(t.Context()); err != nil || i.State != "STARTED" {
			t.Fatal(i, err)
		}
		t.Logf("first call (ticket) %.1f ms", ms(start))
		start = time.Now()
		for range 20 {
			if m, err := c.Metrics(t.Context()); err != nil || m.ActiveNodes != 1 {
				t.Fatal(m, err)
			}
		}
		t.Logf("20 calls (cookie) %.1f ms each", ms(start)/20)
		if p, err := c.Conf(t.Context()); err != nil || p.Get("yarn.admin.acl") == nil || p.Get("yarn.admin.acl").Value != "admin,yarn" {
			t.Error(err)
		}
		if s, err := c.Scheduler(t.Context()); err != nil || s.Root == nil || len(s.Root.Children) != 2 {
			t.Error(s, err)
		}
	})
	t.Run("with a ticket cache", func(t *testing.T) { ticketCache(t, lab) })
	t.Run("administration", func(t *testing.T) {
		admin, alice := dial(t, lab.RM, keytab(t, lab, "admin")), dial(t, lab.RM, keytab(t, lab, "alice"))
		before := version(t, admin)
		r, err := admin.ChangeScheduler(t.Context(), maximum("80"))
		if err != nil || r.Status != 200 {
			t.Fatal(r, err)
		}
		_, err = alice.ChangeScheduler(t.Context(), maximum("70"))
		expect(t, err, rest.ErrForbidden, "403 Forbidden", "Only admins can")
		if v := version(t, admin); v != before+1 {
			t.Errorf("version %d after %d and one accepted change", v, before)
		}
		p, err := admin.SchedulerConf(t.Context())
		if err != nil || p.Get("yarn.scheduler.capacity.root.prod.maximum-capacity").Value != "80" {
			t.Error(err)
		}
		_, err = alice.SchedulerConf(t.Context())
		expect(t, err, rest.ErrForbidden)
	})
	t.Run("a body travels once", func(t *testing.T) { bodyOnce(t, lab) })
	t.Run("wrong keys and names", func(t *testing.T) { wrongKeys(t, lab) })
	var token string
	t.Run("a delegation token", func(t *testing.T) { token = delegation(t, lab) })
	t.Run("the service's key is renewed", func(t *testing.T) { rotation(t, lab) })
	t.Run("a forgotten token", func(t *testing.T) { // the ResourceManager has no store, and was restarted
		_, err := dial(t, lab.RM, rest.Token(token)).Metrics(t.Context())
		expect(t, err, rest.ErrUnauthenticated, "the delegation token is not known there")
	})
	t.Run("the KDC is away", func(t *testing.T) { kdcAway(t, lab) })
	usage(t, lab.Dir)
}

// usage logs the daemons' resource usage.
func usage(t *testing.T, dir string) {
	t.Helper()
	list, err := hadoop.Usages(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list {
		t.Logf("%s %d MiB", u.Name, u.RSS>>20)
	}
}

// kinit writes a credential cache of the principal from its keytab, for the lifetime given (60s, 1h).
func kinit(t *testing.T, lab *secure.Lab, principal, cache, lifetime string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "kinit", "-c", "FILE:"+cache, "-l", lifetime, "-k", "-t", lab.KDC.Keytab(principal), principal)
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+lab.KDC.Config())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kinit: %v: %s", err, out)
	}
}

// rotateKey gives the web server a new key, as an operator does: in the KDC, in its keytab, then a restart.
func rotateKey(t *testing.T, lab *secure.Lab) {
	t.Helper()
	const web = "HTTP/localhost"
	err := os.Remove(lab.KDC.Keytab(web))
	if err == nil {
		err = lab.KDC.Admin(t.Context(), "cpw -randkey "+web, "ktadd -k "+lab.KDC.Keytab(web)+" -norandkey "+web)
	}
	if err == nil {
		err = lab.Kill("resourcemanager")
	}
	if err == nil {
		err = lab.Restart(t.Context(), "resourcemanager")
	}
	if err != nil {
		t.Fatal("rotating the key:", err)
	}
}

func ticketCache(t *testing.T, lab *secure.Lab) {
	cache := filepath.Join(t.TempDir(), "cc")
	o := krb.Options{Config: lab.KDC.Config(), CCache: "FILE:" + cache}
	_, err := krb.New(o)
	expect(t, err, nil, "there is no credential cache", "run kinit")
	kinit(t, lab, "alice", cache, "3s")
	auth, err := krb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer auth.Close()
	c := dial(t, lab.RM, auth)
	if _, err := c.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3100 * time.Millisecond)
	fresh := func() *krb.Auth { // without a cookie in place of the ticket
		a, err := krb.New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		return a
	}
	late := fresh()
	_, err = dial(t, lab.RM, late).Info(t.Context())
	expect(t, err, rest.ErrUnauthenticated, "the ticket in "+cache+" has ended: run kinit again")
	kinit(t, lab, "alice", cache, "1h")
	if _, err = dial(t, lab.RM, late).Info(t.Context()); err != nil {
		t.Error("after another kinit:", err)
	}
}

// wire counts what passes between the client and the ResourceManager.
func wire(t *testing.T, to string) (address string, puts, body *atomic.Int64) {
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	puts, body = new(atomic.Int64), new(atomic.Int64)
	proxy := httputil.NewSingleHostReverseProxy(u)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			puts.Add(1)
			body.Add(r.ContentLength)
		}
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "http://localhost:" + port, puts, body
}

func bodyOnce(t *testing.T, lab *secure.Lab) {
	address, puts, body := wire(t, lab.RM)
	c := dial(t, address, keytab(t, lab, "admin"))
	var sent int64
	for i, v := range []string{"81", "82", "83"} { // the first with a ticket only, the others with a cookie as well
		r, err := c.ChangeScheduler(t.Context(), maximum(v))
		if err != nil {
			t.Fatal(err)
		}
		sent += int64(len(r.Body))
		if puts.Load() != int64(i+1) || body.Load() != sent {
			t.Errorf("after %d changes %d requests with %d bytes in all went out, want %d bytes", i+1, puts.Load(), body.Load(), sent)
		}
	}
	t.Logf("%d changes: %d requests, %d bytes of body", 3, puts.Load(), body.Load())
}

func wrongKeys(t *testing.T, lab *secure.Lab) {
	for _, c := range []struct {
		name string
		o    krb.Options
		rm   string
		want string
	}{
		{"stale key", krb.Options{Keytab: lab.KDC.Keytab("stale"), Principal: "stale"}, lab.RM, "the key of stale in " + lab.KDC.Keytab("stale") + " is not the one that the KDC knows"},
		{"not in the keytab", krb.Options{Keytab: lab.KDC.Keytab("alice"), Principal: "bob"}, lab.RM, "has no key of bob: klist -k"},
		{"unknown", krb.Options{Keytab: lab.KDC.Keytab("alice"), Principal: "nobody"}, lab.RM, "does not know nobody: is the principal (--principal) written right?"},
		{"unknown realm", krb.Options{Keytab: lab.KDC.Keytab("alice"), Principal: "alice@ELSEWHERE"}, lab.RM, "names no KDC for the realm ELSEWHERE"},
		{"address instead of a name", krb.Options{Keytab: lab.KDC.Keytab("alice"), Principal: "alice"}, strings.Replace(lab.RM, "localhost", "127.0.0.1", 1),
			"the KDC does not know the service HTTP/127.0.0.1: write the address with the host's full name"},
	} {
		c.o.Config = lab.KDC.Config()
		auth, err := krb.New(c.o)
		if err != nil {
			t.Error(c.name, err)
			continue
		}
		_, err = dial(t, c.rm, auth).Info(t.Context())
		t.Logf("%s: %v", c.name, err)
		expect(t, err, rest.ErrUnauthenticated, c.want)
		auth.Close()
	}
}

func delegation(t *testing.T, lab *secure.Lab) string {
	c := dial(t, lab.RM, keytab(t, lab, "alice"))
	r, err := c.Post(t.Context(), "ask for a delegation token", "/ws/v1/cluster/delegation-token", "application/json", []byte(`{"renewer":"admin"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(r.Answer, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	if m, err := dial(t, lab.RM, rest.Token(token)).Metrics(t.Context()); err != nil || m.ActiveNodes != 1 {
		t.Error(m, err)
	}
	return token
}

func rotation(t *testing.T, lab *secure.Lab) {
	long := keytab(t, lab, "admin") // logged in throughout
	c := dial(t, lab.RM, long)
	if _, err := c.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lab.NewCookieSecret(); err != nil { // else the cookie would suffice
		t.Fatal(err)
	}
	rotateKey(t, lab)
	start := time.Now()
	if _, err := c.Info(t.Context()); err != nil {
		t.Error("a read after the key was renewed:", err)
	}
	t.Logf("first read after the key was renewed: %.1f ms", ms(start))
	if err := lab.NewCookieSecret(); err != nil {
		t.Fatal(err)
	}
	rotateKey(t, lab)
	before := version(t, dial(t, lab.RM, keytab(t, lab, "admin")))
	if _, err := c.ChangeScheduler(t.Context(), maximum("85")); err != nil {
		t.Error("a write after the key was renewed:", err)
	}
	if v := version(t, c); v != before+1 {
		t.Errorf("version %d after %d and one change", v, before)
	}
}

func kdcAway(t *testing.T, lab *secure.Lab) {
	c := dial(t, lab.RM, keytab(t, lab, "alice"))
	if _, err := c.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := proc.Stop(lab.Dir, "kdc", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Info(t.Context()); err != nil {
		t.Error("a ticket in hand needs no KDC:", err)
	}
	_, err := dial(t, lab.RM, keytab(t, lab, "bob")).Info(t.Context())
	expect(t, err, rest.ErrUnauthenticated, "the KDC of "+secure.Realm+" cannot be reached")
	t.Log(err)
	if err := lab.KDC.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, lab.RM, keytab(t, lab, "bob")).Info(t.Context()); err != nil {
		t.Error(err)
	}
}

func maximum(percent string) rest.SchedulerChange {
	return rest.SchedulerChange{Update: []rest.QueueChange{{Queue: "root.prod", Settings: []rest.Setting{{Name: "maximum-capacity", Value: percent}}}}}
}

func version(t *testing.T, c *rest.Client) int64 {
	t.Helper()
	v, err := c.SchedulerConfVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func keytab(t *testing.T, lab *secure.Lab, principal string) *krb.Auth {
	t.Helper()
	a, err := lab.Auth(principal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func dial(t *testing.T, rm string, auth rest.Auth) *rest.Client {
	t.Helper()
	c, err := rest.New(rest.Options{RM: []string{rm}, Auth: auth, RMRate: -1, Retries: 2, Backoff: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

func expect(t *testing.T, err, is error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("%v is not %q", err, is)
	}
	for _, p := range append(parts, "") {
		if !strings.Contains(err.Error(), p) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nis not one line with %q", err, p)
		}
	}
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }
