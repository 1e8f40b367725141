package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/yardmaster/yardmaster/kube/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// understood are settings, given as keys and values.
func understood(t *testing.T, pairs ...string) *settings {
	t.Helper()
	data := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		data[pairs[i]] = pairs[i+1]
	}
	s, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type counter struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// However often and impatiently somebody asks for a check, the API server is asked once a minute.
func TestCheckIsCheap(t *testing.T) {
	l := lab.Shared(t)
	var requests atomic.Int64
	config := l.User(t, "nobody")
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, &requests} })
	e := newTest(t, understood(t, "policy", "fifo"))
	e.client, e.cfg.Namespace, e.cfg.Needs = kubernetes.NewForConfigOrDie(config), "default", []Need{{Resource: "/pods", Verbs: []string{"list", "watch"}}}
	get := func(ctx context.Context) (text string, a Answer) {
		w := httptest.NewRecorder()
		e.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/check?o=json", nil))
		text = w.Body.String()
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Error(err)
		}
		return text, a
	}
	want := []string{"list /pods", "watch /pods"}
	left, leave := context.WithCancel(t.Context())
	leave()
	if text, a := get(left); !slices.Equal(a.Lacks, want) {
		t.Errorf("who does not wait for the answer leaves %s to others", text)
	}
	e.asked = time.Time{}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if text, a := get(t.Context()); !slices.Equal(a.Lacks, want) {
				t.Error(text)
			}
		})
	}
	all.Wait()
	if n := requests.Load(); n != 4 {
		t.Errorf("%d requests", n)
	}
	e.asked, e.client = time.Now().Add(-2*time.Minute), l.Client
	if text, a := get(t.Context()); a.Lacks == nil || len(a.Lacks) > 0 {
		t.Errorf("of an administrator: %s", text)
	}
	e.asked, e.missing, e.cfg.Needs = time.Time{}, nil, nil
	if text, _ := get(t.Context()); strings.Contains(text, "lacks") {
		t.Errorf("with needs that are not known: %s", text)
	}
}

// The state is labelled with the policy that it is of, also if the settings name another at the end.
func TestStateIsOfItsPolicy(t *testing.T) {
	l := lab.Shared(t)
	home := l.Namespace(t)
	first := map[string]string{"policy": "fbq:limits=20"}
	_, err := l.Client.CoreV1().ConfigMaps(home).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: Name}, Data: first}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newEngine := func() *Engine {
		t.Helper()
		e, err := New(t.Context(), l.Client, Config{Namespace: home, Identity: "replica"})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct{ policy, window, want string }{
		{"fbq:limits=12000", "256", "fbq:limits=20"}, // with another key: at the next start
		{"fbq:limits=30", "", "fbq:limits=30"},       // at once
	} {
		e := newEngine()
		if err := e.Core.Start(nil); err != nil {
			t.Fatal(err)
		}
		data := map[string]string{"policy": c.policy}
		if c.window != "" {
			data["window"] = c.window
		}
		e.change(t.Context(), data)
		e.Stop(t.Context())
		if s := newEngine().state; s.Policy != c.want || s.Settings["policy"] != c.policy || len(s.Core.Policy) == 0 {
			t.Errorf("%v: state of %s, settings %v, %d bytes", c, s.Policy, s.Settings, len(s.Core.Policy))
		}
	}
}

// A reason to warn that comes often silences no other.
func TestWarn(t *testing.T) {
	l := lab.Shared(t)
	e := &Engine{cfg: Config{Namespace: l.Namespace(t), Identity: "replica"}}
	e.recorder = newRecorder(t.Context(), l.Client, e.cfg)
	for i := range 60 {
		e.Warn(t.Context(), "GateStays", fmt.Sprint("of pod ", i))
	}
	e.Warn(t.Context(), "StateNotSaved", "the disk is full")
	lab.Eventually(t, 20*time.Second, "both are there", func() bool {
		reasons := map[string]int{}
		list, err := l.Client.CoreV1().Events(e.cfg.Namespace).List(t.Context(), metav1.ListOptions{})
		for i := range list.Items {
			reasons[list.Items[i].Reason]++
		}
		return err == nil && reasons["GateStays"] > 0 && reasons["StateNotSaved"] > 0
	})
}

// Jobs for which no autoscaler has a node do not keep others from being shown.
func TestAutoscalersTurns(t *testing.T) {
	l := lab.Shared(t)
	namespace := l.Namespace(t)
	e := newTest(t, understood(t, "policy", "fifo", "autoscale", "1"))
	e.client, e.cfg.Patience = l.Client, time.Hour
	e.SawNode(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse("1"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110"),
	}}})
	for _, job := range []string{"a", "b", "c", "d"} {
		p := lab.Pod(job, "1000", "1Mi", 0)
		p.Labels[Domain+"job"] = job
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: Gate}}
		p, err := l.Client.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e.SawPod(p)
	}
	if err := e.Core.Start(nil); err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		e.explain(t.Context())
		var names []string
		for _, pod := range e.marks {
			names = append(names, pod.Name)
		}
		list, err := l.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			p := &list.Items[i]
			if c := Condition(p, corev1.PodScheduled); (c.Reason == corev1.PodReasonUnschedulable) != slices.Contains(names, p.Name) {
				t.Errorf("%s is %s, marked: %v", p.Name, c.Reason, names)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("autoscalers see %q, want %q", got, want)
		}
	}
	later := func(d time.Duration) {
		for _, k := range e.known {
			if !k.until.IsZero() {
				k.until = k.until.Add(-d)
			}
		}
	}
	expect("a")
	later(turn - time.Minute)
	expect("a")
	later(2 * time.Minute)
	for _, next := range []string{"b", "c", "d", "a", "a", "b", "c", "d"} { // after the first d all rest, so there is nobody else
		expect(next)
		later(turn + time.Minute)
	}
}
