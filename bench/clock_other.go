//go:build !linux

package bench

import "time"

// cpuTime falls back to the wall clock where per-thread processor time is unavailable.
func cpuTime() time.Duration { return time.Since(start) }

var start = time.Now()
