package steering

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/lab/steerer"
)

// steer starts the controller and returns, with its arguments, when it has begun to look.
func (n *bench) steer(ctx context.Context, a Arm, repetition int) (*steerer.Process, []string, error) {
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
	p, err := steerer.Start(n.binary, n.c.Dir, nil, args...)
	if err != nil {
		return nil, nil, err
	}
	proc.Await(ctx, time.Minute, 20*time.Millisecond, func() bool { return p.Count() > 0 || !p.Alive() })
	if p.Count() == 0 || !p.Alive() {
		p.End()
		return nil, nil, fmt.Errorf("the controller did not begin within a minute, or ended at once: %v\n%s", p.State(), notes(p))
	}
	return p, args, nil
}

// notes are what it said on standard error.
func notes(p *steerer.Process) string {
	text := ""
	for _, l := range p.Lines() {
		if l.Err {
			text += l.Text + "\n"
		}
	}
	return text
}

// end asks the controller to end, as an operator does, and waits until it has put back what it found.
func end(p *steerer.Process) error {
	if !p.Alive() {
		return fmt.Errorf("the controller ended before the batch: %v\n%s", p.State(), notes(p))
	}
	if _, ok := p.Stop(90 * time.Second); !ok {
		return fmt.Errorf("the controller did not end within 90 s after it was asked to\n%s", notes(p))
	}
	if s := p.State(); s == nil || s.ExitCode() != 0 && s.ExitCode() != 128+int(syscall.SIGTERM) {
		return fmt.Errorf("the controller: %v\n%s", s, notes(p))
	}
	return nil
}

// fill puts the log into a record: changes, and decisions that are not the one before over again.
func (b *Batch) fill(p *steerer.Process) {
	last := ""
	number := func(l *steerer.Line, key string) float64 {
		if x, ok := l.Number(key); ok {
			return x
		}
		return -1
	}
	for _, l := range p.Lines() {
		if l.Err {
			b.Notes = append(b.Notes, strings.TrimSpace(l.Text))
		}
		if l.Err || l.JSON == nil {
			continue
		}
		t, _ := time.Parse(time.RFC3339Nano, l.Field("time"))
		at, kind, why := t.UnixMilli()-b.Zero, l.Kind(), l.Field("why")
		switch kind {
		case "asked":
			b.Writes = append(b.Writes, Write{Asked: at, Old: number(&l, "old"), New: number(&l, "new"), Took: -1, Said: -1})
		case "taken":
			if n := len(b.Writes); n > 0 {
				b.Writes[n-1].Said = latency(l.JSON["latency"])
			}
		case "decided":
			if l.Field("decision") == "wait" && why == last {
				continue
			}
			last = why
		}
		for _, k := range []string{"time", "msg", "level", "mode", "knob"} {
			delete(l.JSON, k)
		}
		b.Lines = append(b.Lines, Decision{At: at, Kind: kind, Text: l.JSON})
	}
	for i := range b.Writes {
		b.Writes[i].Took = b.took(i)
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
