package hostlock

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOneHolderOfAName(t *testing.T) {
	name := t.Name() + strings.Repeat("x", 300)
	first, err := Take(name)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Take(name); !errors.As(err, &held) || held.PID != os.Getpid() || held.UID != os.Getuid() {
		t.Errorf("a second holder: %v", err)
	}
	other, err := Take(name + "y")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(name)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// Whoever floods the holder with connections does not hide who it is.
func TestHolderIsKnownAfterManyConnections(t *testing.T) {
	l, err := Take(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 5000 { // more than wait for a listener that never accepts
		c, err := net.Dial("unix", address(t.Name()))
		if errors.Is(err, syscall.EAGAIN) {
			time.Sleep(time.Millisecond)
		} else if err != nil {
			t.Fatal(err)
		} else if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if held := holder(t.Name()); held.PID == os.Getpid() && held.Trusted() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(holder(t.Name()))
}

// A socket that is bound and does not listen takes the name, and shows nobody.
func TestHolderThatDoesNotListen(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: address(t.Name())}); err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Take(t.Name()); !errors.As(err, &held) || held.UID != -1 || held.Trusted() {
		t.Errorf("%v, %+v", err, held)
	}
}
