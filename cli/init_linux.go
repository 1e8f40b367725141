package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// asInit runs the command as a child if this is a container's init process, and exits when all processes have. The kernel ends a container with its
// init process, which nobody inside can kill: a guard could neither outlive such a steerer nor kill it.
func asInit() (code int, is bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	self, err := os.Executable()
	if err != nil {
		return tell(fmt.Errorf("cannot find this program to start it again: %w", err)), true
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return tell(fmt.Errorf("cannot start this program again: %w", err)), true
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil) // also reaps orphans
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no children left
			return code, true
		case pid == cmd.Process.Pid && status.Exited():
			code = status.ExitStatus()
		case pid == cmd.Process.Pid:
			code = 128 + int(status.Signal())
		}
	}
}
