// Package patience gives up servers that say nothing more: while connecting, before their answer, and in the middle of it.
package patience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// ErrStopped is that a server has sent a part of its answer, and then no more.
var ErrStopped = errors.New("the answer stopped")

// Transport is net/http's, which waits no longer than this for a connection, for its encryption and for an answer to begin.
func Transport(wait time.Duration) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: wait}).DialContext, TLSHandshakeTimeout: wait, ResponseHeaderTimeout: wait,
	}
}

// Do makes a request. The body of the answer fails if no more of it comes for so long; the reader's own time does not count.
func Do(c *http.Client, r *http.Request, wait time.Duration) (*http.Response, error) {
	ctx, stop := context.WithCancel(r.Context())
	a, err := c.Do(r.WithContext(ctx))
	if err != nil {
		stop()
		return nil, err
	}
	a.Body = &body{ReadCloser: a.Body, stop: stop, wait: wait}
	return a, nil
}

type body struct {
	io.ReadCloser
	stop context.CancelFunc
	wait time.Duration
	late error
}

func (b *body) Read(p []byte) (int, error) {
	t := time.AfterFunc(b.wait, b.stop)
	n, err := b.ReadCloser.Read(p)
	if !t.Stop() {
		b.late = fmt.Errorf("%w for more than %v", ErrStopped, b.wait)
	}
	return n, cmp.Or(b.late, err)
}

func (b *body) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}
