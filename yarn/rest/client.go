package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Client speaks to one cluster. It is safe for concurrent use.
type Client struct {
	o     Options
	http  *http.Client // sends who asks
	bare  *http.Client // does not: for addresses that carry their own permission
	hosts map[string]bool

	rm, history, files *server
	named              []*url.URL // the ResourceManagers, in the order of the options

	mu    sync.Mutex
	nodes int64 // most active nodes seen, for Ready
}

// server is a service of the cluster behind one or several addresses.
type server struct {
	name  string // "the ResourceManager"
	port  string // its usual one, for hints
	pace  *pace
	slots chan struct{} // nil: any number at a time

	mu      sync.Mutex
	bases   []*url.URL // the one to ask first stands first
	learned *url.URL   // who answered after a redirect, when nobody had named it; asked before the others
}

// rightAddress is what to look at when what answers seems to be something else.
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
			c.hosts[b.Scheme+"://"+b.Host] = true
		}
		*x.s = s
	}
	c.rm.pace = newPace(o.RMRate)
	c.named = c.rm.candidates()
	return c, nil
}

// CloseIdle closes the connections that wait for another request.
func (c *Client) CloseIdle() { c.bare.CloseIdleConnections() }

// candidates are the addresses to ask, best first.
func (s *server) candidates() []*url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.learned != nil {
		return append([]*url.URL{s.learned}, s.bases...)
	}
	return append([]*url.URL(nil), s.bases...)
}

// prefer remembers who answered a request for the path; after a redirect it may be an address that nobody has named.
func (s *server) prefer(u *url.URL, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range s.bases {
		if b.Scheme == u.Scheme && b.Host == u.Host {
			copy(s.bases[1:i+1], s.bases[:i])
			s.bases[0], s.learned = b, nil
			return
		}
	}
	if before, ok := strings.CutSuffix(u.Path, path); ok {
		s.learned = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: before}
	}
}

// Address is the first ResourceManager of the options, as host and port.
func (c *Client) Address() string {
	if len(c.named) == 0 {
		return ""
	}
	return c.named[0].Host
}
