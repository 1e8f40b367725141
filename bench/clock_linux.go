package bench

import (
	"syscall"
	"time"
)

// cpuTime is this thread's processor time. Unlike the wall clock it excludes other processes' time.
func cpuTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		return time.Since(start)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var start = time.Now()
