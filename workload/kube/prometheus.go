package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is a series with its value at an instant.
type sample struct {
	Labels map[string]string  `json:"metric"`
	Value  [2]json.RawMessage `json:"value"`
}

func (s *sample) number() float64 {
	v, _ := strconv.ParseFloat(strings.Trim(string(s.Value[1]), `"`), 64)
	return v
}

func (s *sample) time() time.Time {
	if v := s.number(); v > 0 && v < 1e11 {
		return time.UnixMicro(int64(v * 1e6))
	}
	return time.Time{}
}

// query asks Prometheus for the value of an expression at an instant: one sample a series.
func (s *Server) query(ctx context.Context, expr string, at time.Time, each func(*sample)) error {
	query := url.Values{"query": {expr}, "time": {strconv.FormatInt(at.Unix(), 10)}}
	return s.get(ctx, "/api/v1/query", query, func(r io.Reader) error {
		d, n := newDecoder(r), 0
		samples := func() error {
			return d.list(func(text json.RawMessage) error {
				var x sample
				if err := json.Unmarshal(text, &x); err != nil {
					return err
				}
				if n++; n > maxObjects {
					return fmt.Errorf("more than %d series: ask for less at once with --window", maxObjects)
				}
				each(&x)
				return nil
			})
		}
		err := d.object(map[string]func() error{"data": func() error { return d.object(map[string]func() error{"result": samples}) }})
		if err != nil {
			return fmt.Errorf("%w; it should be what Prometheus answers", err)
		}
		return nil
	})
}

// Metrics reads what Prometheus has kept of the metrics of kube-state-metrics, a window at a time. The nodes and the services are those at the end.
func (h *History) Metrics(ctx context.Context, s *Server, from, to time.Time, window time.Duration, progress func(objects int)) error {
	span := strconv.FormatInt(int64(window/time.Second), 10) + "s"
	ends := "last_over_time(kube_pod_restart_policy{type!=\"Always\"}[" + span + "])"
	for at := from.Add(window); ; at = at.Add(window) {
		if at.After(to) {
			at = to
		}
		err := h.scrape(ctx, s, at, func(metric string) string { return "last_over_time(" + metric + "[" + span + "]) and on (uid) " + ends })
		if err != nil {
			return err
		}
		if progress(h.objects()); at.Equal(to) {
			break
		}
	}
	h.sum.again = 0 // windows overlap
	if err := h.scrape(ctx, s, to, func(metric string) string { return metric }); err != nil {
		return err
	}
	h.sum.again = 0
	if len(h.pods) == 0 {
		return errors.New("there are no pods of kube-state-metrics (kube_pod_created, kube_pod_restart_policy) from then")
	}
	return h.allocatable(ctx, s, to)
}

// scrape reads the pods of one window.
func (h *History) scrape(ctx context.Context, s *Server, at time.Time, expr func(metric string) string) error {
	pods := map[string]*Pod{}
	containers := map[string]map[string]string{} // their requests, by pod and name
	requests := func(of func(*PodSpec) *[]Container) func(*Pod, *sample) {
		return func(p *Pod, x *sample) {
			key := p.UID + " " + x.Labels["container"]
			if containers[key] == nil {
				containers[key] = map[string]string{}
				list := of(&p.Spec)
				*list = append(*list, Container{Resources: Resources{Requests: containers[key]}})
			}
			containers[key][h.rules.resource(x.Labels["resource"])] = strconv.FormatFloat(x.number(), 'f', -1, 64)
		}
	}
	for _, m := range []struct {
		metric string
		set    func(*Pod, *sample)
	}{
		{"kube_pod_created", func(p *Pod, x *sample) { p.Created = x.time() }},
		{"kube_pod_info", func(p *Pod, x *sample) { p.Spec.Node = x.Labels["node"] }},
		{"kube_pod_restart_policy", func(p *Pod, x *sample) { p.Spec.Restart = x.Labels["type"] }},
		{"kube_pod_labels", func(p *Pod, x *sample) { p.Labels = known(x.Labels) }},
		{"kube_pod_owner", func(p *Pod, x *sample) {
			if kind, name := x.Labels["owner_kind"], x.Labels["owner_name"]; name != "" && name != "<none>" {
				p.Owners = append(p.Owners, Owner{Kind: kind, Name: name, UID: kind + "/" + name, Controller: x.Labels["owner_is_controller"] == "true"})
			}
		}},
		{"kube_pod_container_resource_requests", requests(func(s *PodSpec) *[]Container { return &s.Containers })},
		{"kube_pod_init_container_resource_requests", requests(func(s *PodSpec) *[]Container { return &s.Init })},
		{"kube_pod_status_scheduled_time", func(p *Pod, x *sample) {
			p.Status.Conditions = []Condition{{Type: "PodScheduled", Status: "True", Changed: x.time()}}
		}},
		{`kube_pod_status_phase{phase=~"Succeeded|Failed"}`, func(p *Pod, x *sample) {
			if x.number() == 1 {
				p.Status.Phase = x.Labels["phase"]
			}
		}},
		{"kube_pod_container_state_started", func(p *Pod, x *sample) { p.Status.ran(Span{Started: x.time()}) }},
		{"kube_pod_completion_time", func(p *Pod, x *sample) { p.Status.ran(Span{Finished: x.time()}) }},
	} {
		err := s.query(ctx, expr(m.metric), at, func(x *sample) {
			uid := x.Labels["uid"]
			p := pods[uid]
			if p == nil && m.metric == "kube_pod_created" && uid != "" {
				p = &Pod{Meta: Meta{Name: x.Labels["pod"], Namespace: x.Labels["namespace"], UID: uid}}
				pods[uid] = p
			}
			if p != nil {
				m.set(p, x)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(pods)) {
		h.Pod(pods[uid])
	}
	return nil
}

// ran adds when a container ran.
func (s *PodStatus) ran(span Span) {
	c := ContainerStatus{}
	c.State.Terminated = span
	s.Containers = append(s.Containers, c)
}

// allocatable reads the nodes.
func (h *History) allocatable(ctx context.Context, s *Server, at time.Time) error {
	nodes := map[string]*Node{}
	for _, m := range []struct {
		metric string
		set    func(*Node, *sample)
	}{
		{"kube_node_status_allocatable", func(n *Node, x *sample) {
			n.Status.Allocatable[h.rules.resource(x.Labels["resource"])] = strconv.FormatFloat(x.number(), 'f', -1, 64)
		}},
		{"kube_node_labels", func(n *Node, x *sample) { n.Labels = known(x.Labels) }},
		{"kube_node_spec_unschedulable", func(n *Node, x *sample) { n.Spec.Unschedulable = x.number() == 1 }},
		{`kube_node_status_condition{condition="Ready",status="true"}`, func(n *Node, x *sample) {
			if x.number() == 1 {
				n.Status.Conditions = []Condition{{Type: "Ready", Status: "True"}}
			}
		}},
	} {
		err := s.query(ctx, m.metric, at, func(x *sample) {
			name := x.Labels["node"]
			if nodes[name] == nil {
				nodes[name] = &Node{Meta: Meta{Name: name}}
				nodes[name].Status.Allocatable = map[string]string{}
			}
			m.set(nodes[name], x)
		})
		if err != nil {
			return err
		}
	}
	for _, n := range nodes {
		h.Node(n)
	}
	return nil
}

// plain is a name as kube-state-metrics writes it: nvidia_com_gpu.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("-./", c) {
			return '_'
		}
		return c
	}, name)
}

// resource is the resource of a plain name.
func (r *Rules) resource(name string) string {
	for _, d := range r.devices {
		if plain(d) == name {
			return d
		}
	}
	return name
}

// known gives labels that are read their names back.
func known(labels map[string]string) map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		Domain + "job", Domain + "queue", Domain + "user", Domain + "class", Domain + "stage", Domain + "gang", jobSet + "uid", jobSet + "name", replicated,
		sparkApp, sparkName, sparkRole, zone, instanceType,
	} {
		if v := labels["label_"+plain(name)]; v != "" {
			all[name] = v
		}
	}
	return all
}
