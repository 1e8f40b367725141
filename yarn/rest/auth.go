package rest

import (
	"context"
	"net/http"
	"sync/atomic"
)

// User is simple authentication: the cluster trusts the name.
func User(name string) Auth { return userAuth(name) }

type userAuth string

func (u userAuth) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		q := r.URL.Query()
		q.Set("user.name", string(u))
		r.URL.RawQuery = q.Encode()
		return next.RoundTrip(r)
	})
}

// Token authenticates with a delegation token, as text. A standby ResourceManager does not know tokens: name every ResourceManager.
func Token(token string) Auth { return tokenAuth(token) }

type tokenAuth string

func (t tokenAuth) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Hadoop-YARN-Auth-Delegation-Token", string(t)) // the ResourceManager's own filter
		r.Header.Set("X-Hadoop-Delegation-Token", string(t))         // Hadoop's common one
		return next.RoundTrip(r)
	})
}

// Counted counts the requests of another Auth, including those of its login.
type Counted struct {
	Auth Auth // nil: anonymous
	sent atomic.Int64
}

// Sent is the number of requests so far.
func (c *Counted) Sent() int64 { return c.sent.Load() }

// Wrap implements Auth.
func (c *Counted) Wrap(next http.RoundTripper) http.RoundTripper {
	inner := roundTrip(func(r *http.Request) (*http.Response, error) {
		c.sent.Add(1)
		return next.RoundTrip(r)
	})
	if c.Auth == nil {
		return inner
	}
	return c.Auth.Wrap(inner)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// relayedKey marks the requests that a user's process answers.
type relayedKey struct{}

// Relayed reports whether a user's process behind the ResourceManager's proxy writes the response to a request. What it says about the login,
// a cookie or a refusal, does not come from the ResourceManager.
func Relayed(ctx context.Context) bool { return ctx.Value(relayedKey{}) != nil }
