package endure

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/hadoop/ha"
	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Gap is one time that the ResourceManager, or its office, was away.
type Gap struct {
	N        int    `json:"n"`
	Kind     string `json:"kind"`     // what was done
	Store    string `json:"store"`    // of the scheduler's configuration
	Before   string `json:"before"`   // configured when the blow fell
	After    string `json:"after"`    // and when it answered again
	Away     int64  `json:"away_ms"`  // until it answered again
	Empty    int64  `json:"empty_ms"` // from then until all nodes were back
	Looks    int    `json:"looks"`    // of the steerer in all that time
	Blind    int    `json:"blind"`    // of them without a snapshot
	Writes   int    `json:"writes"`   // of the steerer from the blow until the nodes were back: none may be
	Acted    int64  `json:"acted_ms"` // from the blow to the first change after it; -1: none within two minutes
	Restored int    `json:"restored"` // dead-man's rule: put back in that time
	Why      string `json:"why"`      // what the steerer said while it did not see
	Miss     string `json:"miss,omitempty"`
}

// recovering lets a ResourceManager find its applications again, and nodes soon find it.
func recovering(dir string) map[string]string {
	return map[string]string{
		"yarn.resourcemanager.recovery.enabled":                            "true",
		"yarn.resourcemanager.store.class":                                 "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
		"yarn.resourcemanager.fs.state-store.uri":                          "file://" + filepath.Join(dir, "rmstore"),
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "1000",
	}
}

// restarts restarts the ResourceManager under a steerer, politely and with kill -9 in turn, first with a configuration that is
// forgotten by it, then with one that is kept.
func (s *Study) restarts(ctx context.Context) error {
	t := sheet[Gap]{Head: s.head("restarts")}
	forgotten := s.Restarts / 2
	for _, r := range []struct {
		store string
		n     int
	}{{"memory", forgotten}, {"fs", s.Restarts - forgotten}} {
		if r.n == 0 {
			continue
		}
		if err := s.restartsOf(ctx, r.store, r.n, &t); err != nil {
			return err
		}
	}
	return t.save(s.Dir)
}

func (s *Study) restartsOf(ctx context.Context, store string, times int, t *sheet[Gap]) error {
	y, err := s.open(ctx, "restarts-"+store, queue, hadoop.Options{ConfStore: store, Site: recovering(filepath.Join(s.Work, "restarts-"+store))})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	l := &load{c: y.Cluster, queue: queue, apps: 24, hold: 5000, runs: true}
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	p, err := y.steer(s.Binary, "", nil, lively("300ms")...)
	if err != nil {
		return err
	}
	defer p.End()
	w := watch(ctx, y.rm, len(y.Nodes))
	defer w.end()
	for n := range times {
		g := Gap{N: n + 1, Kind: "restart", Store: store}
		if n%2 == 1 {
			g.Kind = "kill -9 and start"
		}
		err := s.gap(ctx, &g, p, w, y.set, func() error {
			if n%2 == 1 {
				if err := y.Kill("resourcemanager"); err != nil {
					return err
				}
			}
			return y.Restart(ctx, "resourcemanager")
		})
		if err != nil {
			return err
		}
		add(t, g)
	}
	return s.leave(ctx, t, p, y, l, "store "+store)
}

// add takes a row, and its miss.
func add(t *sheet[Gap], g Gap) {
	t.Rows = append(t.Rows, g)
	if g.Miss != "" {
		t.Sum.miss("%s %d (%s): %s", g.Kind, g.N, g.Store, g.Miss)
	}
}

// gap waits until the steerer has changed something, deals the blow, and tells what the steerer did until it acted again.
func (s *Study) gap(ctx context.Context, g *Gap, p *steerer.Process, w *watcher, set *setting, blow func() error) error {
	if !p.Await(ctx, time.Minute, p.Count("taken"), "taken") {
		g.Miss = "the steerer has changed nothing for a minute: " + p.Last()
	}
	p.Fresh()
	g.Before, _ = set.read(ctx)
	fell := time.Now()
	if err := blow(); err != nil {
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
			g.Looks++
		case "blind":
			g.Looks++
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

// leave ends the steerer politely, looks at the setting and lets the applications end.
func (s *Study) leave(ctx context.Context, t *sheet[Gap], p *steerer.Process, y *yard, l *load, name string) error {
	set := y.set
	took, ok := p.Stop(40 * time.Second)
	same, obeyed := set.original(ctx), proc.Await(ctx, 5*time.Second, 50*time.Millisecond, func() bool { return set.obeyed(ctx) })
	text := fmt.Sprintf("%s: ended %.1f s after SIGTERM, as found %v, in force %v", name, took.Seconds(), same, obeyed)
	t.Sum.Final = append(t.Sum.Final, text)
	if !ok || !same || !obeyed {
		t.Sum.miss("%s; its last words: %s", text, p.Last())
	}
	f, err := y.leave(ctx, l, &t.Sum, name)
	t.Sum.Fates = append(t.Sum.Fates, f)
	return err
}

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
	pair := &yard{Cluster: lab.Cluster, queue: "root.batch", address: strings.Join(lab.URLs(), ","), login: []string{"--user", ha.Admin}, journal: filepath.Join(dir, "journal")}
	y, err := pair.look(ctx, rest.User(ha.Admin), "")
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
	w := watch(ctx, y.rm, 1)
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
		l := &load{c: y.Cluster, queue: y.queue, apps: 24, hold: 5000, mb: 128, runs: true}
		if err := l.begin(ctx, y.rm); err != nil {
			return err
		}
		p, err := y.steer(s.Binary, "", nil, append(lively("300ms"), round.args...)...)
		if err != nil {
			l.cancel()
			return err
		}
		err = s.failoversOf(ctx, &t, lab, p, w, y.set, round.n, round.name)
		if err == nil {
			err = s.leave(ctx, &t, p, y, l, "lock: "+round.name)
		}
		p.End()
		l.cancel()
		if err != nil {
			return err
		}
		// Back to what was found, for the next round.
		if err := y.set.clear(ctx); err != nil {
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

// watcher looks at the ResourceManager all the time, past the steerer, so that it is known when it was away and when it had no nodes.
type watcher struct {
	rm     *rest.Client
	nodes  int64
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	looks []look
}

type look struct {
	from, at time.Time
	nodes    int64 // -1: no answer
}

func watch(ctx context.Context, rm *rest.Client, nodes int) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{rm: rm, nodes: int64(nodes), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			l := look{from: time.Now(), nodes: -1}
			short, stop := context.WithTimeout(ctx, 2*time.Second)
			if m, err := rm.Metrics(short); err == nil {
				l.nodes = m.ActiveNodes
			}
			stop()
			l.at = time.Now()
			w.mu.Lock()
			w.looks = append(w.looks, l)
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

// seen is what became of the ResourceManager after a blow.
type seen struct {
	away, empty time.Duration // nothing answered, and from the first answer on nodes were missing
	missing     time.Time     // the last moment at which nodes are known to have been missing: while a reading lasts they may have come back
	whole       bool          // it has been away and has all its nodes again
}

func (w *watcher) since(fell time.Time) (s seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := false
	for _, l := range w.looks {
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
