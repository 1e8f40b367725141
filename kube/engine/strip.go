package engine

import (
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Strip removes from a pod, node or Job what is not read here, before an informer keeps it. Pods that are alike share memory.
func Strip(o any) (any, error) {
	switch x := o.(type) {
	case *corev1.Pod:
		stripPod(x)
	case *corev1.Node:
		bareMeta(&x.ObjectMeta)
		x.Status = corev1.NodeStatus{Allocatable: x.Status.Allocatable, Conditions: x.Status.Conditions}
	case *batchv1.Job:
		bareMeta(&x.ObjectMeta)
		x.Labels, x.Annotations, x.OwnerReferences = nil, nil, nil
		x.Spec, x.Status = batchv1.JobSpec{Completions: x.Spec.Completions}, batchv1.JobStatus{Conditions: x.Status.Conditions}
	}
	return o, nil
}

func bareMeta(m *metav1.ObjectMeta) {
	m.ManagedFields, m.Finalizers, m.GenerateName = nil, nil, ""
}

// alike are the parts that pods have in common, by their content. They are not written to.
var alike struct {
	sync.Mutex
	pods    recent[*corev1.Pod]
	strings recent[string]
}

const (
	maxAlike  = 10_000          // kept of a turn, and of the one before
	period    = 5 * time.Minute // parts of pods that are gone are forgotten after two
	maxShared = 4 << 10         // bytes: what is larger is kept no longer than its pod
)

// recent are values that were last asked for in this turn or in the one before.
type recent[V any] struct {
	now, before map[string]V
	since       time.Time
}

// get returns the value known by a key, or else v, which is known from now on.
func (r *recent[V]) get(key string, v V) V {
	if known, ok := r.now[key]; ok {
		return known
	}
	if known, ok := r.before[key]; ok {
		v = known
	}
	if now := time.Now(); len(r.now) >= maxAlike || now.Sub(r.since) > period {
		r.before, r.now, r.since = r.now, map[string]V{}, now
	}
	r.now[key] = v
	return v
}

func stripPod(p *corev1.Pod) {
	spec, status := p.Spec, p.Status
	common := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Labels: read(p.Labels), Annotations: read(p.Annotations)},
		Spec: corev1.PodSpec{
			SchedulerName: spec.SchedulerName, SchedulingGates: spec.SchedulingGates, Priority: spec.Priority, NodeSelector: spec.NodeSelector, Affinity: spec.Affinity,
			Tolerations: spec.Tolerations, TopologySpreadConstraints: spec.TopologySpreadConstraints, ResourceClaims: spec.ResourceClaims, Overhead: spec.Overhead,
			Resources: spec.Resources, InitContainers: bare(spec.InitContainers), Containers: bare(spec.Containers),
		},
	}
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			common.Spec.Volumes = append(common.Spec.Volumes, v)
		}
	}
	for _, o := range p.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			common.OwnerReferences = append(common.OwnerReferences, o)
		}
	}
	common = share(common)
	bareMeta(&p.ObjectMeta)
	p.Namespace, p.Labels, p.Annotations, p.OwnerReferences, p.Spec = common.Namespace, common.Labels, common.Annotations, common.OwnerReferences, common.Spec
	p.Spec.NodeName = same(spec.NodeName)
	p.Status = corev1.PodStatus{Phase: corev1.PodPhase(same(string(status.Phase))), StartTime: status.StartTime, NominatedNodeName: status.NominatedNodeName}
	for _, c := range status.Conditions {
		if c.Type == corev1.PodScheduled || c.Type == corev1.DisruptionTarget {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodConditionType(same(string(c.Type))), Status: corev1.ConditionStatus(same(string(c.Status))), Reason: same(c.Reason), Message: same(c.Message), LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	if status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed {
		for _, c := range status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}}
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
			}
		}
	}
}

// share returns a pod that is alike.
func share(p *corev1.Pod) *corev1.Pod {
	key, err := p.Marshal()
	if err != nil || len(key) > maxShared {
		return p
	}
	alike.Lock()
	defer alike.Unlock()
	return alike.pods.get(string(key), p)
}

// same returns an equal string.
func same(s string) string {
	if len(s) > maxShared {
		return s
	}
	alike.Lock()
	defer alike.Unlock()
	return alike.strings.get(s, s)
}

// read are the labels or annotations that are read. Of what is released only matters that it is.
func read(all map[string]string) (some map[string]string) {
	for key, value := range all {
		if strings.HasPrefix(key, Domain) || strings.HasPrefix(key, "jobset.sigs.k8s.io/") || strings.HasPrefix(key, "spark-") {
			if some == nil {
				some = map[string]string{}
			}
			if key == Released {
				value = ""
			}
			some[key] = value
		}
	}
	return some
}

func bare(containers []corev1.Container) []corev1.Container {
	for i, c := range containers {
		containers[i] = corev1.Container{RestartPolicy: c.RestartPolicy, Resources: corev1.ResourceRequirements{Requests: c.Resources.Requests}, Ports: hostPorts(c.Ports)}
	}
	return containers
}

func hostPorts(all []corev1.ContainerPort) (ports []corev1.ContainerPort) {
	for _, p := range all {
		if p.HostPort != 0 {
			ports = append(ports, p)
		}
	}
	return ports
}
