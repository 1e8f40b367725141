package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/gate"
	"github.com/yardmaster/yardmaster/kube/lab"
)

func TestMain(m *testing.M) { lab.Main(m, lab.WithScheduler()) }

// address is one of this machine's that the API server's proxy will dial: not the loopback.
func address(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but the loopback")
	return ""
}

func created[T any](t *testing.T) func(T, error) T {
	return func(object T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
}

// What kubectl yardmaster prints, through the API server's proxy.
func TestPlugin(t *testing.T) {
	l, ip := lab.Shared(t), address(t)
	home, jobs := l.Namespace(t), l.Namespace(t)
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		r := root(&out)
		r.SetArgs(append(args, "--kubeconfig="+l.Kubeconfig, "--yardmaster-namespace="+home))
		err := r.ExecuteContext(t.Context())
		return out.String(), err
	}
	expect := func(want string, args ...string) {
		t.Helper()
		text, err := run(args...)
		if err != nil {
			text += err.Error()
		}
		for line := range strings.SplitSeq(want, "|") {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), line) {
				t.Errorf("%s:\n%s\nwant %s", args, text, line)
			}
		}
	}
	expect("no controller has ever led in namespace", "why", "x")
	expect("FAIL settings|FAIL a controller leads", "check")

	var handler atomic.Pointer[http.Handler]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := handler.Load(); h != nil {
			(*h).ServeHTTP(w, r)
		}
	}))
	_ = server.Listener.Close()
	server.Listener = created[net.Listener](t)(net.Listen("tcp", ip+":0"))
	server.Start()
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	run2 := run
	run = func(args ...string) (string, error) { return run2(append(args, "--port="+strconv.Itoa(port))...) }

	pod := created[*corev1.Pod](t)(l.Client.CoreV1().Pods(home).Create(t.Context(), lab.Pod("leader", "1m", "1Mi", 0), metav1.CreateOptions{}))
	pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	created[*corev1.Pod](t)(l.Client.CoreV1().Pods(home).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: engine.Name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("leader_1"), RenewTime: new(metav1.NowMicro()), LeaseDurationSeconds: new(int32(60))}}
	created[*coordinationv1.Lease](t)(l.Client.CoordinationV1().Leases(home).Create(t.Context(), lease, metav1.CreateOptions{}))
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: engine.Name}, Data: map[string]string{"policy": "fair"}}
	created[*corev1.ConfigMap](t)(l.Client.CoreV1().ConfigMaps(home).Create(t.Context(), settings, metav1.CreateOptions{}))
	k := &lab.Kubelet{}
	k.Run(t, l)
	k.Nodes(t, 1, jobs, nil, "cpu", "2", "memory", "8Gi")
	hold := func(name, cpu string) {
		p := lab.Pod(name, cpu, "1Gi", 0)
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: engine.Gate}}
		if name == "second" {
			p.Labels[engine.Domain+"gang"] = "many"
		}
		created[*corev1.Pod](t)(l.Client.CoreV1().Pods(jobs).Create(t.Context(), p, metav1.CreateOptions{}))
	}
	hold("first", "1500m")
	go func() {
		if err := gate.Run(t.Context(), l.Client, gate.Config{Namespace: home, Identity: "leader_1", Serve: func(h http.Handler) { handler.Store(&h) }}); err != nil {
			t.Error(err)
		}
	}()
	lab.Eventually(t, 20*time.Second, "first runs", func() bool {
		text, err := run("queue", "-n", jobs)
		return err == nil && strings.Contains(strings.Join(strings.Fields(text), " "), "0 0 1 0")
	})
	hold("second", "1500m")
	hold("large", "3")
	lab.Eventually(t, 20*time.Second, "three jobs are there", func() bool {
		text, err := run("queue", "-n", jobs)
		return err == nil && strings.Count(text, "\n") == 4
	})
	expect("JOB QUEUE USER HELD RELEASED RUNNING DONE AGE|"+jobs+"/second "+jobs+" "+jobs+" 1 0 0 0", "queue", "-n", jobs)
	expect(jobs+"/large", "queue", "-A")
	expect("No job in namespace default has pods that are managed; -A lists", "queue", "-n", "default")
	expect("1 pod held|its next pod asks for 1024 MiB, 1.5 CPU, and at most 7167 MiB, 0.499 CPU|Ignored: yardmaster.io/gang", "why", "second", "-n", jobs)
	expect("No node is large enough|3 CPU", "why", "large", "-n", jobs)
	expect("No job "+jobs+"/nobody has pods here", "why", "nobody", "-n", jobs)
	expect("not the name of a job", "why", "../check", "-n", jobs)
	expect(`"name":"`+jobs+`/second"`, "why", "second", "-n", jobs, "--json")
	expect("ok settings|FAIL a MutatingAdmissionPolicy|ok a controller leads leader|ok it answers|ok its settings are accepted; policy fair|ok its service account", "check")

	mutation := admissionv1.Mutation{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: `[JSONPatch{op: "add", path: "/spec/schedulingGates", value: [{"name": "yardmaster.io/hold"}]}]`}}
	policies := l.Client.AdmissionregistrationV1()
	created[*admissionv1.MutatingAdmissionPolicy](t)(policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "hold"}, Spec: admissionv1.MutatingAdmissionPolicySpec{
		Mutations: []admissionv1.Mutation{mutation}, ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: admissionv1.Rule{APIGroups: []string{"example.org"}, APIVersions: []string{"v1"}, Resources: []string{"none"}},
		}}}},
	}}, metav1.CreateOptions{}))
	created[*admissionv1.MutatingAdmissionPolicyBinding](t)(policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "hold"}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "hold"},
	}, metav1.CreateOptions{}))
	if text, err := run("check"); err != nil {
		t.Errorf("%s%v", text, err)
	}
	// Of a scheduler it is not known what it needs.
	handler.Store(new(http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"text": "policy fifo", "policy": "fifo"}`))
	}))))
	if text, err := run("check"); err != nil || strings.Contains(text, "rights") {
		t.Errorf("%s%v", text, err)
	}
}
