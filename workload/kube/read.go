package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/unit"
)

// Limits on what is read.
const (
	maxObject  = 8 << 20 // bytes; etcd stores 1.5 MiB
	maxObjects = 1 << 23
)

// History gathers objects of a cluster. Of an object that is read several times, as it was at several instants, what is known last counts.
type History struct {
	// StartUp is from when a pod had its node to when its containers started, as Jobs found from so many pods.
	StartUp unit.Time
	Started int64

	rules    *Rules
	jobs     map[string]*job
	pods     map[string]*record
	batches  map[string]*batch
	services map[string]service
	nodes    map[string]*node
	last     unit.Time // latest of all
	sum      struct{ unreadable, undated, again int64 }
	ignored  map[string]int64
	devices  map[string]bool // extended resources that are not counted
}

type job struct {
	id      Identity
	created unit.Time
	records []*record
	batches []*batch
}

// role is what makes pods of a job alike.
type role struct {
	stage string
	size  unit.Resources
	gang  int64
}

// record is a pod. Instants are since 1970; 0: none.
type record struct {
	role
	created, bound, start, end unit.Time
	over, failed, restarted    bool
}

// batch is a Job of the API.
type batch struct {
	role
	parallel, pods int64 // at a time, and that ended in all
	start, end     unit.Time
	over, failed   bool
}

// service is a pod that does not end by itself.
type service struct {
	node string
	size unit.Resources
}

type node struct {
	room       unit.Resources
	kind, zone string
	away       bool
}

// NewHistory returns an empty history.
func NewHistory(r *Rules) *History {
	return &History{
		rules: r, jobs: map[string]*job{}, pods: map[string]*record{}, batches: map[string]*batch{}, services: map[string]service{}, nodes: map[string]*node{},
		ignored: map[string]int64{}, devices: map[string]bool{},
	}
}

// Read reads lists of objects as kubectl get -o json and the API server write them, one after another. It passes over kinds that it does not know. next is where
// the API server continues the last list; "": it is complete.
func (h *History) Read(src io.Reader) (next string, err error) {
	d := newDecoder(src)
	for lists := 0; ; lists++ {
		d.b.Left = maxObject
		if lists > 0 && !d.More() {
			return next, nil
		}
		var head struct {
			Kind     string `json:"kind"`
			Version  string `json:"apiVersion"`
			Continue string `json:"continue"`
		}
		items := false
		err := d.object(map[string]func() error{
			"kind":       func() error { return d.value(&head.Kind) },
			"apiVersion": func() error { return d.value(&head.Version) },
			"metadata":   func() error { return d.value(&head) },
			"items": func() error {
				items = true
				return d.list(func(object json.RawMessage) error { return h.object(object, head.Kind, head.Version) })
			},
		})
		if err == nil && !items {
			err = fmt.Errorf("%.40q has no items", head.Kind)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", fmt.Errorf("at byte %d: %w; it should be what kubectl get jobs,pods,nodes -A -o json writes", d.InputOffset(), err)
		}
		next = head.Continue
	}
}

func (h *History) objects() int { return len(h.pods) + len(h.batches) + len(h.services) + len(h.nodes) }

// object reads an item of a list, whose kind says what items are that do not say it themselves.
func (h *History) object(text []byte, list, version string) error {
	if h.objects() >= maxObjects {
		return fmt.Errorf("more than %d objects: import them in parts", maxObjects)
	}
	of := struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}{strings.TrimSuffix(list, "List"), version}
	err := json.Unmarshal(text, &of)
	switch of.Version + " " + of.Kind {
	case "v1 Pod":
		err = decode(text, h.Pod)
	case "batch/v1 Job":
		err = decode(text, h.Job)
	case "v1 Node":
		err = decode(text, h.Node)
	}
	if err != nil {
		h.sum.unreadable++
	}
	return nil
}

func decode[T any](text []byte, add func(*T)) error {
	var x T
	err := json.Unmarshal(text, &x)
	if err == nil {
		add(&x)
	}
	return err
}

// Pod adds a pod.
func (h *History) Pod(p *Pod) {
	uid := p.UID
	if uid == "" {
		uid = p.Namespace + "/" + p.Name
	}
	over := p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed"
	if p.Spec.Restart == "Always" {
		if delete(h.services, uid); p.Spec.Node != "" && !over {
			h.services[uid] = service{p.Spec.Node, h.rules.Size(p)}
		}
		return
	}
	r := record{created: h.micros(p.Created), over: over, failed: p.Status.Phase == "Failed"}
	if r.created == 0 {
		h.sum.undated++
		return
	}
	known := h.pods[uid]
	if known != nil {
		if h.sum.again++; known.over {
			return
		}
	}
	id := h.rules.Job(p)
	r.role = role{id.Stage, h.rules.Size(p), id.Gang}
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "True" {
			r.bound = h.micros(c.Changed)
		}
	}
	for _, c := range append(p.Status.Init, p.Status.Containers...) {
		r.restarted = r.restarted || c.Restarts > 0
		for _, s := range []Span{c.State.Running, c.State.Terminated} {
			if t := h.micros(s.Started); t > 0 && (r.start == 0 || t < r.start) {
				r.start = t
			}
			r.end = max(r.end, h.micros(s.Finished))
		}
	}
	if t := h.micros(p.Status.Start); r.restarted && t > 0 {
		r.start = t // containers say only when they started last
	}
	if !over {
		r.end = 0
	}
	if known != nil {
		*known = r
		return
	}
	j := h.job(id, r.created)
	h.pods[uid] = &r
	j.records = append(j.records, &r)
}

// job returns the job of an identity.
func (h *History) job(id Identity, created unit.Time) *job {
	j := h.jobs[id.Key]
	if j == nil {
		j = &job{id: id, created: created}
		h.jobs[id.Key] = j
		if id.Ignored != "" {
			h.ignored[strings.SplitN(id.Ignored, ":", 2)[0]]++
		}
	}
	j.created = min(j.created, created)
	return j
}

// Job adds a Job.
func (h *History) Job(j *Job) {
	created := h.micros(j.Created)
	if created == 0 || j.UID == "" {
		h.sum.undated++
		return
	}
	p := &j.Spec.Template
	p.Namespace, p.Name, p.UID, p.Owners = j.Namespace, j.Name, j.UID, []Owner{{Kind: "Job", Name: j.Name, UID: j.UID, Controller: true}}
	id := h.rules.Job(p)
	b := h.batches[j.UID]
	if b == nil {
		b = &batch{}
		h.batches[j.UID] = b
		of := h.job(id, created)
		of.batches = append(of.batches, b)
	}
	if b.over {
		return
	}
	*b = batch{role: role{id.Stage, h.rules.Size(p), id.Gang}, parallel: 1, start: h.micros(j.Status.Start), pods: clamp(j.Status.Succeeded) + clamp(j.Status.Failed)}
	if j.Spec.Parallelism != nil {
		b.parallel = max(clamp(*j.Spec.Parallelism), 1)
	}
	for _, c := range j.Status.Conditions {
		if c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed") {
			b.over, b.failed, b.end = true, c.Type == "Failed", h.micros(c.Changed)
		}
	}
}

// Node adds a node.
func (h *History) Node(n *Node) {
	if n.Name == "" {
		h.sum.undated++
		return
	}
	for name := range n.Status.Allocatable {
		if strings.Contains(name, "/") && !slices.Contains(h.rules.devices, name) {
			h.devices[shown(name)] = true
		}
	}
	ready := false
	for _, c := range n.Status.Conditions {
		ready = ready || c.Type == "Ready" && c.Status == "True"
	}
	h.nodes[n.Name] = &node{
		room: h.rules.Room(n.Status.Allocatable), kind: shown(n.Labels[instanceType]), zone: shown(n.Labels[zone]),
		away: !ready || n.Spec.Unschedulable || n.controlPlane(),
	}
}

// clamp bounds a count that the API limits to 32 bits.
func clamp(n int64) int64 { return min(max(n, 0), 1<<31) }

// micros is an instant since 1970, and 0 if it is none that a cluster can have seen.
func (h *History) micros(t time.Time) unit.Time {
	if y := t.Year(); y < 2014 || y >= 2200 {
		return 0
	}
	us := unit.Time(t.UnixMicro())
	h.last = max(h.last, us)
	return us
}
