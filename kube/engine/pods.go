package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/kube"
)

// Task is what a pod is to the core.
func (e *Engine) Task(p *corev1.Pod) (live.Task, live.Job) {
	r, v, created := e.rules(), view(p), e.clock.at(p.CreationTimestamp.Time)
	id := r.Job(v)
	if n := p.Labels["jobset.sigs.k8s.io/restart-attempt"]; n != "" && n != "0" { // all pods are made anew: gangs do not go on where they were
		id.Stage += "/" + n
	}
	task := live.Task{
		ID: string(p.UID), Name: p.Name, Stage: id.Stage, Shape: v.Shape(), Size: r.Size(v), Gang: id.Gang, Created: created,
		Ref: types.NamespacedName{Namespace: p.Namespace, Name: p.Name},
	}
	job := live.Job{Key: id.Key, User: id.User, Queue: id.Queue, Class: id.Class, Priority: id.Priority, Submitted: created}
	object := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	if j := e.owner(p.Namespace, id.Owner); j != nil {
		if !finished(j) { // one that has ended gives its place to nobody: who may create pods may say that they are its
			job.Submitted, job.Owned = e.clock.at(j.CreationTimestamp.Time), true
		}
		if n := j.Spec.Completions; n != nil {
			job.Tasks = int64(*n)
		}
		object = corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID}
	}
	switch {
	case id.Within > 0:
		job.Deadline = job.Submitted + id.Within
	case !id.Deadline.IsZero():
		job.Deadline = max(1, e.clock.until(id.Deadline))
	}
	e.know(id, object)
	return task, job
}

// Over reports whether a pod has ended.
func Over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Ended says, of a pod that is over, its id, how it ended and how long its containers worked.
func Ended(p *corev1.Pod) (id string, why policy.End, worked unit.Time) {
	if p.Status.Phase == corev1.PodFailed {
		why = policy.Failed
		if c := Condition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
			why = policy.Taken
		}
	}
	from, to := worktime(p)
	return string(p.UID), why, unit.Time(max(0, to.Sub(from)).Microseconds())
}

// worktime is from the start of a pod's first container to the end of its last.
func worktime(p *corev1.Pod) (from, to time.Time) {
	for i := range p.Status.ContainerStatuses {
		if t := p.Status.ContainerStatuses[i].State.Terminated; t != nil {
			if from.IsZero() || t.StartedAt.Time.Before(from) {
				from = t.StartedAt.Time
			}
			if t.FinishedAt.After(to) {
				to = t.FinishedAt.Time
			}
		}
	}
	return from, to
}

// held is how long a pod that is over held its node.
func held(p *corev1.Pod) unit.Time {
	_, to := worktime(p)
	from := boundAt(p)
	if p.Spec.NodeName == "" || from.IsZero() || to.Before(from) {
		return 0
	}
	return unit.Time(to.Sub(from).Microseconds())
}

// boundAt is when a pod got its node, as far as it says.
func boundAt(p *corev1.Pod) time.Time {
	if c := Condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return time.Time{}
}

// Condition is a pod's condition of a kind, or nil.
func Condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// room is what a node has for pods; nothing if it takes none.
func (e *Engine) room(n *corev1.Node) unit.Resources {
	if n.Spec.Unschedulable || n.DeletionTimestamp != nil {
		return unit.Resources{}
	}
	now := e.current()
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !slices.Contains(now.taints, t.Key) {
			return unit.Resources{}
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return unit.Resources{}
		}
	}
	return now.rules.Room(amounts(n.Status.Allocatable))
}

// helps reports whether a node may now take pods that it did not take before.
func helps(was, is *corev1.Node) bool {
	return was == nil || was.Spec.Unschedulable != is.Spec.Unschedulable || !maps.Equal(was.Labels, is.Labels) || !apiequality.Semantic.DeepEqual(was.Spec.Taints, is.Spec.Taints)
}

// view is a pod as the rules see it.
func view(p *corev1.Pod) *kube.Pod {
	v := &kube.Pod{Meta: meta(&p.ObjectMeta)}
	v.Spec = kube.PodSpec{
		Scheduler: p.Spec.SchedulerName, Node: p.Spec.NodeName, NodeSelector: p.Spec.NodeSelector, Overhead: amounts(p.Spec.Overhead), Init: containers(p.Spec.InitContainers),
		Containers: containers(p.Spec.Containers),
	}
	if p.Spec.Priority != nil {
		v.Spec.Priority = *p.Spec.Priority
	}
	if p.Spec.Resources != nil {
		v.Spec.Resources.Requests = amounts(p.Spec.Resources.Requests)
	}
	if p.Spec.Affinity != nil {
		v.Spec.Affinity = raw(p.Spec.Affinity)
	}
	if len(p.Spec.Tolerations) > 0 {
		v.Spec.Tolerations = raw(p.Spec.Tolerations)
	}
	if len(p.Spec.TopologySpreadConstraints) > 0 {
		v.Spec.Spread = raw(p.Spec.TopologySpreadConstraints)
	}
	if len(p.Spec.ResourceClaims) > 0 {
		v.Spec.Claims = raw(p.Spec.ResourceClaims)
	}
	for _, x := range p.Spec.Volumes {
		switch {
		case x.PersistentVolumeClaim != nil:
			v.Spec.Volumes = append(v.Spec.Volumes, kube.Volume{Claim: &kube.Claim{Name: x.PersistentVolumeClaim.ClaimName}})
		case x.Ephemeral != nil:
			v.Spec.Volumes = append(v.Spec.Volumes, kube.Volume{Ephemeral: raw(x.Ephemeral)})
		}
	}
	return v
}

func meta(m *metav1.ObjectMeta) kube.Meta {
	v := kube.Meta{Name: m.Name, Namespace: m.Namespace, UID: string(m.UID), Labels: m.Labels, Annotations: m.Annotations, Created: m.CreationTimestamp.Time}
	for _, o := range m.OwnerReferences {
		v.Owners = append(v.Owners, kube.Owner{Kind: o.Kind, Name: o.Name, UID: string(o.UID), Controller: o.Controller != nil && *o.Controller})
	}
	return v
}

func containers(all []corev1.Container) []kube.Container {
	out := make([]kube.Container, len(all))
	for i, c := range all {
		out[i].Resources.Requests = amounts(c.Resources.Requests)
		if c.RestartPolicy != nil {
			out[i].RestartPolicy = string(*c.RestartPolicy)
		}
		for _, p := range hostPorts(c.Ports) {
			out[i].Ports = append(out[i].Ports, kube.Port{Host: p.HostPort, HostIP: p.HostIP, Protocol: string(p.Protocol)})
		}
	}
	return out
}

func amounts(list corev1.ResourceList) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}

func raw(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}
