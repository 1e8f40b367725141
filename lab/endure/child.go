package endure

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// steerer is one run of the command.
type steerer struct {
	cmd   *exec.Cmd
	began time.Time
	done  chan struct{}
	state *os.ProcessState // once it has ended

	mu    sync.Mutex
	said  []line
	stamp int // lines before this were looked at
}

// line is one line that it said.
type line struct {
	At   time.Time
	Text string
	Err  bool           // on standard error
	JSON map[string]any // a structured one's fields
}

// kind is what a structured line tells.
func (l *line) kind() string { s, _ := l.JSON["msg"].(string); return s }

func (l *line) text(key string) string {
	switch v := l.JSON[key].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// number is a field that is one, or NaN's text; ok says whether it is there.
func (l *line) number(key string) (float64, bool) {
	switch v := l.JSON[key].(type) {
	case float64:
		return v, true
	case string:
		x, err := strconv.ParseFloat(v, 64)
		return x, err == nil
	}
	return 0, false
}

// start runs the command. What it starts in turn carries the run folder's mark, so that the lab's end is its end.
func start(bin, run string, as *syscall.Credential, args ...string) (*steerer, error) {
	s := &steerer{cmd: exec.Command(bin, args...), done: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), proc.Variable+"="+run)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s.began = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the steerer: %w", err)
	}
	// A guard that outlives its steerer may hold the pipes: the process's end is not theirs.
	go s.read(out, false)
	go s.read(errs, true)
	go func() {
		s.state, _ = s.cmd.Process.Wait()
		close(s.done)
	}()
	return s, nil
}

func (s *steerer) read(r io.Reader, isErr bool) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		l := line{At: time.Now(), Text: in.Text(), Err: isErr}
		if strings.HasPrefix(l.Text, "{") {
			_ = json.Unmarshal([]byte(l.Text), &l.JSON) // what is none has no fields
		}
		s.mu.Lock()
		s.said = append(s.said, l)
		s.mu.Unlock()
	}
}

// lines are all that it has said so far.
func (s *steerer) lines() []line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]line(nil), s.said...)
}

// fresh are the lines since the last call of it.
func (s *steerer) fresh() []line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := append([]line(nil), s.said[s.stamp:]...)
	s.stamp = len(s.said)
	return l
}

// count has how many lines of a kind there are.
func (s *steerer) count(kinds ...string) (n int) {
	for _, l := range s.lines() {
		for _, k := range kinds {
			if l.kind() == k {
				n++
			}
		}
	}
	return n
}

// await waits until a line of a kind was said after the first n.
func (s *steerer) await(ctx context.Context, limit time.Duration, n int, kinds ...string) bool {
	return await(ctx, limit, 20*time.Millisecond, func() bool { return s.count(kinds...) > n || !s.alive() && s.count(kinds...) > n })
}

func (s *steerer) alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// guards are the processes that it has started.
func (s *steerer) guards() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		i := strings.LastIndexByte(string(b), ')')
		f := strings.Fields(string(b)[i+1:])
		if len(f) > 1 && f[1] == strconv.Itoa(s.cmd.Process.Pid) && f[0] != "Z" {
			list = append(list, pid)
		}
	}
	return list
}

// kill ends it at once, and the given guards with it.
func (s *steerer) kill(guards ...int) {
	_ = s.cmd.Process.Kill()
	for _, pid := range guards {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.done
}

// stop asks it to end, and says how long that took. One that does not is killed.
func (s *steerer) stop(limit time.Duration) (took time.Duration, ok bool) {
	began := time.Now()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return time.Since(began), true
	case <-time.After(limit):
		s.kill()
		return time.Since(began), false
	}
}

// gone waits until processes have ended.
func gone(ctx context.Context, limit time.Duration, pids ...int) bool {
	return await(ctx, limit, 10*time.Millisecond, func() bool {
		for _, pid := range pids {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err == nil && !strings.Contains(string(b), ") Z ") {
				return false
			}
		}
		return true
	})
}

// peak is the most memory that a living process has held, in bytes.
func peak(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}

// run runs another verb of the command to its end.
func run(ctx context.Context, bin, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), proc.Variable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("yardmaster %s: %w\n%s", strings.Join(args[:2], " "), err, out)
	}
	return string(out), nil
}

// processor is the processor time that it has used, once it has ended.
func (s *steerer) processor() time.Duration {
	<-s.done
	if s.state == nil {
		return 0
	}
	return s.state.UserTime() + s.state.SystemTime()
}

// keep writes all that it said to a file of the work folder, to be looked at when something did not hold.
func (s *steerer) keep(file string) {
	var b strings.Builder
	for _, l := range s.lines() {
		fmt.Fprintln(&b, l.At.Format("15:04:05.000"), l.Text)
	}
	_ = os.WriteFile(file, []byte(b.String()), 0o644) // only a help
}
