package endure

import (
	"context"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// watcher looks at the ResourceManager all the time, past the steerer, so that it is known when it was away and when it had no nodes.
type watcher struct {
	rm     *rest.Client
	nodes  int64
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	looks []look
}

type look struct {
	from, at time.Time
	nodes    int64 // -1: no answer
}

func watch(ctx context.Context, rm *rest.Client, nodes int) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{rm: rm, nodes: int64(nodes), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			l := look{from: time.Now(), nodes: -1}
			short, stop := context.WithTimeout(ctx, 2*time.Second)
			if m, err := rm.Metrics(short); err == nil {
				l.nodes = m.ActiveNodes
			}
			stop()
			l.at = time.Now()
			w.mu.Lock()
			w.looks = append(w.looks, l)
			w.mu.Unlock()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return w
}

func (w *watcher) end() {
	w.cancel()
	<-w.done
}

// gap is how long nothing answered after the blow, and how long nodes were missing from the first answer on.
func (w *watcher) gap(fell time.Time) (away, empty time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := false
	for _, l := range w.looks {
		switch {
		case l.at.Before(fell):
		case l.nodes < 0:
			gone, away = true, 0
		case gone && away == 0:
			away = l.at.Sub(fell)
			fallthrough
		case gone:
			empty = l.at.Sub(fell) - away
			if l.nodes >= w.nodes {
				return away, empty
			}
		}
	}
	return away, empty
}

// missing is the last moment after the blow at which nodes are known to have been missing: while a reading lasts they may have come back.
func (w *watcher) missing(fell time.Time) (last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := false
	for _, l := range w.looks {
		switch {
		case l.from.Before(fell):
		case l.nodes < w.nodes:
			gone, last = true, l.from
		case gone:
			return last
		}
	}
	return last
}

// whole says whether the ResourceManager has been away since the blow and has all its nodes again.
func (w *watcher) whole(fell time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := false
	for _, l := range w.looks {
		if l.at.After(fell) {
			if l.nodes < 0 {
				gone = true
			} else if gone && l.nodes >= w.nodes {
				return true
			}
		}
	}
	return false
}
