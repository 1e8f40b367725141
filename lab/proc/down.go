package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Stop asks one process to end, waits for it as long as grace says, then kills it, and removes its record. One that is not
// recorded is no error.
func Stop(run, name string, grace time.Duration) error {
	run, err := Folder(run)
	if err != nil {
		return err
	}
	r, err := read(run, name)
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
	wait(grace, func() bool { return len(alive()) == 0 })
	for _, r := range alive() {
		r.Signal(syscall.SIGKILL)
	}
	if !wait(10*time.Second, func() bool { return len(alive()) == 0 }) {
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
	gone := wait(10*time.Second, func() bool {
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
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	mark, work := Variable+"="+run, filepath.Join(run, "work")+string(filepath.Separator)
	kin := ancestors()
	var list []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || kin[pid] {
			continue
		}
		if st, err := stat(pid); err != nil || st.ended() {
			continue
		}
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // not ours to read: not ours
		if strings.HasPrefix(cwd, work) || hasVariable(pid, mark) {
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
	for v := range strings.SplitSeq(string(b), "\x00") {
		if v == mark {
			return true
		}
	}
	return false
}

func ancestors() map[int]bool {
	kin := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !kin[pid]; {
		kin[pid] = true
		st, err := stat(pid)
		if err != nil {
			break
		}
		pid = st.parent
	}
	return kin
}

// wait polls until ok, at most for d, and says whether it was.
func wait(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); ; time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
