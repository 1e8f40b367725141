package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
)

// witness knows what became of the pods of a namespace: from a watch of its own, and from the nodes.
type witness struct {
	mu     sync.Mutex
	pods   map[types.UID]*fate
	events []sighting
	letGo  int // pods that have left the queue
	misses []string
}

// fate is what became of a pod.
type fate struct {
	name, job string
	id        types.UID
	free      bool   // its gate is off
	node      string //
	starts    int
	from, to  time.Time // on its node
	done      bool
	gone      bool
	unwanted  time.Time // when it was deleted
}

// sighting is a change of a pod; a pod that is gone is over.
type sighting struct {
	at time.Time
	of *fate
	is live.State
}

// watch sees the pods of a namespace until the study ends.
func (w *witness) watch(t testing.TB, l *lab.Lab, namespace string) {
	factory := informers.NewSharedInformerFactoryWithOptions(l.Client, 0, informers.WithNamespace(namespace))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.saw(o.(*corev1.Pod), false) },
		UpdateFunc: func(_, o any) { w.saw(o.(*corev1.Pod), false) },
		DeleteFunc: func(o any) {
			if d, missed := o.(cache.DeletedFinalStateUnknown); missed {
				o = d.Obj
			}
			w.saw(o.(*corev1.Pod), true)
		},
	})
	check(t, err)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
}

func (w *witness) saw(p *corev1.Pod, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, f := time.Now(), w.pods[p.UID]
	is := func(s live.State) { w.events = append(w.events, sighting{now, f, s}) }
	if f == nil {
		f = &fate{name: p.Name, job: p.Labels[engine.Domain+"job"], id: p.UID}
		w.pods[p.UID] = f
		is(live.Held)
	}
	if _, free := p.Annotations[engine.Released]; free && !f.free {
		f.free = true
		w.letGo++
		is(live.Released)
	}
	switch {
	case p.Spec.NodeName == "" || p.Spec.NodeName == f.node:
	case f.node != "":
		w.misses = append(w.misses, fmt.Sprintf("%s was on %s, then on %s", f.name, f.node, p.Spec.NodeName))
	default:
		f.node = p.Spec.NodeName
		if !f.free {
			w.letGo++
		}
		is(live.Bound)
	}
	if over := engine.Over(p); (over || gone) && !f.done && !f.gone {
		f.done = over
		is(live.Over)
		if f.to.IsZero() {
			f.to = now
			if !f.unwanted.IsZero() {
				f.to = f.unwanted
			}
		}
	}
	f.gone = f.gone || gone
}

func (w *witness) started(p *corev1.Pod, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.pods[p.UID]; f != nil {
		if f.starts++; f.starts > 1 {
			w.misses = append(w.misses, f.name+" has started twice")
		}
		f.from = at
	} else {
		w.misses = append(w.misses, p.Name+" has started, and nobody saw it come")
	}
}

func (w *witness) ended(p *corev1.Pod, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.pods[p.UID]; f != nil {
		f.to = at
	}
}

// which are the pods of a kind, by name.
func (w *witness) which(is func(*fate) bool) (all []*fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.pods {
		if is(f) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *fate) int { return cmp.Compare(a.name, b.name) })
	return all
}

func waiting(f *fate) bool {
	return !f.free && f.node == "" && !f.done && !f.gone && f.unwanted.IsZero()
}

// left are pods that should finish and have not.
func left(f *fate) bool { return !f.done && f.unwanted.IsZero() }

func (w *witness) released() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.letGo
}

// crowded says which nodes had more pods at a time than they have room for.
func (w *witness) crowded(cpu int) (nodes []string) {
	type change struct {
		at time.Time
		by int
		of *fate
	}
	all := map[string][]change{}
	for _, f := range w.which(func(f *fate) bool { return !f.from.IsZero() && f.to.After(f.from) }) {
		all[f.node] = append(all[f.node], change{f.from, 1, f}, change{f.to, -1, f})
	}
	for node, list := range all {
		slices.SortFunc(list, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
		n := 0
		for i, c := range list {
			if n += c.by; n > cpu {
				nodes = append(nodes, fmt.Sprintf("%s had %d pods of one CPU for %v, %.1f s after the first pod, when %s had come", node, n, list[i+1].at.Sub(c.at), c.at.Sub(w.events[0].at).Seconds(), c.of.name))
			}
		}
	}
	return nodes
}

// decision is what a program let go first, and what one would have that has seen everything since the beginning.
type decision struct {
	Got, Want []string `json:",omitempty"` // jobs, a pod each; Want: if it differs
	Same      string   // see below
	Forgot    bool     // one that had forgotten all service would have decided otherwise
}

// A decision is the same if what the witness had seen by then leads to it; or all of that but some of the latest events, which the program and the witness see on their own.
const (
	same, nearly, differs = "yes", "but for the latest events", "no"
	slack                 = 500 * time.Millisecond
)

// judge compares a decision. The nodes are as given.
func (w *witness) judge(t testing.TB, spec string, nodes []string, cpu int, at time.Time, got []string) *decision {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := func(at time.Time) int {
		n, _ := slices.BinarySearchFunc(w.events, at, func(e sighting, at time.Time) int { return e.at.Compare(at) })
		return n
	}
	d := &decision{Got: got, Same: same, Want: w.next(t, spec, nodes, cpu, at, by(at), false)}
	d.Forgot = !slices.Equal(d.Want, w.next(t, spec, nodes, cpu, at, by(at), true))
	if slices.Equal(got, d.Want) {
		d.Want = nil
		return d
	}
	for n := by(at.Add(-slack)); n <= by(at.Add(slack)); n++ {
		if slices.Equal(got, w.next(t, spec, nodes, cpu, at, n, false)) {
			d.Same = nearly
			return d
		}
	}
	d.Same = differs
	return d
}

// next are the jobs of the pods that a core lets go at an instant that has seen the first n events when they happened, or all of them just now.
func (w *witness) next(t testing.TB, spec string, nodes []string, cpu int, at time.Time, n int, forgot bool) (jobs []string) {
	fresh, _, err := all.Load(all.Policies, spec)
	check(t, err)
	begin := w.events[0].at
	now := unit.Time(0)
	core, err := live.New(fresh, live.Config{Now: func() unit.Time { return now }})
	check(t, err)
	one := unit.Resources{Mem: 64, Cores: 1000, Extra: unit.Named("pods", 1)}
	for _, name := range nodes {
		core.SetNode(name, unit.Resources{Mem: 64 << 10, Cores: int64(cpu) * 1000, Extra: unit.Named("pods", 110)}, "")
	}
	check(t, core.Start(nil))
	for _, e := range w.events[:n] {
		if now = unit.Time(e.at.Sub(begin).Microseconds()); forgot {
			now = unit.Time(at.Sub(begin).Microseconds())
		}
		switch id := string(e.of.id); e.is {
		case live.Over:
			core.End(id, policy.Done, 0)
		default:
			task := live.Task{ID: id, Name: e.of.name, Shape: "all", Size: one, Created: now, Ref: e.of.job}
			core.See(task, live.Job{Key: e.of.job, User: "all", Queue: "all", Submitted: now}, e.is, e.of.node, now)
		}
	}
	now = unit.Time(at.Sub(begin).Microseconds())
	for _, x := range core.Release() {
		jobs = append(jobs, x.Ref.(string))
	}
	return jobs
}

// received is the first of some jobs, with the service that it had received.
func (w *witness) received(jobs []string, at time.Time) string {
	if len(jobs) == 0 {
		return "none"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	since, sum := map[*fate]time.Time{}, time.Duration(0)
	for _, e := range w.events {
		from, runs := since[e.of]
		switch {
		case e.of.job != jobs[0] || e.at.After(at):
		case e.is == live.Over && runs:
			sum += e.at.Sub(from)
			delete(since, e.of)
		case !runs && (e.is == live.Released || e.is == live.Bound):
			since[e.of] = e.at
		}
	}
	for _, from := range since {
		sum += at.Sub(from)
	}
	return fmt.Sprintf("%s (which had %.1f container-seconds)", jobs[0], sum.Seconds())
}

// release is a line of a program's log: it lets a pod go.
type release struct {
	at  time.Time
	pod types.UID
}

// releases are those that a program's log has from an offset on; none while it cannot be read.
func releases(file string, from int64) (list []release) {
	_ = readLog(file, from, func(at time.Time, what, _, pod string) {
		if what == "release" {
			list = append(list, release{at, types.UID(pod)})
		}
	})
	return list
}

// audited is what the API server's own log says.
type audited struct {
	Bindings  int // that took effect
	Conflicts int // bindings and releases that it refused, because they had been made
	Touched   int // writes of ours to pods of others
}

func readAudit(t testing.TB, file, user, others string) (a audited, misses []string) {
	f, err := os.Open(file)
	check(t, err)
	defer f.Close()
	bound := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var e struct {
			Stage, Verb    string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
			ResponseStatus struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // cut off when the API server was killed
		}
		o := e.ObjectRef
		if o.Resource != "pods" || e.Stage != "ResponseComplete" || e.Verb == "get" || e.Verb == "list" || e.Verb == "watch" {
			continue
		}
		if e.User.Username == user && o.Namespace == others {
			a.Touched++
			misses = append(misses, fmt.Sprintf("%s %s %s of another scheduler", e.Verb, o.Subresource, o.Name))
		}
		switch code := e.ResponseStatus.Code; {
		case o.Namespace == others:
		case o.Subresource == "binding" && code == 201:
			a.Bindings++
			if bound[o.Name]++; bound[o.Name] > 1 {
				misses = append(misses, o.Name+" was bound twice")
			}
		case code == 409 && (o.Subresource == "binding" || e.User.Username == user):
			a.Conflicts++
		}
	}
	check(t, lines.Err())
	return a, misses
}
