package endure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Proxy stands between a steerer and a real ResourceManager: it counts what is asked, and alters the answers if told to.
type Proxy struct {
	URL string

	address string
	target  *url.URL
	mu      sync.Mutex
	server  *http.Server
	lie     *Lie
	asked   []Request
}

// Request is what was asked, and when it was answered.
type Request struct {
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took"`
	Method string        `json:"method"`
	Path   string        `json:"path"`
	Query  string        `json:"query,omitempty"`
	Status int           `json:"status"`
	Bytes  int64         `json:"bytes"`
	Body   string        `json:"body,omitempty"` // of a change
}

// Lie is a way to answer wrongly. A zero field leaves that part alone.
type Lie struct {
	Refuse bool                                   // nothing listens
	Stall  time.Duration                          // before any answer
	Status func(r *http.Request) (int, string)    // instead of an answer; 0: none
	JSON   func(path string, body map[string]any) // changes an answer's fields
	Text   func(path string, body []byte) []byte  // changes its text
}

// NewProxy listens on a free port of this machine.
func NewProxy(target string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: u}
	return p, p.listen("127.0.0.1:0")
}

func (p *Proxy) listen(address string) error {
	var l net.Listener
	var err error
	for range 50 { // the port of a lie that has ended may be in use for a moment
		if l, err = net.Listen("tcp", address); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	p.address = l.Addr().String()
	p.URL = "http://" + p.address
	s := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	p.mu.Lock()
	p.server = s
	p.mu.Unlock()
	go func() { _ = s.Serve(l) }()
	return nil
}

// Close ends it.
func (p *Proxy) Close() { p.Tell(&Lie{Refuse: true}) }

// Tell makes it lie from now on; nil: it is honest again.
func (p *Proxy) Tell(l *Lie) {
	p.mu.Lock()
	old := p.lie
	p.lie = l
	server := p.server
	p.mu.Unlock()
	if l != nil && l.Refuse && server != nil {
		_ = server.Close()
		p.mu.Lock()
		p.server = nil
		p.mu.Unlock()
	}
	if old != nil && old.Refuse && (l == nil || !l.Refuse) {
		if err := p.listen(p.address); err != nil {
			panic(fmt.Sprintf("listening again on %s: %v", p.address, err))
		}
	}
}

// Asked has what was asked since the last call of it.
func (p *Proxy) Asked() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.asked
	p.asked = nil
	return list
}

// changes counts the requests that would change something.
func changes(list []Request) (n int) {
	for _, r := range list {
		if r.Method == http.MethodPut {
			n++
		}
	}
	return n
}

// ServeHTTP passes a request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	lie := p.lie
	p.mu.Unlock()
	told := Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	if r.Method == http.MethodPut {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		told.Body = string(b)
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	c := &counter{ResponseWriter: w}
	defer func() {
		told.Took, told.Status, told.Bytes = time.Since(told.At), c.status, c.n
		p.mu.Lock()
		p.asked = append(p.asked, told)
		p.mu.Unlock()
	}()
	if lie != nil && lie.Stall > 0 {
		select {
		case <-time.After(lie.Stall):
		case <-r.Context().Done():
			return
		}
	}
	if lie != nil && lie.Status != nil {
		if code, text := lie.Status(r); code != 0 {
			c.Header().Set("Content-Type", "text/plain")
			c.WriteHeader(code)
			_, _ = io.WriteString(c, text)
			return
		}
	}
	pass := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(p.target)
			pr.Out.Header.Del("Accept-Encoding") // so that answers can be read here
		},
		ModifyResponse: func(a *http.Response) error { return alter(lie, a) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			// Nothing listens behind it: no answer, as without it.
			if h, ok := c.ResponseWriter.(http.Hijacker); ok {
				if conn, _, err := h.Hijack(); err == nil {
					_ = conn.Close()
					return
				}
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	pass.ServeHTTP(c, r)
}

type counter struct {
	http.ResponseWriter
	status int
	n      int64
}

func (c *counter) WriteHeader(code int) {
	c.status = code
	c.ResponseWriter.WriteHeader(code)
}

func (c *counter) Write(b []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	c.n += int64(len(b))
	return c.ResponseWriter.Write(b)
}

// alter changes an answer that has succeeded.
func alter(l *Lie, a *http.Response) error {
	if l == nil || l.JSON == nil && l.Text == nil || a.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(a.Body)
	if err != nil {
		return err
	}
	_ = a.Body.Close()
	path := a.Request.URL.Path
	if l.JSON != nil && strings.Contains(a.Header.Get("Content-Type"), "json") {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var x map[string]any
		if d.Decode(&x) == nil {
			l.JSON(path, x)
			if body, err = json.Marshal(x); err != nil {
				return err
			}
		}
	}
	if l.Text != nil {
		body = l.Text(path, body)
	}
	a.Body = io.NopCloser(bytes.NewReader(body))
	a.ContentLength = int64(len(body))
	a.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}
