package steering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// watch samples a batch from outside: the ResourceManager and the kernel's counters.
type watch struct {
	rm   *rest.Client
	from time.Time

	mu     sync.Mutex
	cpu    []CPU
	limits []Limit
	apps   map[string]rest.App // latest state of each
	err    error               // of the last failed sample
	failed int                 // samples
}

// The sampling intervals.
const (
	cpuEvery   = time.Second
	appsEvery  = time.Second
	limitEvery = 250 * time.Millisecond
)

func newWatch(rm *rest.Client) *watch {
	return &watch{rm: rm, from: time.Now(), apps: map[string]rest.App{}}
}

// run samples until the context ends.
func (w *watch) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, l := range []struct {
		every  time.Duration
		sample func(context.Context) error
	}{{cpuEvery, w.sampleCPU}, {appsEvery, w.sampleApps}, {limitEvery, w.sampleLimit}} {
		all.Go(func() {
			t := time.NewTicker(l.every)
			defer t.Stop()
			for {
				if err := l.sample(ctx); err != nil && ctx.Err() == nil {
					w.mu.Lock()
					w.err, w.failed = err, w.failed+1
					w.mu.Unlock()
				}
				select {
				case <-ctx.Done():
					return
				case <-t.C:
				}
			}
		})
	}
	all.Wait()
}

func (w *watch) sampleCPU(context.Context) error {
	c := CPU{At: time.Now().UnixMilli()}
	spent, err := host.Ticks()
	if err != nil {
		return err
	}
	for i, v := range spent {
		c.Spent[min(i, len(c.Spent)-1)] += v
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cpu = append(w.cpu, c)
	return nil
}

func (w *watch) sampleApps(ctx context.Context) error {
	for a, err := range w.rm.Apps(ctx, rest.AppFilter{StartedFrom: w.from.Add(-time.Second)}) {
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.apps[a.ID] = a
		w.mu.Unlock()
	}
	return nil
}

func (w *watch) sampleLimit(ctx context.Context) error {
	at := time.Now().UnixMilli()
	l, err := limit(ctx, w.rm)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.limits); n == 0 || w.limits[n-1].MB != l.MB || w.limits[n-1].UsedMB != l.UsedMB {
		l.At = at
		w.limits = append(w.limits, l)
	}
	return nil
}

// ended counts the jobs that have ended.
func (w *watch) ended() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, a := range w.apps {
		if a.Ended() {
			n++
		}
	}
	return n
}

// fill adds the samples to a record.
func (w *watch) fill(b *Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := slices.SortedFunc(maps.Values(w.apps), func(x, y rest.App) int { return strings.Compare(x.ID, y.ID) })
	if len(list) == 0 {
		return fmt.Errorf("the ResourceManager showed no job: %w", errors.Join(w.err, errors.New("see the client's log")))
	}
	b.Zero = list[0].StartedTime
	for _, a := range list {
		b.Zero = min(b.Zero, a.StartedTime)
	}
	for _, a := range list {
		j := Job{ID: a.ID, Came: a.StartedTime - b.Zero, Launched: -1, Ended: -1, State: a.FinalStatus}
		if a.LaunchTime > 0 {
			j.Launched = a.LaunchTime - b.Zero
		}
		if a.Ended() {
			j.Ended = a.FinishedTime - b.Zero
		}
		b.Jobs = append(b.Jobs, j)
	}
	end := int64(b.span()*1000) + 3000
	for i, c := range w.cpu {
		if at := c.At - b.Zero; i > 0 && at > -2000 && at <= end {
			d := CPU{At: at}
			for k := range c.Spent {
				d.Spent[k] = c.Spent[k] - w.cpu[i-1].Spent[k]
			}
			b.CPU = append(b.CPU, d)
		}
	}
	for i, l := range w.limits {
		if l.At -= b.Zero; l.At > end {
			break
		}
		if i+1 < len(w.limits) && w.limits[i+1].At-b.Zero < -2000 {
			continue // long before
		}
		b.Limits = append(b.Limits, l)
	}
	if w.failed > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("%d looks of the study failed, the last: %v", w.failed, w.err))
	}
	return nil
}

// limit reads the AM limit and usage.
func limit(ctx context.Context, rm *rest.Client) (Limit, error) {
	s, err := rm.Scheduler(ctx)
	if err != nil {
		return Limit{}, err
	}
	q := s.Root.Find(queue)
	if q == nil {
		return Limit{}, fmt.Errorf("the ResourceManager has no queue %s", queue)
	}
	if strings.HasPrefix(s.Type, "fair") {
		return Limit{MB: q.AMMax.Memory, UsedMB: q.AMUsed.Memory}, nil
	}
	return Limit{MB: q.AMLimit.Memory, UsedMB: q.UsedAM.Memory}, nil
}

// set writes the share, in the scheduler's own way, and waits until the ResourceManager's limit changes. It does not use the product's own
// actuators: this measurement is independent of theirs.
func set(ctx context.Context, c *hadoop.Cluster, rm *rest.Client, before, share float64) (*Write, error) {
	was, err := limit(ctx, rm)
	if err != nil {
		return nil, err
	}
	w := &Write{Asked: -1, Old: before, New: share, Said: -1}
	began := time.Now()
	if c.Scheduler == "fair" {
		file := filepath.Join(c.Conf(), "fair-scheduler.xml")
		if err := os.WriteFile(file+".new", []byte(fairFile(share)), 0o644); err != nil {
			return nil, err
		}
		if err := os.Rename(file+".new", file); err != nil {
			return nil, err
		}
	} else {
		_, err := rm.ChangeScheduler(ctx, rest.SchedulerChange{Update: []rest.QueueChange{{Queue: queue, Settings: []rest.Setting{
			{Name: "maximum-am-resource-percent", Value: text(share)},
		}}}})
		if err != nil {
			return nil, err
		}
	}
	return w, hadoop.Poll(ctx, 40*time.Second, fmt.Sprintf("changing the share from %v to %v", before, share), func() (bool, error) {
		if c.Scheduler == "fair" { // its limit is computed only when it considers a waiting application
			list, err := reloads(c.RMLog(), began)
			if len(list) == 0 {
				return false, cmp.Or(err, errNotYet)
			}
			w.Took = list[0].Sub(began).Milliseconds()
			return false, nil
		}
		is, err := limit(ctx, rm)
		if err == nil && is.MB == was.MB {
			err = errNotYet
		}
		w.Took = time.Since(began).Milliseconds()
		return false, err
	})
}

var errNotYet = errors.New("not yet")

// reloads are the instants at which the Fair Scheduler reloaded its file, by the ResourceManager's log.
func reloads(log string, from time.Time) ([]time.Time, error) {
	b, err := os.ReadFile(log)
	var list []time.Time
	for line := range strings.Lines(string(b)) {
		if at, ok := reload(line); ok && !at.Before(from) {
			list = append(list, at)
		}
	}
	return list, err
}

func reload(line string) (time.Time, bool) {
	const layout = "2006-01-02 15:04:05,000"
	if len(line) < len(layout) || !strings.Contains(line, "Loading allocation file") {
		return time.Time{}, false
	}
	at, err := time.Parse(layout, line[:len(layout)])
	return at, err == nil
}

// steer starts the controller and returns, with its arguments, once it has begun to sample.
func (n *bench) steer(ctx context.Context, a Arm, repetition int) (*steerer.Process, []string, error) {
	args := []string{
		"yarn", "steer", "--rm", n.c.RM(), "--queue", queue, "--policy", a.Policy, "--act", "--user", "yardmaster", "--cpu", "host:nice-idle",
		"--journal", filepath.Join(n.c.Dir, fmt.Sprintf("journal-%d", n.number)), "--listen", "off", "--log-format", "json", "--per-hour", "600",
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
	args = append(args, "--set", "headroom=no") // as in the source
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
		return nil, nil, fmt.Errorf("the controller did not start within a minute, or exited immediately: %v\n%s", p.State(), notes(p))
	}
	return p, args, nil
}

// notes are its lines on standard error.
func notes(p *steerer.Process) string {
	text := ""
	for _, l := range p.Lines() {
		if l.Err {
			text += l.Text + "\n"
		}
	}
	return text
}

// end stops the controller with SIGTERM, as an operator does, and waits until it has restored the original value.
func end(p *steerer.Process) error {
	if !p.Alive() {
		return fmt.Errorf("the controller ended before the batch: %v\n%s", p.State(), notes(p))
	}
	if _, ok := p.Stop(90 * time.Second); !ok {
		return fmt.Errorf("the controller did not end within 90 s of SIGTERM\n%s", notes(p))
	}
	if s := p.State(); s == nil || s.ExitCode() != 0 && s.ExitCode() != 128+int(syscall.SIGTERM) {
		return fmt.Errorf("the controller: %v\n%s", s, notes(p))
	}
	return nil
}

// fill adds the log to a record: changes, and decisions that differ from the previous one.
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

// took is the time from the i-th write until the ResourceManager applied it, as the study itself observed it, in ms; -1: not before the next one.
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
	for k, l := range b.Limits { // the line may be written after the change was made
		if k > 0 && l.At >= asked-sameMoment && l.At < until && l.MB != b.Limits[k-1].MB {
			return max(l.At-asked, 0)
		}
	}
	return -1
}

// sameMoment is the tolerance for the timestamps of one event in two processes, in ms.
const sameMoment = 50

// latency parses a duration of the log, in ms: nanoseconds or a text.
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
