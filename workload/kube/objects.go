package kube

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/unit"
)

// Meta identifies an object of the API.
type Meta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	UID         string            `json:"uid"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Created     time.Time         `json:"creationTimestamp"`
	Owners      []Owner           `json:"ownerReferences"`
}

// Owner refers to an object that owns another.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// Pod is what the rules read of a pod, with the API's names. Whoever fills it from typed objects may share their maps: nothing is written to.
type Pod struct {
	Meta   `json:"metadata"`
	Spec   PodSpec   `json:"spec"`
	Status PodStatus `json:"status"`
}

// PodSpec is what a pod asks for. Of what is kept as JSON only counts whether two are alike.
type PodSpec struct {
	Scheduler    string            `json:"schedulerName,omitempty"`
	Node         string            `json:"nodeName,omitempty"`
	Restart      string            `json:"restartPolicy,omitempty"`
	Priority     int32             `json:"priority,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Affinity     json.RawMessage   `json:"affinity,omitempty"`
	Tolerations  json.RawMessage   `json:"tolerations,omitempty"`
	Spread       json.RawMessage   `json:"topologySpreadConstraints,omitempty"`
	Claims       json.RawMessage   `json:"resourceClaims,omitempty"`
	Volumes      []Volume          `json:"volumes,omitempty"`
	Init         []Container       `json:"initContainers,omitempty"`
	Containers   []Container       `json:"containers,omitempty"`
	Resources    Resources         `json:"resources,omitzero"` // of the pod as a whole
	Overhead     map[string]string `json:"overhead,omitempty"`
}

// PodStatus is what became of a pod.
type PodStatus struct {
	Phase      string            `json:"phase"`
	Start      time.Time         `json:"startTime"`
	Conditions []Condition       `json:"conditions"`
	Init       []ContainerStatus `json:"initContainerStatuses"`
	Containers []ContainerStatus `json:"containerStatuses"`
}

// Condition is one of an object's conditions.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Changed time.Time `json:"lastTransitionTime"`
}

// ContainerStatus says when a container ran.
type ContainerStatus struct {
	Restarts int32 `json:"restartCount"`
	State    struct {
		Running    Span `json:"running"`
		Terminated Span `json:"terminated"`
	} `json:"state"`
}

// Span is when a container started and finished.
type Span struct {
	Started  time.Time `json:"startedAt"`
	Finished time.Time `json:"finishedAt"`
}

// Job is what is read of a batch Job.
type Job struct {
	Meta `json:"metadata"`
	Spec struct {
		Parallelism *int64 `json:"parallelism"`
		Template    Pod    `json:"template"`
	} `json:"spec"`
	Status struct {
		Start      time.Time   `json:"startTime"`
		Succeeded  int64       `json:"succeeded"`
		Failed     int64       `json:"failed"`
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// Node is what is read of a node.
type Node struct {
	Meta `json:"metadata"`
	Spec struct {
		Unschedulable bool    `json:"unschedulable"`
		Taints        []Taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		Allocatable map[string]string `json:"allocatable"`
		Conditions  []Condition       `json:"conditions"`
	} `json:"status"`
}

// Taint is what is read of a node's taint.
type Taint struct {
	Key    string `json:"key"`
	Effect string `json:"effect"`
}

// controlPlane reports whether a node is kept free for the cluster itself.
func (n *Node) controlPlane() bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t Taint) bool {
		return t.Effect != "PreferNoSchedule" && (t.Key == "node-role.kubernetes.io/control-plane" || t.Key == "node-role.kubernetes.io/master")
	})
}

// Room is what a node has for pods.
func (r *Rules) Room(allocatable map[string]string) unit.Resources {
	room := unit.Resources{Mem: floor(allocatable["memory"], 1, 1<<20), Cores: floor(allocatable["cpu"], 1000, 1)}
	for _, name := range append([]string{unit.Pods}, r.devices...) {
		room = room.Add(unit.Resources{Extra: unit.Named(name, floor(allocatable[name], 1, 1))})
	}
	return room
}

// Container is a container of a pod.
type Container struct {
	RestartPolicy string    `json:"restartPolicy,omitempty"` // of an init container: Always makes it a sidecar
	Resources     Resources `json:"resources,omitzero"`
	Ports         []Port    `json:"ports,omitempty"`
}

// Resources are requests as the API writes quantities: 500m, 2Gi.
type Resources struct {
	Requests map[string]string `json:"requests,omitempty"`
}

// Port is a port of a container.
type Port struct {
	Host     int32  `json:"hostPort,omitempty"`
	HostIP   string `json:"hostIP,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

// Volume is a volume that may tie a pod to a node. Other kinds are left empty.
type Volume struct {
	Claim     *Claim          `json:"persistentVolumeClaim,omitempty"`
	Ephemeral json.RawMessage `json:"ephemeral,omitempty"`
}

// Claim names a PersistentVolumeClaim.
type Claim struct {
	Name string `json:"claimName"`
}

// Size is the pod's effective request: what the scheduler counts on its node, and one of the resource "pods". Amounts are rounded up, and no larger than any node.
func (r *Rules) Size(p *Pod) unit.Resources {
	size := unit.Resources{Mem: p.effective("memory", 1, 1<<20), Cores: p.effective("cpu", 1000, 1), Extra: unit.Named(unit.Pods, 1)}
	for _, name := range r.devices {
		size = size.Add(unit.Resources{Extra: unit.Named(name, p.effective(name, 1, 1))})
	}
	return size
}

// effective sums a resource over the pod's containers as kube-scheduler does.
func (p *Pod) effective(name string, num, den float64) int64 {
	of := func(requests map[string]string) int64 {
		if q, set := requests[name]; set {
			return amount(q, num, den)
		}
		return 0
	}
	var all, sidecars, first int64
	for i := range p.Spec.Init {
		n := of(p.Spec.Init[i].Resources.Requests)
		if p.Spec.Init[i].RestartPolicy == "Always" {
			sidecars = min(sidecars+n, maxAmount)
			n = 0
		}
		first = max(first, sidecars+n)
	}
	all = sidecars
	for i := range p.Spec.Containers {
		all = min(all+of(p.Spec.Containers[i].Resources.Requests), maxAmount)
	}
	all = max(all, first)
	if _, set := p.Spec.Resources.Requests[name]; set && !strings.Contains(name, "/") {
		all = of(p.Spec.Resources.Requests)
	}
	return min(all+of(p.Spec.Overhead), maxAmount)
}

// Shape is equal for pods that the scheduler places alike, and differs between namespaces: what one tenant asks for in vain holds up nobody else.
func (p *Pod) Shape() string {
	spec := p.Spec
	spec.Node, spec.Restart, spec.Priority = "", "", 0
	spec.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), func(v Volume) bool { return v.Claim == nil && v.Ephemeral == nil })
	text, _ := json.Marshal(&spec) // cannot fail: what is kept as JSON came as JSON
	h := fnv.New64a()
	_, _ = h.Write(text)
	return p.Namespace + "/" + strconv.FormatUint(h.Sum64(), 36)
}

// maxAmount is more than any node has, and small enough that a sum over all pods of a cluster is a number.
const maxAmount = 1 << 31

var suffixes = map[string]float64{
	"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
}

// amount is a quantity times num/den, rounded up, between 0 and maxAmount. What is no quantity counts 0: an API server stores none.
func amount(quantity string, num, den float64) int64 {
	return int64(min(math.Ceil(number(quantity, num, den)*(1-1e-12)), maxAmount)) // as 0.1 is not exact
}

// floor is amount rounded down.
func floor(quantity string, num, den float64) int64 {
	return int64(min(math.Floor(number(quantity, num, den)*(1+1e-12)), maxAmount))
}

func number(quantity string, num, den float64) float64 {
	k := strings.LastIndexAny(quantity, ".0123456789") + 1
	v, _ := strconv.ParseFloat(quantity[:k], 64) // 0 if it is no number, infinite if it is too large
	if v *= num * suffixes[quantity[k:]] / den; v > 0 {
		return v
	}
	return 0
}
