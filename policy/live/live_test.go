package live

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/unit"
)

// world is a small cluster in virtual time: what is true there, and a core that sees it.
type world struct {
	t interface {
		Helper()
		Fatalf(format string, args ...any)
	}
	core   *Core
	policy string
	gates  bool // a released pod cannot be held again
	now    unit.Time
	nodes  []*machine
	pods   map[string]*pod
	next   int
	order  []string // jobs in the order of their releases
	flaky  func() bool
	owned  bool // jobs have owners, which never end
}

type machine struct {
	name        string
	total, free unit.Resources
	only        string // the shape that it takes; "": all
	away        bool
}

type pod struct {
	Task
	job  Job
	on   *machine
	at   unit.Time
	done bool
	away bool // released, and cannot be held again
}

func fresh(t interface{ Fatalf(string, ...any) }, spec string) func() (policy.Policy, error) {
	build, _, err := all.Load(all.Policies, spec)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return build
}

func newWorld(t *rapid.T, spec string, gates bool) *world {
	w := &world{t: t, policy: spec, gates: gates, pods: map[string]*pod{}, flaky: func() bool { return false }}
	w.boot(nil)
	return w
}

// boot makes a core, shows it the cluster and starts it.
func (w *world) boot(saved *Saved) {
	w.t.Helper()
	var err error
	if w.core, err = New(fresh(w.t, w.policy), Config{Window: 8, Now: func() unit.Time { return w.now }}); err != nil {
		w.t.Fatalf("%v", err)
	}
	for _, n := range w.nodes {
		w.show(n)
	}
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		switch p := w.pods[id]; {
		case p.done:
			w.core.See(p.Task, p.job, Over, "", p.at)
		case p.on != nil:
			w.core.See(p.Task, p.job, Bound, p.on.name, p.at)
		case p.away:
			w.core.See(p.Task, p.job, Released, "", 0)
		default:
			w.core.See(p.Task, p.job, Held, "", 0)
		}
	}
	if err := w.core.Start(saved); err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) show(n *machine) {
	total := n.total
	if n.away {
		total = unit.Resources{}
	}
	w.core.SetNode(n.name, total, "")
}

func (w *world) node(mem int64, only string) {
	r := unit.Resources{Mem: mem, Cores: 8000}
	w.nodes = append(w.nodes, &machine{name: fmt.Sprint("n", len(w.nodes)), total: r, free: r, only: only})
	w.show(w.nodes[len(w.nodes)-1])
}

func (w *world) create(job string, mem, gang int64, shape string) *pod {
	w.next++
	p := &pod{
		Task: Task{ID: fmt.Sprintf("p%05d", w.next), Stage: "s", Shape: fmt.Sprint(shape, mem), Size: unit.Resources{Mem: mem, Cores: 1000}, Gang: gang, Created: w.now},
		job:  Job{Key: job, User: "u" + job[len(job)-1:], Queue: []string{"a", "b"}[int(job[len(job)-1])%2], Submitted: w.now, Owned: w.owned},
	}
	p.Name, p.Ref = p.ID, p
	w.pods[p.ID] = p
	w.core.See(p.Task, p.job, Held, "", 0)
	return p
}

// find is a node for a pod; fits says whether one has room for its size, whatever else it asks for.
func (w *world) find(p *pod) (found *machine, fits bool) {
	for _, n := range w.nodes {
		if !n.away && p.Size.Fits(n.free) {
			if fits = true; n.only == "" || p.Shape[:1] == n.only {
				return n, true
			}
		}
	}
	return nil, fits
}

func (w *world) bind(p *pod, n *machine) {
	p.on, p.at, n.free = n, w.now, n.free.Sub(p.Size)
	w.core.Bind(p.ID, n.name)
}

// schedule does what a scheduler does with what the core releases.
func (w *world) schedule() {
	w.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[id]
		if n, _ := w.find(p); p.away && p.on == nil && !p.done {
			if w.core.Strand(p.ID); n != nil {
				w.bind(p, n)
			}
		}
	}
	for _, t := range w.core.Release() {
		p := t.Ref.(*pod)
		if p.on != nil || p.done || p.away {
			w.t.Fatalf("%s is released again", t.ID)
		}
		w.order = append(w.order, p.job.Key)
		switch n, fits := w.find(p); {
		case n != nil && !w.flaky():
			w.bind(p, n)
		case w.gates:
			p.away = true
			w.core.Strand(p.ID)
		default:
			why := NotBound
			if n == nil && fits {
				why = NoNode
			} else if n == nil {
				why = NoRoom
			}
			if !w.core.TakeBack(p.ID, why) {
				w.t.Fatalf("%s cannot be taken back", t.ID)
			}
		}
	}
	w.check()
}

// settle lets the scheduler work until the core releases nothing more.
func (w *world) settle() {
	w.t.Helper()
	for n := -1; n < len(w.order); {
		n = len(w.order)
		w.schedule()
	}
}

func (w *world) check() {
	w.t.Helper()
	if err := w.core.Check(); err != nil {
		w.t.Fatalf("at %v: %v", w.now, err)
	}
}

func (w *world) end(p *pod, why policy.End) {
	if p.on != nil {
		p.on.free = p.on.free.Add(p.Size)
	}
	p.done, p.at = true, w.now-p.at
	w.core.End(p.ID, why, p.at)
}

func (w *world) drop(p *pod) {
	if p.on != nil && !p.done {
		p.on.free = p.on.free.Add(p.Size)
	}
	delete(w.pods, p.ID)
	w.core.Gone(p.ID)
}

func (w *world) pick(t *rapid.T, of func(*pod) bool) *pod {
	var some []*pod
	for _, p := range w.pods {
		if of(p) {
			some = append(some, p)
		}
	}
	if len(some) == 0 {
		return nil
	}
	slices.SortFunc(some, func(a, b *pod) int { return cmp.Compare(a.ID, b.ID) })
	return rapid.SampledFrom(some).Draw(t, "pod")
}

var specs = []string{
	"fifo", "fair", "fair:by=user,resource=drf", "capacity:queues=a:60;b:40", "capacity:queues=a:60;b:40,ordering=fair", "fbq:limits=60", "fbq:limits=30,count=completed", "comp:queues=3",
	"deadline",
}

// Whatever happens on a cluster, the core's counts stay true, nothing is released twice, and nothing that could run is held for ever.
func TestNothingIsHeldForEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { history(t, rapid.SampledFrom(specs).Draw(t, "spec"), rapid.Bool().Draw(t, "gates")) })
}

func history(t *rapid.T, spec string, gates bool) {
	w := newWorld(t, spec, gates)
	w.flaky = func() bool { return rapid.IntRange(0, 9).Draw(t, "fails") == 0 }
	w.node(4096, "")
	gangs := map[string]int64{}
	for range rapid.IntRange(1, 150).Draw(t, "steps") {
		w.now += unit.Time(rapid.Int64Range(0, int64(20*unit.Second)).Draw(t, "time"))
		switch rapid.IntRange(0, 13).Draw(t, "what") {
		case 0, 1, 2, 3:
			job, mem := fmt.Sprint("j", rapid.IntRange(0, 9).Draw(t, "job")), rapid.SampledFrom([]int64{0, 512, 1024, 3000, 9000}).Draw(t, "mem")
			shape, gang := rapid.SampledFrom([]string{"x", "x", "g"}).Draw(t, "shape"), int64(1)
			if _, begun := gangs[job]; !begun && rapid.IntRange(0, 4).Draw(t, "gang") == 0 {
				gang = 3
			}
			gangs[job] = gang
			for range rapid.Int64Range(1, 5).Draw(t, "tasks") * gang {
				w.create(job, mem, gang, shape)
			}
		case 4, 5, 6:
			if p := w.pick(t, func(p *pod) bool { return p.on != nil && !p.done }); p != nil {
				w.end(p, rapid.SampledFrom([]policy.End{policy.Done, policy.Failed, policy.Taken}).Draw(t, "why"))
			}
		case 7:
			if p := w.pick(t, func(*pod) bool { return true }); p != nil {
				w.drop(p)
			}
		case 8:
			if len(w.nodes) < 6 {
				w.node(rapid.SampledFrom([]int64{2048, 4096}).Draw(t, "mem"), rapid.SampledFrom([]string{"", "x", "g"}).Draw(t, "only"))
			}
		case 9:
			n := rapid.SampledFrom(w.nodes).Draw(t, "node")
			n.away = !n.away
			w.show(n)
		case 10:
			n := rapid.SampledFrom(w.nodes).Draw(t, "node")
			n.only = rapid.SampledFrom([]string{"", "x", "g"}).Draw(t, "only")
			w.core.Unpark()
		case 11:
			saved, err := w.core.Save()
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "lost") {
				saved = nil
			}
			w.boot(saved)
		case 12:
			w.policy = rapid.SampledFrom(specs).Draw(t, "policy")
			if err := w.core.Reload(fresh(t, w.policy)); err != nil {
				t.Fatal(err)
			}
		case 13:
			id := fmt.Sprint("other", w.now)
			w.core.Other(id, w.nodes[0].name, unit.Resources{Mem: 4096, Cores: 9000})
			w.check()
			w.core.Gone(id)
		}
		w.schedule()
		was := w.flaky
		w.flaky = func() bool { return false }
		w.settle()
		w.flaky = was
		for _, v := range w.core.Jobs() { // limits of shares of a cluster that has less than runs there, or of a size of nothing, explain themselves badly
			if slices.ContainsFunc(w.nodes, func(n *machine) bool { return n.away }) || w.core.jobs[v.Key].view.Ask.Mem == 0 {
				continue
			}
			if why, _ := w.core.Why(v.Key); why.Held > 0 && why.Refused == nil && len(why.Reasons) == 0 {
				t.Fatalf("%s is held for no reason by %s, at %v: room %v, asks for %v", v.Key, w.policy, w.now, w.core.room(), w.core.jobs[v.Key].view.Ask)
			}
		}
	}
	for _, n := range w.nodes {
		n.away = false
		w.show(n)
	}
	w.flaky = func() bool { return false }
	for range 300 {
		for _, id := range slices.Sorted(maps.Keys(w.pods)) {
			if p := w.pods[id]; p.on != nil && !p.done {
				w.end(p, policy.Done)
			}
		}
		w.now = min(max(w.core.Due(), w.now+10*unit.Second), w.now+unit.Hour)
		w.settle()
	}
	for _, p := range w.pods {
		n, _ := w.find(p)
		if n == nil || p.on != nil || p.done || p.away {
			continue
		}
		if v, _ := w.core.Why(p.job.Key); p.Gang == 1 {
			t.Fatalf("%s of %s is held for ever: %v", p.ID, p.job.Key, v.Reasons)
		}
	}
}

// What a restart needs besides what the cluster shows is what was saved: the restarted core releases what the other would have. With count=completed it need not:
// of tasks that ran before, it counts what came after.
func TestRestartsChangeNothing(t *testing.T) {
	kept := slices.DeleteFunc(slices.Clone(specs), func(spec string) bool { return strings.Contains(spec, "count=completed") })
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom(kept).Draw(t, "spec")
		w := newWorld(t, spec, false)
		w.owned = true
		w.node(4096, "")
		w.node(4096, "")
		step := func(each ...*world) {
			forward := unit.Time(rapid.Int64Range(1, int64(20*unit.Second)).Draw(t, "time"))
			what, job, n := rapid.IntRange(0, 4).Draw(t, "what"), rapid.IntRange(0, 14).Draw(t, "job"), rapid.IntRange(1, 6).Draw(t, "tasks")
			nth := rapid.IntRange(0, 99).Draw(t, "which")
			for _, w := range each {
				w.now += forward
				switch {
				case what < 2:
					for range n {
						w.create(fmt.Sprint("j", job), 1024, 1, "x")
					}
				default:
					var running []*pod
					for _, id := range slices.Sorted(maps.Keys(w.pods)) {
						if p := w.pods[id]; p.on != nil && !p.done {
							running = append(running, p)
						}
					}
					if len(running) > 0 {
						p := running[nth%len(running)]
						w.end(p, policy.Done)
						if what == 4 {
							w.drop(p)
						}
					}
				}
				w.schedule()
			}
		}
		for range rapid.IntRange(5, 80).Draw(t, "before") {
			step(w)
		}
		saved, err := w.core.Save()
		if err != nil {
			t.Fatal(err)
		}
		other := &world{t: t, policy: spec, now: w.now, pods: map[string]*pod{}, next: w.next, flaky: w.flaky, owned: true}
		for _, n := range w.nodes {
			c := *n
			other.nodes = append(other.nodes, &c)
		}
		for id, p := range w.pods {
			c := *p
			if c.Ref = &c; p.on != nil {
				c.on = other.nodes[slices.Index(w.nodes, p.on)]
			}
			other.pods[id] = &c
		}
		other.boot(saved)
		w.order = nil
		other.schedule()
		for range 40 {
			step(w, other)
		}
		if !slices.Equal(w.order, other.order) {
			t.Fatalf("released\n%v after a restart, instead of\n%v", other.order, w.order)
		}
	})
}

func TestRefusesWhatCannotBeHad(t *testing.T) {
	for spec, why := range map[string]string{
		"tags:limits=60": "every offer must name", "sita:limits=60": "every offer must name", "hybrid": "it", "nas": "load of the network", "shufflewatcher": "racks", "fbq:reduces=release": "it preempts",
	} {
		if _, err := New(fresh(t, spec), Config{Now: func() unit.Time { return 0 }}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	c, err := New(fresh(t, "fifo"), Config{Now: func() unit.Time { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(func() (policy.Policy, error) { return policy.Policy{}, errors.New("bad") }); err == nil {
		t.Error("a bad policy is loaded")
	}
}

// A release costs the same however many tasks are held.
func BenchmarkRelease(b *testing.B) {
	for _, spec := range []string{"fifo", "fair", "capacity:queues=a:60;b:40", "fbq:limits=60"} {
		for _, held := range []int{5_000, 50_000, 500_000} {
			b.Run(fmt.Sprint(spec, "/", held), func(b *testing.B) {
				now := unit.Time(0)
				c, err := New(fresh(b, spec), Config{Now: func() unit.Time { return now }})
				if err != nil {
					b.Fatal(err)
				}
				for i := range 1000 {
					c.SetNode(fmt.Sprint("n", i), unit.Resources{Mem: 8192, Cores: 8000}, "")
				}
				job := func(i int) Job {
					return Job{Key: fmt.Sprint("j", i%1000), Queue: []string{"a", "b"}[i%2], User: fmt.Sprint("u", i%7)}
				}
				one, n := unit.Resources{Mem: 1024, Cores: 1000}, 0
				arrive := func() {
					n++
					id := fmt.Sprint(n)
					c.See(Task{ID: id, Name: id, Shape: "x", Size: one, Created: now}, job(n), Held, "", 0)
				}
				for range held {
					arrive()
				}
				if err := c.Start(nil); err != nil {
					b.Fatal(err)
				}
				var running []string
				run := func() {
					for _, t := range c.Release() {
						c.Bind(t.ID, fmt.Sprint("n", len(running)%1000))
						running = append(running, t.ID)
					}
				}
				for len(running) < 8000 && len(running) < held {
					run()
				}
				for b.Loop() {
					now += unit.Millisecond
					c.End(running[0], policy.Done, unit.Second)
					c.Gone(running[0])
					running = running[1:]
					arrive()
					run()
				}
			})
		}
	}
}

// Who says later that another's task is one of the policy's does not have its room counted twice.
func TestOtherStaysOther(t *testing.T) {
	c, err := New(fresh(t, "fifo"), Config{Now: func() unit.Time { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	size, job := unit.Resources{Mem: 1024, Cores: 1000}, Job{Key: "a"}
	c.SetNode("n", size.Times(2), "")
	c.Other("x", "n", size)
	if err := c.Start(nil); err != nil {
		t.Fatal(err)
	}
	c.See(Task{ID: "x", Size: size}, job, Bound, "n", 0)
	c.See(Task{ID: "y", Size: size}, job, Held, "", 0)
	if got := c.Release(); len(got) != 1 {
		t.Errorf("%d tasks released beside another's", len(got))
	}
	c.See(Task{ID: "x", Size: size}, job, Over, "n", 0)
	c.See(Task{ID: "z", Size: size}, job, Held, "", 0)
	if got := c.Release(); len(got) != 1 || c.Check() != nil {
		t.Errorf("%d tasks released after another's: %v", len(got), c.Check())
	}
	c.Gone("x")
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// Pods of others that come and go are no reason to try again what found no node.
func TestOthersUnparkNothing(t *testing.T) {
	now := unit.Time(0)
	c, err := New(fresh(t, "fifo"), Config{Now: func() unit.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	size := unit.Resources{Mem: 1024, Cores: 1000}
	c.SetNode("n", size.Times(4), "")
	if err := c.Start(nil); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c.See(Task{ID: fmt.Sprint(i), Shape: "x", Size: size}, Job{Key: "a"}, Held, "", 0)
	}
	tried := 0
	try := func() {
		for _, x := range c.Release() {
			tried++
			c.TakeBack(x.ID, NoNode)
		}
	}
	for range 1000 { // 20 s
		now += 20 * unit.Millisecond
		c.Other("x", "n", size)
		try()
		c.Gone("x")
		try()
	}
	if tried == 0 || tried > 8 { // three at once, then after 1, 2, 4 and 8 s
		t.Errorf("%d trials in 20 s", tried)
	}
	if c.SetNode("m", size, ""); len(c.Release()) != 1 {
		t.Error("no trial after a node came")
	}
}
