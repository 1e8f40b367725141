package main

import (
	"cmp"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
)

// costRecord is one series on one control plane.
type costRecord struct {
	Series costSeries
	Runs   []costRun `json:",omitempty"`
	Held   []heldRun `json:",omitempty"`
}

// costSeries says what is measured.
type costSeries struct {
	Name        string
	Nodes, Pods int // Pods: that wait
	Bind        int // of these
	Alike       bool
}

// costRun is a scheduler that binds pods. Times are in seconds.
type costRun struct {
	Way          string
	Round, Bound int
	CPU, Start   float64 // of the scheduler; Start: until the first pod was bound
	First, All   float64 // wall time until the first was bound, and from then until all were
	Foreign      float64 // processor time of all that is no part of the control plane, the scheduler and the study meanwhile
}

// heldRun is a program in front of which pods are held.
type heldRun struct {
	Way      string
	Held     int
	Restart  float64 // s until the first pod that it has let go has a node
	CPU      float64 // s until then
	MB       float64 // resident
	Releases int
	Release  float64 // ms of its core for each pod let go, one at a time
	Wait     float64 // s from the end of a pod until the next has its node, median
	Foreign  float64
}

var costs = []costSeries{
	{"few", 1000, 5000, 5000, false}, {"many", 1000, 50_000, 5000, false}, {"alike", 5000, 5000, 5000, true},
	{heldBy + "scheduler", 5000, 100_000, 0, false}, {heldBy + "controller", 5000, 100_000, 0, false},
}

const (
	heldJobs = 1000
	heldBy   = "held-"
)

//go:embed cost.md.tmpl
var costPage string

func init() {
	verbs = append(verbs, verb{"cost", "processor time per pod beside the stock scheduler's, and what held pods cost", func(f *flag.FlagSet, out io.Writer) func(context.Context) error {
		return cost().Verb(f, out)
	}})
}

func cost() *harness.Study[costRecord] {
	rounds, by := 5, 1
	s := &harness.Study[costRecord]{
		Options: harness.Options{Repetitions: 1}, Folder: folder("cost"), Series: "cost", Template: costPage, Nice: -10,
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&rounds, "rounds", rounds, "how often each scheduler takes its turn")
			f.IntVar(&by, "by", by, "divide nodes and pods `by` this, to try it")
		},
		Small: func() { rounds, by = 1, 100 },
	}
	for _, c := range costs {
		s.Ways = append(s.Ways, c.Name)
	}
	s.Run = func(ctx context.Context, now *harness.Run) (*costRecord, string, error) {
		c := costs[slices.IndexFunc(costs, func(c costSeries) bool { return c.Name == now.Way })]
		c.Nodes, c.Pods, c.Bind = c.Nodes/by, c.Pods/by, c.Bind/by
		rec := &costRecord{Series: c}
		err := within(ctx, now.Log, func(t testing.TB) {
			if c.Bind > 0 {
				rec.measure(t, rounds)
			} else {
				rec.hold(t, strings.TrimPrefix(c.Name, heldBy))
			}
		})
		return rec, fmt.Sprintf("%d nodes, %d pods", c.Nodes, c.Pods), err
	}
	s.Facts = func(_ context.Context, _ []evidence.Run, records []*costRecord) (map[string]any, template.FuncMap, error) {
		return costFacts(records), nil, nil
	}
	return s
}

// plant is a control plane with nodes on which nothing runs, and a namespace of pods.
type plant struct {
	testing.TB
	*lab.Lab
	home, jobs string
	kubelet    *lab.Kubelet
	filled     int // pods so far
}

func newPlant(t testing.TB, nodes int, cpu string, options ...lab.Option) *plant {
	p := &plant{TB: t, Lab: lab.Start(t, options...), kubelet: &lab.Kubelet{StartUp: time.Hour}}
	p.home, p.jobs = p.Namespace(t), p.Namespace(t)
	p.kubelet.Run(t, p.Lab)
	p.kubelet.Nodes(t, nodes, "node", nil, "cpu", cpu, "memory", "256Gi")
	return p
}

func (p *plant) set(policy string) {
	maps := p.Client.CoreV1().ConfigMaps(p.home)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: engine.Name}, Data: map[string]string{"policy": policy}}
	if _, err := maps.Update(p.Context(), m, metav1.UpdateOptions{}); err != nil {
		_, err = maps.Create(p.Context(), m, metav1.CreateOptions{})
		check(p, err)
	}
}

// fill creates so many more pods, in jobs.
func (p *plant) fill(n int, ask string, job func(i int) int, change func(i int, o *corev1.Pod)) {
	from, next, errs := p.filled, atomic.Int64{}, make(chan error)
	p.filled += n
	for range 16 {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					errs <- nil
					return
				}
				o := lab.Pod(fmt.Sprintf("%06d", from+i), ask, "64Mi", 0)
				o.Labels[engine.Domain+"job"] = fmt.Sprint(job(from + i))
				change(from+i, o)
				if _, err := p.Client.CoreV1().Pods(p.jobs).Create(p.Context(), o, metav1.CreateOptions{}); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var failed error
	for range 16 {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	check(p, failed)
}

// bound calls saw with the number of pods that have got nodes, until the function is called.
func (p *plant) bound(saw func(n int)) (stop func()) {
	done, n := make(chan struct{}), 0
	see := func(o any) {
		if o.(*corev1.Pod).Spec.NodeName != "" {
			n++
			saw(n)
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(p.Client, 0, informers.WithNamespace(p.jobs), informers.WithTransform(engine.Strip))
	registered, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(old, o any) {
		if old.(*corev1.Pod).Spec.NodeName == "" {
			see(o)
		}
	}})
	check(p, err)
	factory.Start(done)
	cache.WaitForCacheSync(done, registered.HasSynced) // not only listed: counted
	return sync.OnceFunc(func() { close(done) })
}

// clear deletes the pods that have nodes.
func (p *plant) clear() {
	check(p, p.Client.CoreV1().Pods(p.jobs).DeleteCollection(p.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{FieldSelector: "spec.nodeName!="}))
}

// measure lets schedulers bind pods in turns. All serve the same pods: those that are bound are deleted after each turn, and others come.
func (rec *costRecord) measure(t testing.TB, rounds int) {
	c := rec.Series
	cpu, ask := "32", "100m"
	if c.Alike {
		cpu, ask = "1", "1"
	}
	p := newPlant(t, c.Nodes, cpu)
	config := func(name, rest string) string {
		path := filepath.Join(p.Dir, name+".yaml")
		check(t, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 10000, burst: 10000}
%s`, p.Kubeconfig, rest), 0o600))
		return "--config=" + path
	}
	const (
		plain   = "profiles:\n- schedulerName: " + engine.Name
		batches = plain + `
  pluginConfig:
  - {name: PodTopologySpread, args: {defaultingType: List}}
  - {name: InterPodAffinity, args: {ignorePreferredTermsOfExistingPods: true}}`
	)
	type variant struct{ name, policy, config string }
	variants := []variant{{"stock", "", plain}, {"fifo", "fifo", plain}, {"fair", "fair", plain}, {"fbq", "fbq", plain}}
	if c.Alike { // our own profile is the default
		variants = []variant{{"stock", "", plain}, {"stock, our profile", "", batches}, {"fbq, our profile", "fbq", ""}}
	}
	waiting := 0
	stock, own := filepath.Join(p.Programs, "kube-scheduler"), program(t, "yardmaster-scheduler")
	for round := range rounds {
		for i := range variants {
			v := variants[(i+round)%len(variants)]
			p.fill(c.Pods-waiting, ask, func(i int) int { return i / 50 }, func(_ int, o *corev1.Pod) { o.Spec.SchedulerName = engine.Name })
			run, program, flags := costRun{Way: v.name, Round: round, Bound: c.Bind}, stock, []string{config("scheduler", v.config), "--secure-port=0"}
			if v.policy != "" {
				p.set(v.policy)
				program, flags = own, append(flags, "--yardmaster-address=", "--yardmaster-namespace="+p.home)
			}
			var s *lab.Process
			var first time.Time
			var bound atomic.Int64
			ready, done := make(chan struct{}), make(chan struct{})
			stop := p.bound(func(n int) {
				bound.Store(int64(n))
				if <-ready; n == 1 {
					first, run.Start = time.Now(), p.used(s)
				}
				if n == c.Bind {
					close(done)
				}
			})
			foreign, begin := p.foreign(), time.Now()
			s = p.Run(t, fmt.Sprint("cost-", len(rec.Runs)), program, flags...)
			close(ready)
			select {
			case <-done:
			case <-time.After(15 * time.Minute):
				t.Fatalf("%s has not bound %d pods after a quarter of an hour", v.name, c.Bind)
			}
			run.CPU, run.First, run.All = p.used(s), first.Sub(begin).Seconds(), time.Since(first).Seconds()
			run.Foreign = foreign(s)
			s.Kill()
			time.Sleep(time.Second) // until those are seen that it has bound besides
			stop()
			p.clear()
			waiting = c.Pods - int(bound.Load())
			rec.Runs = append(rec.Runs, run)
			t.Logf("%s, round %d, %-18s: %.3f CPU-ms a pod, %.0f pods/s, first bound after %.1f s, foreign %.1f CPU-s", c.Name, round, v.name, run.Each(), run.Rate(), run.First, run.Foreign)
		}
	}
}

// Each is the processor time per pod, in milliseconds.
func (r *costRun) Each() float64 { return r.CPU * 1000 / float64(r.Bound) }

// Rate is pods a second.
func (r *costRun) Rate() float64 { return float64(r.Bound-1) / r.All }

func (p *plant) used(of ...*lab.Process) (s float64) {
	for _, x := range of {
		used, err := x.CPU()
		check(p, err)
		s += used.Seconds()
	}
	return s
}

// foreign begins to count the processor time of what is no part of the study. Programs that are given at the end began after the beginning.
func (p *plant) foreign() func(begun ...*lab.Process) float64 {
	all := func() float64 {
		text, err := os.ReadFile("/proc/stat")
		check(p, err)
		fields, sum := strings.Fields(strings.SplitN(string(text), "\n", 2)[0])[1:], 0
		for i, f := range fields {
			if n, err := strconv.Atoi(f); err == nil && i != 3 && i != 4 && i < 8 { // neither idle nor waiting
				sum += n
			}
		}
		return float64(sum) / 100
	}
	ours := func(more ...*lab.Process) float64 {
		var u syscall.Rusage
		check(p, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		more = append(more, p.Etcd, p.API)
		if p.Scheduler != nil {
			more = append(more, p.Scheduler)
		}
		return p.used(more...) + time.Duration(u.Utime.Nano()+u.Stime.Nano()).Seconds()
	}
	was, own := all(), ours()
	return func(begun ...*lab.Process) float64 { return all() - was - (ours(begun...) - own) }
}

// hold measures what held pods cost a driver, with ever more of them on a full cluster.
func (rec *costRecord) hold(t testing.TB, way string) {
	var options []lab.Option
	if way == "controller" {
		options = append(options, lab.WithScheduler())
	}
	p := newPlant(t, rec.Series.Nodes, "1", options...)
	p.set("fbq")
	job := func(i int) int { return i % heldJobs }
	own := func(o *corev1.Pod) {
		if way == "scheduler" {
			o.Spec.SchedulerName = engine.Name
		}
	}
	p.fill(rec.Series.Nodes, "1", job, func(i int, o *corev1.Pod) {
		own(o)
		o.Spec.NodeName, o.Annotations[engine.Released] = fmt.Sprint("node-", i), ""
	})
	held := 0
	for _, n := range []int{rec.Series.Pods / 100, rec.Series.Pods / 10, rec.Series.Pods} {
		p.fill(n-held, "1", job, func(_ int, o *corev1.Pod) {
			if own(o); way == "controller" {
				o.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: engine.Gate}}
			}
		})
		held = n
		run := p.held(way, n)
		held -= run.Releases
		rec.Held = append(rec.Held, run)
		t.Logf("%s, %d held: restart %.1f s (%.1f CPU-s), %.0f MB, %.4f ms of the core a release, a node %.3f s after the end of another, foreign %.1f CPU-s", way, n, run.Restart, run.CPU, run.MB, run.Release, run.Wait, run.Foreign)
	}
}

// held starts a program, and then has pods end one at a time.
func (p *plant) held(way string, n int) (run heldRun) {
	run.Way, run.Held = way, n
	var mu sync.Mutex
	var at []time.Time
	stop := p.bound(func(int) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
	})
	defer stop()
	seen := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(at)
	}
	end := func(n int) {
		list, err := p.Client.CoreV1().Pods(p.jobs).List(p.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName!=", Limit: int64(n)})
		check(p, err)
		for _, o := range list.Items {
			check(p, p.Client.CoreV1().Pods(p.jobs).Delete(p.Context(), o.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		}
	}
	end(1)
	was := seen()
	port, err := lab.FreePort()
	check(p, err)
	address := fmt.Sprint("127.0.0.1:", port)
	flags := []string{"--kubeconfig=" + p.Kubeconfig, "--leader-elect=false", "--kube-api-qps=10000", "--kube-api-burst=10000"}
	if way == "scheduler" {
		flags = append(flags, "--secure-port=0", "--yardmaster-address="+address, "--yardmaster-namespace="+p.home)
	} else {
		flags = append(flags, "--listen="+address, "--namespace="+p.home)
	}
	program := program(p, "yardmaster-"+way)
	foreign, begin := p.foreign(), time.Now()
	s := p.Run(p, fmt.Sprint("held-", way, "-", begin.Unix()), program, flags...)
	defer s.Kill()
	lab.Eventually(p, 10*time.Minute, "a pod is let go", func() bool { return seen() > was })
	run.Restart, run.CPU = time.Since(begin).Seconds(), p.used(s)
	time.Sleep(3 * time.Second)
	busy, releases := p.metric(address, "yardmaster_release_duration_seconds_sum"), p.metric(address, "yardmaster_releases_total")
	var took []float64
	for range min(100, n/2) {
		was := seen()
		now := time.Now()
		end(1)
		lab.Eventually(p, time.Minute, "the next pod is let go", func() bool { return seen() > was })
		mu.Lock()
		took = append(took, at[was].Sub(now).Seconds())
		mu.Unlock()
	}
	slices.Sort(took)
	run.Wait = took[len(took)/2]
	run.Release = (p.metric(address, "yardmaster_release_duration_seconds_sum") - busy) * 1000 / (p.metric(address, "yardmaster_releases_total") - releases)
	run.Releases = int(p.metric(address, "yardmaster_releases_total"))
	run.Foreign, run.MB = foreign(s), p.metric(address, "process_resident_memory_bytes")/1e6
	return run
}

func (p *plant) metric(address, name string) float64 {
	r, err := http.Get("http://" + address + "/metrics")
	check(p, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	check(p, err)
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			v, err := strconv.ParseFloat(value, 64)
			check(p, err)
			return v
		}
	}
	p.Fatalf("there is no metric %s", name)
	return 0
}

// costRow sums up the turns of a scheduler in a series.
type costRow struct {
	costSeries
	Way           string
	Turns         int
	Each, Rate    []float64
	Foreign       float64 // processors, on average
	CPU, Faster   float64 // of stock's
	Aim           string  // and whether it is met; "": it has none
	wall, foreign float64
}

func costFacts(records []*costRecord) map[string]any {
	var rows []*costRow
	var held []heldRun
	for _, r := range records {
		for _, h := range r.Held {
			h.Foreign = max(0, h.Foreign) // the system counts in hundredths, the processes more finely
			held = append(held, h)
		}
		for _, run := range r.Runs {
			x := find(&rows, func(x *costRow) bool { return x.costSeries == r.Series && x.Way == run.Way }, &costRow{costSeries: r.Series, Way: run.Way})
			x.Turns++
			x.Each, x.Rate = append(x.Each, run.Each()), append(x.Rate, run.Rate())
			x.wall, x.foreign = x.wall+run.First+run.All, x.foreign+run.Foreign
		}
	}
	word := map[bool]string{true: "met", false: "**missed**"}
	for _, x := range rows {
		stock := find(&rows, func(s *costRow) bool { return s.costSeries == x.costSeries && s.Way == "stock" }, x)
		x.Foreign, x.CPU, x.Faster = x.foreign/x.wall, result.Mean(x.Each).Mean/result.Mean(stock.Each).Mean, result.Mean(x.Rate).Mean/result.Mean(stock.Rate).Mean
		switch {
		case strings.HasPrefix(x.Way, "stock"):
		case x.Alike:
			x.Aim = "at least 2.0 of its pods/s: " + word[x.Faster >= 2]
		default:
			x.Aim = "at most 1.1 of its CPU: " + word[x.CPU <= 1.1]
		}
	}
	slices.SortFunc(held, func(a, b heldRun) int { return cmp.Or(-cmp.Compare(a.Way, b.Way), cmp.Compare(a.Held, b.Held)) })
	return map[string]any{"Rows": rows, "Held": held}
}
