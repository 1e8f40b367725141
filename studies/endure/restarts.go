package endure

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/ha"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Gap is one outage of the ResourceManager, or of its active role.
type Gap struct {
	N        int    `json:"n"`
	Kind     string `json:"kind"`     // what was done
	Store    string `json:"store"`    // of the scheduler's configuration
	Before   string `json:"before"`   // configured before the fault
	After    string `json:"after"`    // and when it answered again
	Away     int64  `json:"away_ms"`  // until it answered again
	Empty    int64  `json:"empty_ms"` // from then until all nodes were back
	Samples  int    `json:"looks"`    // samples of the steerer meanwhile
	Blind    int    `json:"blind"`    // samples without a snapshot
	Writes   int    `json:"writes"`   // of the steerer from the fault until the nodes were back: must be 0
	Acted    int64  `json:"acted_ms"` // from the fault to the next change; -1: none within two minutes
	Restored int    `json:"restored"` // dead-man's rule: restored meanwhile
	Why      string `json:"why"`      // what the steerer logged while blind
	Miss     string `json:"miss,omitempty"`
}

// recovering configures a ResourceManager that recovers its applications, and nodes that reconnect quickly.
func recovering(dir string) map[string]string {
	return map[string]string{
		"yarn.resourcemanager.recovery.enabled":                            "true",
		"yarn.resourcemanager.store.class":                                 "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
		"yarn.resourcemanager.fs.state-store.uri":                          "file://" + filepath.Join(dir, "rmstore"),
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "1000",
	}
}

// outage is one steerer during several outages of its ResourceManager.
type outage struct {
	n      int
	store  string   // of the scheduler's configuration
	name   string   // in the final check
	args   []string // further arguments of the steerer
	load   load
	strike func(i int) (kind string, err error)
	mend   func() error // nil: nothing to repair
}

// outages runs the outages and checks the outcome.
func (s *Study) outages(ctx context.Context, t *sheet, y *yard, o *outage) error {
	l := &o.load
	l.c, l.queue, l.apps, l.hold, l.runs = y.Cluster, y.queue, 24, 5000, true
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	p, err := y.steer(s.bin, "", nil, append(lively("300ms"), o.args...)...)
	if err != nil {
		return err
	}
	defer p.End()
	w := watch(ctx, y.rm, max(1, len(y.Nodes)))
	defer w.end()
	for i := range o.n {
		g := Gap{N: i + 1, Store: o.store}
		err := s.gap(ctx, &g, p, w, y.set, func() (err error) { g.Kind, err = o.strike(i); return err })
		if err == nil && o.mend != nil {
			err = o.mend()
		}
		if err != nil {
			return err
		}
		t.add(&g, g.Miss, "%s %d (%s)", g.Kind, g.N, g.Store)
	}
	t.ends(ctx, y, p, o.name)
	f, err := y.leave(ctx, l, &t.Sum, o.name)
	t.Sum.AppsEach = append(t.Sum.AppsEach, f)
	return err
}

// restarts restarts the ResourceManager under a steerer, alternately with SIGTERM and kill -9, first with a configuration store that
// forgets, then with a persistent one.
func (s *Study) restarts(ctx context.Context, t *sheet) error {
	for i, store := range []string{"memory", "fs"} {
		if n := (s.Restarts + i) / 2; n > 0 {
			if err := s.restartsOf(ctx, t, store, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Study) restartsOf(ctx context.Context, t *sheet, store string, n int) error {
	y, err := s.open(ctx, "restarts-"+store, queue, hadoop.Options{ConfStore: store, Site: recovering(filepath.Join(s.work, "restarts-"+store))})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	return s.outages(ctx, t, y, &outage{n: n, store: store, name: "store " + store, strike: func(i int) (string, error) {
		kind := "restart"
		if i%2 == 1 {
			kind = "kill -9 and start"
			if err := y.Kill("resourcemanager"); err != nil {
				return kind, err
			}
		}
		return kind, y.Restart(ctx, "resourcemanager")
	}})
}

// gap waits until the steerer has changed something, injects the fault, and records what the steerer did until it acted again.
func (s *Study) gap(ctx context.Context, g *Gap, p *steerer.Process, w *watcher, set *setting, inject func() error) error {
	if !p.Await(ctx, time.Minute, p.Count("taken"), "taken") {
		g.Miss = "the steerer has changed nothing for a minute: " + p.Last()
	}
	p.Fresh()
	g.Before, _ = set.read(ctx)
	fell := time.Now()
	if err := inject(); err != nil {
		return err
	}
	if !proc.Await(ctx, 2*time.Minute, 20*time.Millisecond, func() bool { return w.since(fell).whole }) {
		g.Miss = "the nodes are not back after two minutes"
	}
	seen := w.since(fell)
	g.Away, g.Empty = seen.away.Milliseconds(), seen.empty.Milliseconds()
	g.After, _ = set.read(ctx)
	acted := p.Count("asked")
	g.Acted = -1
	if p.Await(ctx, 2*time.Minute, acted, "asked") {
		g.Acted = time.Since(fell).Milliseconds()
	} else if g.Miss == "" {
		g.Miss = "the steerer has changed nothing in the two minutes after it: " + p.Last()
	}
	for _, l := range p.Fresh() {
		switch l.Kind() {
		case "decided":
			g.Samples++
		case "blind":
			g.Samples++
			g.Blind++
			if g.Why == "" || l.At.After(fell.Add(seen.away)) {
				g.Why = l.Field("why")
			}
		case "restored":
			g.Restored++
		case "asked":
			if l.At.After(fell) && l.At.Before(seen.missing) {
				g.Writes++
				g.Miss = "it wrote while nodes were missing: " + l.Text
			}
		}
	}
	if !p.Alive() {
		g.Miss = "the steerer has ended: " + p.Last()
	}
	s.say("%s %d: away %d ms, without nodes %d ms, acted again after %d ms %s", g.Kind, g.N, g.Away, g.Empty, g.Acted, g.Miss)
	return nil
}

// failovers kills the active one of two ResourceManagers under a steerer, repeatedly. Applications and the scheduler's
// configuration are in ZooKeeper, and so is, for the last of them, the steerer's lock.
func (s *Study) failovers(ctx context.Context, t *sheet) error {
	dir, err := s.folder("failovers")
	if err != nil {
		return err
	}
	lab, err := ha.Up(ctx, filepath.Join(dir, "run"), ha.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = lab.Down() }()
	pair := &yard{Cluster: lab.Cluster, queue: "root.batch", address: strings.Join(lab.RMs(), ","), login: []string{"--user", ha.Admin}, journal: filepath.Join(dir, "journal")}
	y, err := pair.readOriginal(ctx, rest.User(ha.Admin), "")
	if err != nil {
		return err
	}
	props, err := y.rm.Conf(ctx)
	if err != nil {
		return err
	}
	lock := props.Get("hadoop.zk.address")
	if lock == nil {
		return fmt.Errorf("the pair does not say where ZooKeeper is")
	}
	locked := max(1, s.Failovers/3)
	for _, o := range []outage{
		{n: s.Failovers - locked, name: "journal"},
		{n: locked, name: "journal and ZooKeeper", args: []string{"--zookeeper", lock.Value}},
	} {
		if o.n == 0 {
			continue
		}
		var active string
		o.store, o.name, o.load.mb = "zk, lock: "+o.name, "lock: "+o.name, 128
		o.strike = func(int) (kind string, err error) {
			if active, _, err = lab.Roles(ctx); err != nil {
				return "", err
			}
			return "failover", lab.Kill(active)
		}
		o.mend = func() error {
			if err := lab.Restart(ctx, active); err != nil {
				return err
			}
			if !proc.Await(ctx, time.Minute, 100*time.Millisecond, func() bool { _, _, err := lab.Roles(ctx); return err == nil }) {
				return fmt.Errorf("no ResourceManager is active")
			}
			return nil
		}
		if err := s.outages(ctx, t, y, &o); err != nil {
			return err
		}
		if err := y.set.set(ctx, ""); err != nil { // restore for the next round
			return err
		}
	}
	return nil
}

// watcher samples the ResourceManager directly, past the steerer, to know when it was away and when it had no nodes.
type watcher struct {
	rm     *rest.Client
	nodes  int64
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	samples []sample
}

type sample struct {
	from, at time.Time
	nodes    int64 // -1: no answer
}

func watch(ctx context.Context, rm *rest.Client, nodes int) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{rm: rm, nodes: int64(nodes), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			l := sample{from: time.Now(), nodes: -1}
			short, stop := context.WithTimeout(ctx, 2*time.Second)
			if m, err := rm.Metrics(short); err == nil {
				l.nodes = m.ActiveNodes
			}
			stop()
			l.at = time.Now()
			w.mu.Lock()
			w.samples = append(w.samples, l)
			w.mu.Unlock()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return w
}

func (w *watcher) end() {
	w.cancel()
	<-w.done
}

// seen is the state of the ResourceManager after a fault.
type seen struct {
	away, empty time.Duration // no answer; then, from the first answer, nodes missing
	missing     time.Time     // when nodes are last known to have been missing: they may have come back during a reading
	whole       bool          // it was away and has all its nodes again
}

func (w *watcher) since(fell time.Time) (s seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := false
	for _, l := range w.samples {
		if l.at.Before(fell) {
			continue
		}
		if l.nodes < w.nodes && !l.from.Before(fell) {
			s.missing = l.from
		}
		switch {
		case l.nodes < 0:
			gone, s.away = true, 0
		case gone:
			if s.away == 0 {
				s.away = l.at.Sub(fell)
			}
			s.empty = l.at.Sub(fell) - s.away
			if s.whole = l.nodes >= w.nodes; s.whole {
				return s
			}
		}
	}
	return s
}
