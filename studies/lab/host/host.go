// Package host is the studies' interface to the computer they run on: its load, process priority, and building the program under test.
package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/run"
)

// Spans of LoadAverage.
const (
	OneMinute = iota
	FiveMinutes
	FifteenMinutes
	Now // the threads that run now, this one among them
)

// LoadAverage is the number of runnable threads, averaged over the last minutes; 0 where unavailable.
func LoadAverage(span int) float64 {
	b, _ := os.ReadFile("/proc/loadavg") // not there: unavailable
	f := strings.Fields(strings.ReplaceAll(string(b), "/", " "))
	if span >= len(f) {
		return 0
	}
	v, _ := strconv.ParseFloat(f[span], 64)
	return v
}

// Ticks are the processors' times by state since boot, in hundredths of a second: user, nice, system, idle, iowait,
// irq, softirq and steal.
func Ticks() (spent [8]int64, err error) {
	b, err := os.ReadFile("/proc/stat")
	if err == nil {
		_, err = fmt.Sscan(strings.TrimPrefix(string(b), "cpu"), &spent[0], &spent[1], &spent[2], &spent[3], &spent[4], &spent[5], &spent[6], &spent[7])
	}
	if err != nil {
		return spent, fmt.Errorf("reading /proc/stat: %w", err)
	}
	return spent, nil
}

// CPU is the CPU time that this process has used, including garbage collection.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// First raises the priority of what this goroutine starts, by a negative nice value: daemons need little CPU, but on
// time. It returns how to end that, also where it is not permitted and priorities stay unchanged.
func First(nice int) (end func(), err error) {
	runtime.LockOSThread()
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice); err != nil {
		return runtime.UnlockOSThread, err
	}
	return func() {
		if syscall.Setpriority(syscall.PRIO_PROCESS, 0, 0) == nil {
			runtime.UnlockOSThread() // otherwise the thread ends with its goroutine
		}
	}, nil
}

// Product is the main package of the product, for Build.
const Product = "cmd/yardmaster"

// Build builds a main package of this module into a folder, for use as an operator would.
func Build(ctx context.Context, dir, main string) (path string, err error) {
	path = filepath.Join(dir, "yardmaster")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/yardmaster/yardmaster/"+main).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building yardmaster: %w\n%s", err, out)
	}
	return path, nil
}

// Folder is the given folder, which is kept, or else a temporary one until remove is called.
func Folder(given, name string) (dir string, remove func(), err error) {
	if given != "" {
		return given, func() {}, os.MkdirAll(given, 0o755)
	}
	dir, err = os.MkdirTemp("", "yardmaster-"+name+"-")
	return dir, func() { _ = os.RemoveAll(dir) }, err // leftovers are for the system to clean up
}

// Program is the given file, or else the program built from here, in a temporary folder until remove is called.
func Program(ctx context.Context, given string) (path string, remove func(), err error) {
	if given != "" {
		return given, func() {}, nil
	}
	dir, remove, err := Folder("", "binary")
	if err == nil {
		path, err = Build(ctx, dir, Product)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// Sleep waits, or returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Each calls f for 0 to n-1, at most atOnce concurrently, until one fails, and returns the first error.
func Each(ctx context.Context, n, atOnce int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run.Each(ctx, n, atOnce, func(i int) {
		if err := f(ctx, i); err != nil {
			cancel(err)
		}
	})
	return context.Cause(ctx)
}
