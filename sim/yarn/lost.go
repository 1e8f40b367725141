package yarn

import (
	"cmp"
	"errors"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// planLosses queues the losses of nodes.
func (e *engine) planLosses() error {
	if len(e.cfg.Losses) > 0 && e.cfg.Script != nil {
		return errors.New("the replay of a log cannot lose nodes: leave out the losses")
	}
	return sim.PlanLosses(e.cfg.Losses, e.cfg.Cluster, func(l *sim.Loss, node int32) {
		e.push(l.At, thenLives, evLost|uint64(node), int64(l.For))
		if l.For > 0 {
			e.push(l.At+l.For, thenLives, evBack|uint64(node), 0)
		}
	})
}

// lose removes a node with all its containers, for a time (0: for good). An AM learns of those that it had with its next call. The loss is
// known at once; a real ResourceManager waits for nm.liveness-monitor.expiry-interval-ms.
func (e *engine) lose(n *node, long unit.Time) {
	e.horizon = max(e.horizon, e.now+long) // what waits for it is not stuck
	if n.lost++; n.lost > 1 {
		return
	}
	var all []*cont
	for _, c := range e.slots {
		if c != nil && c.node == n && c.outer == nil {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *cont) int { return cmp.Compare(a.serial, b.serial) })
	for _, c := range all {
		if e.slots[c.slot] != c {
			continue // it went with its AM
		}
		e.stop(c)
		if !c.gone {
			if e.kill(c); c.killed {
				c.rc.End = policy.Lost
			}
			c.lost = true
			if c.ended < 0 {
				c.ended = e.now
			}
			if c == c.app.am {
				e.amLost(c.app)
				if e.slots[c.slot] != c {
					continue
				}
			}
		}
		unacquired := c.acquired < 0
		e.reported(c)
		if unacquired {
			remove(&c.app.exited, c) // once it has been told of the container
		}
	}
	clear(n.running)
	clear(n.fresh)
	clear(n.orders)
	n.running, n.fresh, n.orders, n.first = n.running[:0], n.fresh[:0], n.orders[:0], unit.Never
	e.serial++
	n.serial, n.soon, n.asleep = e.serial, false, true // a queued report is superseded
	e.progress = e.now
	e.sched.NodeRemoved(&n.rm, e.now)
}

// back restores a node.
func (e *engine) back(n *node) {
	if n.lost--; n.lost > 0 {
		return
	}
	e.progress = e.now
	n.last = e.now
	e.sched.NodeAdded(&n.rm, e.now)
	if n.asleep = e.idle(); !n.asleep {
		e.nextBeat(n)
	}
}
