package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
)

// faultRecord is what became of one control plane.
type faultRecord struct {
	Way      string
	Policy   string
	Site     site
	Faults   []fault
	Pods     int // in all
	Deleted  int // of these, by the study
	Finished int
	Others   int // pods of another scheduler
	audited
	Misses []string `json:",omitempty"`
	Took   millis
}

// fault is one, and what was seen after it.
type fault struct {
	Kind  string
	At    millis
	Bound int       // pods that the program had let go since it began
	Open  int       // of these, those of which the cluster did not know yet
	Back  millis    // until the next pod was let go
	Next  *decision `json:",omitempty"` // what that one and those with it were
	Note  string    `json:",omitempty"`
	Miss  []string  `json:",omitempty"`
}

// Kinds of faults, in their order.
const (
	killed       = "killed while it lets pods go"
	leaderKilled = "leader of two replicas killed"
	leaderEnds   = "leader of two replicas asked to end"
	apiKilled    = "API server killed"
	etcdKilled   = "etcd killed"
	unset        = "settings deleted"
	unsetKilled  = "settings deleted, then killed"
	broken       = "settings broken"
	brokenKilled = "settings broken, then killed"
	forgotten    = "state deleted"
	garbled      = "state made unreadable, then killed"
	podsDeleted  = "held pods deleted"
	nodesLost    = "nodes lost"
	tainted      = "all nodes tainted"
	untainted    = "taint taken off"

	stock = "stock" // kube-scheduler alone, for what it does when the API server or etcd is killed
)

var faultPolicies = map[string]string{"fbq": "fbq:limits=40,200", "fair": "fair:resource=drf"}

//go:embed faults.md.tmpl
var faultsPage string

func init() {
	verbs = append(verbs, verb{"faults", "kills, restarts and losses: no pod is lost, bound twice or held for ever, and the next decision is the same", func(f *flag.FlagSet, out io.Writer) func(context.Context) error {
		return faults().Verb(f, out)
	}})
}

func faults() *harness.Study[faultRecord] {
	kills, changes, restarts := 100, 20, 6
	s := &harness.Study[faultRecord]{
		Options: harness.Options{Repetitions: 1}, Folder: folder("faults"), Series: "faults", Template: faultsPage,
		Ways: []string{"scheduler-fbq", "controller-fbq", "scheduler-fair", "controller-fair", stock},
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&kills, "kills", kills, "how often the program is killed while it lets pods go")
			f.IntVar(&changes, "changes", changes, "changes of the leader of two replicas")
			f.IntVar(&restarts, "restarts", restarts, "restarts of the API server and etcd")
		},
		Small: func() { kills, changes, restarts = 2, 2, 2 },
	}
	s.Run = func(ctx context.Context, now *harness.Run) (*faultRecord, string, error) {
		rec := newFaultRecord(now.Way)
		err := within(ctx, now.Log, func(t testing.TB) {
			rec.run(t, func(g *ground) {
				if now.Way != stock {
					g.kills(kills)
				}
				g.pair()
				if now.Way != stock {
					g.leaders(changes)
				}
				g.storage(restarts)
				for _, r := range g.replicas {
					r.stop()
				}
				if now.Way == stock {
					return
				}
				r := g.start("alone", true, "--leader-elect=false")
				g.settings(r)
				g.deletions()
				g.losses()
				g.taints()
				r.stop()
			})
		})
		summary := fmt.Sprintf("%d faults, %d of %d pods finished, %d deleted, %d missed", len(rec.Faults), rec.Finished, rec.Pods, rec.Deleted, len(rec.Misses))
		return rec, summary, err
	}
	s.Facts = func(_ context.Context, runs []evidence.Run, records []*faultRecord) (map[string]any, template.FuncMap, error) {
		theirs := slices.DeleteFunc(slices.Clone(records), func(r *faultRecord) bool { return r.Way != stock })
		return map[string]any{"Rows": countFaults(records), "Sum": sumUp(newest(records)), "Stock": sumUp(theirs)}, nil, nil
	}
	s.Verdict = func() error {
		_, records, err := s.Records()
		for _, r := range newest(records) {
			if len(r.Misses) > 0 {
				err = errors.Join(err, fmt.Errorf("%s: %s", r.Way, strings.Join(r.Misses, "; ")))
			}
		}
		return err
	}
	return s
}

func newFaultRecord(way string) *faultRecord {
	return &faultRecord{Way: way, Site: site{Nodes: 8, CPU: 8, StartUp: 100}}
}

// ground is where faults happen.
type ground struct {
	testing.TB
	*lab.Lab
	*witness
	rec      *faultRecord
	program  string
	access   string // file
	driver   string
	listen   string // of the controller's metrics; "": any
	kubelet  *lab.Kubelet
	nodes    []string
	random   *rand.Rand
	began    time.Time
	jobs     int
	replicas []*replica
}

// replica is a program that is started again whenever it ends.
type replica struct {
	*lab.Process
	log     string
	life    int64 // offset in the log of what is its current one's
	stopped atomic.Bool
}

// run brings a control plane up, has faults happen, and sums up what the witness has seen.
func (rec *faultRecord) run(t testing.TB, faults func(g *ground)) {
	driver, policy, _ := strings.Cut(rec.Way, "-")
	g := &ground{TB: t, rec: rec, driver: driver, witness: &witness{pods: map[types.UID]*fate{}}, random: rand.New(rand.NewPCG(1, uint64(len(rec.Way)))), began: time.Now()}
	rec.Policy = faultPolicies[policy]
	options := []lab.Option{lab.WithAudit()}
	if driver == "controller" {
		options = append(options, lab.WithScheduler())
	}
	g.Lab = lab.Start(t, options...)
	for _, team := range teams {
		_, err := g.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, metav1.CreateOptions{})
		check(t, err)
	}
	if g.access, g.program = g.Kubeconfig, filepath.Join(g.Programs, "kube-scheduler"); driver != stock {
		install(t, g.Lab, driver, map[string]string{"policy": rec.Policy})
		g.access, g.program = account(t, g.Lab), program(t, "yardmaster-"+driver)
	}
	g.watch(t, g.Lab, teams[0])
	g.kubelet = &lab.Kubelet{StartUp: rec.Site.StartUp.duration(), Started: func(p *corev1.Pod, at time.Time) {
		if p.Namespace == teams[0] {
			g.started(p, at)
		}
	}, Ended: g.ended}
	g.kubelet.Run(t, g.Lab)
	g.grow("node", rec.Site.Nodes)
	untouched := g.strangers()
	faults(g)
	g.witness.mu.Lock()
	rec.Misses = append(rec.Misses, g.misses...)
	g.witness.mu.Unlock()
	rec.Misses = append(rec.Misses, untouched()...)
	rec.Misses = append(rec.Misses, g.crowded(rec.Site.CPU)...)
	rec.Pods, rec.Finished = len(g.which(func(*fate) bool { return true })), len(g.which(func(f *fate) bool { return f.done }))
	rec.Deleted = len(g.which(func(f *fate) bool { return !f.unwanted.IsZero() && !f.done }))
	if rec.Finished+rec.Deleted != rec.Pods {
		rec.Misses = append(rec.Misses, fmt.Sprintf("of %d pods, %d have finished and %d were deleted", rec.Pods, rec.Finished, rec.Deleted))
	}
	var misses []string
	rec.audited, misses = readAudit(t, filepath.Join(g.Dir, "audit.log"), "system:serviceaccount:"+engine.Name+":"+engine.Name, "others")
	rec.Misses = append(rec.Misses, misses...)
	for _, f := range rec.Faults {
		for _, m := range f.Miss {
			rec.Misses = append(rec.Misses, fmt.Sprintf("%s at %v: %s", f.Kind, f.At.duration(), m))
		}
	}
	rec.Took = g.now()
}

func (g *ground) now() millis { return millis(time.Since(g.began).Milliseconds()) }

// start runs the program, again whenever it ends if it is to be kept.
func (g *ground) start(name string, keep bool, flags ...string) *replica {
	flags = append(flags, "--kubeconfig="+g.access, "--vmodule=engine=4")
	switch g.driver {
	case "scheduler":
		flags = append(flags, "--secure-port=0", "--yardmaster-address=", "--leader-elect-resource-namespace="+engine.Name, "--leader-elect-resource-name="+engine.Name)
	case "controller":
		flags = append(flags, "--listen="+cmp.Or(g.listen, "127.0.0.1:0"))
	default:
		flags = append(flags, "--secure-port=0")
	}
	// So slow that kills hit pods on their way.
	flags = append(flags, "--kube-api-qps=150", "--kube-api-burst=10")
	r := &replica{log: filepath.Join(g.Dir, name+".log")}
	r.Process = g.Run(g, name, g.program, flags...)
	if keep {
		go func() {
			for {
				<-r.Exited()
				if time.Sleep(500 * time.Millisecond); r.stopped.Load() || g.Context().Err() != nil {
					return
				}
				if r.Start() != nil {
					return
				}
			}
		}()
	}
	return r
}

func (r *replica) stop() {
	r.stopped.Store(true)
	r.Kill()
}

// mark begins a new life of what releases gives.
func (r *replica) mark() {
	if st, err := os.Stat(r.log); err == nil {
		r.life = st.Size()
	}
}

func (g *ground) grow(prefix string, n int) {
	g.nodes = append(g.nodes, g.kubelet.Nodes(g, n, prefix, nil, "cpu", fmt.Sprint(g.rec.Site.CPU), "memory", "64Gi")...)
}

// strangers are pods of another scheduler, some of which have a node without room for others.
func (g *ground) strangers() (untouched func() []string) {
	_, err := g.Client.CoreV1().Namespaces().Create(g.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "others"}}, metav1.CreateOptions{})
	check(g, err)
	g.kubelet.Nodes(g, 1, "theirs", nil, "cpu", "4", "memory", "64Gi")
	pods, was := g.Client.CoreV1().Pods("others"), map[string]string{}
	for i := range 10 {
		p := lab.Pod(fmt.Sprint("stranger-", i), "1", "64Mi", 0)
		p.Spec.SchedulerName = "elsewhere"
		p, err := pods.Create(g.Context(), p, metav1.CreateOptions{})
		check(g, err)
		if i < 4 {
			check(g, pods.Bind(g.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "theirs-0"}}, metav1.CreateOptions{}))
			continue
		}
		was[p.Name] = p.ResourceVersion
	}
	g.rec.Others = 10
	return func() (misses []string) {
		list, err := pods.List(g.Context(), metav1.ListOptions{})
		check(g, err)
		for _, p := range list.Items {
			if v, unbound := was[p.Name]; unbound && p.ResourceVersion != v {
				misses = append(misses, p.Name+" of another scheduler was written to")
			}
		}
		if len(list.Items) != 10 {
			misses = append(misses, fmt.Sprintf("10 pods of another scheduler are %d", len(list.Items)))
		}
		return misses
	}
}

// add creates jobs, most of them small, of at least so many pods.
func (g *ground) add(pods int) {
	for pods > 0 {
		g.jobs++
		n := 1 + g.random.IntN(3)
		switch dice := g.random.IntN(100); {
		case dice < 5:
			n = 40 + g.random.IntN(40)
		case dice < 30:
			n = 8 + g.random.IntN(8)
		}
		job := fmt.Sprintf("job-%05d", g.jobs)
		var creators sync.WaitGroup
		for c := range min(n, 8) {
			creators.Go(func() {
				for i := c; i < n; i += 8 {
					g.create(job, i)
				}
			})
		}
		creators.Wait()
		pods -= n
	}
}

func (g *ground) create(job string, i int) {
	p := lab.Pod(fmt.Sprintf("%s-%03d", job, i), "1", "64Mi", time.Duration(2000+rand.IntN(4000))*time.Millisecond)
	p.Labels[engine.Domain+"job"] = job
	for {
		_, err := g.Client.CoreV1().Pods(teams[0]).Create(g.Context(), p, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) {
			return
		}
		if wait(g.Context(), 100*time.Millisecond); g.Context().Err() != nil {
			return
		}
	}
}

func (g *ground) await(d time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(d); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) || g.Context().Err() != nil {
			return false
		}
	}
	return true
}

// backlog adds jobs until so many pods wait.
func (g *ground) backlog(n int) {
	for g.Context().Err() == nil {
		have := len(g.which(waiting))
		if have >= n {
			return
		}
		g.add(n - have)
		time.Sleep(20 * time.Millisecond) // the witness is told
	}
}

// after waits until n more pods are let go, and reports how long that took; else it is a miss.
func (g *ground) after(f *fault, n int) {
	begin, was := time.Now(), g.released()
	if !g.await(time.Minute, func() bool { return g.released() >= was+n }) {
		f.Miss = append(f.Miss, "no pod was let go for a minute")
	}
	f.Back = millis(time.Since(begin).Milliseconds())
}

// drain waits until all pods have finished.
func (g *ground) drain(after string) {
	if g.await(4*time.Minute, func() bool { return len(g.which(left)) == 0 }) {
		return
	}
	still := g.which(left)
	g.rec.Misses = append(g.rec.Misses, fmt.Sprintf("four minutes %s, %d pods have not finished, %d of them are held, such as %s", after, len(still), len(g.which(waiting)), still[0].name))
	for _, x := range still {
		g.delete(x)
	}
}

func (g *ground) note(f fault) {
	g.rec.Faults = append(g.rec.Faults, f)
	text := fmt.Sprintf("%6.1f s  %s %s: back after %d ms", f.At.duration().Seconds(), f.Kind, f.Note, f.Back)
	if f.Bound > 0 {
		text += fmt.Sprintf("; %d pods let go, %d on their way", f.Bound, f.Open)
	}
	if f.Next != nil {
		text += fmt.Sprintf("; next decision (%d pods) the same: %s", len(f.Next.Got), f.Next.Same)
	}
	g.Log(strings.Join(append([]string{text}, f.Miss...), "\nMISSED "))
}

func (g *ground) delete(f *fate) {
	g.witness.mu.Lock()
	f.unwanted = time.Now()
	g.witness.mu.Unlock()
	err := g.Client.CoreV1().Pods(teams[0]).Delete(g.Context(), f.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if err != nil && !apierrors.IsNotFound(err) {
		check(g, err)
	}
}

// first is the first decision of several logs after an instant.
func (g *ground) first(after time.Time, replicas ...*replica) (at time.Time, jobs []string) {
	for _, r := range replicas {
		list := slices.DeleteFunc(releases(r.log, r.life), func(x release) bool { return !x.at.After(after) })
		if len(list) == 0 || !at.IsZero() && list[0].at.After(at) {
			continue
		}
		at, jobs = list[0].at, nil
		for _, x := range list {
			if x.at.Equal(at) {
				jobs = append(jobs, g.job(x.pod))
			}
		}
	}
	return at, jobs
}

func (g *ground) job(id types.UID) string {
	g.witness.mu.Lock()
	defer g.witness.mu.Unlock()
	if f := g.pods[id]; f != nil {
		return f.job
	}
	return string(id)
}

// judged compares the first decision after an instant, once it has been made.
func (g *ground) judged(f *fault, after time.Time, replicas ...*replica) {
	var at time.Time
	if !g.await(time.Minute, func() bool { at, _ = g.first(after, replicas...); return !at.IsZero() }) {
		f.Miss = append(f.Miss, "no decision for a minute")
		return
	}
	time.Sleep(slack + 100*time.Millisecond) // until the witness has seen what there was to see
	at, jobs := g.first(after, replicas...)
	f.Back = millis(at.Sub(after).Milliseconds())
	if f.Next = g.judge(g, g.rec.Policy, g.nodes, g.rec.Site.CPU, at, jobs); f.Next.Same == differs {
		i := 0
		for i < min(len(jobs), len(f.Next.Want)) && jobs[i] == f.Next.Want[i] {
			i++
		}
		f.Miss = append(f.Miss, fmt.Sprintf("another next decision than without the fault: after %d pods, one of %s instead of %s", i, g.received(jobs[i:], at), g.received(f.Next.Want[i:], at)))
	}
}

// kills kills the program again and again while it lets pods go.
func (g *ground) kills(n int) {
	g.add(200)
	r := g.start("killed", false, "--leader-elect=false")
	var rows []fault
	var fell time.Time
	for tries := 0; ; tries++ {
		was, k := g.released(), 1+g.random.IntN(8)
		if !g.await(time.Minute, func() bool { return g.released() >= was+k }) {
			g.Fatalf("no pod was let go for a minute, after %d kills", tries)
		}
		last := tries >= 2*n || countKind(rows, killed) >= n
		if !last {
			r.Kill()
		}
		now := time.Now()
		if tries > 0 {
			f := &rows[len(rows)-1]
			g.judged(f, fell, r)
			g.note(*f)
		}
		if last {
			break
		}
		time.Sleep(slack) // what the API server was writing
		f := fault{Kind: killed, At: g.now()}
		for _, x := range releases(r.log, r.life) {
			f.Bound++
			if len(g.which(func(f *fate) bool { return f.id == x.pod && !f.free && f.node == "" })) > 0 {
				f.Open++
			}
		}
		if f.Open == 0 {
			f.Kind += ", when none was on its way"
		}
		rows = append(rows, f)
		g.backlog(150)
		r.mark()
		fell = now
		check(g, r.Start())
	}
	g.drain("after all kills")
	r.Kill()
}

func countKind(rows []fault, kind string) (n int) {
	for _, f := range rows {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

// pair starts two replicas, of which one leads.
func (g *ground) pair() {
	g.add(150)
	for _, name := range []string{"one", "two"} {
		g.replicas = append(g.replicas, g.start(name, true, "--leader-elect-lease-duration=2s", "--leader-elect-renew-deadline=1500ms", "--leader-elect-retry-period=200ms"))
	}
}

// leaders kills the leader of two replicas, or asks it to end, in turns.
func (g *ground) leaders(n int) {
	fell := g.began
	for i := range n {
		was := g.released()
		g.await(time.Minute, func() bool { return g.released() > was+3 })
		leader := g.replicas[0]
		if a, _ := g.first(fell, g.replicas[0]); a.IsZero() {
			leader = g.replicas[1]
		}
		for _, r := range g.replicas {
			r.mark()
		}
		f, signal := fault{Kind: leaderKilled, At: g.now()}, syscall.SIGKILL
		if i%2 == 1 {
			f.Kind, signal = leaderEnds, syscall.SIGTERM
		}
		leader.Signal(signal)
		fell = time.Now()
		g.backlog(150)
		g.judged(&f, fell, g.replicas...)
		g.note(f)
	}
	g.drain("after all changes of the leader")
}

// storage restarts the API server and etcd under two replicas. The nodes and the witness wait ever longer before they ask again, up to half a minute.
func (g *ground) storage(n int) {
	for i := range n {
		g.backlog(150)
		g.after(&fault{}, 5)
		f, p := fault{Kind: apiKilled, At: g.now()}, g.API
		if i%2 == 1 {
			f.Kind, p = etcdKilled, g.Etcd
		}
		p.Kill()
		time.Sleep(time.Duration(g.random.IntN(3000)) * time.Millisecond)
		check(g, p.Start())
		up, at, was := time.Now(), time.Time{}, g.released()
		if g.await(3*time.Minute, func() bool {
			if at, _ = g.first(up, g.replicas...); g.driver == stock && g.released() > was+5 { // its log does not say
				at = time.Now()
			}
			return !at.IsZero()
		}) {
			f.Back = millis(at.Sub(up).Milliseconds())
		} else {
			f.Miss = append(f.Miss, "no pod was let go for three minutes")
		}
		g.note(f)
	}
	g.drain("after all restarts")
}

// settings loses and breaks the ConfigMaps.
func (g *ground) settings(r *replica) {
	maps := g.Client.CoreV1().ConfigMaps(engine.Name)
	put := func(name string, change func(*corev1.ConfigMap)) {
		check(g, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			m, err := maps.Get(g.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				m = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
				change(m)
				_, err = maps.Create(g.Context(), m, metav1.CreateOptions{})
				return err
			}
			change(m)
			_, err = maps.Update(g.Context(), m, metav1.UpdateOptions{})
			return err
		}))
	}
	lose := func(name string) func() {
		return func() { check(g, maps.Delete(g.Context(), name, metav1.DeleteOptions{})) }
	}
	set := func(text string) func() {
		return func() { put(engine.Name, func(m *corev1.ConfigMap) { m.Data = map[string]string{"policy": text} }) }
	}
	for _, c := range []struct {
		kind string
		do   func()
		kill bool
	}{
		{unset, lose(engine.Name), false}, {unsetKilled, func() {}, true}, {broken, set("fiar"), false}, {brokenKilled, func() {}, true},
		{forgotten, func() { set(g.rec.Policy)(); lose(engine.StateName)() }, false},
		{garbled, func() {
			put(engine.StateName, func(m *corev1.ConfigMap) {
				m.BinaryData = map[string][]byte{"state.json.gz": []byte("not this")}
			})
		}, true},
	} {
		g.backlog(150)
		g.after(&fault{}, 5)
		f := fault{Kind: c.kind, At: g.now()}
		if c.do(); c.kill {
			r.mark()
			r.Kill()
			fell := time.Now()
			g.judged(&f, fell, r)
		} else {
			g.after(&f, 10)
		}
		g.note(f)
	}
	g.drain("after all changes of the settings")
}

// deletions takes held pods away.
func (g *ground) deletions() {
	for range 3 {
		g.backlog(200)
		f := fault{Kind: podsDeleted, At: g.now()}
		held := g.which(waiting)
		g.random.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
		for _, x := range held[:min(len(held), 60)] {
			g.delete(x)
		}
		g.after(&f, 10)
		f.Note = fmt.Sprintf("%d pods", min(len(held), 60))
		if late := g.which(func(x *fate) bool {
			return x.starts > 0 && !x.unwanted.IsZero() && x.from.Sub(x.unwanted) > 2*time.Second
		}); len(late) > 0 {
			f.Miss = append(f.Miss, fmt.Sprintf("%d deleted pods have started", len(late)))
		}
		g.note(f)
	}
	g.drain("after all deletions")
}

// losses cuts the power of nodes. What the cluster's controllers would do, the study does: the nodes are not ready, their pods are deleted and others take their place.
func (g *ground) losses() {
	for i := range 2 {
		g.backlog(200)
		f := fault{Kind: nodesLost, At: g.now(), Note: "2 of 8 nodes"}
		lost := g.nodes[:2]
		for _, name := range lost {
			g.kubelet.Lose(name)
		}
		time.Sleep(500 * time.Millisecond)
		for _, name := range lost {
			patch := `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`
			_, err := g.Client.CoreV1().Nodes().Patch(g.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			check(g, err)
		}
		g.taint(lost, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
		time.Sleep(2 * time.Second)
		dead := g.which(func(x *fate) bool { return slices.Contains(lost, x.node) && left(x) })
		for n, x := range dead {
			g.delete(x)
			g.create(x.job, 500+100*i+n)
		}
		time.Sleep(3 * time.Second)
		if late := g.which(func(x *fate) bool { return slices.Contains(lost, x.node) && left(x) }); len(late) > 0 {
			f.Miss = append(f.Miss, fmt.Sprintf("%d pods got a lost node", len(late)))
		}
		for _, name := range lost {
			check(g, g.Client.CoreV1().Nodes().Delete(g.Context(), name, metav1.DeleteOptions{}))
		}
		g.nodes = g.nodes[2:]
		g.grow(fmt.Sprint("new-", i), 2)
		g.after(&f, 10)
		f.Note += fmt.Sprintf(", with %d pods", len(dead))
		g.note(f)
	}
	g.drain("after all losses")
}

func (g *ground) taint(nodes []string, taints ...corev1.Taint) {
	for _, name := range nodes {
		check(g, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			n, err := g.Client.CoreV1().Nodes().Get(g.Context(), name, metav1.GetOptions{})
			if err == nil {
				n.Spec.Taints = taints
				_, err = g.Client.CoreV1().Nodes().Update(g.Context(), n, metav1.UpdateOptions{})
			}
			return err
		}))
	}
}

// taints keeps all pods off the nodes for a while.
func (g *ground) taints() {
	for range 3 {
		g.backlog(150)
		g.after(&fault{}, 5)
		f := fault{Kind: tainted, At: g.now()}
		g.taint(g.nodes, corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule})
		time.Sleep(2 * time.Second)
		was := g.released()
		time.Sleep(4 * time.Second)
		if n := g.released() - was; n > 0 {
			f.Miss = append(f.Miss, fmt.Sprintf("%d pods were let go", n))
		}
		g.note(f)
		f = fault{Kind: untainted, At: g.now()}
		g.taint(g.nodes)
		g.after(&f, 1)
		g.note(f)
	}
	g.drain("after all taints")
}

// newest are the newest records of our ways.
func newest(records []*faultRecord) (list []*faultRecord) {
	for _, r := range records {
		list = slices.DeleteFunc(list, func(x *faultRecord) bool { return x.Way == r.Way })
		if r.Way != stock {
			list = append(list, r)
		}
	}
	return list
}

// faultSum is what the aims are about.
type faultSum struct {
	Faults, Kills, Restarts, Pods, Deleted, Lost, Twice, Touched, Crowded int
	Decisions, Same, Nearly                                               int
}

func sumUp(records []*faultRecord) (s faultSum) {
	for _, r := range records {
		s.Faults += len(r.Faults)
		s.Pods += r.Pods
		s.Deleted += r.Deleted
		s.Lost += r.Pods - r.Finished - r.Deleted
		s.Touched += r.Touched
		for _, m := range r.Misses {
			if strings.HasSuffix(m, " twice") || strings.Contains(m, ", then on ") {
				s.Twice++
			}
			if strings.Contains(m, " pods of one CPU ") {
				s.Crowded++
			}
		}
	}
	for _, x := range countFaults(records) {
		switch x.Kind {
		case killed:
			s.Kills += x.N
		case apiKilled, etcdKilled:
			s.Restarts += x.N
		}
		s.Decisions, s.Same, s.Nearly = s.Decisions+x.Decisions, s.Same+x.Same, s.Nearly+x.Nearly
	}
	return s
}

// Differ are decisions that are not the same.
func (s faultSum) Differ() int { return s.Decisions - s.Same - s.Nearly }

// Word says whether an aim is met.
func (faultSum) Word(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// faultRow sums up the faults of a kind, of all records.
type faultRow struct {
	Kind                                             string
	Ways                                             []string
	N, Decisions, Same, Nearly, Else, Forgot, Misses int
	Open, Back                                       []float64 // pods, s
}

func countFaults(records []*faultRecord) (rows []*faultRow) {
	for _, r := range records {
		for _, f := range r.Faults {
			x := find(&rows, func(x *faultRow) bool { return x.Kind == f.Kind }, &faultRow{Kind: f.Kind})
			x.N++
			x.Misses += len(f.Miss)
			if !slices.Contains(x.Ways, r.Way) {
				x.Ways = append(x.Ways, r.Way)
			}
			if f.Bound > 0 {
				x.Open = append(x.Open, float64(f.Open))
			}
			if f.Back > 0 {
				x.Back = append(x.Back, f.Back.duration().Seconds())
			}
			if f.Next == nil {
				continue
			}
			x.Decisions++
			if f.Next.Forgot {
				x.Forgot++
			}
			switch f.Next.Same {
			case same:
				x.Same++
			case nearly:
				x.Nearly++
			default:
				x.Else++
			}
		}
	}
	return rows
}

// find returns an element, or adds one.
func find[T any](list *[]*T, is func(*T) bool, otherwise *T) *T {
	if i := slices.IndexFunc(*list, is); i >= 0 {
		return (*list)[i]
	}
	*list = append(*list, otherwise)
	return otherwise
}
