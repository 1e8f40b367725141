package zk

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// SessionEnds is how long ZooKeeper holds the lock of a dead process, plus a margin.
const SessionEnds = 12 * time.Second

// Locks are several locks that are taken in the order of their names, to avoid deadlock. If one is lost, all count as lost.
type Locks struct {
	locks []waitingLock
	held  func()
	taken int
	once  sync.Once
	lost  chan struct{}
}

// NewLocks makes a lock for each identity; held is called when all are taken.
func NewLocks(servers, identities []string, held func()) (*Locks, error) {
	all := &Locks{held: held, lost: make(chan struct{})}
	for _, id := range identities {
		l, err := New(Options{Servers: servers, Identity: id})
		if err != nil {
			return nil, err
		}
		all.locks = append(all.locks, waitingLock{l})
	}
	return all, nil
}

// Acquire waits until all locks are held.
func (a *Locks) Acquire(ctx context.Context) error {
	for _, l := range a.locks {
		if err := l.Acquire(ctx); err != nil {
			return errors.Join(err, a.Release())
		}
		a.taken++
		lost := l.Lost()
		go func() {
			<-lost
			a.once.Do(func() { close(a.lost) })
		}()
	}
	a.held()
	return nil
}

// Lost is closed when a lock is no longer held.
func (a *Locks) Lost() <-chan struct{} { return a.lost }

// Release releases the locks that are held.
func (a *Locks) Release() (err error) {
	for _, l := range a.locks[:a.taken] {
		err = errors.Join(err, l.Release())
	}
	a.taken = 0
	return err
}

// waitingLock waits for a lock that was taken on this machine: we hold the journal, so whoever took it has died, and it is free
// once ZooKeeper has noticed. A lock held by another machine is an immediate error.
type waitingLock struct{ *Lock }

// Acquire waits until the lock is held.
func (w waitingLock) Acquire(ctx context.Context) error {
	here, _ := os.Hostname() // unknown: an immediate error
	for begin := time.Now(); ; {
		err := w.Lock.Acquire(ctx)
		var held *HeldError
		if !errors.As(err, &held) || held.Host != here || time.Since(begin) > SessionEnds {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
