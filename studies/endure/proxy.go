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

// Proxy sits between a steerer and a real ResourceManager: it records requests and injects faults into the answers.
type Proxy struct {
	URL string

	address string
	target  *url.URL
	server  *http.Server

	mu    sync.Mutex
	fault *Fault
	asked []Request
}

// Request is one request, and when it was answered.
type Request struct {
	At                  time.Time
	Took                time.Duration
	Method, Path, Query string
	Bytes               int64  // of the answer
	Body                string // of a change
}

// Fault is a fault of the answers. A zero field leaves that part alone.
type Fault struct {
	Refuse bool                                              // nothing listens
	Stall  time.Duration                                     // before any answer
	Status func(r *http.Request) (int, string)               // instead of an answer; 0: none
	Answer func(w http.ResponseWriter, r *http.Request) bool // the same, in full; false: none
	JSON   func(path string, body map[string]any)            // changes an answer's fields
	Text   func(path string, body []byte) []byte             // changes its text
}

// NewProxy listens on a free port of this machine.
func NewProxy(target string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: u, fault: &Fault{}}
	return p, p.listen("127.0.0.1:0")
}

func (p *Proxy) listen(address string) error {
	var l net.Listener
	var err error
	for range 50 { // after a fault, the port may be in use for a moment
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
	p.server = s
	go func() { _ = s.Serve(l) }()
	return nil
}

// Close stops listening.
func (p *Proxy) Close() { p.Inject(&Fault{Refuse: true}) }

// Inject injects a fault from now on; nil ends it.
func (p *Proxy) Inject(l *Fault) {
	if l == nil {
		l = &Fault{}
	}
	p.mu.Lock()
	old := p.fault
	p.fault = l
	p.mu.Unlock()
	switch {
	case l.Refuse && !old.Refuse:
		_ = p.server.Close()
	case old.Refuse && !l.Refuse:
		if err := p.listen(p.address); err != nil {
			panic(fmt.Sprintf("listening again on %s: %v", p.address, err))
		}
	}
}

// Asked are the requests since its last call.
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

// ServeHTTP forwards a request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	lie := p.fault
	p.mu.Unlock()
	req := Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	if r.Method == http.MethodPut {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		req.Body = string(b)
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	defer func() {
		req.Took = time.Since(req.At)
		p.mu.Lock()
		p.asked = append(p.asked, req)
		p.mu.Unlock()
	}()
	select {
	case <-time.After(lie.Stall):
	case <-r.Context().Done():
		return
	}
	if lie.Status != nil {
		if code, text := lie.Status(r); code != 0 {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
			return
		}
	}
	if lie.Answer != nil && lie.Answer(w, r) {
		return
	}
	pass := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(p.target)
			pr.Out.Header.Del("Accept-Encoding") // so that answers can be read here
		},
		ModifyResponse: func(a *http.Response) error {
			body, err := io.ReadAll(a.Body)
			_ = a.Body.Close() // already read
			if err == nil && a.StatusCode == http.StatusOK {
				body, err = lie.alter(r.URL.Path, a.Header.Get("Content-Type"), body)
			}
			req.Bytes = int64(len(body))
			a.Body, a.ContentLength = io.NopCloser(bytes.NewReader(body)), req.Bytes
			a.Header.Set("Content-Length", strconv.FormatInt(req.Bytes, 10))
			return err
		},
		// Nothing listens behind the proxy: no answer, as without it.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	pass.ServeHTTP(w, r)
}

// alter changes a successful answer.
func (l *Fault) alter(path, kind string, body []byte) ([]byte, error) {
	if l.JSON != nil && strings.Contains(kind, "json") {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var x map[string]any
		if d.Decode(&x) == nil {
			l.JSON(path, x)
			var err error
			if body, err = json.Marshal(x); err != nil {
				return nil, err
			}
		}
	}
	if l.Text != nil {
		body = l.Text(path, body)
	}
	return body, nil
}
