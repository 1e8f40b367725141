package hadoop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// Millis is a number of milliseconds: a length of time, or an instant since 1970.
type Millis int64

// Duration is the length of time.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Time is the instant, in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Cost is what a client took.
type Cost struct {
	Wall time.Duration
	CPU  time.Duration
	RSS  int64 // bytes, at most
}

// WriteLines writes one JSON object a line.
func WriteLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// client runs one of the lab's own classes with a list as its first argument, and calls line for each line of its output. Its
// log goes to log/NAME.log of the run; the list and the output are kept beside it.
func (c *Cluster) client(ctx context.Context, name string, heapMB int, class string, list func(io.Writer) error, args []string,
	line func([]byte) error,
) (Cost, error) {
	classes, err := c.own(ctx)
	if err != nil {
		return Cost{}, err
	}
	in, err := os.CreateTemp(filepath.Join(c.Dir, "log"), name+"-*.in")
	if err != nil {
		return Cost{}, err
	}
	defer in.Close()
	if err := list(in); err != nil {
		return Cost{}, fmt.Errorf("writing the list for %s: %w", class, err)
	}
	base := in.Name()[:len(in.Name())-len(".in")]
	log, err := os.Create(base + ".log")
	if err != nil {
		return Cost{}, err
	}
	defer log.Close()
	out, err := os.Create(base + ".out")
	if err != nil {
		return Cost{}, err
	}
	defer out.Close()

	cmd := c.javaWith(ctx, heapMB, classes, class, append([]string{in.Name()}, args...)...)
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return Cost{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Cost{}, fmt.Errorf("running %s: %w", class, err)
	}
	readErr := readLines(io.TeeReader(pipe, out), line)
	if readErr != nil {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	cost := Cost{Wall: time.Since(began), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		cost.RSS = u.Maxrss << 10
	}
	switch {
	case readErr != nil:
		return cost, fmt.Errorf("reading what %s tells: %w; see %s", class, readErr, base+".out")
	case err != nil && ctx.Err() != nil:
		return cost, ctx.Err()
	case err != nil:
		b, _ := os.ReadFile(log.Name())
		return cost, fmt.Errorf("running %s: %w; the last lines of %s:\n%s", class, err, log.Name(), lastLines(string(b), 12))
	}
	return cost, nil
}

func readLines(r io.Reader, f func([]byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		if err := f(s.Bytes()); err != nil {
			return err
		}
	}
	return s.Err()
}

// LogDir is where the logs of the lab's processes are.
func (c *Cluster) LogDir() string { return filepath.Dir(proc.Log(c.Dir, "x")) }
