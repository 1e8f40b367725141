package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// status is what /proc/PID/stat says, as far as it matters here.
type status struct {
	state  byte
	parent int
	utime  uint64 // clock ticks in user mode
	stime  uint64 // clock ticks in the kernel
	ticks  uint64 // started, in clock ticks since boot
	pages  int64  // resident
}

// ended is true for a process that is only waited for by its parent.
func (s status) ended() bool { return s.state == 'Z' || s.state == 'X' }

func stat(pid int) (status, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return status{}, err
	}
	return parseStat(string(b))
}

// parseStat reads the line. The second field is the program's name in brackets, and may hold spaces and brackets itself.
func parseStat(s string) (status, error) {
	i := strings.LastIndexByte(s, ')')
	if i < 0 {
		return status{}, fmt.Errorf("no program name in %q", s)
	}
	f := strings.Fields(s[i+1:]) // f[0] is field 3
	if len(f) < 22 {
		return status{}, fmt.Errorf("only %d fields in %q", len(f)+2, s)
	}
	st := status{state: f[0][0]}
	var err error
	num := func(field int) (n uint64) {
		if err == nil {
			n, err = strconv.ParseUint(f[field-3], 10, 64)
		}
		return n
	}
	st.parent = int(num(4))
	st.utime, st.stime, st.ticks = num(14), num(15), num(22)
	st.pages = int64(num(24))
	return st, err
}

// tick is the kernel's unit of time towards processes, USER_HZ: 100 a second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// Usage is the memory that a process holds now, in bytes, and the processor time that it has used.
func Usage(pid int) (rss int64, cpu time.Duration, err error) {
	st, err := stat(pid)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the usage of process %d: %w", pid, err)
	}
	return st.pages * int64(os.Getpagesize()), time.Duration(st.utime+st.stime) * tick, nil
}

// Peak is the most memory that a living process has held, in bytes; 0 if that is not known.
func Peak(pid int) (bytes int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	_, _ = fmt.Sscanf(rest, "%d kB", &bytes) // not there: not known
	return bytes << 10
}
