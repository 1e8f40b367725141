package steering

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry holds the metrics.
func (b *Board) Registry() prometheus.Gatherer { return b.metrics.registry }

// Handler serves the page and the metrics. It only reads.
func (b *Board) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { b.page(w, true) })
	mux.HandleFunc("GET /now", func(w http.ResponseWriter, _ *http.Request) { b.page(w, false) })
	mux.HandleFunc("GET /events", b.events)
	mux.HandleFunc("GET /status.json", b.status)
	mux.HandleFunc("GET /healthz", b.health)
	mux.Handle("GET /metrics", promhttp.HandlerFor(b.metrics.registry, promhttp.HandlerOpts{}))
	return safe(mux)
}

// safe adds security headers that keep a browser from doing more than showing the response.
func safe(next http.Handler) http.Handler {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		hash(pageJS), hash(pageCSS))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// atHome accepts only requests to localhost, against DNS rebinding: a foreign page whose name resolves to this machine could otherwise read what is shown to
// a person who has both open.
func atHome(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, fmt.Sprintf("%q is not a name that this page answers to: ask for localhost", host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (b *Board) page(w http.ResponseWriter, whole bool) {
	s := b.Status()
	var out bytes.Buffer
	if err := s.write(&out, whole); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes()) // the client has gone
}

func (b *Board) status(w http.ResponseWriter, _ *http.Request) {
	text, err := json.MarshalIndent(b.Status(), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client has gone
}

// staleAfter is longer than any policy's sampling interval.
const staleAfter = 5 * time.Minute

func (b *Board) health(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	n := b.now
	b.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !n.Sees || time.Since(n.LastGood) > staleAfter {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "no good sample of the scheduler since %s\n", n.LastGood.Format(time.RFC3339))
		return
	}
	fmt.Fprintf(w, "ok: mode %s, last good sample at %s\n", n.Mode, n.LastGood.Format(time.RFC3339))
}

// events notifies a browser whenever something has happened, at most twice a second.
func (b *Board) events(w http.ResponseWriter, r *http.Request) {
	if b.watchers.Add(1) > maxWatchers {
		b.watchers.Add(-1)
		http.Error(w, "too many pages are open: this one is not updated by itself", http.StatusServiceUnavailable)
		return
	}
	defer b.watchers.Add(-1)
	flush := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		_ = flush.SetWriteDeadline(time.Now().Add(writeWithin)) // it stays open while it is read
		if _, err := fmt.Fprint(w, "data: now\n\n"); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Second): // to detect a dead connection
		case <-r.Context().Done():
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

// Anyone who reaches the port may open connections and leave them. Each is an open file, and the journal and the ResourceManager need some: so
// they are limited, and pages that stay open have a lower limit.
const (
	maxConnections = 64
	maxWatchers    = 32
	writeWithin    = 30 * time.Second
)

// limited is a listener that closes connections beyond its limit.
type limited struct {
	net.Listener
	open chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &limitedConn{Conn: c, free: sync.OnceFunc(func() { <-l.open })}, nil
		default:
			_ = c.Close() // nothing was sent on it
		}
	}
}

type limitedConn struct {
	net.Conn
	free func()
}

func (c *limitedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// Serve serves until the context ends.
func (b *Board) Serve(ctx context.Context, l net.Listener) error {
	handler := b.Handler()
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		handler = atHome(handler)
	}
	server := &http.Server{
		Handler: handler, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: writeWithin, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // this cuts off responses in progress
	defer stop()
	if err := server.Serve(&limited{l, make(chan struct{}, maxConnections)}); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
