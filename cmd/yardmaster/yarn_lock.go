package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/yardmaster/yardmaster/internal/hostlock"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/zk"
)

// sessionEnds is how long ZooKeeper holds the lock of a process that has died, and a little more.
const sessionEnds = 12 * time.Second

// newLock is the further lock of a steerer, if one is asked for; held is told when it is taken.
func newLock(servers []string, identity string, held func()) (drive.Lock, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	l, err := zk.New(zk.Options{Servers: servers, Identity: identity})
	if err != nil {
		return nil, err
	}
	return patientLock{l, held}, nil
}

// patientLock waits for a lock that was taken on this machine: the journal is ours, so that whoever took it has died, and it is free
// when ZooKeeper has noticed. One that another machine has is refused at once.
type patientLock struct {
	*zk.Lock
	held func()
}

// Acquire implements drive.Lock.
func (p patientLock) Acquire(ctx context.Context) error {
	here, _ := os.Hostname() // not known: refused at once
	for begin := time.Now(); ; {
		err := p.Lock.Acquire(ctx)
		if err == nil {
			p.held()
		}
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

// hostLock keeps other steerers of this machine away from a queue, also those that keep another journal and run under another account: what one of
// them found would be what the other has written. One that is held is waited for a moment.
func hostLock(ctx context.Context, identity string, patience time.Duration) (io.Closer, error) {
	var known *hostlock.HeldError
	for begin := time.Now(); ; {
		l, err := hostlock.Take(identity)
		var held *hostlock.HeldError
		if err == nil || !errors.As(err, &held) {
			return l, err
		}
		if known == nil || held.UID >= 0 { // others can keep a holder from answering now and then
			known = held
		}
		if time.Since(begin) > patience || wait(ctx, 100*time.Millisecond) != nil {
			return nil, lockError{fmt.Errorf("%s is already being steered or restored with another journal: %w; end that first", identity, known)}
		}
	}
}

func wait(ctx context.Context, d time.Duration) error { return drive.WallClock{}.Wait(ctx, d) }
