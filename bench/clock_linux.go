package bench

import (
	"syscall"
	"time"
)

// cpuTime is the processor time this thread has used. Unlike the wall clock it does not count what neighbours take.
func cpuTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		return time.Since(start)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var start = time.Now()
