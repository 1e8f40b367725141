package steering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

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
	for time.Since(began) < 40*time.Second {
		if c.Scheduler == "fair" { // its limit is worked out only when a waiting application is looked at
			list, err := reloads(c.RMLog(), began)
			if err != nil {
				return nil, err
			}
			if len(list) > 0 {
				w.Took = list[0].Sub(began).Milliseconds()
				return w, nil
			}
		} else {
			is, err := limit(ctx, rm)
			if err != nil {
				return nil, err
			}
			if is.MB != was.MB {
				w.Took = time.Since(began).Milliseconds()
				return w, nil
			}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the limit of masters is still %d MB, 40 s after the share was changed from %v to %v", was.MB, before, share)
}

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

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// until looks again and again.
func until(ctx context.Context, most time.Duration, what string, f func() (bool, error)) error {
	last := errors.New("it did not come")
	if proc.Await(ctx, most, 200*time.Millisecond, func() bool {
		ok, err := f()
		last = cmp.Or(err, last)
		return ok
	}) {
		return nil
	}
	return fmt.Errorf("%s: not within %v: %w", what, most, cmp.Or(ctx.Err(), last))
}
