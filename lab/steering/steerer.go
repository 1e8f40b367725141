package steering

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// steerer is a controller at work: the program's own command, as an operator starts it.
type steerer struct {
	args  []string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // once ended is closed
	ready chan struct{}

	mu    sync.Mutex
	lines []line
	notes bytes.Buffer
}

// line is a line of its log.
type line struct {
	at   time.Time
	kind string
	text map[string]any
}

// steer starts the controller and returns when it has begun to look.
func (n *bench) steer(ctx context.Context, a Arm, repetition int) (*steerer, error) {
	args := []string{
		"yarn", "steer", "--rm", n.c.RM(), "--queue", queue, "--policy", a.Policy, "--act", "--user", "yardmaster", "--cpu", "host:nice-idle",
		"--journal", filepath.Join(n.work, fmt.Sprintf("journal-%d", n.number)), "--listen", "off", "--log-format", "json", "--per-hour", "600",
	}
	if n.c.Scheduler == "fair" {
		args = append(args, "--actuator", "fair-file", "--file", filepath.Join(n.c.Conf(), "fair-scheduler.xml"))
	} else {
		args = append(args, "--actuator", "rest")
	}
	waits := n.size.waits(a.Policy, n.c.Scheduler)
	for _, name := range slices.Sorted(maps.Keys(waits)) {
		args = append(args, "--set", name+"="+waits[name].String())
	}
	args = append(args, "--set", "headroom=no") // as the source has it
	if a.Policy == "cbtws" || a.Policy == "cbtwat" {
		args = append(args, "--set", "force-after=0") // likewise
	}
	if a.Policy == "cbtwat" {
		args = append(args, "--set", "seed="+strconv.Itoa(repetition))
	}
	s := &steerer{args: args, ended: make(chan struct{}), ready: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, n.binary, args...)
	s.cmd.WaitDelay = 30 * time.Second
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.Stderr = &s.notes
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	go func() {
		s.read(out)
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	select {
	case <-s.ready:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("the controller ended at once: %w\n%s", s.err, s.notes.String())
	case <-time.After(time.Minute):
		s.kill()
		return nil, errors.New("the controller did not begin within a minute")
	}
}

// read takes its log.
func (s *steerer) read(r io.Reader) {
	begun := false
	for in := bufio.NewScanner(r); in.Scan(); {
		l := line{text: map[string]any{}}
		if json.Unmarshal(in.Bytes(), &l.text) != nil {
			continue // no line of the log
		}
		if t, ok := l.text["time"].(string); ok {
			l.at, _ = time.Parse(time.RFC3339Nano, t)
		}
		l.kind, _ = l.text["msg"].(string)
		for _, k := range []string{"time", "msg", "level", "mode", "knob"} {
			delete(l.text, k)
		}
		s.mu.Lock()
		s.lines = append(s.lines, l)
		s.mu.Unlock()
		if !begun {
			begun = true
			close(s.ready)
		}
	}
}

// end asks the controller to end, as an operator does, and waits until it has put back what it found.
func (s *steerer) end() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the controller ended before the batch: %w\n%s", err, s.notes.String())
	}
	select {
	case <-s.ended:
		var exit *exec.ExitError
		if s.err != nil && !(errors.As(s.err, &exit) && exit.ExitCode() == 128+int(syscall.SIGTERM)) {
			return fmt.Errorf("the controller: %w\n%s", s.err, s.notes.String())
		}
		return nil
	case <-time.After(90 * time.Second):
		return errors.New("the controller did not end within 90 s after it was asked to")
	}
}

// kill makes sure that it is gone; its guard puts back what is open.
func (s *steerer) kill() {
	select {
	case <-s.ended:
	default:
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// fill puts the log into a record: changes, and decisions that are not the one before over again.
func (s *steerer) fill(b *Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := ""
	for _, l := range s.lines {
		at := l.at.UnixMilli() - b.Zero
		why, _ := l.text["why"].(string)
		switch l.kind {
		case "asked":
			b.Writes = append(b.Writes, Write{Asked: at, Old: number(l.text["old"]), New: number(l.text["new"]), Took: -1, Said: -1})
		case "taken":
			if n := len(b.Writes); n > 0 {
				b.Writes[n-1].Said = latency(l.text["latency"])
			}
		case "decided":
			if d, _ := l.text["decision"].(string); d == "wait" && why == last {
				continue
			}
			last = why
		}
		b.Lines = append(b.Lines, Decision{At: at, Kind: l.kind, Text: l.text})
	}
	for i := range b.Writes {
		b.Writes[i].Took = b.took(i)
	}
	for l := range strings.Lines(s.notes.String()) {
		b.Notes = append(b.Notes, strings.TrimSpace(l))
	}
}

// took is how long after the i-th write the ResourceManager had taken it over, as the study itself saw it, in ms; -1: not before the next one.
func (b *Batch) took(i int) int64 {
	asked, until := b.Writes[i].Asked, int64(math.MaxInt64)
	if i+1 < len(b.Writes) {
		until = b.Writes[i+1].Asked
	}
	if b.Scheduler == "fair" {
		for _, at := range b.Reloads {
			if at >= asked && at < until {
				return at - asked
			}
		}
		return -1
	}
	for k, l := range b.Limits { // the line may be written when the change is made already
		if k > 0 && l.At >= asked-sameMoment && l.At < until && l.MB != b.Limits[k-1].MB {
			return max(l.At-asked, 0)
		}
	}
	return -1
}

// sameMoment is how far apart the clocks of two processes and the writing of a line may set one event, in ms.
const sameMoment = 50

// number reads a number that may stand in a text.
func number(x any) float64 {
	switch x := x.(type) {
	case float64:
		return x
	case string:
		f, _, _ := strings.Cut(x, " ")
		if v, err := strconv.ParseFloat(f, 64); err == nil {
			return v
		}
	}
	return -1
}

// latency reads a length of time as the log has it, in ms: nanoseconds or a text.
func latency(x any) int64 {
	switch x := x.(type) {
	case float64:
		return int64(x / 1e6)
	case string:
		if d, err := time.ParseDuration(x); err == nil {
			return d.Milliseconds()
		}
	}
	return -1
}
