package adapt_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Two implementations of each YARN scheduler are kept: the exact one (policy/rm), and the order for ideal time, which is several times
// faster. The tests here drive both with the same events and demand that they give the next container to the same application.
//
// Left out is what only the exact one has: places, reservations (no node is served that something waiting does not fit), preemption,
// several containers a heartbeat, rounding of sizes. FairScheduler is brought up to date before each heartbeat, instead of every half
// second. Four differences are known; in each, the exact one does as Hadoop does:
//
//   - YARN charges an application without an AM one minimum allocation against the limit on AMs; the order charges nothing.
//   - With the DominantResourceCalculator and maxima, YARN may propose a container that its own last check refuses; nobody gets the
//     node in that heartbeat. The order goes on to the next queue (mayRefuse).
//   - If the most urgent request of an application would take its queue above a maximum, FairScheduler tries the next one. The order
//     sees the most urgent one only (oneSize).
//   - Under drf, of two queues with equal dominant shares the order compares the other shares to a millionth (weights are powers of 2).

// once lets an order give one container a heartbeat.
type once struct {
	policy.Order
	policy.Knobs
	last unit.Time
}

func newOnce(p policy.Policy) rm.Scheduler {
	s, err := adapt.New(policy.Policy{Order: &once{Order: p.Order, Knobs: p.Order.(policy.Knobs)}})
	if err != nil {
		panic(err)
	}
	return s
}

func (o *once) Ranked(offer *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if o.last == offer.Now {
		return false
	}
	o.last = offer.Now
	return o.Order.Ranked(offer, try)
}

// twins are a YARN scheduler (0) and a policy behind the adapter (1) that hear the same events.
type twins struct {
	rt     rapid.TB
	r      *rand.Rand
	scheds [2]rm.Scheduler
	nodes  [2][]*rm.Node
	apps   []*twin
	seq    int64
	log    []string

	cores   func(gib int64) int64 // of a container
	queues  []string
	knobs   map[string][]float64 // values of queues' properties
	minAsk  unit.Resources       // a node with less than that is reserved by nobody
	oneSize bool                 // of all tasks of an application

	unmanaged bool // some applications have no AM
	mayRefuse bool // YARN may refuse its own proposal: nobody gets the node then
	refused   bool // it did: from here on the two go different ways
}

// twin is an application. Its containers come in the same order on both sides.
type twin struct {
	app     [2]*rm.App
	held    [][2]*rm.Container
	up      bool // its AM runs
	pending map[int32]int64
	size    map[int32]unit.Resources
}

func (w *twins) both(f func(side int, s rm.Scheduler)) {
	for side, s := range w.scheds {
		f(side, s)
	}
}

func (w *twins) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *twins) fail(format string, args ...any) {
	w.rt.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
}

func (w *twins) addNode(total unit.Resources) {
	w.say("node %v", total)
	w.both(func(side int, s rm.Scheduler) {
		i := len(w.nodes[side])
		n := &rm.Node{Index: int32(i), Name: fmt.Sprint("n", i), Total: total}
		w.nodes[side] = append(w.nodes[side], n)
		s.NodeAdded(n, 0)
	})
}

// submit adds an application, with an AM or without.
func (w *twins) submit(user, queue string, priority int, am unit.Resources) {
	a := &twin{pending: map[int32]int64{}, size: map[int32]unit.Resources{}, up: am.IsZero()}
	w.say("app %d of %s in %s, priority %d, AM %v", w.seq, user, queue, priority, am)
	var errs [2]error
	w.both(func(side int, s rm.Scheduler) {
		a.app[side] = &rm.App{Index: int32(w.seq), Seq: w.seq, ID: fmt.Sprint(w.seq), User: user, Queue: queue, Priority: priority, AM: am, Submitted: w.now()}
		errs[side] = s.Added(a.app[side], w.now())
	})
	w.seq++
	if (errs[0] == nil) != (errs[1] == nil) {
		w.fail("one refuses: %v; %v", errs[0], errs[1])
	}
	if errs[0] != nil {
		return
	}
	w.apps = append(w.apps, a)
	if !a.up {
		w.ask(a, rm.AMPriority, 1, am)
	}
}

func (w *twins) now() unit.Time { return unit.Time(len(w.log)) * unit.Second }

func (w *twins) ask(a *twin, priority int32, count int64, size unit.Resources) {
	w.say("app %d asks at %d for %d of %v", a.app[0].Seq, priority, count, size)
	a.pending[priority], a.size[priority] = count, size
	w.both(func(side int, s rm.Scheduler) {
		if err := s.Asked(a.app[side], []rm.Ask{{Priority: priority, Place: rm.Anywhere, Count: count, Size: size}}, nil, w.now()); err != nil {
			w.fail("%v", err)
		}
		if priority != rm.AMPriority {
			s.Headroom(a.app[side]) // is part of the answer: YARN brings the user limit up to date for it
		}
	})
}

func (w *twins) end(a *twin, i int) {
	c := a.held[i]
	w.say("app %d ends container %d", a.app[0].Seq, c[0].ID)
	a.held = append(a.held[:i:i], a.held[i+1:]...)
	released := w.r.IntN(4) == 0 && !c[0].AM
	w.both(func(side int, s rm.Scheduler) {
		if !released {
			c[side].End = policy.Done
		} else if err := s.Asked(a.app[side], nil, []*rm.Container{c[side]}, w.now()); err != nil {
			w.fail("%v", err)
		}
		s.Ended(c[side], w.now())
	})
}

func (w *twins) remove(k int) {
	a := w.apps[k]
	w.apps = append(w.apps[:k:k], w.apps[k+1:]...)
	for len(a.held) > 0 {
		w.end(a, len(a.held)-1)
	}
	w.say("app %d leaves", a.app[0].Seq)
	w.both(func(side int, s rm.Scheduler) { s.Removed(a.app[side], w.now()) })
}

// beat serves a node, unless something that waits would fit it only later: YARN would reserve it.
func (w *twins) beat(i int) {
	n := w.nodes[0][i]
	for _, a := range w.apps {
		for p, k := range a.pending {
			if k > 0 && !a.size[p].Fits(n.Free) && w.minAsk.Fits(n.Free) {
				return
			}
		}
	}
	w.say("node %d reports", i)
	var got [2][]*rm.Container
	w.both(func(side int, s rm.Scheduler) {
		s.Round(w.now()) // FairScheduler learns of demand and shares here
		got[side] = s.Beat(w.nodes[side][i], w.now())
	})
	var text [2]string
	for side, list := range got {
		for _, c := range list {
			c.Launched = true
			text[side] += fmt.Sprintf(" app %d at %d, %v", c.App.Seq, c.Priority, c.Size)
		}
	}
	w.say("  gives%s", text[0])
	if w.mayRefuse && text[0] == "" && text[1] != "" {
		w.refused = true
		return
	}
	if text[0] != text[1] {
		w.fail("node %d: YARN's scheduler gives%s, the policy%s", i, text[0], text[1])
	}
	for k := range got[0] {
		c := [2]*rm.Container{got[0][k], got[1][k]}
		for _, a := range w.apps {
			if a.app[0] == c[0].App {
				a.held = append(a.held, c)
				a.pending[c[0].Priority]--
				a.up = a.up || c[0].AM
			}
		}
	}
	if w.nodes[0][i].Free != w.nodes[1][i].Free {
		w.fail("node %d has %v and %v free", i, w.nodes[0][i].Free, w.nodes[1][i].Free)
	}
}

func (w *twins) draw() unit.Resources {
	mem := 1 + w.r.Int64N(2)
	return unit.Resources{Mem: 1024 * mem, Cores: w.cores(mem)}
}

func (w *twins) am() unit.Resources {
	if w.unmanaged && w.r.IntN(3) == 0 {
		return unit.Resources{}
	}
	return w.draw()
}

func (w *twins) step() {
	switch k := w.r.IntN(20); {
	case k < 3 || len(w.apps) == 0:
		w.submit(fmt.Sprint("u", w.r.IntN(3)), w.queues[w.r.IntN(len(w.queues))], w.r.IntN(4), w.am())
	case k < 7:
		a, p, count := w.apps[w.r.IntN(len(w.apps))], []int32{10, 20}[w.r.IntN(2)], w.r.Int64N(6)
		if a.up && a.pending[p] != count {
			size := w.draw()
			if w.oneSize && !a.size[10+20-p].IsZero() {
				size = a.size[10+20-p]
			}
			w.ask(a, p, count, size)
		}
	case k < 9:
		if a := w.apps[w.r.IntN(len(w.apps))]; len(a.held) > 1 {
			w.end(a, 1+w.r.IntN(len(a.held)-1))
		}
	case k == 9 && w.r.IntN(3) == 0:
		w.remove(w.r.IntN(len(w.apps)))
	case k == 10 && w.r.IntN(3) == 0:
		w.turn()
	case k == 11 && w.r.IntN(8) == 0:
		w.addNode(unit.Resources{Mem: 8192, Cores: 8})
	default:
		w.beat(w.r.IntN(len(w.nodes[0])))
	}
}

// turn moves a knob.
func (w *twins) turn() {
	if w.r.IntN(2) == 0 {
		a, v := w.apps[w.r.IntN(len(w.apps))], w.r.IntN(4)
		w.say("app %d has priority %d", a.app[0].Seq, v)
		w.both(func(side int, s rm.Scheduler) { s.(rm.Knobs).SetPriority(a.app[side], v, w.now()) })
		return
	}
	names := slices.Sorted(maps.Keys(w.knobs))
	name := names[w.r.IntN(len(names))]
	q, v := w.queues[w.r.IntN(len(w.queues))], w.knobs[name][w.r.IntN(len(w.knobs[name]))]
	w.say("%s of %s is %v", name, q, v)
	var old [2]float64
	var err [2]error
	w.both(func(side int, s rm.Scheduler) { old[side], err[side] = s.(rm.Knobs).SetQueue(q, name, v, w.now()) })
	if old[0] != old[1] || (err[0] == nil) != (err[1] == nil) {
		w.fail("%s of %s was %v and %v; %v; %v", name, q, old[0], old[1], err[0], err[1])
	}
}

func (w *twins) play() {
	for range 2 + w.r.IntN(4) {
		w.addNode(unit.Resources{Mem: 8192, Cores: 8})
	}
	for steps := 20 + w.r.IntN(200); steps > 0 && !w.refused; steps-- {
		w.step()
	}
}

func capacityTwins(rt rapid.TB, r *rand.Rand, settings []string) *twins {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, x := range append(settings, "per-node-heartbeat.multiple-assignments-enabled=false") {
		k, v, _ := strings.Cut(x, "=")
		if !strings.HasPrefix(k, "yarn.") {
			k = conf.Prefix + k
		}
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, v)
	}
	b.WriteString("</configuration>")
	c, err := conf.ReadCapacity(strings.NewReader(b.String()), "test.xml")
	if err != nil {
		rt.Fatal(err)
	}
	site := conf.DefaultSite()
	site.MaxApplicationPriority = c.MaxApplicationPriority
	exact, err := capacityrm.New(c, site)
	if err != nil {
		rt.Fatal(err)
	}
	p, err := capacity.New(c)
	if err != nil {
		rt.Fatal(err)
	}
	return &twins{rt: rt, r: r, scheds: [2]rm.Scheduler{exact, newOnce(p)}, log: settings}
}

func TestCapacityAgrees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		agreeCapacity(rt, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))
	})
}

func agreeCapacity(rt rapid.TB, r *rand.Rand) {
	kind := r.IntN(3)
	k := []struct {
		calculator string
		cores      func(gib int64) int64
	}{
		{"DefaultResourceCalculator", func(int64) int64 { return 1 }},
		{"DominantResourceCalculator", func(gib int64) int64 { return gib }},
		{"DominantResourceCalculator", func(int64) int64 { return 1 + r.Int64N(2) }},
	}[kind]
	shares := [][]string{{"20", "50", "30"}, {"1w", "3w", "2w"}, {"[memory=10240,vcores=8]", "[memory=8192,vcores=10]", "[memory=4096,vcores=6]"}, {"0", "100", "0"}}[r.IntN(4)]
	settings := []string{
		"root.queues=a,b,c", "root.a.capacity=" + shares[0], "root.b.capacity=" + shares[1], "root.c.capacity=" + shares[2],
		fmt.Sprint("maximum-am-resource-percent=", []float64{0.1, 0.2, 0.5, 1}[r.IntN(4)]), "yarn.cluster.max-application-priority=3",
		"root.ordering-policy=" + []string{"utilization", "priority-utilization"}[r.IntN(2)],
		fmt.Sprint("root.a.priority=", r.IntN(3)), fmt.Sprint("root.b.priority=", r.IntN(3)),
		"user-limit-factor=" + []string{"-1", "1", "2", "0.5"}[r.IntN(4)],
		fmt.Sprint("minimum-user-limit-percent=", []int{100, 50, 25, 10}[r.IntN(4)]),
		"resource-calculator=x." + k.calculator,
	}
	queues := []string{"root.a", "root.b", "root.c"}
	if shares[0] == "20" || shares[0] == "1w" {
		settings = append(settings, "root.a.queues=x,y", "root.a.x.capacity=30", "root.a.y.capacity=70",
			fmt.Sprint("root.a.maximum-capacity=", 40+r.IntN(60)), fmt.Sprint("root.a.x.maximum-capacity=", 50+r.IntN(50)))
		queues = []string{"root.a.x", "root.a.y", "root.b", "root.c"}
	}
	for _, q := range queues {
		settings = append(settings, q+".ordering-policy="+[]string{"fifo", "fair"}[r.IntN(2)])
	}
	w := capacityTwins(rt, r, settings)
	w.queues, w.minAsk = queues, unit.Resources{Mem: 1024, Cores: 1}
	w.knobs = map[string][]float64{
		"capacity": {10, 25, 40}, "maximum-capacity": {30, 60, 100},
		"maximum-am-resource-percent": {0.1, 0.3, 1}, "user-limit-factor": {0.5, 1, 3}, "minimum-user-limit-percent": {100, 50, 25},
	}
	w.cores, w.mayRefuse = k.cores, kind == 2
	w.play()
}

func TestFairAgrees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		agreeFair(rt, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))
	})
}

func agreeFair(rt rapid.TB, r *rand.Rand) {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	settings := func() string {
		return one("", "<weight>2.0</weight>", "<weight>0.5</weight>") + one("", "<minResources>4096 mb,3 vcores</minResources>") +
			one("", "<maxResources>12288 mb,10 vcores</maxResources>") + one("", "<maxAMShare>0.3</maxAMShare>", "<maxAMShare>-1.0</maxAMShare>") +
			one("", "<maxRunningApps>2</maxRunningApps>") + one("", "<schedulingPolicy>drf</schedulingPolicy>")
	}
	text := "<allocations><queue name=\"a\">" + settings() + "<queue name=\"x\">" + settings() + "</queue><queue name=\"y\">" + settings() +
		one("", "<schedulingPolicy>fifo</schedulingPolicy>") + "</queue></queue><queue name=\"b\">" + settings() + "</queue><queue name=\"c\"/>" +
		one("", "<userMaxAppsDefault>3</userMaxAppsDefault>") + one("", "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>") + "</allocations>"
	c, err := conf.ReadFair(strings.NewReader(text), "test.xml")
	if err != nil {
		rt.Fatal(err, text)
	}
	exact, err := fairrm.New(c, conf.DefaultSite())
	if err != nil {
		rt.Fatal(err)
	}
	p, err := fair.FromConf(c)
	if err != nil {
		rt.Fatal(err)
	}
	w := &twins{
		rt: rt, r: r, scheds: [2]rm.Scheduler{exact, newOnce(p)}, log: []string{strings.ReplaceAll(text, "<queue", "\n<queue")},
		queues:  []string{"root.a.x", "root.a.y", "root.b", "root.c", "root.d"}[:4+r.IntN(2)],
		cores:   func(int64) int64 { return 1 + r.Int64N(2) },
		knobs:   map[string][]float64{"weight": {0.5, 1, 4}, "maxAMShare": {0.1, 0.5, 1}, "maxRunningApps": {1, 2, 5}},
		oneSize: true, unmanaged: true,
	}
	w.play()
}
