//go:build unix

package cli

import (
	"runtime"
	"syscall"
)

// usage is the processor time and the peak memory of this process.
func usage() (seconds float64, peak int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	unit := int64(1024) // kernels count in KiB, except one
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	of := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return of(u.Utime) + of(u.Stime), int64(u.Maxrss) * unit //nolint:unconvert // it has 32 bits on some platforms
}
