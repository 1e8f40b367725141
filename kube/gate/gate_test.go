package gate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/gate"
	"github.com/yardmaster/yardmaster/kube/lab"
)

func TestMain(m *testing.M) {
	lab.Main(m, lab.WithControllers("job-controller", "node-lifecycle-controller"), lab.WithScheduler())
}

// site is an installation with a namespace of its own, and one for jobs.
type site struct {
	*lab.Lab
	t           *testing.T
	home, jobs  string
	kubelet     *lab.Kubelet
	mu          sync.Mutex
	starts      []string // jobs of pods, in the order in which they started
	controllers int
}

func newSite(t *testing.T, nodes int, cpu string, settings ...string) *site {
	t.Helper()
	s := &site{Lab: lab.Shared(t), t: t}
	s.home, s.jobs = s.Namespace(t), s.Namespace(t)
	s.set(settings...)
	s.kubelet = &lab.Kubelet{Started: func(p *corev1.Pod, _ time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.Namespace == s.jobs {
			s.starts = append(s.starts, p.Labels[engine.Domain+"job"])
		}
	}}
	s.kubelet.Run(t, s.Lab)
	if nodes > 0 {
		s.kubelet.Nodes(t, nodes, s.jobs, nil, "cpu", cpu, "memory", "64Gi")
	}
	return s
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

func (s *site) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// control runs a controller until the test ends or the function is called, which waits for its end. It may send so many requests a second, by default any number.
func (s *site) control(requests ...float32) (stop func() error) {
	s.controllers++
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	id, config := fmt.Sprint("replica-", s.controllers), rest.CopyConfig(s.Config)
	for _, n := range requests {
		config.QPS, config.Burst = n, 1
	}
	client, err := kubernetes.NewForConfig(config)
	s.check(err)
	go func() {
		done <- gate.Run(ctx, client, gate.Config{Namespace: s.home, Identity: id, Patience: 5 * time.Second})
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	s.t.Cleanup(func() {
		if err := stop(); err != nil {
			s.t.Error(err)
		}
	})
	return stop
}

// add creates pods of a job that are held.
func (s *site) add(job string, n int, cpu string, length time.Duration, change ...func(*corev1.Pod)) {
	s.t.Helper()
	for i := range n {
		p := lab.Pod(fmt.Sprint(job, "-", i), cpu, "64Mi", length)
		p.Labels[engine.Domain+"job"] = job
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: engine.Gate}}
		for _, f := range change {
			f(p)
		}
		_, err := s.Client.CoreV1().Pods(s.jobs).Create(s.t.Context(), p, metav1.CreateOptions{})
		s.check(err)
	}
}

func (s *site) pods() []corev1.Pod {
	list, err := s.Client.CoreV1().Pods(s.jobs).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Log(err)
		return nil
	}
	return list.Items
}

// done waits until so many pods have finished.
func (s *site) done(n int) {
	s.t.Helper()
	lab.Eventually(s.t, time.Minute, fmt.Sprint(n, " pods have finished"), func() bool {
		k := 0
		for _, p := range s.pods() {
			if p.Status.Phase == corev1.PodSucceeded {
				k++
			}
		}
		return k >= n
	})
}

func (s *site) order() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.starts, "")
}

// pairs are the jobs of pods as they started, two at a time: who comes first of two is the kubelet's choice.
func pairs(starts string) (all []string) {
	for i := 0; i+1 < len(starts); i += 2 {
		all = append(all, string([]byte{min(starts[i], starts[i+1]), max(starts[i], starts[i+1])}))
	}
	return all
}

// Pods start in the policy's order: a is submitted first, and room is for two pods at a time.
func TestOrder(t *testing.T) {
	for _, c := range []struct{ policy, want string }{
		{"fifo", "aa aa aa bb"},
		{"fair", "aa ab ab aa"},
		{"fbq:limits=1", "aa bb aa aa"},
	} {
		t.Run(c.policy, func(t *testing.T) {
			s := newSite(t, 1, "2", "policy", c.policy)
			s.control()
			s.add("a", 6, "1", time.Second)
			time.Sleep(200 * time.Millisecond)
			s.add("b", 2, "1", time.Second)
			s.done(8)
			if got := strings.Join(pairs(s.order()), " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A job that has received much service comes last under feedback, also when the pods that received it are gone and the controller is a new one.
func TestRestart(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fbq:limits=1")
	stop := s.control()
	s.add("a", 4, "1", time.Second)
	s.add("a-large", 1, "3", time.Second, func(p *corev1.Pod) { p.Labels[engine.Domain+"job"] = "a" }) // stays, for want of a node
	s.done(4)
	s.check(s.Client.CoreV1().Pods(s.jobs).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "status.phase=Succeeded"}))
	time.Sleep(200 * time.Millisecond)
	s.check(stop())
	s.add("a", 2, "1", time.Second)
	s.add("b", 2, "1", time.Second)
	s.control()
	s.done(4)
	if got := s.order(); got != "aaaabbaa" {
		t.Errorf("%s, want aaaabbaa", got)
	}
}

// Pods of others, and gates of others, stay as they are.
func TestOthers(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo")
	s.control()
	free := func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }
	s.add("free", 1, "1", 0, free)
	s.add("elsewhere", 1, "1", 0, free, func(p *corev1.Pod) { p.Spec.SchedulerName = "another" })
	s.add("twice", 1, "1", 0, func(p *corev1.Pod) {
		p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "example.org/later"})
	})
	s.add("foreign", 1, "1", 0, func(p *corev1.Pod) { p.Spec.SchedulingGates[0].Name = "example.org/hold" })
	s.add("x", 1, "1", time.Second)
	s.add("y", 1, "1", time.Second)
	s.done(2) // one after the other, beside free
	for _, p := range s.pods() {
		_, released := p.Annotations[engine.Released]
		gates := map[string]int{"twice-0": 2, "foreign-0": 1}[p.Name]
		if len(p.Spec.SchedulingGates) != gates || released != (p.Name == "x-0" || p.Name == "y-0") {
			t.Errorf("%s: gates %v, released %v", p.Name, p.Spec.SchedulingGates, released)
		}
		if p.Name == "elsewhere-0" && (p.Spec.NodeName != "" || p.Generation > 1 || slices.ContainsFunc(p.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
			return f.Operation == "Update" && f.Time.After(p.CreationTimestamp.Time)
		})) {
			t.Errorf("%s has been touched: %+v", p.Name, p.ManagedFields)
		}
	}
	patch := []byte(`{"spec":{"schedulingGates":[{"$patch":"delete","name":"example.org/later"}]}}`)
	_, err := s.Client.CoreV1().Pods(s.jobs).Patch(t.Context(), "twice-0", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	s.check(err)
	s.running("twice-0")
}

func (s *site) running(name string) {
	s.t.Helper()
	lab.Eventually(s.t, 30*time.Second, name+" runs", func() bool {
		p, err := s.Client.CoreV1().Pods(s.jobs).Get(s.t.Context(), name, metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning
	})
}

func (s *site) node(change func(*corev1.Node)) {
	s.t.Helper()
	s.check(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := s.Client.CoreV1().Nodes().Get(s.t.Context(), s.jobs+"-0", metav1.GetOptions{})
		if err == nil {
			change(n)
			_, err = s.Client.CoreV1().Nodes().Update(s.t.Context(), n, metav1.UpdateOptions{})
		}
		return err
	}))
}

// Held pods are deleted, and nodes come and go.
func TestNodes(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo")
	s.control()
	s.add("a", 2, "1", 0)
	s.running("a-0")
	s.running("a-1")
	s.add("gone", 2, "1", 0)
	s.add("c", 2, "1", 0)
	for i := range 2 {
		s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), fmt.Sprint("gone-", i), metav1.DeleteOptions{}))
	}
	s.node(func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "example.org/maintenance", Effect: corev1.TaintEffectNoSchedule})
	})
	for i := range 2 {
		s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), fmt.Sprint("a-", i), metav1.DeleteOptions{}))
	}
	lab.Eventually(t, 10*time.Second, "the node is empty", func() bool { return len(s.pods()) == 2 })
	time.Sleep(time.Second)
	for _, p := range s.pods() {
		if len(p.Spec.SchedulingGates) == 0 {
			t.Errorf("%s was released to a tainted node", p.Name)
		}
	}
	s.node(func(n *corev1.Node) { n.Spec.Taints = nil })
	s.running("c-0")
	s.running("c-1")
	s.add("d", 2, "1", 0)
	s.check(s.Client.CoreV1().Nodes().Delete(t.Context(), s.jobs+"-0", metav1.DeleteOptions{}))
	for i := range 2 {
		s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), fmt.Sprint("c-", i), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	}
	time.Sleep(time.Second)
	for _, p := range s.pods() {
		if len(p.Spec.SchedulingGates) == 0 {
			t.Errorf("%s was released without a node", p.Name)
		}
	}
	s.kubelet.Nodes(t, 1, s.jobs+"-new", nil, "cpu", "2", "memory", "64Gi")
	s.running("d-0")
	s.running("d-1")
}

// A released pod that no node suits keeps no room from others, and starts when a node suits.
func TestStranded(t *testing.T) {
	s := newSite(t, 1, "1", "policy", "fifo")
	s.control()
	s.add("a", 3, "1", time.Second, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} })
	s.add("b", 2, "1", time.Second)
	s.done(2)
	released := 0
	for _, p := range s.pods() {
		if p.Labels[engine.Domain+"job"] == "a" && len(p.Spec.SchedulingGates) == 0 {
			released++
		}
	}
	if released != 1 {
		t.Errorf("%d pods were released that no node suits; one is tried", released)
	}
	s.node(func(n *corev1.Node) { n.Labels["disk"] = "fast" })
	s.done(5)
}

// A pod whose gate somebody else takes off keeps its place in the books: what it takes is not given to others.
func TestReleasedBySomebodyElse(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo")
	s.control()
	s.add("a", 2, "1", 0)
	lab.Eventually(t, time.Minute, "a runs", func() bool { return s.order() == "aa" })
	s.add("b", 1, "1", 0)
	s.add("c", 1, "1", 0)
	held := func(name string) bool {
		p, err := s.Client.CoreV1().Pods(s.jobs).Get(t.Context(), name, metav1.GetOptions{})
		s.check(err)
		return len(p.Spec.SchedulingGates) > 0
	}
	_, err := s.Client.CoreV1().Pods(s.jobs).Patch(t.Context(), "b-0", types.StrategicMergePatchType,
		[]byte(`{"spec": {"schedulingGates": [{"$patch": "delete", "name": "`+engine.Gate+`"}]}}`), metav1.PatchOptions{})
	s.check(err)
	s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), "a-0", metav1.DeleteOptions{}))
	lab.Eventually(t, time.Minute, "b runs", func() bool { return s.order() == "aab" })
	if time.Sleep(2 * time.Second); !held("c-0") {
		t.Error("c was released, and no node has room")
	}
	s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), "b-0", metav1.DeleteOptions{}))
	lab.Eventually(t, time.Minute, "c runs", func() bool { return s.order() == "aabc" })
}

// Settings that are broken are refused whole, and those that are deleted stay in effect, also at the next start.
func TestSettings(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fbq:limits=1")
	stop := s.control()
	s.add("a", 2, "1", time.Second)
	s.running("a-0")
	event := func(reason, text string) {
		t.Helper()
		lab.Eventually(t, 20*time.Second, "an event says "+reason+": "+text, func() bool {
			list, err := s.Client.CoreV1().Events(s.home).List(t.Context(), metav1.ListOptions{})
			return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == reason && strings.Contains(e.Message, text) })
		})
	}
	s.set("policy", "fifo", "quue", "label")
	event("SettingsRefused", "quue")
	s.set("policy", "tags")
	event("SettingsRefused", "every offer must name one")
	s.set("policy", "/etc/passwd.xml")
	event("SettingsRefused", "the ConfigMap has no key")
	s.set("policy", "capacity.xml", "capacity.xml", "<configuration>")
	event("SettingsRefused", "capacity.xml")
	s.check(s.Client.CoreV1().ConfigMaps(s.home).Delete(t.Context(), engine.Name, metav1.DeleteOptions{}))
	event("SettingsRefused", "gone")
	s.check(stop())
	s.add("a-more", 6, "1", time.Second, func(p *corev1.Pod) { p.Labels[engine.Domain+"job"] = "a" })
	s.add("b", 2, "1", time.Second)
	s.control()
	s.done(4)
	if got := pairs(s.order()); strings.Join(got[:2], " ") != "aa bb" {
		t.Errorf("%v, want aa bb first", got)
	}
	s.set("policy", "fifo")
	event("SettingsAccepted", "fifo")
	s.set("policy", "fifo", "queue", "label")
	event("Started", "fifo")
	s.done(10)
}

// The API server restarts while pods are released.
func TestAPIServer(t *testing.T) {
	s := newSite(t, 4, "8", "policy", "fair", "window", "4")
	s.control()
	s.add("a", 40, "1", 500*time.Millisecond)
	s.add("b", 40, "1", 500*time.Millisecond)
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		s.API.Kill()
		time.Sleep(500 * time.Millisecond)
		s.check(s.API.Start())
	}
	s.done(80)
}

// A controller that ends first lets those pods go that it has decided on, so that no job is charged for pods that are held.
func TestEnds(t *testing.T) {
	s := newSite(t, 1, "64", "policy", "fbq")
	s.add("a", 30, "1", 0)
	stop := s.control(25)
	free := func() (n int) {
		for _, p := range s.pods() {
			if len(p.Spec.SchedulingGates) == 0 {
				n++
			}
		}
		return n
	}
	lab.Eventually(t, 20*time.Second, "the first pods are released", func() bool { return free() > 0 })
	if n := free(); n == 30 {
		t.Fatal("all were released at once")
	}
	s.check(stop())
	if n := free(); n != 30 {
		t.Errorf("%d of 30 pods are released", n)
	}
}

func (s *site) condition(name string) string {
	p, err := s.Client.CoreV1().Pods(s.jobs).Get(s.t.Context(), name, metav1.GetOptions{})
	s.check(err)
	if c := engine.Condition(p, corev1.PodScheduled); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// With the setting autoscale, autoscalers see the pods of the next jobs that lack room.
func TestAutoscale(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo", "autoscale", "1")
	s.control()
	s.add("a", 4, "1", 0)
	s.running("a-0")
	s.add("b", 1, "1", 0)
	lab.Eventually(t, 20*time.Second, "the rest of a is marked", func() bool {
		return s.condition("a-2") == "False Unschedulable" && s.condition("a-3") == "False Unschedulable"
	})
	if c := s.condition("b-0"); c != "False SchedulingGated" {
		t.Error(c)
	}
	s.set("policy", "fifo", "autoscale", "0")
	lab.Eventually(t, 20*time.Second, "a is not marked", func() bool { return s.condition("a-2") == "False SchedulingGated" })
	s.set("policy", "fifo", "autoscale", "2")
	lab.Eventually(t, 20*time.Second, "a and b are marked", func() bool {
		return s.condition("a-2") == "False Unschedulable" && s.condition("b-0") == "False Unschedulable"
	})
	s.kubelet.Nodes(t, 1, s.jobs+"-more", nil, "cpu", "3", "memory", "64Gi")
	s.running("b-0")
	if c := s.condition("b-0"); c != "True " {
		t.Error(c)
	}
}

// A gang starts whole or not at all.
func TestGang(t *testing.T) {
	s := newSite(t, 1, "4", "policy", "fifo")
	s.control()
	gang := func(p *corev1.Pod) { p.Labels[engine.Domain+"gang"] = "3" }
	s.add("a", 2, "1", 0)
	s.add("b", 2, "1", time.Second, gang)
	s.add("c", 1, "1", time.Second)
	s.done(1) // c: a third of b is missing
	s.add("late", 1, "1", time.Second, gang, func(p *corev1.Pod) { p.Labels[engine.Domain+"job"] = "b" })
	time.Sleep(time.Second)
	for _, p := range s.pods() {
		if p.Labels[engine.Domain+"job"] == "b" && len(p.Spec.SchedulingGates) == 0 {
			t.Errorf("%s was released, and there is room for two of three", p.Name)
		}
	}
	s.check(s.Client.CoreV1().Pods(s.jobs).Delete(t.Context(), "a-0", metav1.DeleteOptions{}))
	s.done(4)
}

// Jobs of the batch API: the pods of one are a job, it has an event with the reason why it waits, and it leaves when it is complete.
func TestJobs(t *testing.T) {
	s := newSite(t, 1, "2", "policy", "fifo")
	s.control()
	for _, name := range []string{"one", "two"} {
		pod := lab.Pod("", "1", "64Mi", 0)
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Completions: new(int32(2))}}
		j.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations}, Spec: pod.Spec}
		j.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: engine.Gate}}
		_, err := s.Client.BatchV1().Jobs(s.jobs).Create(t.Context(), j, metav1.CreateOptions{})
		s.check(err)
		time.Sleep(time.Second)
	}
	lab.Eventually(t, time.Minute, "an event on the second job says why it waits", func() bool {
		list, err := s.Client.CoreV1().Events(s.jobs).List(t.Context(), metav1.ListOptions{})
		return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind == "Job" && e.InvolvedObject.Name == "two" && e.Reason == "Held" && strings.Contains(e.Message, "No node has room")
		})
	})
	for _, p := range s.pods() {
		if held := len(p.Spec.SchedulingGates) > 0; held != strings.HasPrefix(p.Name, "two") {
			t.Errorf("%s: held: %v", p.Name, held)
		}
	}
	s.check(s.Client.BatchV1().Jobs(s.jobs).Delete(t.Context(), "one", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	s.check(s.Client.CoreV1().Pods(s.jobs).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "job-name=one"}))
	lab.Eventually(t, 20*time.Second, "the second job runs", func() bool {
		j, err := s.Client.BatchV1().Jobs(s.jobs).Get(t.Context(), "two", metav1.GetOptions{})
		return err == nil && j.Status.Ready != nil && *j.Status.Ready == 2
	})
}

// A pod whose gate the API server does not let us take off is tried again, ever more seldom, and holds up nobody.
func TestRefusedByAdmission(t *testing.T) {
	s := newSite(t, 1, "1", "policy", "fifo")
	keep := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: s.jobs}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: `object.metadata.name != "a-0"`}},
	}}
	policies := s.Client.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), keep, metav1.CreateOptions{})
	s.check(err)
	drop := func() {
		_ = policies.ValidatingAdmissionPolicies().Delete(context.Background(), s.jobs, metav1.DeleteOptions{})
	}
	t.Cleanup(drop)
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.jobs}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: s.jobs, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	s.check(err)
	time.Sleep(2 * time.Second) // until the API server goes by it
	s.add("a", 1, "1", time.Second)
	s.add("b", 1, "900m", time.Second)
	s.control()
	s.done(1)
	if got := s.order(); got != "b" {
		t.Errorf("%s has started", got)
	}
	drop()
	s.done(2)
}
