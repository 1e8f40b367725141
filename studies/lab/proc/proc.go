// Package proc starts the processes of a lab and ends them reliably.
//
// A lab has a run folder. Every process starts in its own process group (so that an interrupt at the keyboard
// reaches only the command), writes to log/NAME.log and is recorded in pid/NAME: its process id together with its kernel
// start time, so that a reused process id is never signalled.
//
// Processes also carry the run folder in the environment variable YARDMASTER_RUN. Their children inherit it, or
// work in a folder below RUN/work; Down searches for both, so that it also finds a grandchild, or a child whose record
// could not be written. Down therefore works from another process and after a crash. Linux only: it
// reads /proc.
package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Variable is the environment variable that marks every process of a run with the run's folder.
const Variable = "YARDMASTER_RUN"

// Command is a process to start.
type Command struct {
	Name string // unique within the run; names its record and its log
	Path string
	Args []string // without the program's name
	Env  []string // added to this process's own environment
	Dir  string   // working directory; the run folder if empty
	// Output takes both streams instead of log/NAME.log when it is set.
	Output *os.File
}

// Record is the stored record of a started process.
type Record struct {
	Name  string    `json:"name"`
	PID   int       `json:"pid"`
	Ticks uint64    `json:"ticks"` // when the kernel started it, in clock ticks since boot
	At    time.Time `json:"at"`
}

// Process is a process started by this one.
type Process struct {
	Record
	done chan struct{}
	err  error
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is its exit error, once it has ended.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Folder makes a path absolute and free of symbolic links, for comparison with /proc.
func Folder(run string) (string, error) {
	abs, err := filepath.Abs(run)
	if err != nil {
		return "", err
	}
	if path, err := filepath.EvalSymlinks(abs); err == nil {
		return path, nil
	}
	return abs, nil
}

// Log is the file of a process's output.
func Log(run, name string) string { return filepath.Join(run, "log", name+".log") }

// Start starts a process and records it. No process of that name may be running.
func Start(run string, c Command) (*Process, error) {
	run, err := Folder(run)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{"log", "pid"} {
		if err := os.MkdirAll(filepath.Join(run, d), 0o755); err != nil {
			return nil, fmt.Errorf("starting %s: %w", c.Name, err)
		}
	}
	if old, err := Find(run, c.Name); err == nil && old.Alive() {
		return nil, fmt.Errorf("starting %s: already running as process %d", c.Name, old.PID)
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(append(os.Environ(), c.Env...), Variable+"="+run)
	cmd.Dir = c.Dir
	if cmd.Dir == "" {
		cmd.Dir = run
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := c.Output
	if out == nil {
		out, err = os.OpenFile(Log(run, c.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return nil, fmt.Errorf("starting %s: %w", c.Name, err)
		}
		defer out.Close()
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	p := &Process{Record: Record{Name: c.Name, PID: cmd.Process.Pid, At: time.Now()}, done: make(chan struct{})}
	st, err := stat(p.PID)
	if err == nil {
		p.Ticks = st.ticks
		err = write(run, p.Record)
	}
	if err != nil {
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
		_ = cmd.Wait()
		return nil, fmt.Errorf("recording %s: %w", c.Name, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Alive reports whether exactly the recorded process still runs.
func (r Record) Alive() bool {
	st, err := stat(r.PID)
	return err == nil && st.ticks == r.Ticks && !st.ended()
}

// Signal signals the process's whole group, if the process is still the recorded one.
func (r Record) Signal(s syscall.Signal) {
	if r.PID > 1 && r.Alive() {
		_ = syscall.Kill(-r.PID, s) // already gone is fine
	}
}

// Find is the record of one process. The error is fs.ErrNotExist if it was never started or has been stopped.
func Find(run, name string) (Record, error) {
	run, err := Folder(run)
	if err != nil {
		return Record{}, err
	}
	b, err := os.ReadFile(filepath.Join(run, "pid", name))
	var r Record
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return r, fmt.Errorf("reading the record of %s: %w", name, err)
	}
	return r, nil
}

// List are the records of a run, in start order. A run that does not exist has none.
func List(run string) ([]Record, error) {
	run, err := Folder(run)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(run, "pid"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("listing the processes of %s: %w", run, err)
	}
	var list []Record
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "~") { // never completed
			continue
		}
		r, err := Find(run, e.Name())
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].At.Before(list[j].At) })
	return list, nil
}

// write replaces the record atomically.
func write(run string, r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(run, "pid", r.Name)
	if err := os.WriteFile(path+"~", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+"~", path)
}

// status is the part of /proc/PID/stat that matters here.
type status struct {
	state  byte
	parent int
	utime  uint64 // clock ticks in user mode
	stime  uint64 // clock ticks in the kernel
	ticks  uint64 // started, in clock ticks since boot
	pages  int64  // resident
}

// ended reports a zombie or dead process.
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

// tick is the kernel's unit of process times, USER_HZ: 100 per second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// Usage is a process's resident memory in bytes, and the CPU time that it has used.
func Usage(pid int) (rss int64, cpu time.Duration, err error) {
	st, err := stat(pid)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the usage of process %d: %w", pid, err)
	}
	return st.pages * int64(os.Getpagesize()), time.Duration(st.utime+st.stime) * tick, nil
}

// Peak is the peak resident memory of a living process, in bytes; 0 if unknown.
func Peak(pid int) (bytes int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	_, _ = fmt.Sscanf(rest, "%d kB", &bytes) // not there: unknown
	return bytes << 10
}

// Stop sends SIGTERM to one process, waits for grace, then kills it, and removes its record. One that is not
// recorded is a no-op.
func Stop(run, name string, grace time.Duration) error {
	r, err := Find(run, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return stop(run, []Record{r}, grace)
}

// Down ends everything that belongs to a run: the recorded processes, gracefully first, then whatever carries its mark.
// It returns how many processes it ended.
func Down(run string, grace time.Duration) (int, error) {
	run, err := Folder(run)
	if err != nil {
		return 0, err
	}
	list, err := List(run)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range list {
		if r.Alive() {
			n++
		}
	}
	if err := stop(run, list, grace); err != nil {
		return n, err
	}
	left, err := reap(run)
	return n + left, err
}

// often is the interval of polling for ended processes.
const often = 20 * time.Millisecond

func stop(run string, list []Record, grace time.Duration) error {
	for _, r := range list {
		r.Signal(syscall.SIGTERM)
	}
	alive := func() (some []Record) {
		for _, r := range list {
			if r.Alive() {
				some = append(some, r)
			}
		}
		return some
	}
	Await(context.Background(), grace, often, func() bool { return len(alive()) == 0 })
	for _, r := range alive() {
		r.Signal(syscall.SIGKILL)
	}
	if !Await(context.Background(), 10*time.Second, often, func() bool { return len(alive()) == 0 }) {
		return fmt.Errorf("process %d (%s) did not end after SIGKILL", alive()[0].PID, alive()[0].Name)
	}
	for _, r := range list {
		if err := os.Remove(filepath.Join(run, "pid", r.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the record of %s: %w", r.Name, err)
		}
	}
	return nil
}

// reap kills what carries the run's mark until nothing does: a process may have forked meanwhile.
func reap(run string) (int, error) {
	killed := map[int]bool{}
	gone := Await(context.Background(), 10*time.Second, often, func() bool {
		list := Marked(run)
		for _, pid := range list {
			killed[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(list) == 0
	})
	if !gone {
		return len(killed), fmt.Errorf("processes %v of %s did not end after SIGKILL", Marked(run), run)
	}
	return len(killed), nil
}

// Marked are the ids of all living processes that belong to the run by their environment, or by working below RUN/work,
// except this process and its ancestors.
func Marked(run string) []int {
	run, err := Folder(run)
	if err != nil {
		return nil
	}
	mark, work := Variable+"="+run, filepath.Join(run, "work")+string(filepath.Separator)
	kin := ancestors()
	return living(func(pid int, _ status) bool {
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // not ours to read: not ours
		return !kin[pid] && (strings.HasPrefix(cwd, work) || hasVariable(pid, mark))
	})
}

// Children are the ids of all living children of a process.
func Children(pid int) []int {
	return living(func(_ int, s status) bool { return s.parent == pid })
}

// Gone reports whether all processes have ended.
func Gone(pids ...int) bool {
	return len(living(func(pid int, _ status) bool { return slices.Contains(pids, pid) })) == 0
}

// living are the ids of the living processes that f selects.
func living(f func(pid int, s status) bool) (list []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, err := stat(pid); err == nil && !st.ended() && f(pid, st) {
			list = append(list, pid)
		}
	}
	return list
}

func hasVariable(pid int, mark string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	return slices.Contains(strings.Split(string(b), "\x00"), mark)
}

func ancestors() map[int]bool {
	kin := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !kin[pid]; {
		kin[pid] = true
		st, _ := stat(pid) // not there: the root
		pid = st.parent
	}
	return kin
}

// Await polls until f returns true; false on timeout or when the context ends first.
func Await(ctx context.Context, limit, every time.Duration, f func() bool) bool {
	for end := time.Now().Add(limit); ; {
		if f() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(every):
		}
	}
}
