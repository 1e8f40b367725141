package deploy_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/gate"
	"github.com/yardmaster/yardmaster/kube/lab"
)

// contest is a cluster with an installation and two tenants, who may do nothing but create pods in their namespaces.
type contest struct {
	*lab.Lab
	t                *testing.T
	honest, attacker string
	clients          map[string]kubernetes.Interface
	mu               sync.Mutex
	starts           []string // NAMESPACE/NAME
}

func newContest(t *testing.T, cpu string, settings map[string]string) *contest {
	t.Helper()
	c := &contest{Lab: install(t, lab.Shared(t), "controller"), t: t, clients: map[string]kubernetes.Interface{}}
	c.honest, c.attacker = c.Namespace(t, "yardmaster.io/managed", "true"), c.Namespace(t, "yardmaster.io/managed", "true")
	for _, namespace := range []string{c.honest, c.attacker} {
		c.clients[namespace] = tenant(t, c.Lab, "tenant-"+namespace, namespace, "pods create")
	}
	data := map[string]string{}
	for key, value := range settings {
		data[strings.NewReplacer("HONEST", c.honest, "ATTACKER", c.attacker).Replace(key)] = value
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: engine.Name}, Data: data}
	_, err := c.Client.CoreV1().ConfigMaps("yardmaster").Update(t.Context(), config, metav1.UpdateOptions{})
	check(t, err)
	_ = c.Client.CoreV1().ConfigMaps("yardmaster").Delete(t.Context(), engine.StateName, metav1.DeleteOptions{})
	kubelet := &lab.Kubelet{Started: func(p *corev1.Pod, _ time.Time) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.starts = append(c.starts, p.Namespace+"/"+p.Name)
	}}
	kubelet.Run(t, c.Lab)
	kubelet.Nodes(t, 1, "contest-"+c.honest, nil, "cpu", cpu, "memory", "64Gi")
	return c
}

func (c *contest) pod(namespace, name string, change ...func(*corev1.Pod)) {
	c.t.Helper()
	p := lab.Pod(name, "1", "1Mi", 50*time.Millisecond)
	p.Spec.AutomountServiceAccountToken = new(false)
	for _, f := range change {
		f(p)
	}
	_, err := c.clients[namespace].CoreV1().Pods(namespace).Create(c.t.Context(), p, metav1.CreateOptions{})
	check(c.t, err)
}

// run lets the controller work, as its service account, until n pods have started, and says whose they were.
func (c *contest) run(n int) string {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan error, 1)
	client := kubernetes.NewForConfigOrDie(c.ServiceAccount(c.t, "yardmaster", "yardmaster"))
	go func() { done <- gate.Run(ctx, client, gate.Config{Namespace: "yardmaster", Identity: "test"}) }()
	order := func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		who := strings.Builder{}
		for _, s := range c.starts {
			if strings.HasPrefix(s, c.honest+"/") {
				who.WriteByte('h')
			} else {
				who.WriteByte('a')
			}
		}
		return who.String()
	}
	lab.Eventually(c.t, time.Minute, fmt.Sprint(n, " pods start"), func() bool { return len(order()) >= n })
	cancel()
	if err := <-done; err != nil {
		c.t.Error(err)
	}
	c.t.Log(strings.ReplaceAll(strings.Join(c.starts, " "), c.honest, "h"))
	return order()
}

func label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func owner(kind, name string, uid types.UID) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: kind, Name: name, UID: uid, Controller: new(true)}}
	}
}

// Who comes later in FIFO stays later, whatever his pods say they are.
func TestNobodyJumpsTheQueue(t *testing.T) {
	c := newContest(t, "1", map[string]string{
		"policy": "fifo", "queue": "label", "user": "label", "queues.HONEST": "first", "queues.ATTACKER": "second", "users.HONEST": "ann", "users.ATTACKER": "mallory",
	})
	ctx := t.Context()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent-" + c.attacker}, Value: 1_000_000}
	_, err := c.Client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
	check(t, err)
	t.Cleanup(func() {
		_ = c.Client.SchedulingV1().PriorityClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{})
	})
	// In the attacker's namespace there is a Job that finished before the honest tenant came; in the honest one's, a Job that waits for pods.
	job := func(namespace string, completions int32) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{Parallelism: new(completions), Completions: new(completions), Suspend: new(completions > 0)}}
		j.Spec.Template.Spec = lab.Pod("", "1", "1Mi", 0).Spec
		j, err := c.Client.BatchV1().Jobs(namespace).Create(ctx, j, metav1.CreateOptions{})
		check(t, err)
		return j
	}
	finished, waiting := job(c.attacker, 0), job(c.honest, 3)
	lab.Eventually(t, time.Minute, "the attacker's Job finishes", func() bool {
		j, err := c.Client.BatchV1().Jobs(c.attacker).Get(ctx, "job", metav1.GetOptions{})
		return err == nil && j.Status.CompletionTime != nil
	})
	time.Sleep(time.Until(finished.CreationTimestamp.Add(1100 * time.Millisecond))) // times of creation are in seconds
	for i := range 3 {
		c.pod(c.honest, fmt.Sprint("z-", i), label("yardmaster.io/job", "ours"))
	}
	first, err := c.Client.CoreV1().Pods(c.honest).Get(ctx, "z-0", metav1.GetOptions{})
	check(t, err)
	time.Sleep(time.Until(first.CreationTimestamp.Add(2100 * time.Millisecond)))
	tricks := []func(*corev1.Pod){
		func(*corev1.Pod) {},
		label("yardmaster.io/job", "ours"),
		label("yardmaster.io/queue", "first"),
		label("yardmaster.io/user", "ann"),
		label("yardmaster.io/class", "urgent"),
		label("yardmaster.io/gang", "1"),
		label("yardmaster.io/gang", "99999999999999999999"),
		label("jobset.sigs.k8s.io/jobset-uid", string(waiting.UID)),
		label("spark-app-selector", "ours"),
		owner("Job", "job", waiting.UID),
		owner("Job", "job", finished.UID),
		owner("Job", "../"+c.honest+"/job", waiting.UID),
		func(p *corev1.Pod) { p.Spec.PriorityClassName = class.Name },
		func(p *corev1.Pod) { p.Annotations["yardmaster.io/deadline"] = "2020-01-01T00:00:00Z" },
		func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(time.Unix(0, 0)) },
		func(p *corev1.Pod) { p.UID = "0" },
		func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, StartTime: new(metav1.NewTime(time.Unix(0, 0)))}
		},
	}
	for i, trick := range tricks {
		c.pod(c.attacker, fmt.Sprint("a-", i), trick)
	}
	if order := c.run(3 + len(tricks)); !strings.HasPrefix(order, "hhh") {
		t.Errorf("started: %s", order)
	}
}

// Fair shares go by the namespace's user, however many jobs, users and queues his pods say they are of.
func TestNobodyMultipliesHimself(t *testing.T) {
	c := newContest(t, "2", map[string]string{"policy": "fair:by=user", "queue": "label", "user": "label", "users.HONEST": "ann", "users.ATTACKER": "mallory"})
	const n = 8
	for i := range 3 * n {
		c.pod(c.attacker, fmt.Sprint("a-", i), label("yardmaster.io/job", fmt.Sprint("j-", i)), label("yardmaster.io/user", fmt.Sprint("u-", i)), label("yardmaster.io/queue", fmt.Sprint("q-", i)))
	}
	for i := range n {
		c.pod(c.honest, fmt.Sprint("h-", i), label("yardmaster.io/job", "one"))
	}
	order := c.run(4 * n)
	for i := range 2 * n {
		if lead := strings.Count(order[:i+1], "a") - strings.Count(order[:i+1], "h"); lead > 2 {
			t.Fatalf("the attacker is %d ahead after %d starts: %s", lead, i+1, order)
		}
	}
}

// What can never start holds nobody up: not by size, nor as a gang that is never whole, nor for want of a node, nor with a gate that never goes, nor as the pod of a scheduler
// that is not there.
func TestNobodyBlocksOthers(t *testing.T) {
	for _, policy := range []string{"fifo", "fair:by=user", "capacity", "fbq"} {
		t.Run(policy, func(t *testing.T) {
			c := newContest(t, "2", map[string]string{"policy": policy})
			for i, trick := range []func(*corev1.Pod){
				func(p *corev1.Pod) {
					p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1000")
				},
				func(p *corev1.Pod) {
					p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("9223372036854775807")
				},
				label("yardmaster.io/gang", "3"),
				label("yardmaster.io/gang", "1000000"),
				func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"no": "where"} },
				func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "for.ever/held"}} },
				func(p *corev1.Pod) { p.Spec.SchedulerName = "yardmaster" },
			} {
				c.pod(c.attacker, fmt.Sprint("a-", i), label("yardmaster.io/job", fmt.Sprint("j-", i)), trick)
			}
			for i := range 4 {
				c.pod(c.honest, fmt.Sprint("h-", i), label("yardmaster.io/job", "one"))
			}
			if order := c.run(4); order != "hhhh" {
				t.Errorf("started: %s", order)
			}
		})
	}
}
