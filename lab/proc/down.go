package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Stop asks one process to end, waits for it as long as grace says, then kills it, and removes its record. One that is not
// recorded is no error.
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

// Down ends everything that belongs to a run: the recorded processes, politely first, then whatever carries its mark.
// It answers how many processes it ended.
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

// often is how often it is looked whether a process has ended.
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
		return fmt.Errorf("process %d (%s) does not end although it was killed", alive()[0].PID, alive()[0].Name)
	}
	for _, r := range list {
		if err := os.Remove(filepath.Join(run, "pid", r.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the record of %s: %w", r.Name, err)
		}
	}
	return nil
}

// reap kills what carries the run's mark until nothing does: a process may have started another in the meantime.
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
		return len(killed), fmt.Errorf("processes %v of %s do not end although they were killed", Marked(run), run)
	}
	return len(killed), nil
}

// Marked has the ids of all living processes that belong to the run by their environment, or by working below RUN/work.
// This process and those that it descends from are never among them.
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

// Children has the ids of all living processes that a process has started.
func Children(pid int) []int {
	return living(func(_ int, s status) bool { return s.parent == pid })
}

// Gone says whether processes have ended.
func Gone(pids ...int) bool {
	return len(living(func(pid int, _ status) bool { return slices.Contains(pids, pid) })) == 0
}

// living has the ids of the living processes that f picks.
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
		st, _ := stat(pid) // not there: the last
		pid = st.parent
	}
	return kin
}

// Await polls until f says so; it is false when the time is over or the context ends before.
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
