package sched

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-base/cli"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
)

// The tests' own program is the scheduler too, so that it can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scheduler" {
		os.Args = os.Args[1:]
		os.Exit(cli.Run(Command()))
	}
	lab.Main(m, lab.WithScheduler())
}

// site is an installation in a namespace of its own, with another one for jobs, and nodes that take no other pods.
type site struct {
	*lab.Lab
	t          *testing.T
	home, jobs string
	kubelet    *lab.Kubelet
	scheduler  *lab.Process
	mu         sync.Mutex
	starts     []string // jobs of pods, in the order in which they got their nodes
	bound      map[types.UID]string
}

func newSite(t *testing.T, nodes int, cpu string, settings ...string) *site {
	t.Helper()
	return newSiteOn(t, lab.Shared(t), nodes, cpu, settings...)
}

func newSiteOn(t *testing.T, l *lab.Lab, nodes int, cpu string, settings ...string) *site {
	t.Helper()
	s := &site{Lab: l, t: t, bound: map[types.UID]string{}}
	s.home, s.jobs = s.Namespace(t), s.Namespace(t)
	s.set(settings...)
	s.kubelet = &lab.Kubelet{Started: func(p *corev1.Pod, _ time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if on, twice := s.bound[p.UID]; twice {
			t.Errorf("%s started on %s, and on %s before", p.Name, p.Spec.NodeName, on)
		}
		s.bound[p.UID] = p.Spec.NodeName
		s.starts = append(s.starts, p.Labels[engine.Domain+"job"])
	}}
	s.kubelet.Run(t, s.Lab)
	if nodes > 0 {
		s.kubelet.Nodes(t, nodes, s.jobs, nil, "cpu", cpu, "memory", "64Gi")
	}
	return s
}

func (s *site) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) set(settings ...string) {
	s.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: engine.Name}, Data: map[string]string{}}
	for i := 0; i+1 < len(settings); i += 2 {
		m.Data[settings[i]] = settings[i+1]
	}
	maps := s.Client.CoreV1().ConfigMaps(s.home)
	_, err := maps.Update(s.t.Context(), m, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(s.t.Context(), m, metav1.CreateOptions{})
	}
	s.check(err)
}

// run starts the scheduler, which ends with the test.
func (s *site) run(flags ...string) {
	s.t.Helper()
	s.scheduler = s.Lab.Run(s.t, "yardmaster-scheduler-"+s.home, os.Args[0], append([]string{"scheduler", "--kubeconfig=" + s.Kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--yardmaster-namespace=" + s.home, "--yardmaster-address=", "-v=2"}, flags...)...)
	s.t.Cleanup(s.scheduler.Kill)
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Log(s.log())
		}
	})
}

func (s *site) log() string {
	text, _ := os.ReadFile(filepath.Join(s.Dir, "yardmaster-scheduler-"+s.home+".log"))
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "I") && !strings.Contains(line, "reflector") && !strings.Contains(line, "FLAG:") || strings.HasPrefix(line, "E") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-60):], "")
}

// add creates pods of a job.
func (s *site) add(job string, n int, cpu string, length time.Duration, change ...func(*corev1.Pod)) (pods []*corev1.Pod) {
	s.t.Helper()
	for i := range n {
		p := lab.Pod(fmt.Sprint(job, "-", i), cpu, "64Mi", length)
		p.Labels[engine.Domain+"job"] = job
		p.Spec.SchedulerName = engine.Name
		for _, f := range change {
			f(p)
		}
		p, err := s.Client.CoreV1().Pods(s.jobs).Create(s.t.Context(), p, metav1.CreateOptions{})
		s.check(err)
		pods = append(pods, p)
	}
	return pods
}

// tick waits until pods created from now on are younger to the API server, which counts in seconds.
func (s *site) tick() {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + time.Millisecond)))
}

func (s *site) pods() map[string]corev1.Pod {
	list, err := s.Client.CoreV1().Pods(s.jobs).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Log(err)
	}
	pods := map[string]corev1.Pod{}
	for _, p := range list.Items {
		pods[p.Name] = p
	}
	return pods
}

func (s *site) count(is func(corev1.Pod) bool) (n int) {
	for _, p := range s.pods() {
		if is(p) {
			n++
		}
	}
	return n
}

func over(p corev1.Pod) bool   { return engine.Over(&p) }
func placed(p corev1.Pod) bool { return p.Spec.NodeName != "" }

func (s *site) wait(n int, what string, is func(corev1.Pod) bool) {
	s.t.Helper()
	lab.Eventually(s.t, time.Minute, fmt.Sprint(n, " pods are ", what), func() bool { return s.count(is) == n })
}

// order is that of the starts, in rounds of so many that may start in any order.
func (s *site) order(round int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text []string
	for some := range slices.Chunk(s.starts, round) {
		text = append(text, strings.Join(slices.Sorted(slices.Values(some)), ""))
	}
	return strings.Join(text, " ")
}

func (s *site) node(name string, change func(*corev1.Node)) {
	s.t.Helper()
	s.check(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := s.Client.CoreV1().Nodes().Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(n)
		_, err = s.Client.CoreV1().Nodes().Update(s.t.Context(), n, metav1.UpdateOptions{})
		return err
	}))
}

func capacity(tree ...string) string {
	var b bytes.Buffer
	b.WriteString("<configuration>")
	for i := 0; i+1 < len(tree); i += 2 {
		fmt.Fprintf(&b, "<property><name>yarn.scheduler.capacity.%s</name><value>%s</value></property>", tree[i], tree[i+1])
	}
	b.WriteString("</configuration>")
	return b.String()
}

// One node with room for two pods; a (six pods) comes before b (two).
func TestOrder(t *testing.T) {
	queues := capacity("root.queues", "a,b", "root.a.capacity", "50", "root.b.capacity", "50", "root.a.maximum-capacity", "100", "root.b.maximum-capacity", "100")
	for _, c := range []struct {
		name, want string
		settings   []string
	}{
		{"fifo", "aa aa aa bb", []string{"policy", "fifo"}},
		{"fair", "ab ab aa aa", []string{"policy", "fair"}},
		{"capacity", "ab ab aa aa", []string{"policy", "capacity-scheduler.xml", "capacity-scheduler.xml", queues, "queue", "label", "queues", "a,b"}},
		{"fbq", "aa bb aa aa", []string{"policy", "fbq:limits=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, 1, "2", c.settings...)
			in := func(p *corev1.Pod) { p.Labels[engine.Domain+"queue"] = p.Labels[engine.Domain+"job"] }
			s.add("a", 6, "1", 700*time.Millisecond, in)
			s.tick()
			s.add("b", 2, "1", 700*time.Millisecond, in)
			s.run()
			s.wait(8, "over", over)
			if got := s.order(2); got != c.want {
				t.Errorf("started in order %s, want %s", got, c.want)
			}
		})
	}
}

// The scheduler is killed while it binds.
func TestKilledWhileBinding(t *testing.T) {
	s := newSite(t, 20, "32", "policy", "fair")
	for i := range 10 {
		s.add(string(rune('a'+i)), 30, "1", 0)
	}
	s.run("--kube-api-qps=100", "--kube-api-burst=10")
	for i, n := range []int{40, 110, 190} {
		lab.Eventually(t, time.Minute, fmt.Sprint(n, " pods are placed"), func() bool { return s.count(placed) >= n })
		s.scheduler.Kill()
		t.Logf("killed %d times, last with %d of 300 pods placed", i+1, s.count(placed))
		s.check(s.scheduler.Start())
	}
	s.wait(300, "running", func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	for _, p := range s.pods() {
		if c := engine.Condition(&p, corev1.PodScheduled); c == nil || c.Status != corev1.ConditionTrue {
			t.Errorf("%s: %v", p.Name, c)
		}
	}
}

func TestAPIServerRestarts(t *testing.T) {
	s := newSite(t, 2, "4", "policy", "fifo")
	s.run()
	s.add("a", 40, "1", 300*time.Millisecond)
	lab.Eventually(t, time.Minute, "some pods are over", func() bool { return s.count(over) > 5 })
	for _, p := range []*lab.Process{s.API, s.Etcd} {
		p.Kill()
		s.check(p.Start())
	}
	s.wait(40, "over", over)
}

func TestTaint(t *testing.T) {
	s := newSite(t, 2, "4", "policy", "fifo")
	s.run()
	taint := func(nodes []string, taints ...corev1.Taint) {
		for _, name := range nodes {
			s.node(name, func(n *corev1.Node) { n.Spec.Taints = taints })
		}
	}
	one, both := []string{s.jobs + "-0"}, []string{s.jobs + "-0", s.jobs + "-1"}
	taint(both, corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule})
	time.Sleep(300 * time.Millisecond)
	s.add("a", 2, "3", 0)
	time.Sleep(time.Second)
	if n := s.count(placed); n != 0 {
		t.Fatalf("%d pods have a tainted node", n)
	}
	for name, p := range s.pods() {
		if c := engine.Condition(&p, corev1.PodScheduled); c != nil {
			t.Errorf("%s was tried although no node takes pods: %v", name, c)
		}
	}
	taint(one)
	s.wait(1, "placed", placed)
	taint(both)
	s.wait(2, "placed", placed)
}

// What no node suits holds up nobody, and is placed soon after a node suits it.
func TestNoNode(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo")
	s.run()
	s.add("a", 4, "1", 0, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} })
	s.tick()
	s.add("b", 2, "1", 300*time.Millisecond)
	s.wait(2, "over", over)
	tried := s.count(func(p corev1.Pod) bool {
		return engine.Condition(&p, corev1.PodScheduled) != nil && p.Labels[engine.Domain+"job"] == "a"
	})
	if tried > 2 { // as many as there was room for
		t.Errorf("%d pods were tried; they are all alike", tried)
	}
	s.node(s.jobs+"-0", func(n *corev1.Node) { n.Labels["disk"] = "fast" })
	s.wait(2, "placed", func(p corev1.Pod) bool { return placed(p) && !over(p) })
}

// Pods with gates of others take no room; deleted ones neither.
func TestGatedAndDeleted(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo")
	s.run()
	s.add("a", 2, "1", 0, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.org/quota"}} })
	finalizer := func(p *corev1.Pod) { p.Finalizers = []string{"example.org/count"} }
	s.add("b", 2, "1", 4*time.Second, finalizer)
	s.wait(2, "placed", placed)
	s.add("c", 2, "1", 300*time.Millisecond, finalizer)
	s.tick()
	s.add("d", 2, "1", 0)
	time.Sleep(200 * time.Millisecond)
	for _, name := range []string{"c-0", "c-1"} { // the finalizer keeps them visible
		s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	lab.Eventually(t, 20*time.Second, "d is placed", func() bool { p := s.pods(); return placed(p["d-0"]) && placed(p["d-1"]) })
	for _, name := range []string{"d-0", "d-1"} {
		s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	for name := range s.pods() {
		if !strings.HasPrefix(name, "d") {
			_, err := s.Client.CoreV1().Pods(s.jobs).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null},"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
			s.check(err)
		}
	}
	lab.Eventually(t, 20*time.Second, "a is placed", func() bool { p := s.pods(); return placed(p["a-0"]) && placed(p["a-1"]) && len(p) == 4 })
}

// A pod whose claim does not exist takes no room.
func TestMissingClaim(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo", "window", "2")
	s.run()
	s.add("a", 4, "1", 0, func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "x", ResourceClaimName: new("missing")}}
	})
	s.tick()
	s.add("b", 4, "1", 300*time.Millisecond)
	s.wait(4, "over", over)
}

// A gang has its nodes at once or not at all.
func TestGang(t *testing.T) {
	s := newSite(t, 2, "4", "policy", "fifo")
	s.run()
	apart := func(p *corev1.Pod) {
		p.Labels[engine.Domain+"gang"] = "3"
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{engine.Domain + "job": "gang"}},
		}}}}
	}
	s.add("gang", 2, "1", 0, apart)
	s.tick()
	s.add("small", 8, "1", time.Second)
	s.wait(8, "over", over) // two are no gang
	if c := s.pods()["gang-0"].Status.Conditions; c != nil {
		t.Errorf("tried before the gang was complete: %v", c)
	}
	third := func(p *corev1.Pod) { p.Name = "gang-2" }
	s.add("gang", 1, "1", 0, apart, third)
	lab.Eventually(t, 20*time.Second, "one is refused", func() bool {
		return s.count(func(p corev1.Pod) bool { return engine.Condition(&p, corev1.PodScheduled) != nil && !over(p) }) > 0
	})
	s.add("later", 8, "1", time.Second)
	s.wait(16, "over", over) // the nodes that two of the gang had are free again
	if n := s.count(func(p corev1.Pod) bool { return placed(p) && !over(p) }); n > 0 {
		t.Errorf("%d of a gang of 3 have a node", n)
	}
	s.kubelet.Nodes(t, 1, s.jobs+"-third", nil, "cpu", "4", "memory", "64Gi")
	s.wait(3, "running", func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

// Where the server has groups of pods, the scheduler's own plug-in for them and ours agree.
func TestPodGroup(t *testing.T) {
	const gates = "--feature-gates=GenericWorkload=true,GangScheduling=true"
	l := lab.Start(t, lab.WithAPIServer("--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"))
	s := newSiteOn(t, l, 2, "4", "policy", "fifo")
	s.run(gates)
	group := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "group"}, Spec: schedulingv1alpha2.PodGroupSpec{
		SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 4}},
	}}
	in := func(p *corev1.Pod) {
		p.Labels[engine.Domain+"gang"] = "4"
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("group")}
	}
	s.add("gang", 4, "2500m", 0, in)
	s.tick()
	s.add("small", 4, "1", 300*time.Millisecond)
	s.wait(4, "over", over)
	_, err := l.Client.SchedulingV1alpha2().PodGroups(s.jobs).Create(t.Context(), group, metav1.CreateOptions{})
	s.check(err)
	s.add("later", 4, "1", 300*time.Millisecond)
	s.wait(8, "over", over)
	if n := s.count(func(p corev1.Pod) bool { return placed(p) && !over(p) }); n > 0 {
		t.Errorf("%d of a gang of 4 have a node", n)
	}
	s.kubelet.Nodes(t, 2, s.jobs+"-more", nil, "cpu", "4", "memory", "64Gi")
	s.wait(4, "running", func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
}

// Pods of other schedulers are not touched, and the room that they take is not given out.
func TestOthers(t *testing.T) {
	s := newSite(t, 1, "4", "policy", "fifo")
	s.run()
	s.add("nobody", 3, "1", 0, func(p *corev1.Pod) { p.Spec.SchedulerName = "nobody" })
	s.add("stock", 3, "1", 4*time.Second, func(p *corev1.Pod) { p.Spec.SchedulerName = corev1.DefaultSchedulerName })
	s.wait(3, "placed", placed)
	s.add("a", 2, "1", 0)
	lab.Eventually(t, 20*time.Second, "one pod is placed", func() bool { return placed(s.pods()["a-0"]) })
	time.Sleep(300 * time.Millisecond)
	if p := s.pods()["a-1"]; placed(p) || p.Status.Conditions != nil {
		t.Errorf("tried without room: %v", p.Status.Conditions)
	}
	lab.Eventually(t, 20*time.Second, "the other is placed once there is room", func() bool { return placed(s.pods()["a-1"]) })
	for name, p := range s.pods() {
		if strings.HasPrefix(name, "nobody") && (placed(p) || p.Status.Conditions != nil) {
			t.Errorf("%s was touched: %v", name, p.Status)
		}
	}
}

// A change of the rules begins anew without losing what the scheduler has in hand.
func TestRulesChange(t *testing.T) {
	s := newSite(t, 2, "8", "policy", "fifo")
	s.run()
	s.add("a", 60, "1", 200*time.Millisecond)
	lab.Eventually(t, time.Minute, "some are over", func() bool { return s.count(over) > 5 })
	s.set("policy", "fifo", "window", "20")
	lab.Eventually(t, time.Minute, "some more are over", func() bool { return s.count(over) > 20 })
	s.set("policy", "fair", "user", "label", "users", "a,b")
	s.wait(60, "over", over)
}

// Of two replicas one leads; the other takes over, and knows what jobs have received.
func TestLeader(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fbq:limits=1")
	s.add("a", 6, "1", time.Second)
	elect := []string{"--leader-elect=true", "--leader-elect-lease-duration=2s", "--leader-elect-renew-deadline=1500ms", "--leader-elect-retry-period=200ms"}
	s.run(elect...)
	first := s.scheduler
	s.wait(2, "placed", placed)
	s.run(elect...)
	s.wait(2, "over", over)
	time.Sleep(500 * time.Millisecond)
	s.add("b", 2, "1", time.Second)
	first.Signal(os.Interrupt)
	s.wait(8, "over", over)
	if got := s.order(2); got != "aa aa bb aa" {
		t.Errorf("started in order %s", got)
	}
}
