//go:build !linux

package lab

import "syscall"

func withParent() *syscall.SysProcAttr { return nil }
