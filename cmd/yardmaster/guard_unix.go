//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// standApart puts a process into a session of its own, so that what a terminal sends to this one does not reach it.
func standApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
