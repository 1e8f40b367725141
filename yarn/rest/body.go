package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// slot is one of a limited number of concurrent requests to a server.
type slot struct {
	all  chan struct{} // of the server; nil: no limit
	held bool
}

func (s *slot) take(ctx context.Context) error {
	if s == nil || s.all == nil || s.held {
		return nil
	}
	select {
	case s.all <- struct{}{}:
		s.held = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slot) free() {
	if s != nil && s.held {
		s.held = false
		<-s.all
	}
}

// idleBody is a body with an idle timeout, and an overall limit of streamWithin timeouts: a server that
// drips is never idle. The reader's own time between reads does not count.
type idleBody struct {
	body    io.ReadCloser
	cancel  context.CancelFunc
	timeout time.Duration
	waited  time.Duration
	late    bool
	err     error
}

func (p *idleBody) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	limit := streamWithin * p.timeout
	if p.waited >= limit {
		p.cancel()
		p.err = incomplete(limit)
		return 0, p.err
	}
	t := time.AfterFunc(p.timeout, p.cancel)
	began := time.Now()
	n, err := p.body.Read(b)
	p.waited += time.Since(began)
	p.late = !t.Stop() || p.late // data that arrives at the last moment fails all the same: the request is cancelled by then
	if err != nil && !errors.Is(err, io.EOF) {
		text := "the answer broke off: " + short(err.Error(), 120)
		switch {
		case p.late:
			text = fmt.Sprintf("the answer stopped for more than %s", p.timeout)
		case errors.Is(err, io.ErrUnexpectedEOF):
			text = "the answer is cut: the connection was closed in the middle: " + cutHint
		}
		p.err = &silenceError{text, err, false}
		return n, p.err
	}
	return n, err
}

func incomplete(after time.Duration) error {
	return &silenceError{fmt.Sprintf("the answer was not complete after %s: is it overloaded, or is this a port of another service?", after), context.DeadlineExceeded, false}
}

// cutHint is what to do about a truncated response.
const cutHint = "try again; if it happens again, its log may say why, or a gateway in between cuts it"

// How many timeouts a response may take if it is read whole, and if it is streamed.
const (
	wholeWithin  = 5
	streamWithin = 60
)

// deadlineBody is a body with a deadline.
type deadlineBody struct {
	body  io.Reader
	until time.Time
	after time.Duration // for the message
}

func (h *deadlineBody) Read(b []byte) (int, error) {
	if time.Now().After(h.until) {
		return 0, incomplete(h.after)
	}
	return h.body.Read(b)
}

func (p *idleBody) Close() error {
	err := p.body.Close()
	p.cancel()
	return err
}
