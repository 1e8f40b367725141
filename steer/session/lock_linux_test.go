package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/internal/hostlock"
)

// Any account of the machine can take the lock of a queue. That keeps nobody from putting back, whether the holder shows itself or not.
func TestRestoreWhileAStrangerHasTheLock(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*testing.T, string) io.Closer{"another account": takeAsNobody, "a socket that does not listen": bindOnly} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, dir := leftBehind(t)
			j := opened(t, dir)
			defer j.Close()
			defer take(t, j.Open()[0].Engine).Close()
			var said strings.Builder
			r := d.recovery(t, j)
			r.Notice = func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }
			if err := r.Run(t.Context()); err != nil || d.setting() != "0.3" || strings.Count(said.String(), "Warning: ") != 1 {
				t.Errorf("%v, %q is set: %s", err, d.setting(), &said)
			}
		})
	}
}

// A stranger's lock on one queue does not hide this account's own steerer of another.
func TestStrangerDoesNotHideOwnSteerer(t *testing.T) {
	t.Parallel()
	id := func(queue string) string { return "yarn:" + t.Name() + "/" + queue }
	defer bindOnly(t, id("root.a")).Close()
	own, err := hostlock.Take(id("root.b"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	locks, err := HostLock(t.Context(), []string{id("root.a"), id("root.b"), id("root.c")}, 200*time.Millisecond)
	t.Cleanup(func() { _ = locks.Close() })
	var held *hostlock.HeldError
	if !errors.As(err, &held) || !held.Trusted() || len(locks) != 1 {
		t.Errorf("%v, %d locks", err, len(locks))
	}
}

// takeAsNobody takes a lock under another account.
func takeAsNobody(t *testing.T, name string) io.Closer {
	if os.Geteuid() != 0 {
		t.Skip("needs root to act as another account")
	}
	taken := make(chan io.Closer, 1)
	go func() {
		defer close(taken)
		runtime.LockOSThread() // and never unlocked: the thread, which alone changes its account, ends with this goroutine
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0)); e != 0 {
			t.Error(e)
		}
		l, err := hostlock.Take(name)
		if err != nil {
			t.Error(err)
			return
		}
		taken <- l
	}()
	l := <-taken
	if l == nil {
		t.FailNow()
	}
	return l
}

type descriptor int

func (d descriptor) Close() error { return syscall.Close(int(d)) }

// bindOnly binds a lock's name, which can be guessed.
func bindOnly(t *testing.T, name string) io.Closer {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: fmt.Sprintf("@yardmaster/%x", sha256.Sum256([]byte(name)))}); err != nil {
		t.Fatal(err)
	}
	return descriptor(fd)
}
