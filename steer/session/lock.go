package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/internal/hostlock"
)

// HostLock excludes other steerers of this machine from some queues, in the order of their names, including those with another journal or under
// another account: what one of them found would be what the other has written. It waits a moment for locks that are held. With an error, which is that
// of a holder to be trusted if there is one, it has the locks that it could take.
func HostLock(ctx context.Context, identities []string, timeout time.Duration) (all Closers, err error) {
	begin, trusted := time.Now(), false
	for _, id := range identities {
		l, failed := hostLock(ctx, id, max(0, timeout-time.Since(begin)))
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

// Exclude takes the locks of some queues, on this machine and on others, for a command without a guard; journal is its own. It fails if a steerer has left
// something to restore.
func (p *Program) Exclude(ctx context.Context, identities []string, locks *Locks, journal string) (held Closers, err error) {
	slices.Sort(identities)
	if held, err = HostLock(ctx, identities, HolderLeaves); err != nil {
		return held, err
	}
	lock, err := locks.make(identities, func() {})
	if err == nil && lock != nil {
		if err = lock.Acquire(ctx); err == nil {
			held = append(held, closer(lock.Release))
		}
	}
	if err == nil {
		err = p.LeftElsewhere(journal, identities)
	}
	return held, err
}

type closer func() error

func (c closer) Close() error { return c() }

// Closers are closed together.
type Closers []io.Closer

// Close implements io.Closer.
func (all Closers) Close() (err error) {
	for _, c := range all {
		err = errors.Join(err, c.Close())
	}
	return err
}

// lockError says that a lock could not be taken: nothing was tried.
type lockError struct{ error }

func (e lockError) Unwrap() error { return e.error }

func hostLock(ctx context.Context, identity string, timeout time.Duration) (io.Closer, error) {
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
