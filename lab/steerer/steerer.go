// Package steerer runs the product's own command `yarn steer` as a process, as an operator does, and reads what it says.
package steerer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// Process is one run of the command.
type Process struct {
	*os.Process
	Began time.Time

	done  chan struct{}
	state *os.ProcessState // once it has ended

	mu    sync.Mutex
	said  []Line
	stamp int // lines before this were looked at
}

// Line is one line that it said.
type Line struct {
	At   time.Time
	Text string
	Err  bool           // on standard error
	JSON map[string]any // a structured one's fields
}

// Kind is what a structured line tells.
func (l *Line) Kind() string { s, _ := l.JSON["msg"].(string); return s }

// Field is the text of a field; empty if it is not there.
func (l *Line) Field(key string) string {
	switch v := l.JSON[key].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// Number is a field that is one, or begins with one, or NaN's text; ok says whether it is there.
func (l *Line) Number(key string) (x float64, ok bool) {
	first, _, _ := strings.Cut(l.Field(key), " ")
	x, err := strconv.ParseFloat(first, 64)
	return x, err == nil
}

// Start runs the command. What it starts in turn carries the run folder's mark, so that the lab's end is its end.
func Start(bin, run string, as *syscall.Credential, args ...string) (*Process, error) {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), proc.Variable+"="+run)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s := &Process{Began: time.Now(), done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the steerer: %w", err)
	}
	s.Process = cmd.Process
	// A guard that outlives its steerer may hold the pipes: the process's end is not theirs.
	go s.read(out, false)
	go s.read(errs, true)
	go func() {
		s.state, _ = s.Wait()
		close(s.done)
	}()
	return s, nil
}

func (s *Process) read(r io.Reader, isErr bool) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		l := Line{At: time.Now(), Text: in.Text(), Err: isErr}
		if strings.HasPrefix(l.Text, "{") {
			_ = json.Unmarshal([]byte(l.Text), &l.JSON) // what is none has no fields
		}
		s.mu.Lock()
		s.said = append(s.said, l)
		s.mu.Unlock()
	}
}

// Lines are all that it has said so far.
func (s *Process) Lines() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said)
}

// Fresh are the lines since the last call of it.
func (s *Process) Fresh() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := slices.Clone(s.said[s.stamp:])
	s.stamp = len(s.said)
	return l
}

// Last is the last thing that it said.
func (s *Process) Last() string {
	l := s.Lines()
	if len(l) == 0 {
		return "(nothing)"
	}
	return l[len(l)-1].Text
}

// Count has how many lines of some kinds there are; without kinds, how many structured ones.
func (s *Process) Count(kinds ...string) (n int) {
	for _, l := range s.Lines() {
		if slices.Contains(kinds, l.Kind()) || len(kinds) == 0 && l.JSON != nil {
			n++
		}
	}
	return n
}

// Await waits until more than n lines of a kind were said.
func (s *Process) Await(ctx context.Context, limit time.Duration, n int, kinds ...string) bool {
	return proc.Await(ctx, limit, 20*time.Millisecond, func() bool { return s.Count(kinds...) > n })
}

// Alive says whether it has not ended.
func (s *Process) Alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Guards are the processes that it has started.
func (s *Process) Guards() []int { return proc.Children(s.Pid) }

// End ends it at once, and the given guards with it.
func (s *Process) End(guards ...int) {
	_ = s.Kill()
	for _, pid := range guards {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.done
}

// Stop asks it to end, and says how long that took. One that does not is killed.
func (s *Process) Stop(limit time.Duration) (took time.Duration, ok bool) {
	began := time.Now()
	_ = s.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return time.Since(began), true
	case <-time.After(limit):
		s.End()
		return time.Since(began), false
	}
}

// State is how it ended, once it has; nil if that is not known.
func (s *Process) State() *os.ProcessState {
	<-s.done
	return s.state
}

// Keep writes all that it said to a file, to be looked at when something did not hold.
func (s *Process) Keep(file string) {
	var b strings.Builder
	for _, l := range s.Lines() {
		fmt.Fprintln(&b, l.At.Format("15:04:05.000"), l.Text)
	}
	_ = os.WriteFile(file, []byte(b.String()), 0o644) // only a help
}

// Run runs another verb of the command to its end.
func Run(ctx context.Context, bin, run string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), proc.Variable+"="+run)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("yardmaster %s: %w\n%s", strings.Join(args[:2], " "), err, out)
	}
	return out, nil
}
