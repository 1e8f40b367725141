package zk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/zk"
)

func TestRefusals(t *testing.T) {
	if _, err := zk.New(zk.Options{Identity: "x"}); err == nil {
		t.Error("no server")
	}
	l, err := zk.New(zk.Options{Servers: []string{"127.0.0.1:1"}, Identity: "yarn:a/root.b c", Connect: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if l.Path() != "/yardmaster/steer/yarn:a%2Froot.b%20c" {
		t.Error(l.Path())
	}
	if err := l.Acquire(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "ZooKeeper at 127.0.0.1:1: no session within 300ms") {
		t.Error(err)
	} else {
		t.Log(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := l.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// A real ZooKeeper: one holds the lock, others are told who, and it is lost when ZooKeeper may have given it up.
func TestLabZooKeeper(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	y, address := zooKeeper(t)
	stranger, _, err := zookeeper.Connect([]string{address}, 10*time.Second, zookeeper.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	eventually(t, time.Minute, func() error { // as an earlier version made it
		_, err := stranger.Create("/yardmaster", nil, 0, zookeeper.WorldACL(zookeeper.PermAll))
		return err
	})
	const session = 4 * time.Second // the least at its tick of 2 s
	lock := func() *zk.Lock {
		l, err := zk.New(zk.Options{Servers: []string{address}, Identity: "yarn:cluster/root.default", Session: session, Connect: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := lock(), lock()
	began := time.Now()
	if err := a.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("taken in %v", time.Since(began))
	cannotSteal(t, stranger, a.Path())
	began = time.Now()
	err = b.Acquire(t.Context())
	var held *zk.HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() || held.Host == "" {
		t.Fatal(err)
	}
	t.Logf("refused in %v: %v", time.Since(began), err)
	if err := a.Release(); err != nil {
		t.Error(err)
	}
	if err := b.Acquire(t.Context()); err != nil {
		t.Fatal("after its release:", err)
	}
	r, err := proc.Find(y.Dir, "zookeeper")
	if err != nil {
		t.Fatal(err)
	}
	freeze := func(d time.Duration) {
		r.Signal(syscall.SIGSTOP)
		time.Sleep(d)
		r.Signal(syscall.SIGCONT)
	}
	freeze(session / 4) // too short to matter
	select {
	case <-b.Lost():
		t.Error("lost after a moment of silence")
	case <-time.After(session / 2):
	}
	began = time.Now()
	r.Signal(syscall.SIGSTOP)
	select {
	case <-b.Lost():
		t.Logf("lost after %v of silence, the session lasts %v", time.Since(began), session)
		if d := time.Since(began); d > session+session/3 {
			t.Error("too late")
		}
	case <-time.After(4 * session):
		t.Error("a silent ZooKeeper was not noticed")
	}
	r.Signal(syscall.SIGCONT)
	if err := b.Release(); err != nil {
		t.Error(err)
	}
	c := lock()
	eventually(t, 3*session, func() error { return c.Acquire(t.Context()) })
	if err := c.Release(); err != nil {
		t.Error(err)
	}
}

// cannotSteal tries what anybody who reaches ZooKeeper can try.
func cannotSteal(t *testing.T, conn *zookeeper.Conn, lock string) {
	t.Helper()
	all := zookeeper.WorldACL(zookeeper.PermAll)
	for _, path := range []string{lock, zk.Root, "/yardmaster"} {
		_, stat, err := conn.Get(path)
		if err != nil {
			t.Errorf("%s cannot be read: %v", path, err)
			continue
		}
		_, set := conn.Set(path, []byte("{}"), -1)
		_, list := conn.SetACL(path, all, -1)
		errs := map[string]error{"set": set, "set the list of": list}
		if path != "/yardmaster" { // the root's list is the administrator's
			errs["remove"] = conn.Delete(path, -1)
		}
		for what, err := range errs {
			if !errors.Is(err, zookeeper.ErrNoAuth) {
				t.Errorf("a stranger can %s %s (%v): %v", what, path, stat.EphemeralOwner != 0, err)
			}
		}
	}
}

func eventually(t *testing.T, within time.Duration, f func() error) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(200 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func zooKeeper(t *testing.T) (*hadoop.Cluster, string) {
	t.Helper()
	y, err := hadoop.Clients(t.Context(), filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.Down(); err != nil {
			t.Error(err)
		}
	})
	ports, err := hadoop.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := y.ZooKeeper(t.Context(), ports[0]); err != nil {
		t.Fatal(err)
	}
	return y, fmt.Sprintf("127.0.0.1:%d", ports[0])
}
