package hadoop

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/internal/flock"
	"github.com/yardmaster/yardmaster/lab/proc"
)

// SharedVariable names a folder in which labs stay up for the tests that come next, of this package or another. Whoever sets it takes
// them down: go run ./lab down --dir FOLDER/NAME.
const SharedVariable = "YARDMASTER_LAB_SHARED"

// Shared is a lab for a test that leaves it as it was. With SharedVariable set, the first test that asks for these options brings it up
// and one test at a time has it; otherwise it is the test's own, in dir. done gives it back.
func Shared(ctx context.Context, o Options, dir string) (c *Cluster, done func() error, err error) {
	home := os.Getenv(SharedVariable)
	if home == "" {
		o.Dir = dir
		if c, err = Up(ctx, o); err != nil {
			return nil, nil, err
		}
		return c, c.Down, nil
	}
	o.Dir, o.Log = "", nil
	key, err := json.Marshal(o)
	if err != nil {
		return nil, nil, err
	}
	o.Dir = filepath.Join(home, fmt.Sprintf("%x", sha256.Sum256(key))[:8])
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, nil, err
	}
	lock, err := os.OpenFile(filepath.Join(o.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, err
	}
	proc.Await(ctx, 24*time.Hour, 200*time.Millisecond, func() bool { err = flock.Try(lock); return !errors.Is(err, flock.ErrHeld) })
	if err == nil {
		if r, e := proc.Find(o.Dir, "resourcemanager"); e == nil && r.Alive() {
			c, err = Open(ctx, o.Dir)
		} else {
			c, err = Up(ctx, o)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return c, lock.Close, nil
}

// SharedOptions are those that tests agree on, so that there is one lab for a version and a scheduler.
func SharedOptions(version, scheduler string) Options {
	o := Options{Version: version, Scheduler: scheduler, Nodes: 2, Heartbeat: 500 * time.Millisecond}
	for _, list := range [][]string{DebugBeats, DebugTicks, DebugPlace} {
		o.Debug = append(o.Debug, list...)
	}
	return o
}
