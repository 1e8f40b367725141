package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// Client talks to one cluster. It is safe for concurrent use.
type Client struct {
	o     Options
	http  *http.Client    // with credentials
	bare  *http.Client    // without: for servers that are not named
	hosts map[string]bool // origins of the options

	rm, history, files *server
	named              []*url.URL // the ResourceManagers, in the order of the options

	cuts cuts

	mu    sync.Mutex
	nodes int64 // max active nodes seen, for Ready
}

// server is a service of the cluster behind one or several addresses.
type server struct {
	name  string // "the ResourceManager"
	port  string // its usual one, for hints
	pace  *pace
	slots chan struct{} // nil: no limit

	mu      sync.Mutex
	bases   []*url.URL // in the order to try
	learned bool       // they include those of the ResourceManager's configuration
}

// rightAddress is the hint for responses that seem to come from another service.
func (s *server) rightAddress() string {
	return fmt.Sprintf("is this the web address of %s (usually port %s)?", s.name, s.port)
}

// New makes a client; it does not connect yet.
func New(o Options) (*Client, error) {
	o.defaults()
	t, err := transport(&o)
	if err != nil {
		return nil, err
	}
	c := &Client{o: o, hosts: map[string]bool{}}
	var authed http.RoundTripper = t
	if o.Auth != nil {
		authed = o.Auth.Wrap(t)
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &http.Client{Transport: authed, CheckRedirect: noRedirect}
	c.bare = &http.Client{Transport: t, CheckRedirect: noRedirect}

	history := []string{o.History}
	if o.History == "" {
		history = nil
	}
	for _, x := range []struct {
		s     **server
		list  []string
		name  string
		port  string
		slots int
	}{
		{&c.rm, o.RM, "the ResourceManager", "8088", 0},
		{&c.history, history, "the JobHistoryServer", "19888", o.Parallel},
		{&c.files, o.NameNodes, "the NameNode", "9870", o.Parallel},
	} {
		bases, err := addresses(x.list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
		s := &server{name: x.name, port: x.port, bases: bases}
		if x.slots > 0 {
			s.slots = make(chan struct{}, x.slots)
		}
		for _, b := range bases {
			c.hosts[origin(b)] = true
		}
		*x.s = s
	}
	c.rm.pace = newPace(o.RMRate)
	c.named = c.rm.candidates()
	return c, nil
}

// CloseIdle closes the connections that wait for another request.
func (c *Client) CloseIdle() { c.bare.CloseIdleConnections() }

// candidates are the addresses to try, best first.
func (s *server) candidates() []*url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bases)
}

func (s *server) prefer(u *url.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.bases, u); i > 0 {
		copy(s.bases[1:i+1], s.bases[:i])
		s.bases[0] = u
	}
}

// learn adds the other ResourceManagers that a standby's own configuration names, once, and returns them. A standby's redirect is
// not enough: only an operator writes that configuration.
func (c *Client) learn(ctx context.Context, standby *url.URL) []*url.URL {
	c.rm.mu.Lock()
	learned := c.rm.learned
	c.rm.mu.Unlock()
	if learned {
		return nil
	}
	k := confCall(c.alone(standby))
	k.single = true
	p, err := c.properties(ctx, k, "the ResourceManager's configuration")
	if err != nil {
		return nil // the error about the standby says what to do
	}
	c.rm.mu.Lock()
	defer c.rm.mu.Unlock()
	if c.rm.learned {
		return nil
	}
	c.rm.learned = true
	var fresh []*url.URL
	for _, u := range managers(p, standby.Scheme) {
		if !slices.ContainsFunc(c.rm.bases, func(b *url.URL) bool { return origin(b) == origin(u) }) {
			fresh = append(fresh, u)
		}
	}
	c.rm.bases = append(c.rm.bases, fresh...)
	return fresh
}

// alone is one ResourceManager without the others.
func (c *Client) alone(base *url.URL) *server {
	return &server{name: c.rm.name, port: c.rm.port, pace: c.rm.pace, bases: []*url.URL{base}}
}

// Address is the first ResourceManager of the options, as host and port.
func (c *Client) Address() string {
	if len(c.named) == 0 {
		return ""
	}
	return c.named[0].Host
}
