package hostlock

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// Take takes a name until it is closed. One that another process has gives a *HeldError.
func Take(name string) (io.Closer, error) {
	l, err := net.Listen("unix", address(name))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, holder(name)
	}
	return l, err
}

// holder asks the system who listens.
func holder(name string) *HeldError {
	held := &HeldError{}
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
