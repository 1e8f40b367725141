package endure

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/hadoop/ha"
	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// failovers kills the active one of two ResourceManagers under a steerer, again and again. Applications and the scheduler's
// configuration are in ZooKeeper, and so is, for the last of them, the steerer's lock.
func (s *Study) failovers(ctx context.Context) error {
	t := sheet[Gap]{Head: s.head("failovers")}
	dir, err := s.folder("failovers")
	if err != nil {
		return err
	}
	lab, err := ha.Up(ctx, filepath.Join(dir, "run"), ha.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = lab.Down() }()
	rm, err := dial(rest.User(ha.Admin), lab.URLs()...)
	if err != nil {
		return err
	}
	const steered = "root.batch"
	set, err := newSetting(ctx, rm, steered, "")
	if err != nil {
		return err
	}
	c, err := hadoop.Clients(ctx, lab.Dir, nil)
	if err != nil {
		return err
	}
	props, err := rm.Conf(ctx)
	if err != nil {
		return err
	}
	lock := props.Get("hadoop.zk.address")
	if lock == nil {
		return fmt.Errorf("the pair does not say where ZooKeeper is")
	}
	w := watch(ctx, rm, 1)
	defer w.end()
	locked := max(1, s.Failovers/3)
	for _, round := range []struct {
		name string
		n    int
		args []string
	}{
		{"journal", s.Failovers - locked, nil},
		{"journal and ZooKeeper", locked, []string{"--zookeeper", lock.Value}},
	} {
		if round.n == 0 {
			continue
		}
		l := &load{c: c, queue: steered, apps: 24, hold: 5000, mb: 128, runs: true}
		l.begin(ctx)
		if err := l.there(ctx, rm); err != nil {
			l.cancel()
			return err
		}
		args := append(append(lively("300ms"), "--actuator", "rest"), round.args...)
		p, err := steerer.Start(s.Binary, lab.Dir, nil, steerArgs(strings.Join(lab.URLs(), ","), steered, filepath.Join(dir, "journal"), args...)...)
		if err != nil {
			l.cancel()
			return err
		}
		err = s.failoversOf(ctx, &t, lab, p, w, set, round.n, round.name)
		if err == nil {
			err = s.leave(ctx, &t, p, set, l, rm, "lock: "+round.name)
		}
		p.End()
		l.cancel()
		if err != nil {
			return err
		}
		// Back to what was found, for the next round.
		if err := set.clear(ctx); err != nil {
			return err
		}
	}
	return t.save(s.Dir)
}

func (s *Study) failoversOf(ctx context.Context, t *sheet[Gap], lab *ha.Lab, p *steerer.Process, w *watcher, set *setting, n int, name string) error {
	for i := range n {
		g := Gap{N: i + 1, Kind: "failover", Store: "zk, lock: " + name}
		var active string
		err := s.gap(ctx, &g, p, w, set, func() error {
			var err error
			if active, _, err = lab.Roles(ctx); err != nil {
				return err
			}
			return lab.Kill(active)
		})
		if err != nil {
			return err
		}
		add(t, g)
		if err := lab.StartRM(ctx, active); err != nil {
			return err
		}
		if !proc.Await(ctx, time.Minute, 100*time.Millisecond, func() bool { _, _, err := lab.Roles(ctx); return err == nil }) {
			return fmt.Errorf("no ResourceManager is active")
		}
	}
	return nil
}
