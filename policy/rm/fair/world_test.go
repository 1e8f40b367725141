package fair

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// tb is what both tests and rapid's checks have.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mb(n int64) unit.Resources { return unit.Resources{Mem: n, Cores: 1} }

const ms = unit.Millisecond

// world drives a scheduler by hand and keeps the books that an engine would.
type world struct {
	s      *scheduler
	nodes  []*rm.Node
	apps   map[string]*rm.App
	all    map[int64]*rm.Container // that hold room on a node
	asked  map[*rm.App]int64       // containers asked for and not yet given
	now    unit.Time
	launch bool // containers run from the moment they are given
	seq    int64
}

func newWorld(t tb, xml string, site conf.Site) *world {
	t.Helper()
	f, err := conf.ReadFair(strings.NewReader("<allocations>"+xml+"</allocations>"), "fair.xml")
	if err != nil {
		t.Fatalf("%v", err)
	}
	s, err := New(f, site)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &world{launch: true, s: s.(*scheduler), apps: map[string]*rm.App{}, all: map[int64]*rm.Container{}, asked: map[*rm.App]int64{}}
}

func (w *world) addNodes(n, racks int, total unit.Resources) {
	for range n {
		i := int32(len(w.nodes))
		node := &rm.Node{Index: i, Rack: i % int32(racks), Name: fmt.Sprintf("n%d", i), Total: total}
		w.nodes = append(w.nodes, node)
		w.s.NodeAdded(node, w.now)
	}
}

func (w *world) add(id, user, queue string, am unit.Resources) error {
	w.seq++
	used := map[int32]bool{}
	for _, a := range w.apps {
		used[a.Index] = true
	}
	a := &rm.App{Seq: w.seq, ID: id, User: user, Queue: queue, Submitted: w.now, AM: am}
	for used[a.Index] {
		a.Index++
	}
	if err := w.s.Added(a, w.now); err != nil {
		return err
	}
	w.apps[id] = a
	if am.IsZero() {
		return nil
	}
	return w.ask(id, rm.Ask{Priority: rm.AMPriority, Place: rm.Anywhere, Count: 1, Size: am})
}

func (w *world) ask(id string, asks ...rm.Ask) error {
	a := w.apps[id]
	err := w.s.Asked(a, asks, nil, w.now)
	if err == nil {
		w.asked[a] = w.s.apps[a.Index].table.Len()
	}
	return err
}

func (w *world) want(id string, n int64, size unit.Resources) {
	if err := w.ask(id, rm.Ask{Priority: 20, Place: rm.Anywhere, Count: n, Size: size}); err != nil {
		panic(err)
	}
}

func (w *world) beat(node int) []*rm.Container {
	got := slices.Clone(w.s.Beat(w.nodes[node], w.now))
	for _, c := range got {
		c.Launched = w.launch
		w.all[c.ID] = c
		w.asked[c.App]--
	}
	return got
}

func (w *world) end(c *rm.Container) {
	w.s.Ended(c, w.now)
	delete(w.all, c.ID)
}

func (w *world) remove(id string) {
	a := w.apps[id]
	w.s.Removed(a, w.now)
	delete(w.apps, id)
	delete(w.asked, a)
}

// check compares the scheduler's sums with recomputed ones.
func (w *world) check(t tb) {
	t.Helper()
	s := w.s
	free := map[int32]unit.Resources{}
	for _, n := range w.nodes {
		free[n.Index] = n.Total
	}
	held := map[*rm.App]unit.Resources{}
	for _, c := range w.all {
		free[c.Node.Index] = free[c.Node.Index].Sub(c.Size)
		if !c.Gone {
			held[c.App] = held[c.App].Add(c.Size)
		}
	}
	for _, n := range w.nodes {
		if s.nodes[n.Index] != nil && (n.Free != free[n.Index] || n.Free.Mem < 0 || n.Free.Cores < 0) {
			t.Fatalf("node %s has %v free, want %v", n.Name, n.Free, free[n.Index])
		}
	}
	used, hungry, runnable := map[*queue]unit.Resources{}, map[*queue]int{}, map[*queue]int{}
	ams := map[*queue]unit.Resources{}
	for id, ref := range w.apps {
		a := s.apps[ref.Index]
		if a.Used != held[ref] {
			t.Fatalf("application %s holds %v, want %v", id, a.Used, held[ref])
		}
		if a.table.Len() != w.asked[ref] {
			t.Fatalf("application %s wants %d, want %d", id, a.table.Len(), w.asked[ref])
		}
		if a.runnable && a.started {
			ams[a.queue] = ams[a.queue].Add(a.am)
		}
		for _, n := range a.reserved {
			if n.kept.app != a {
				t.Fatalf("application %s thinks that it keeps node %s", id, n.Name)
			}
		}
		if slices.Contains(a.queue.line, a) != (a.runnable && a.Demand != a.Used) {
			t.Fatalf("application %s: demand %v, holds %v, runnable %v, in line %v", id, a.Demand, a.Used, a.runnable, !a.hungry)
		}
		for q := a.queue; q != nil; q = q.Parent {
			used[q] = used[q].Add(a.Used)
			if a.runnable {
				runnable[q]++
			}
			if a.runnable && a.Demand != a.Used {
				hungry[q]++
			}
		}
	}
	for _, q := range s.Queues {
		if q.Used != used[q] || q.hungry != hungry[q] || q.Runnable != runnable[q] || q.AMs != ams[q] {
			t.Fatalf("queue %s: %v used, %d hungry, %d runnable, AMs %v; want %v, %d, %d, %v",
				q.Name, q.Used, q.hungry, q.Runnable, q.AMs, used[q], hungry[q], runnable[q], ams[q])
		}
		if !q.Used.Fits(q.Max) {
			t.Fatalf("queue %s holds %v of at most %v", q.Name, q.Used, q.Max)
		}
		if q.Runnable > q.MaxApps {
			t.Fatalf("queue %s runs %d of at most %d applications", q.Name, q.Runnable, q.MaxApps)
		}
		if !slices.IsSortedFunc(q.line, func(a, b *app) int { return compare(q.Kind, &a.Standing, &b.Standing, s.Total) }) {
			t.Fatalf("queue %s: its line is out of order", q.Name)
		}
	}
}

func site(change func(*conf.Site)) conf.Site {
	s := conf.DefaultSite()
	if change != nil {
		change(&s)
	}
	return s
}

func names(got []*rm.Container) string {
	var list []string
	for _, c := range got {
		list = append(list, c.App.ID)
	}
	return strings.Join(list, " ")
}

func TestWorldIsUsable(t *testing.T) {
	w := newWorld(t, "", site(nil))
	w.addNodes(1, 1, unit.Resources{Mem: 4096, Cores: 4})
	w.check(t)
}
