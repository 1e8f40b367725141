package steering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/host"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// watch is what looks at a batch from outside: at the ResourceManager and at the kernel's counters.
type watch struct {
	rm   *rest.Client
	from time.Time

	mu     sync.Mutex
	cpu    []CPU
	limits []Limit
	apps   map[string]rest.App // newest sight of each
	err    error               // of the last look that failed
	failed int                 // looks
}

// The pauses between looks.
const (
	cpuEvery   = time.Second
	appsEvery  = time.Second
	limitEvery = 250 * time.Millisecond
)

func newWatch(rm *rest.Client) *watch {
	return &watch{rm: rm, from: time.Now(), apps: map[string]rest.App{}}
}

// run looks until the context ends.
func (w *watch) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, l := range []struct {
		every time.Duration
		look  func(context.Context) error
	}{{cpuEvery, w.lookCPU}, {appsEvery, w.lookApps}, {limitEvery, w.lookLimit}} {
		all.Go(func() {
			t := time.NewTicker(l.every)
			defer t.Stop()
			for {
				if err := l.look(ctx); err != nil && ctx.Err() == nil {
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

func (w *watch) lookCPU(context.Context) error {
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

func (w *watch) lookApps(ctx context.Context) error {
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

func (w *watch) lookLimit(ctx context.Context) error {
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

// ended counts the jobs that have come to their end.
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

// fill puts what was seen into a record.
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

// limit reads what masters may take and what they hold.
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

// set writes the share, as the scheduler takes it, and waits until the ResourceManager's limit is another one. The product's own
// actuators are not used for it: what is measured here stands beside what they measure.
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
		if c.Scheduler == "fair" { // its limit is worked out only when a waiting application is looked at
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

var errNotYet = errors.New("it did not come")

// reloads are the instants at which the Fair Scheduler read its file again, by the ResourceManager's log.
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
