//go:build unix

package session

import (
	"os/exec"
	"syscall"
)

// standApart gives a process its own session, so that signals of the terminal do not reach it.
func standApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
