package capacity

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// tb is what tests and property tests have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world drives a scheduler by hand.
type world struct {
	t     tb
	s     *Scheduler
	nodes []*rm.Node
	apps  map[string]*rm.App
	live  map[string][]*rm.Container
	now   unit.Time
	still bool // no node reports any more

	short map[*rm.Node]bool // nodes with less than nothing free, for the one reason that there is (see served)
}

func mb(v int64) unit.Resources { return unit.Resources{Mem: v, Cores: max(1, v/1024)} }

// build makes a scheduler from settings as in "root.a.capacity=40" and nodes of the given size, racks of two.
func build(t tb, site func(*conf.Site), nodes int, room unit.Resources, settings ...string) *world {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, x := range settings {
		k, v, _ := strings.Cut(x, "=")
		fmt.Fprintf(&b, "<property><name>yarn.scheduler.capacity.%s</name><value>%s</value></property>\n", k, v)
	}
	b.WriteString("</configuration>")
	c, err := conf.ReadCapacity(strings.NewReader(b.String()), "test.xml")
	if err != nil {
		t.Fatal(err)
	}
	st := conf.DefaultSite()
	if site != nil {
		site(&st)
	}
	s, err := New(c, st)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, s: s.(*Scheduler), apps: map[string]*rm.App{}, live: map[string][]*rm.Container{}, short: map[*rm.Node]bool{}}
	for i := range nodes {
		n := &rm.Node{Index: int32(i), Rack: int32(i / 2), Name: fmt.Sprint("n", i), Total: room}
		w.nodes = append(w.nodes, n)
		w.s.NodeAdded(n, 0)
	}
	return w
}

func (w *world) submit(id, user, queue string, am unit.Resources) {
	w.t.Helper()
	a := &rm.App{Index: int32(len(w.apps)), Seq: int64(len(w.apps)), ID: id, User: user, Queue: queue, AM: am}
	w.apps[id] = a
	if err := w.s.Added(a, w.now); err != nil {
		w.t.Fatal(err)
	}
	if !am.IsZero() {
		w.ask(id, rm.Ask{Priority: rm.AMPriority, Place: rm.Anywhere, Count: 1, Size: am})
	}
}

func (w *world) ask(id string, asks ...rm.Ask) {
	w.t.Helper()
	if err := w.s.Asked(w.apps[id], asks, nil, w.now); err != nil {
		w.t.Fatal(err)
	}
}

// anywhere asks for n containers without a place.
func (w *world) anywhere(id string, n int64, size unit.Resources) {
	w.ask(id, rm.Ask{Priority: 20, Place: rm.Anywhere, Count: n, Size: size})
}

// beat serves a node and says who got what, as in "a:1024 b:2048".
func (w *world) beat(i int) string {
	var got []string
	for _, c := range w.served(i) {
		c.Launched = true
		w.live[c.App.ID] = append(w.live[c.App.ID], c)
		got = append(got, fmt.Sprintf("%s:%d", c.App.ID, c.Size.Mem))
	}
	w.check()
	return strings.Join(got, " ")
}

// served serves a node. It comes to have less than nothing free in one case only, as in Hadoop: it was reserved, what is asked
// for by now is smaller and fits, and what was reserved is given.
func (w *world) served(i int) []*rm.Container {
	w.t.Helper()
	n, kept, before := w.nodes[i], w.s.nodes[i].reservation, w.nodes[i].Free
	fits := false
	if kept != nil {
		for _, near := range []policy.Near{policy.NodeLocal, policy.RackLocal, policy.OffRack} {
			asked := kept.row.SizeAt(near, n)
			fits = fits || !asked.IsZero() && w.s.Calc.Fits(asked, before)
		}
	}
	got := w.s.Beat(n, w.now)
	if n.Free.Mem < 0 && before.Mem >= 0 {
		if !fits || len(got) != 1 || got[0].Size != kept.size || got[0].App != kept.a.App {
			w.t.Fatalf("node %s had %v free and has %v; reserved: %+v; given: %v", n.Name, before, n.Free, kept, got)
		}
		w.short[n] = true
	}
	return got
}

func (w *world) round() (got string) {
	for i := range w.nodes {
		if g := w.beat(i); g != "" {
			got += " " + g
		}
	}
	return strings.TrimSpace(got)
}

func (w *world) end(id string) {
	l := w.live[id]
	w.s.Ended(l[len(l)-1], w.now)
	w.live[id] = l[:len(l)-1]
}

// check adds up the books.
func (w *world) check() {
	w.t.Helper()
	var used, kept unit.Resources
	free := map[*rm.Node]unit.Resources{}
	for _, n := range w.nodes {
		free[n] = n.Total
	}
	for _, a := range w.s.apps {
		if a == nil {
			continue
		}
		for _, c := range a.live {
			used = used.Add(c.Size)
			free[c.Node] = free[c.Node].Sub(c.Size)
		}
		for _, r := range a.reservations {
			kept = kept.Add(r.size)
			if r.n.reservation != r {
				w.t.Fatal("a reservation and its node do not agree")
			}
		}
	}
	if w.s.Root.Used != used.Add(kept) || w.s.Root.reserved != kept {
		w.t.Fatalf("root uses %v with %v reserved; containers are %v and reservations %v", w.s.Root.Used, w.s.Root.reserved, used, kept)
	}
	for _, n := range w.nodes {
		if n.Free.Mem < 0 && !w.short[n] || n.Free.Mem > free[n].Mem { // less while a preempted container still runs
			w.t.Fatalf("node %s has %v free, its containers leave %v", n.Name, n.Free, free[n])
		}
		if n.Free.Mem >= 0 {
			delete(w.short, n)
		}
	}
}
