package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Annotations of a pod for [Kubelet].
const (
	Length = "lab.yardmaster.io/length" // how long its containers run, such as 1.5s; for ever without it
	Exit   = "lab.yardmaster.io/exit"   // their exit code, 0 without it
)

// Kubelet stands in for the kubelets of many nodes: it runs no containers, but reports to the API server that the pods bound to its nodes start, run for exactly
// their length and finish, and lets those go that are being deleted.
type Kubelet struct {
	StartUp time.Duration                       // from binding to running
	Length  func(*corev1.Pod) time.Duration     // in place of the annotation; 0 for ever
	Started func(pod *corev1.Pod, at time.Time) // observes, if set
	Ended   func(pod *corev1.Pod, at time.Time) // likewise

	lab   *Lab
	work  chan func()
	ctx   context.Context
	mu    sync.Mutex
	nodes map[string]bool           // false: lost
	runs  map[types.UID]*time.Timer // what each pod waits for; nil once it has ended
}

// Run starts the kubelets; they end with the test. With a controller manager that watches nodes they keep their leases.
func (k *Kubelet) Run(t testing.TB, l *Lab) {
	t.Helper()
	k.lab, k.ctx, k.work, k.nodes, k.runs = l, t.Context(), make(chan func(), 1<<17), map[string]bool{}, map[types.UID]*time.Timer{}
	for range 16 {
		go func() {
			for {
				select {
				case f := <-k.work:
					f()
				case <-k.ctx.Done():
					return
				}
			}
		}()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(l.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "spec.nodeName!=" }))
	pods := factory.Core().V1().Pods().Informer()
	must(pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.saw(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { k.saw(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			if pod, ok := o.(*corev1.Pod); ok {
				k.forget(pod.UID, true)
			}
		},
	}))(t)
	factory.Start(k.ctx.Done())
	factory.WaitForCacheSync(k.ctx.Done())
	if l.Controllers != nil {
		go k.renew()
	}
}

// Nodes adds n ready nodes, named PREFIX-0, PREFIX-1, ..., which are deleted with the test. Allocatable is given as in "cpu", "4", "memory", "8Gi"; it always has 110 pods unless
// it says otherwise.
func (k *Kubelet) Nodes(t testing.TB, n int, prefix string, labels map[string]string, allocatable ...string) []string {
	t.Helper()
	room := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	for i := 0; i+1 < len(allocatable); i += 2 {
		room[corev1.ResourceName(allocatable[i])] = resource.MustParse(allocatable[i+1])
	}
	names := make([]string, n)
	errs := make(chan error, n)
	for i := range n {
		names[i] = fmt.Sprint(prefix, "-", i)
		k.mu.Lock()
		k.nodes[names[i]] = true
		k.mu.Unlock()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[i], Labels: map[string]string{corev1.LabelHostname: names[i]}}, Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), Reason: "KubeletReady"}},
		}}
		for key, value := range labels {
			node.Labels[key] = value
		}
		k.work <- func() {
			_, err := k.lab.Client.CoreV1().Nodes().Create(k.ctx, node, metav1.CreateOptions{})
			errs <- err
		}
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, name := range names {
			_ = k.lab.Client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	return names
}

// Lose stops a node's kubelet, as a power cut would: its pods and its lease change no more.
func (k *Kubelet) Lose(node string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes[node] = false
}

func (k *Kubelet) alive(node string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nodes[node]
}

// saw starts the run of a pod that is new here.
func (k *Kubelet) saw(pod *corev1.Pod) {
	if !k.alive(pod.Spec.NodeName) {
		return
	}
	if pod.DeletionTimestamp != nil {
		k.forget(pod.UID, false)
		k.work <- func() {
			_ = k.lab.Client.CoreV1().Pods(pod.Namespace).Delete(k.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		}
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.runs[pod.UID]; known || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	k.runs[pod.UID] = time.AfterFunc(k.StartUp, func() { k.work <- func() { k.start(pod) } })
}

func (k *Kubelet) forget(id types.UID, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if timer := k.runs[id]; timer != nil {
		timer.Stop()
	}
	k.runs[id] = nil
	if gone {
		delete(k.runs, id)
	}
}

func (k *Kubelet) start(pod *corev1.Pod) {
	now := time.Now()
	length := time.Duration(0)
	if k.Length != nil {
		length = k.Length(pod)
	} else if text := pod.Annotations[Length]; text != "" {
		length, _ = time.ParseDuration(text)
	}
	if !k.report(pod, corev1.PodRunning, now, now) {
		return
	}
	if k.Started != nil {
		k.Started(pod, now)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs[pod.UID] == nil || length <= 0 {
		return
	}
	// From the start, however long the report took.
	k.runs[pod.UID] = time.AfterFunc(time.Until(now.Add(length)), func() {
		k.work <- func() {
			end, phase := time.Now(), corev1.PodSucceeded
			if code := pod.Annotations[Exit]; code != "" && code != "0" {
				phase = corev1.PodFailed
			}
			if k.report(pod, phase, now, end) && k.Ended != nil {
				k.Ended(pod, end)
			}
			k.forget(pod.UID, false)
		}
	})
}

// report writes the pod's status. A pod that is gone needs none; any other failure is tried again, since a kubelet would.
func (k *Kubelet) report(pod *corev1.Pod, phase corev1.PodPhase, start, now time.Time) bool {
	ready := corev1.ConditionFalse
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}}
	switch phase {
	case corev1.PodRunning:
		ready = corev1.ConditionTrue
	default:
		code := int32(0)
		if phase == corev1.PodFailed {
			_, _ = fmt.Sscan(pod.Annotations[Exit], &code)
		}
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: metav1.NewTime(start), FinishedAt: metav1.NewTime(now)}}
	}
	status := corev1.PodStatus{Phase: phase, StartTime: new(metav1.NewTime(start)), Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(now)}}}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: state, Ready: phase == corev1.PodRunning})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	for err == nil && k.alive(pod.Spec.NodeName) {
		_, err := k.lab.Client.CoreV1().Pods(pod.Namespace).Patch(k.ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err == nil {
			return true
		}
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) || k.ctx.Err() != nil {
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// renew keeps the leases by which the controller manager knows that a node lives.
func (k *Kubelet) renew() {
	for tick := time.NewTicker(10 * time.Second); ; {
		k.mu.Lock()
		for name, lives := range k.nodes {
			if lives {
				k.work <- func() { k.lease(name) }
			}
		}
		k.mu.Unlock()
		select {
		case <-tick.C:
		case <-k.ctx.Done():
			return
		}
	}
}

func (k *Kubelet) lease(node string) {
	leases := k.lab.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	spec := coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: new(int32(40)), RenewTime: new(metav1.NowMicro())}
	patch, _ := json.Marshal(map[string]any{"spec": spec})
	if _, err := leases.Patch(k.ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); apierrors.IsNotFound(err) {
		_, _ = leases.Create(k.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: spec}, metav1.CreateOptions{})
	}
}

// Pod is a pod of one container that asks for this much and runs for this long.
func Pod(name, cpu, memory string, length time.Duration) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}, Labels: map[string]string{}}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "lab", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}}}},
	}}
	if length > 0 {
		pod.Annotations[Length] = length.String()
	}
	return pod
}
