//go:build unix

package history

import (
	"os/exec"
	"runtime"
	"syscall"
)

// peak is the most memory that a process took, in MB.
func peak(cmd *exec.Cmd) float64 {
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return float64(u.Maxrss) / 1e6
	}
	return float64(u.Maxrss) * 1024 / 1e6
}
