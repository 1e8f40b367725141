package rest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync/atomic"
	"time"
)

// call is one request in the making.
type call struct {
	what   string
	server *server
	method string // "": GET
	path   string
	query  url.Values
	accept string // "": application/json
	body   []byte
	kind   string // of the body
	stray  bool   // a response does not show that the server is the active one
	single bool   // tried once
	// relayed: a user's process writes the response, behind the ResourceManager's proxy. It says nothing about the servers: such a call is
	// stray and single, and a redirect is an error.
	relayed bool
}

func (c *call) write() bool { return c.method != "" && c.method != http.MethodGet }

// answer is an open response; Close releases its slot at the server.
type answer struct {
	*http.Response
	body io.ReadCloser
	url  *url.URL
	slot *slot // nil until it is taken
}

func (a *answer) Close() error {
	a.slot.free()
	return a.body.Close()
}

// read sends a read, with retries, and passes the response to use, whose error counts as the call's.
func (c *Client) read(ctx context.Context, k *call, use func(*answer) error) error {
	return c.retry(ctx, k, func() error {
		a, err := c.once(ctx, k)
		if err != nil {
			return err
		}
		err = use(a)
		_ = a.Close()
		if err == nil || errors.Is(err, errStop) {
			return nil
		}
		var odd *FormatError
		switch {
		case !errors.As(err, &odd) || odd.Hint != "":
		case odd.cut:
			odd.Hint = cutHint
		default:
			odd.Hint = k.server.rightAddress()
		}
		return &CallError{k.what, plain(a.url), err}
	})
}

// retry tries until it succeeds, or until another attempt would not help or is not allowed.
func (c *Client) retry(ctx context.Context, k *call, try func() error) error {
	last := time.Now().Add(2 * c.o.Timeout) // no further attempt after two timeouts
	for n := 1; ; n++ {
		err := try()
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
			return err
		}
		if ctx.Err() != nil {
			return &CallError{k.what, "", ctx.Err()}
		}
		var given *givenUp
		if errors.As(err, &given) || !again(err) || k.single || n > c.o.Retries || time.Now().After(last) {
			return err
		}
		if err := sleep(ctx, backoff(c.o.Backoff, n)); err != nil {
			return &CallError{k.what, "", err}
		}
	}
}

// givenUp wraps the error of a list some of whose elements were already handed out.
type givenUp struct{ error }

func (g *givenUp) Unwrap() error { return g.error }

// once tries the addresses in turn until one gives a conclusive response.
func (c *Client) once(ctx context.Context, k *call) (*answer, error) {
	bases := k.server.candidates()
	if len(bases) == 0 {
		return nil, &CallError{k.what, "", fmt.Errorf("%s: %w", k.server.name, errNotConfigured)}
	}
	place := &slot{all: k.server.slots}
	if err := place.take(ctx); err != nil {
		return nil, err
	}
	var last error
	for i := 0; i < len(bases); i++ {
		u := *bases[i]
		u.Path += k.path
		u.RawQuery = k.query.Encode()
		a, err := c.follow(ctx, k, &u)
		if err == nil {
			if !k.stray {
				k.server.prefer(bases[i])
			}
			a.slot = place
			return a, nil
		}
		var standby *standbyError
		if i == len(bases)-1 && k.server == c.rm && errors.As(err, &standby) {
			bases = append(bases, c.learn(ctx, bases[i])...)
		}
		if standby != nil {
			standby.asked = slices.ContainsFunc(bases, func(b *url.URL) bool { return origin(b) == standby.active })
		}
		if last == nil || !errors.Is(last, ErrNoActive) { // "no active ResourceManager" says more than "the other one is down"
			last = err
		}
		if ctx.Err() != nil || !elsewhere(err) {
			last = err
			break
		}
	}
	place.free()
	return nil, last
}

// elsewhere reports whether another address may know better.
func elsewhere(err error) bool {
	if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
		return false
	}
	if s, ok := errors.AsType[*StatusError](err); ok && s.standby() {
		return true
	}
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoActive)
}

// follow sends the request. It follows one redirect: from a NameNode to the DataNode that has the file. The DataNode gets credentials only if
// the options name it.
func (c *Client) follow(ctx context.Context, k *call, u *url.URL) (*answer, error) {
	fail := func(u *url.URL, err error) error {
		if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
			return err
		}
		return &CallError{k.what, plain(u), err}
	}
	client := c.http
	for first := true; ; first = false {
		a, err := c.hop(ctx, k, u, client)
		if err != nil {
			return nil, fail(u, err)
		}
		if a.StatusCode/100 == 2 {
			return a, nil
		}
		if a.StatusCode/100 != 3 {
			err := c.statusError(k, a)
			return nil, fail(u, err)
		}
		next, err := c.redirect(k, u, a)
		if err != nil {
			return nil, fail(u, err)
		}
		if !first {
			return nil, fail(u, errTooManyHops)
		}
		if !c.hosts[origin(next)] {
			client = c.bare
		}
		u = next
	}
}

// origin identifies a server.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// hop sends one request and waits for the response header.
func (c *Client) hop(ctx context.Context, k *call, u *url.URL, client *http.Client) (*answer, error) {
	if err := k.server.pace.wait(ctx); err != nil {
		return nil, err
	}
	if k.relayed {
		ctx = context.WithValue(ctx, relayedKey{}, true)
	}
	ctx, cancel := context.WithCancel(ctx)
	var sent atomic.Bool
	// Once there is a connection something may have been sent. net/http asks for another connection only if
	// it knows that nothing has.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	method := cmp.Or(k.method, http.MethodGet)
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		cancel()
		return nil, err
	}
	r.Header.Set("Accept", cmp.Or(k.accept, "application/json"))
	if k.kind != "" {
		r.Header.Set("Content-Type", k.kind)
	}
	r.Header.Set("User-Agent", c.o.UserAgent)
	resp, err := client.Do(r) //nolint:bodyclose // closed with the response
	if err != nil {
		cancel()
		err = explain(err, u, sent.Load(), c.o.Timeout)
		if k.write() && sent.Load() {
			return nil, &OutcomeUnknownError{method, plain(u), err}
		}
		return nil, err
	}
	return &answer{resp, &idleBody{body: resp.Body, cancel: cancel, timeout: c.o.Timeout}, u, nil}, nil
}

// plain is an address for messages: without the query, which may hold a name or a token.
func plain(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }
