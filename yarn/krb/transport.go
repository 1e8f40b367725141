package krb

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Wrap makes the authenticating transport, for every server that it is used for: a rest.Client uses it for those that it trusts.
func (a *Auth) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{a, next} }

type transport struct {
	a    *Auth
	next http.RoundTripper
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	cookie := t.a.cookie(r.URL)
	ticket := cookie == nil || r.Method != http.MethodGet && r.Method != http.MethodHead
	relayed := rest.Relayed(r.Context()) // such a response must change neither cookie nor login
	renewed := relayed
	for first := true; ; first = false {
		used := t.a.current()
		resp, err := t.send(r, used, cookie, ticket, first)
		if err != nil {
			return nil, err
		}
		if !relayed {
			t.a.keep(r.URL, resp.Cookies())
		}
		switch {
		case resp.StatusCode == http.StatusUnauthorized && !ticket: // the cookie has expired
			ticket, cookie = true, nil
		case resp.StatusCode == http.StatusForbidden && !renewed && ticket && refusedTicket(resp):
			renewed = true
			if err := t.a.renew(used); err != nil {
				return resp, nil //nolint:nilerr // the response says what is wrong
			}
		default:
			return resp, nil
		}
		if r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		_ = resp.Body.Close()
	}
}

// send sends a copy of the request, with a ticket if wanted.
func (t *transport) send(r *http.Request, p proof, cookie *http.Cookie, ticket, first bool) (*http.Response, error) {
	q := r.Clone(r.Context())
	if !first && r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		q.Body = body
	}
	if cookie != nil {
		q.AddCookie(cookie)
	}
	if ticket {
		service := t.a.o.Service(r.URL.Hostname())
		h, err := p.header(service)
		if err != nil && t.a.reload(p, err) {
			h, err = t.a.current().header(service)
		}
		if err != nil {
			return nil, t.a.explain(err, service)
		}
		q.Header.Set("Authorization", h)
	}
	return t.next.RoundTrip(q)
}

// authCookie is the cookie that a server issues for a ticket, accepted in its place until it expires.
const authCookie = "hadoop.auth"

func server(u *url.URL) string { return u.Scheme + "://" + u.Host }

func (a *Auth) cookie(u *url.URL) *http.Cookie {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cookies[server(u)]
}

func (a *Auth) keep(u *url.URL, cookies []*http.Cookie) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range cookies {
		switch {
		case c.Name != authCookie:
		case c.Value == "": // revoked
			delete(a.cookies, server(u))
		default:
			if a.cookies == nil {
				a.cookies = map[string]*http.Cookie{}
			}
			a.cookies[server(u)] = c
		}
	}
}

// reload reloads a cache from its file when its ticket has expired: kinit may have run since.
func (a *Auth) reload(p proof, err error) bool {
	return a.o.Keytab == "" && strings.Contains(err.Error(), "no valid existing session") && a.renew(p) == nil
}

// refusedTicket checks a 403 for the filter's GSSException, and leaves the body intact. The response to a write has no body:
// there the exception is only in the status line.
func refusedTicket(resp *http.Response) bool {
	if strings.Contains(resp.Status, "GSSException") {
		return true
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = broken{err}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return bytes.Contains(head, []byte("GSSException"))
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
