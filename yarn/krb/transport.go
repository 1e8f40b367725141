package krb

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Wrap makes the transport that proves who asks.
func (a *Auth) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{a, next} }

type transport struct {
	a    *Auth
	next http.RoundTripper
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	cookies := slices.DeleteFunc(t.a.cookies.Cookies(r.URL), func(c *http.Cookie) bool { return c.Value == "" }) // a cookie taken back
	ticket := len(cookies) == 0 || r.Method != http.MethodGet && r.Method != http.MethodHead
	renewed := false
	for first := true; ; first = false {
		used := t.a.current()
		resp, err := t.send(r, used, cookies, ticket, first)
		if err != nil {
			return nil, err
		}
		t.a.cookies.SetCookies(r.URL, resp.Cookies())
		switch {
		case resp.StatusCode == http.StatusUnauthorized && !ticket: // the cookie has ended
			ticket, cookies = true, nil
		case resp.StatusCode == http.StatusForbidden && !renewed && ticket && refusedTicket(resp):
			renewed = true
			if err := t.a.renew(used); err != nil {
				return resp, nil //nolint:nilerr // the answer says what is wrong
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
func (t *transport) send(r *http.Request, p proof, cookies []*http.Cookie, ticket, first bool) (*http.Response, error) {
	q := r.Clone(r.Context())
	if !first && r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		q.Body = body
	}
	for _, c := range cookies {
		q.AddCookie(c)
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

// reload takes a cache from its file again when its ticket has ended: kinit may have run since.
func (a *Auth) reload(p proof, err error) bool {
	return a.o.Keytab == "" && strings.Contains(err.Error(), "no valid existing session") && a.renew(p) == nil
}

// refusedTicket looks into a 403 for the filter's GSSException, and leaves the body as it was. A write's answer has no body:
// there the exception stands in the status line alone.
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
