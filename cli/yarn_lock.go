package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/internal/hostlock"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/yarn/zk"
)

// sessionEnds is how long ZooKeeper holds the lock of a dead process, plus a margin.
const sessionEnds = 12 * time.Second

// newLock is the steerer's additional lock, one for each of its queues, if requested; held is called when all are taken.
func newLock(servers, identities []string, held func()) (live.Lock, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	all := &queueLocks{held: held, lost: make(chan struct{})}
	for _, id := range identities {
		l, err := zk.New(zk.Options{Servers: servers, Identity: id})
		if err != nil {
			return nil, err
		}
		all.locks = append(all.locks, waitingLock{l})
	}
	return all, nil
}

// queueLocks are taken in the order of the queues' names, to avoid deadlock. If one is lost, all count as lost.
type queueLocks struct {
	locks []waitingLock
	held  func()
	taken int
	once  sync.Once
	lost  chan struct{}
}

// Acquire implements live.Lock.
func (q *queueLocks) Acquire(ctx context.Context) error {
	for _, l := range q.locks {
		if err := l.Acquire(ctx); err != nil {
			return errors.Join(err, q.Release())
		}
		q.taken++
		lost := l.Lost()
		go func() {
			<-lost
			q.once.Do(func() { close(q.lost) })
		}()
	}
	q.held()
	return nil
}

// Lost implements live.Lock.
func (q *queueLocks) Lost() <-chan struct{} { return q.lost }

// Release implements live.Lock.
func (q *queueLocks) Release() (err error) {
	for _, l := range q.locks[:q.taken] {
		err = errors.Join(err, l.Release())
	}
	q.taken = 0
	return err
}

// waitingLock waits for a lock that was taken on this machine: we hold the journal, so whoever took it has died, and it is free
// once ZooKeeper has noticed. A lock held by another machine is an immediate error.
type waitingLock struct{ *zk.Lock }

// Acquire implements live.Lock.
func (p waitingLock) Acquire(ctx context.Context) error {
	here, _ := os.Hostname() // unknown: an immediate error
	for begin := time.Now(); ; {
		err := p.Lock.Acquire(ctx)
		var held *zk.HeldError
		if !errors.As(err, &held) || held.Host != here || time.Since(begin) > sessionEnds {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// hostLock excludes other steerers of this machine from some queues, in the order of their names, including those with another journal or under
// another account: what one of them found would be what the other has written. It waits a moment for locks that are held. With an error, which is that
// of a holder to be trusted if there is one, it has the locks that it could take.
func hostLock(ctx context.Context, identities []string, timeout time.Duration) (all closers, err error) {
	begin, trusted := time.Now(), false
	for _, id := range identities {
		l, failed := oneHostLock(ctx, id, max(0, timeout-time.Since(begin)))
		if failed == nil {
			all = append(all, l)
			continue
		}
		var held *hostlock.HeldError
		if ours := errors.As(failed, &held) && held.Trusted(); err == nil || ours && !trusted {
			err, trusted = failed, ours
		}
	}
	return all, err
}

type closers []io.Closer

func (all closers) Close() (err error) {
	for _, c := range all {
		err = errors.Join(err, c.Close())
	}
	return err
}

func oneHostLock(ctx context.Context, identity string, timeout time.Duration) (io.Closer, error) {
	var known *hostlock.HeldError
	for begin := time.Now(); ; {
		l, err := hostlock.Take(identity)
		var held *hostlock.HeldError
		if err == nil || !errors.As(err, &held) {
			return l, err
		}
		if known == nil || held.UID >= 0 { // others can briefly keep a holder from being identified
			known = held
		}
		if time.Since(begin) > timeout || wait(ctx, 100*time.Millisecond) != nil {
			return nil, lockError{fmt.Errorf("%s is already being steered or restored with another journal: %w; end that first", identity, known)}
		}
	}
}

func wait(ctx context.Context, d time.Duration) error { return live.WallClock{}.Wait(ctx, d) }
