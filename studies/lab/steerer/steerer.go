// Package steerer runs the product's own command `yarn steer` as a process, as an operator does, and reads its output.
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

	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// Process is one run of the command.
type Process struct {
	*os.Process
	Began time.Time

	done  chan struct{}
	state *os.ProcessState // once it has ended

	mu       sync.Mutex
	lines    []Line
	returned int // lines before this were returned by Fresh
}

// Line is one line of output.
type Line struct {
	At   time.Time
	Text string
	Err  bool           // on standard error
	JSON map[string]any // a structured one's fields
}

// Kind is the message of a structured line.
func (l *Line) Kind() string { s, _ := l.JSON["msg"].(string); return s }

// Field is the text of a field; empty if absent.
func (l *Line) Field(key string) string {
	switch v := l.JSON[key].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// Number is a field that is a number, or begins with one, or NaN's text; ok reports whether it is present.
func (l *Line) Number(key string) (x float64, ok bool) {
	first, _, _ := strings.Cut(l.Field(key), " ")
	x, err := strconv.ParseFloat(first, 64)
	return x, err == nil
}

// Start runs the command. Its children carry the run folder's mark, so that they end with the lab.
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
	// A guard that outlives its steerer may keep the pipes open: do not wait for them to detect the process's end.
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
			_ = json.Unmarshal([]byte(l.Text), &l.JSON) // other lines have no fields
		}
		s.mu.Lock()
		s.lines = append(s.lines, l)
		s.mu.Unlock()
	}
}

// Lines are all lines so far.
func (s *Process) Lines() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// Fresh are the lines since its last call.
func (s *Process) Fresh() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := slices.Clone(s.lines[s.returned:])
	s.returned = len(s.lines)
	return l
}

// Last is the last line.
func (s *Process) Last() string {
	l := s.Lines()
	if len(l) == 0 {
		return "(nothing)"
	}
	return l[len(l)-1].Text
}

// Count is the number of lines of some kinds; without kinds, of structured lines.
func (s *Process) Count(kinds ...string) (n int) {
	for _, l := range s.Lines() {
		if slices.Contains(kinds, l.Kind()) || len(kinds) == 0 && l.JSON != nil {
			n++
		}
	}
	return n
}

// Await waits until there are more than n lines of a kind.
func (s *Process) Await(ctx context.Context, limit time.Duration, n int, kinds ...string) bool {
	return proc.Await(ctx, limit, 20*time.Millisecond, func() bool { return s.Count(kinds...) > n })
}

// Alive reports whether it is still running.
func (s *Process) Alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Guards are its child processes.
func (s *Process) Guards() []int { return proc.Children(s.Pid) }

// End kills it, and the given guards with it.
func (s *Process) End(guards ...int) {
	_ = s.Kill()
	for _, pid := range guards {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.done
}

// Stop sends SIGTERM and returns how long the end took. After the limit it is killed.
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

// State is its exit state, once it has ended; nil if unknown.
func (s *Process) State() *os.ProcessState {
	<-s.done
	return s.state
}

// Keep writes all output to a file, for debugging.
func (s *Process) Keep(file string) {
	var b strings.Builder
	for _, l := range s.Lines() {
		fmt.Fprintln(&b, l.At.Format("15:04:05.000"), l.Text)
	}
	_ = os.WriteFile(file, []byte(b.String()), 0o644) // best effort
}

// Run runs another verb of the command to completion.
func Run(ctx context.Context, bin, run string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), proc.Variable+"="+run)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("yardmaster %s: %w\n%s", strings.Join(args[:2], " "), err, out)
	}
	return out, nil
}
