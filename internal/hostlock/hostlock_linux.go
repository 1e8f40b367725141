package hostlock

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// Take takes a name until it is closed. If another process holds it, the error is a *HeldError.
func Take(name string) (io.Closer, error) {
	l, err := net.Listen("unix", address(name))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, holder(name)
	}
	if err == nil {
		go answer(l)
	}
	return l, err
}

// answer accepts connections and closes them, until the listener is closed: with a full backlog nobody could ask who holds the name.
func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			_ = c.Close() // nothing is said
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files, say
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// holder asks the system which process listens.
func holder(name string) *HeldError {
	held := &HeldError{UID: -1}
	c, err := net.DialTimeout("unix", address(name), time.Second)
	if err != nil {
		return held
	}
	defer func() { _ = c.Close() }() // nothing was sent
	if raw, err := c.(*net.UnixConn).SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // not known then
			if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
				held.PID, held.UID = int(cred.Pid), int(cred.Uid)
			}
		})
	}
	return held
}
