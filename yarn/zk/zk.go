// Package zk excludes a second steerer of the same queue through ZooKeeper: a live.Lock that is an ephemeral node.
//
// The node disappears with its holder's session, so a steerer that dies leaves no lock behind for longer than the session's
// timeout. Kerberos towards ZooKeeper is unsupported, so access lists cannot distinguish clients: they let everyone read a lock and
// create one that does not exist, and nobody change or remove one. Whoever reaches ZooKeeper can still take a free lock, which keeps a steerer from
// starting, or create the locks' parent nodes first, with lists of their own: then a held lock can be removed. A steerer that loses its lock
// writes nothing more and leaves its journal open: its guard restores, and needs the lock for that. So whoever holds the lock also blocks that
// restore; the way out is to restore without it (yardmaster yarn restore --zookeeper=).
package zk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/unit"
)

// Options say where ZooKeeper is and what to lock.
type Options struct {
	Servers  []string      // host:port
	Identity string        // of the scheduler, as in drive.Engine
	Session  time.Duration // session timeout, after which the lock is free again; default 10 s
	Connect  time.Duration // timeout for a session; default 10 s
}

// Root is the parent node of the locks.
const Root = "/yardmaster/steer"

// HeldError is a lock that somebody else holds.
type HeldError struct {
	Path    string        `json:"-"`
	PID     int           `json:"pid"`
	Host    string        `json:"host"`
	Since   time.Time     `json:"since"`
	Session time.Duration `json:"-"` // timeout after which it is free if they have died
}

func (e *HeldError) Error() string {
	who := "somebody else"
	if e.Host != "" {
		who = fmt.Sprintf("process %d on %.100q since %s", e.PID, e.Host, e.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("the lock %s in ZooKeeper is held by %s: stop it first; if it has died, the lock is free within about %v", e.Path, who, e.Session)
}

// Lock is held by one process at a time.
type Lock struct {
	o    Options
	path string

	mu   sync.Mutex
	conn *zookeeper.Conn
	stop context.CancelFunc
	done chan struct{} // closed when the watch ends
	lost chan struct{}
	once sync.Once
}

var _ live.Lock = (*Lock)(nil)

// New makes a lock; it does not connect yet.
func New(o Options) (*Lock, error) {
	if len(o.Servers) == 0 || o.Identity == "" {
		return nil, errors.New("a lock in ZooKeeper needs a server, host:port, and a name")
	}
	o.Servers = slices.Clone(o.Servers)
	for i, s := range o.Servers {
		if !strings.Contains(s, ":") {
			o.Servers[i] = s + ":2181"
		}
	}
	o.Session = unit.Positive(o.Session, 10*time.Second)
	o.Connect = unit.Positive(o.Connect, 10*time.Second)
	return &Lock{o: o, path: Root + "/" + url.PathEscape(o.Identity), lost: make(chan struct{})}, nil
}

// Path is the node's name.
func (l *Lock) Path() string { return l.path }

// Lost is closed when the lock may belong to somebody else: the session has ended, the node was removed, or ZooKeeper has been unreachable for so
// long that it may have released the lock.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

func (l *Lock) lose() { l.once.Do(func() { close(l.lost) }) }

// Acquire takes the lock or fails immediately with its holder: *HeldError.
func (l *Lock) Acquire(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		return errors.New("the lock in ZooKeeper is held already")
	}
	conn, events, err := zookeeper.Connect(l.o.Servers, l.o.Session, zookeeper.WithLogger(log.New(io.Discard, "", 0)), zookeeper.WithLogInfo(false))
	if err != nil {
		return fmt.Errorf("ZooKeeper at %s: %w", strings.Join(l.o.Servers, ","), err)
	}
	cancelled := context.AfterFunc(ctx, conn.Close) // its calls take no context
	err = l.take(ctx, conn, events)
	if !cancelled() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if held, ok := errors.AsType[*HeldError](err); ok {
			return held
		}
		return fmt.Errorf("ZooKeeper at %s: %w", strings.Join(l.o.Servers, ","), err)
	}
	watch, stop := context.WithCancel(context.Background())
	l.conn, l.stop, l.done = conn, stop, make(chan struct{})
	go l.watch(watch, conn, events)
	return nil
}

func (l *Lock) take(ctx context.Context, conn *zookeeper.Conn, events <-chan zookeeper.Event) error {
	late := time.After(l.o.Connect)
	for conn.State() != zookeeper.StateHasSession {
		select {
		case <-events:
		case <-late:
			return fmt.Errorf("no session within %v: is it running, and is this its address?", l.o.Connect)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	at := ""
	for _, part := range strings.Split(strings.TrimPrefix(Root, "/"), "/") {
		at += "/" + part
		if err := folder(conn, at); err != nil {
			return fmt.Errorf("make %s: %w", at, err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "a host without a name"
	}
	me, err := json.Marshal(HeldError{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	for range 3 { // the connection may break between request and response
		_, err = conn.Create(l.path, me, zookeeper.FlagEphemeral, zookeeper.WorldACL(zookeeper.PermRead))
		if err == nil {
			return nil
		}
		if !errors.Is(err, zookeeper.ErrNodeExists) && !errors.Is(err, zookeeper.ErrConnectionClosed) {
			return fmt.Errorf("make %s: %w", l.path, err)
		}
		data, stat, e := conn.Get(l.path)
		switch {
		case e == nil && stat.EphemeralOwner == conn.SessionID():
			return nil
		case e == nil:
			held := &HeldError{}
			_ = json.Unmarshal(data, held) // otherwise the holder is unknown
			held.Path, held.Session = l.path, l.o.Session
			return held
		case !errors.Is(e, zookeeper.ErrNoNode) && !errors.Is(e, zookeeper.ErrConnectionClosed):
			return fmt.Errorf("read %s: %w", l.path, e)
		}
	}
	return err
}

// folder creates a parent node, below which anybody may create nodes and nobody may remove any: a lock goes with its session. One that is open to all,
// as earlier versions made it, is closed; one with another list is an administrator's choice.
func folder(conn *zookeeper.Conn, path string) error {
	list := zookeeper.WorldACL(zookeeper.PermRead | zookeeper.PermCreate)
	_, err := conn.Create(path, nil, 0, list)
	if !errors.Is(err, zookeeper.ErrNodeExists) {
		return err
	}
	found, stat, err := conn.GetACL(path)
	if err == nil && slices.Equal(found, zookeeper.WorldACL(zookeeper.PermAll)) {
		_, err = conn.SetACL(path, list, stat.Aversion)
	}
	if errors.Is(err, zookeeper.ErrNoAuth) || errors.Is(err, zookeeper.ErrBadVersion) { // it is not open, or another steerer was faster
		return nil
	}
	return err
}

// watch closes Lost when the lock is, or may be, lost.
func (l *Lock) watch(ctx context.Context, conn *zookeeper.Conn, events <-chan zookeeper.Event) {
	defer close(l.done)
	session := conn.SessionID()
	var node <-chan zookeeper.Event
	// The client gives up on a silent server after two thirds of the session's timeout; the last third is what is left then.
	var away <-chan time.Time
	look := time.NewTicker(l.o.Session / 3)
	defer look.Stop()
	for {
		if node == nil && conn.State() == zookeeper.StateHasSession {
			_, stat, w, err := conn.GetW(l.path)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, zookeeper.ErrNoNode), err == nil && stat.EphemeralOwner != session:
				l.lose()
				return
			case err == nil:
				node = w
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-away:
			l.lose()
			return
		case <-node:
			node = nil // removed, changed, or the connection was lost: check again
		case e, ok := <-events:
			switch {
			case !ok || e.State == zookeeper.StateExpired || e.State == zookeeper.StateAuthFailed:
				l.lose()
				return
			case e.State == zookeeper.StateHasSession:
				away = nil
			case e.State == zookeeper.StateDisconnected && away == nil:
				away = time.After(l.o.Session / 3)
			}
		case <-look.C:
		}
	}
}

// Release releases the lock.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil
	}
	l.stop()
	l.conn.Close() // ends the session, and with it the node
	<-l.done
	l.conn = nil
	return nil
}
