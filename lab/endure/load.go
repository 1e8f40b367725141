package endure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// load keeps applications coming into a queue while the steerer has its troubles, one wave of unmanaged masters after another.
type load struct {
	c     *hadoop.Cluster
	queue string
	apps  int  // of a wave
	hold  int  // milliseconds that a container is held, at most twice that
	mb    int  // of each container; 512
	runs  bool // a process runs in each container, which then outlives its ResourceManager

	cancel context.CancelFunc
	stop   chan struct{}
	done   chan struct{}

	mu   sync.Mutex
	all  []hadoop.AppResult
	err  error
	wave int
}

// begin starts the waves and waits until applications run and others wait.
func (l *load) begin(outer context.Context, rm *rest.Client) error {
	ctx, cancel := context.WithCancel(outer)
	l.cancel = cancel
	l.stop, l.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(l.done)
		for {
			select {
			case <-l.stop:
				return
			case <-ctx.Done():
				return
			default:
			}
			l.wave++
			res, err := l.c.Masters(ctx, l.workload(), hadoop.MastersOptions{Start: l.runs, Threads: 16, HeapMB: 256})
			l.mu.Lock()
			l.all = append(l.all, res.Apps...)
			if err == nil && len(res.Apps) != l.apps {
				err = fmt.Errorf("of %d applications %d have come back", l.apps, len(res.Apps))
			}
			l.err = errors.Join(l.err, err)
			l.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	if !proc.Await(ctx, 2*time.Minute, 100*time.Millisecond, func() bool { m, err := rm.Metrics(ctx); return err == nil && m.AppsRunning > 0 && m.AppsPending > 0 }) {
		cancel()
		return errors.New("the applications do not come")
	}
	return nil
}

// workload is one wave: all are there at once, so that some always wait for room among the masters.
func (l *load) workload() []hadoop.Application {
	list := make([]hadoop.Application, l.apps)
	for i := range list {
		hold := hadoop.Millis(l.hold + (i*7919+l.wave*104729)%l.hold)
		list[i] = hadoop.Application{ID: fmt.Sprintf("wave-%d-%03d", l.wave, i), User: "alice", Queue: l.queue, Submit: hadoop.Millis(50 * i),
			Containers: []hadoop.Group{{Count: 1, MB: cmp.Or(l.mb, 512), Hold: hadoop.Holds{hold}}}}
	}
	return list
}

// Fate is what became of the applications.
type Fate struct {
	Submitted int      `json:"submitted"`
	Succeeded int      `json:"succeeded"`
	Other     []string `json:"other,omitempty"` // those that did not, and why
}

// lost says whether an application did not end well, or none was there.
func (f *Fate) lost() bool { return f.Submitted == 0 || f.Succeeded != f.Submitted }

// end lets the wave that runs come to its end and tells what became of all.
func (l *load) end(ctx context.Context) (Fate, error) {
	close(l.stop)
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	l.cancel()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	f := Fate{Submitted: len(l.all)}
	for _, a := range l.all {
		if a.State == "SUCCEEDED" {
			f.Succeeded++
		} else {
			f.Other = append(f.Other, a.App+" "+a.State+": "+a.Why)
		}
	}
	return f, l.err
}
